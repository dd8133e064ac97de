"""Perturbations of intensities: noise, blur, lower resolution and the like, each one class.

Those that batchgenerators has are taken from there, with fixed strength; noise that scikit-image has from there.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from annotated_types import Interval
from numpy.typing import NDArray

from intrabench.datasets.perturb.base import IntensityChange, Perturbation, positive
from intrabench.errors import IntraBenchError
from intrabench.mask import Floats32

EXTRA = "perturb"


@dataclass(frozen=True)
class Noise(IntensityChange):
    """Gaussian noise of standard deviation `sigma`."""

    name = "noise"

    sigma: float = 0.1

    def __post_init__(self) -> None:
        positive(sigma=self.sigma)

    def change(self, image: Floats32, rng: np.random.Generator) -> NDArray[Any]:
        """Add it."""
        with _batchgenerators(rng):
            from batchgenerators.augmentations.noise_augmentations import augment_gaussian_noise

            return augment_gaussian_noise(image, (self.sigma, self.sigma))  # what it calls variance is sigma


@dataclass(frozen=True)
class RicianNoise(IntensityChange):
    """Rician noise, which magnitude images of MR have, of standard deviation `sigma`."""

    name = "rician"

    sigma: float = 0.1

    def __post_init__(self) -> None:
        positive(sigma=self.sigma)

    def change(self, image: Floats32, rng: np.random.Generator) -> NDArray[Any]:
        """Add it to the magnitude."""
        with _batchgenerators(rng):
            from batchgenerators.augmentations.noise_augmentations import augment_rician_noise

            return augment_rician_noise(image, (self.sigma, self.sigma))


@dataclass(frozen=True)
class SaltAndPepper(IntensityChange):
    """The share `p` of all voxels becomes 0 or 1, all channels together."""

    name = "salt_pepper"

    p: float = 0.04

    def __post_init__(self) -> None:
        positive(p=self.p)
        if self.p > 1:
            raise ValueError("p is a share, at most 1")

    def change(self, image: Floats32, rng: np.random.Generator) -> NDArray[Any]:
        """Half of them become black, half of them white."""
        hit = rng.random(image.shape[1:]) < self.p
        image[:, hit] = rng.integers(0, 2, int(hit.sum()))
        return image


@dataclass(frozen=True)
class PoissonNoise(IntensityChange):
    """Poisson noise as of an image in which white is `counts` photons."""

    name = "poisson"
    neutral = None

    counts: float = 100.0

    def __post_init__(self) -> None:
        positive(counts=self.counts)

    def change(self, image: Floats32, rng: np.random.Generator) -> NDArray[Any]:
        """Count photons; nothing is darker than black."""
        return rng.poisson(np.clip(image, 0, None) * self.counts) / self.counts


@dataclass(frozen=True)
class Blur(IntensityChange):
    """A Gaussian of standard deviation `sigma` in voxels."""

    name = "blur"

    sigma: Annotated[float, Interval(gt=0, le=100)] = 1.0

    def __post_init__(self) -> None:
        positive(sigma=self.sigma)

    def change(self, image: Floats32, rng: np.random.Generator) -> NDArray[Any]:
        """Smooth it; a picture only within its plane."""
        flat = image.shape[1] == 1
        with _batchgenerators(rng):
            from batchgenerators.augmentations.noise_augmentations import augment_gaussian_blur

            seen = augment_gaussian_blur(image[:, 0] if flat else image, (self.sigma, self.sigma))
        return seen[:, None] if flat else seen


@dataclass(frozen=True)
class Motion(IntensityChange):
    """The mean of `voxels` neighbours along x, as if the patient or the camera had moved."""

    name = "motion"
    neutral = 1.0

    voxels: Annotated[int, Interval(ge=1, le=10_000)] = 5

    def __post_init__(self) -> None:
        positive(voxels=self.voxels)

    def change(self, image: Floats32, rng: np.random.Generator) -> NDArray[Any]:
        """Average them."""
        from scipy.ndimage import uniform_filter1d

        return uniform_filter1d(image, self.voxels, axis=-1, mode="nearest")


@dataclass(frozen=True)
class Gamma(IntensityChange):
    """Intensities, from their minimum to their maximum, to the power of `gamma`."""

    name = "gamma"
    neutral = 1.0

    gamma: float = 1.5

    def __post_init__(self) -> None:
        positive(gamma=self.gamma)

    def change(self, image: Floats32, rng: np.random.Generator) -> NDArray[Any]:
        """Raise them."""
        with _batchgenerators(rng):
            from batchgenerators.augmentations.color_augmentations import augment_gamma

            return augment_gamma(image, (self.gamma, self.gamma))


@dataclass(frozen=True)
class Contrast(IntensityChange):
    """Distances to the mean intensity become `factor` times as large, within the range of the image."""

    name = "contrast"
    neutral = 1.0

    factor: float = 0.5

    def __post_init__(self) -> None:
        positive(factor=self.factor)

    def change(self, image: Floats32, rng: np.random.Generator) -> NDArray[Any]:
        """Scale them."""
        with _batchgenerators(rng):
            from batchgenerators.augmentations.color_augmentations import augment_contrast

            return augment_contrast(image, lambda: self.factor, preserve_range=True, per_channel=False)


@dataclass(frozen=True)
class LowResolution(IntensityChange):
    """Resolution falls to `zoom` of it along each axis, and the image is brought back to its size."""

    name = "low_resolution"
    neutral = 1.0

    zoom: float = 0.5

    def __post_init__(self) -> None:
        positive(zoom=self.zoom)
        if self.zoom >= 1:
            raise ValueError("zoom is a share of the resolution, below 1")

    def change(self, image: Floats32, rng: np.random.Generator) -> NDArray[Any]:
        """Resample it twice; a picture only within its plane."""
        flat = image.shape[1] == 1
        with _batchgenerators(rng):
            from batchgenerators.augmentations.resample_augmentations import augment_linear_downsampling_scipy

            seen = augment_linear_downsampling_scipy(image[:, 0] if flat else image, (self.zoom, self.zoom))
        return seen[:, None] if flat else seen


@dataclass(frozen=True)
class BiasField(IntensityChange):
    """A smooth field multiplies intensities, as of coils in MR: from 1 - `strength` to 1 + `strength`.

    It is a random polynomial of the place, of second degree along each axis.
    """

    name = "bias_field"

    strength: float = 0.3

    def __post_init__(self) -> None:
        positive(strength=self.strength)
        if self.strength >= 1:
            raise ValueError("strength must be below 1")

    def change(self, image: Floats32, rng: np.random.Generator) -> NDArray[Any]:
        """Multiply it, black stays black."""
        z, y, x = (np.linspace(-1, 1, length) if length > 1 else np.zeros(1) for length in image.shape[1:])
        field = np.asarray(np.polynomial.polynomial.polygrid3d(z, y, x, rng.normal(size=(3, 3, 3))), np.float64)
        span = float(np.ptp(field))
        level = (field - field.min()) / span if span else np.full_like(field, 0.5)
        return image * (1 + self.strength * (2 * level - 1)).astype(np.float32)


INTENSITIES: tuple[type[Perturbation], ...] = (
    *(Noise, RicianNoise, SaltAndPepper, PoissonNoise, Blur, Motion, Gamma, Contrast, LowResolution, BiasField),
)


@contextmanager
def _batchgenerators(rng: np.random.Generator) -> Iterator[None]:
    """The global random state that batchgenerators draws from, seeded by ours, and afterwards as it was.

    Raises:
        IntraBenchError: batchgenerators is not installed.
    """
    kept, also = np.random.get_state(), random.getstate()  # noqa: NPY002
    seed = int(rng.integers(2**32))
    np.random.seed(seed)  # noqa: NPY002
    random.seed(seed)
    try:
        yield
    except ImportError as error:
        raise IntraBenchError(
            f"perturbing images needs batchgenerators; run: pip install 'intrabench[{EXTRA}]'"
        ) from error
    finally:
        np.random.set_state(kept)  # noqa: NPY002
        random.setstate(also)
