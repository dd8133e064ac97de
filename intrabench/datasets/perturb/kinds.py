"""Perturbations of intensities: noise, blur, lower resolution and the like, each one function.

Those that batchgenerators has are taken from there, with fixed strength; noise that scikit-image has from there.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from importlib import import_module
from typing import Annotated, Any

import numpy as np
from annotated_types import Interval
from numpy.typing import NDArray

from intrabench.datasets.perturb.base import IntensityChange, Perturbation
from intrabench.errors import IntraBenchError
from intrabench.mask import Floats32
from intrabench.specs.component import of_function

EXTRA = "perturb"

Rng = np.random.Generator


def intensity_change(
    name: str, neutral: float | None = 0.0, wrong: Callable[[float], str] = lambda value: ""
) -> Callable[[Callable[..., NDArray[Any]]], type[IntensityChange]]:
    """Make a perturbation of a function that does what `IntensityChange.change` says; see `of_function`.

    Its parameter must be above 0. wrong: a sentence about any other value that it cannot have.
    """

    def check(self: IntensityChange) -> None:
        ((parameter, value),) = vars(self).items()
        if problem := wrong(value) if 0 < value < np.inf else f"{parameter} must be above 0":
            raise ValueError(problem)

    about = {"name": name, "neutral": neutral, "__post_init__": check}
    return lambda function: of_function(IntensityChange, "change", function, **about)


@intensity_change("noise")
def noise(image: Floats32, rng: Rng, sigma: float = 0.1) -> NDArray[Any]:
    """Gaussian noise of standard deviation `sigma`."""
    # what it calls variance is sigma
    return _augmented(rng, "noise_augmentations.augment_gaussian_noise", image, (sigma, sigma))


@intensity_change("rician")
def rician_noise(image: Floats32, rng: Rng, sigma: float = 0.1) -> NDArray[Any]:
    """Rician noise, which magnitude images of MR have, of standard deviation `sigma`."""
    return _augmented(rng, "noise_augmentations.augment_rician_noise", image, (sigma, sigma))


@intensity_change("salt_pepper", wrong=lambda p: "p is a share, at most 1" if p > 1 else "")
def salt_and_pepper(image: Floats32, rng: Rng, p: float = 0.04) -> NDArray[Any]:
    """The share `p` of all voxels becomes 0 or 1, all channels together."""
    hit = rng.random(image.shape[1:]) < p
    image[:, hit] = rng.integers(0, 2, int(hit.sum()))
    return image


@intensity_change("poisson", neutral=None)
def poisson_noise(image: Floats32, rng: Rng, counts: float = 100.0) -> NDArray[Any]:
    """Poisson noise as of an image in which white is `counts` photons."""
    return rng.poisson(np.clip(image, 0, None) * counts) / counts


@intensity_change("blur")
def blur(image: Floats32, rng: Rng, sigma: Annotated[float, Interval(gt=0, le=100)] = 1.0) -> NDArray[Any]:
    """A Gaussian of standard deviation `sigma` in voxels."""
    return _in_plane(
        image, lambda seen: _augmented(rng, "noise_augmentations.augment_gaussian_blur", seen, (sigma,) * 2)
    )


@intensity_change("motion", neutral=1.0)
def motion(image: Floats32, rng: Rng, voxels: Annotated[int, Interval(ge=1, le=10_000)] = 5) -> NDArray[Any]:
    """The mean of `voxels` neighbours along x, as if the patient or the camera had moved."""
    from scipy.ndimage import uniform_filter1d

    return uniform_filter1d(image, voxels, axis=-1, mode="nearest")


@intensity_change("gamma", neutral=1.0)
def gamma(image: Floats32, rng: Rng, gamma: float = 1.5) -> NDArray[Any]:
    """Intensities, from their minimum to their maximum, to the power of `gamma`."""
    return _augmented(rng, "color_augmentations.augment_gamma", image, (gamma, gamma))


@intensity_change("contrast", neutral=1.0)
def contrast(image: Floats32, rng: Rng, factor: float = 0.5) -> NDArray[Any]:
    """Distances to the mean intensity become `factor` times as large, within the range of the image."""
    options = {"preserve_range": True, "per_channel": False}
    return _augmented(rng, "color_augmentations.augment_contrast", image, lambda: factor, **options)


@intensity_change("low_resolution", 1.0, lambda zoom: "zoom is a share of the resolution, below 1" if zoom >= 1 else "")
def low_resolution(image: Floats32, rng: Rng, zoom: float = 0.5) -> NDArray[Any]:
    """Resolution falls to `zoom` of it along each axis, and the image is brought back to its size."""
    function = "resample_augmentations.augment_linear_downsampling_scipy"
    return _in_plane(image, lambda seen: _augmented(rng, function, seen, (zoom, zoom)))


@intensity_change("bias_field", wrong=lambda strength: "strength must be below 1" if strength >= 1 else "")
def bias_field(image: Floats32, rng: Rng, strength: float = 0.3) -> NDArray[Any]:
    """A smooth field multiplies intensities, as of coils in MR: from 1 - `strength` to 1 + `strength`.

    It is a random polynomial of the place, of second degree along each axis.
    """
    z, y, x = (np.linspace(-1, 1, length) if length > 1 else np.zeros(1) for length in image.shape[1:])
    field = np.asarray(np.polynomial.polynomial.polygrid3d(z, y, x, rng.normal(size=(3, 3, 3))), np.float64)
    span = float(np.ptp(field))
    level = (field - field.min()) / span if span else np.full_like(field, 0.5)
    return image * (1 + strength * (2 * level - 1)).astype(np.float32)  # black stays black


INTENSITIES: tuple[type[Perturbation], ...] = (
    *(noise, rician_noise, salt_and_pepper, poisson_noise, blur, motion, gamma, contrast, low_resolution, bias_field),
)


def _in_plane(image: Floats32, change: Callable[[Floats32], NDArray[Any]]) -> NDArray[Any]:
    """The changed image; a picture only within its plane."""
    return change(image) if image.shape[1] > 1 else change(image[:, 0])[:, None]


def _augmented(rng: Rng, function: str, *args: Any, **options: Any) -> NDArray[Any]:
    """What a function ``MODULE.NAME`` of batchgenerators gives.

    It draws from the global random state, which is seeded by ours, and afterwards as it was.

    Raises:
        IntraBenchError: batchgenerators is not installed.
    """
    kept, also = np.random.get_state(), random.getstate()  # noqa: NPY002
    seed = int(rng.integers(2**32))
    np.random.seed(seed)  # noqa: NPY002
    random.seed(seed)
    module, _, name = function.partition(".")
    try:
        found: NDArray[Any] = getattr(import_module(f"batchgenerators.augmentations.{module}"), name)(*args, **options)
        return found
    except ImportError as error:
        raise IntraBenchError(
            f"perturbing images needs batchgenerators; run: pip install 'intrabench[{EXTRA}]'"
        ) from error
    finally:
        np.random.set_state(kept)  # noqa: NPY002
        random.setstate(also)
