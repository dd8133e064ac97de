"""Perturbations of intensities: noise, blur, lower resolution and the like, each one function.

Those that batchgenerators (Isensee et al., Zenodo, 2020, doi:10.5281/zenodo.3632567) has too give the same values as
there with a fixed strength, also where they draw random numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
from annotated_types import Interval
from numpy.typing import NDArray

from intrabench.datasets.perturb.base import IntensityChange, Perturbation
from intrabench.mask import Floats32
from intrabench.specs.component import of_function

Rng = np.random.Generator


def intensity_change(
    name: str, neutral: float | None = 0.0, wrong: Callable[[float], str] = lambda value: "", version: str = "1"
) -> Callable[[Callable[..., NDArray[Any]]], type[IntensityChange]]:
    """Make a perturbation of a function that does what `IntensityChange.change` says; see `of_function`.

    Its parameter must be above 0. wrong: a sentence about any other value that it cannot have.
    """

    def check(self: IntensityChange) -> None:
        ((parameter, value),) = vars(self).items()
        if problem := wrong(value) if 0 < value < np.inf else f"{parameter} must be above 0":
            raise ValueError(problem)

    about = {"name": name, "neutral": neutral, "version": version, "__post_init__": check}
    return lambda function: of_function(IntensityChange, "change", function, **about)


@intensity_change("noise")
def noise(image: Floats32, rng: Rng, sigma: float = 0.1) -> NDArray[Any]:
    """Gaussian noise of standard deviation `sigma`."""
    legacy = _legacy(rng)
    for channel in image:
        legacy.uniform()  # batchgenerators decides here whether a channel is changed
        channel += legacy.normal(0, sigma, channel.shape)
    return image


@intensity_change("rician")
def rician_noise(image: Floats32, rng: Rng, sigma: float = 0.1) -> NDArray[Any]:
    """Rician noise, which magnitude images of MR have, of standard deviation `sigma`."""
    legacy = _legacy(rng)
    real, imaginary = (legacy.normal(0, sigma, image.shape) for _ in range(2))
    return np.sqrt((image + real) ** 2 + imaginary**2) * np.sign(image)


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
    from scipy.ndimage import gaussian_filter

    return _by_channel(image, lambda channel: gaussian_filter(channel, sigma))


@intensity_change("motion", neutral=1.0)
def motion(image: Floats32, rng: Rng, voxels: Annotated[int, Interval(ge=1, le=10_000)] = 5) -> NDArray[Any]:
    """The mean of `voxels` neighbours along x, as if the patient or the camera had moved."""
    from scipy.ndimage import uniform_filter1d

    return uniform_filter1d(image, voxels, axis=-1, mode="nearest")


@intensity_change("gamma", neutral=1.0, version="2")
def gamma(image: Floats32, rng: Rng, gamma: float = 1.5) -> NDArray[Any]:
    """Intensities, from their minimum to their maximum, to the power of `gamma`."""
    low, span = image.min(), np.ptp(image)
    return ((image - low) / (float(span) + 1e-7)) ** gamma * span + low  # the small number as in batchgenerators


@intensity_change("contrast", neutral=1.0)
def contrast(image: Floats32, rng: Rng, factor: float = 0.5) -> NDArray[Any]:
    """Distances to the mean intensity become `factor` times as large, within the range of the image."""
    for channel in image:
        mean, low, high = channel.mean(), channel.min(), channel.max()
        channel[:] = np.clip((channel - mean) * factor + mean, low, high)
    return image


@intensity_change("low_resolution", 1.0, lambda zoom: "zoom is a share of the resolution, below 1" if zoom >= 1 else "")
def low_resolution(image: Floats32, rng: Rng, zoom: float = 0.5) -> NDArray[Any]:
    """Resolution falls to `zoom` of it along each axis, and the image is brought back to its size."""
    from skimage.transform import resize

    def resampled(channel: Floats32) -> NDArray[Any]:
        small = np.maximum(np.round(np.array(channel.shape) * zoom).astype(int), 1)
        coarse = resize(channel.astype(float), small, order=1, mode="edge", anti_aliasing=False)
        return np.asarray(resize(coarse, channel.shape, order=0, mode="edge", anti_aliasing=False))

    return _by_channel(image, resampled)


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


def _by_channel(image: Floats32, change: Callable[[Floats32], NDArray[Any]]) -> Floats32:
    """The image with each channel ``(z, y, x)`` changed; a picture only within its plane ``(y, x)``."""
    for channel in image:
        seen = channel if len(channel) > 1 else channel[0]
        seen[:] = change(seen)
    return image


def _legacy(rng: np.random.Generator) -> np.random.RandomState:
    """Random numbers as NumPy's global state gives them, which batchgenerators draws from, under a seed of `rng`."""
    return np.random.RandomState(int(rng.integers(2**32)))
