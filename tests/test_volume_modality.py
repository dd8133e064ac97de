"""Stated modalities in people's words, and what is recognised as Hounsfield units."""

from __future__ import annotations

import numpy as np
import pytest

from intrabench.datasets.phantom import Phantom
from intrabench.volume import Volume, in_hounsfield, states_ct


@pytest.mark.parametrize(
    ("modality", "ct"),
    [
        *[
            (told, True)
            for told in ("CT", "ct", "CT, no contrast", "non-contrast CT", "low-dose CT", "CT_abdomen", "CBCT")
        ],
        *[
            (told, True)
            for told in ("Computed Tomography", "X-ray computed tomography", "CTA", "synthetic, CT-like intensities")
        ],
        *[
            (told, False)
            for told in ("MR, T2-weighted", "mri", "T1ce", "FLAIR", "PT", "PET", "natural RGB", "X-ray, chest", "US")
        ],
        *[(told, None) for told in ("", "PET/CT", "non-CT", "nonCT", "OT", "zscore", "channel_0", "CT1", "unknown")],
    ],
)
def test_stated_modalities(modality: str, ct: bool | None) -> None:
    assert states_ct(modality) is ct


def body(
    air: float = 0.3, fat: float = 0.2, bone: float = 0.1, shape: tuple[int, int, int] = (10, 40, 40)
) -> np.ndarray:
    """Hounsfield units with these shares of air, fat and bone in soft tissue, and noise."""
    rng = np.random.default_rng(0)
    shares = (air, fat, bone, 1 - air - fat - bone)
    return np.rint(rng.choice([-985, -90, 600, 45], shape, p=shares) + rng.normal(0, 12, shape)).astype(np.int16)


def padded(value: int) -> np.ndarray:
    scan = body()
    scan[:, :8] = value
    return scan


def with_some(value: int) -> np.ndarray:
    """Such units, but for one voxel in twenty, which is `value` and a random number up to 500 more."""
    rng, scan = np.random.default_rng(0), body()
    return np.where(rng.random(scan.shape) < 0.05, value + rng.integers(0, 500, scan.shape), scan)


@pytest.mark.parametrize(
    "array",
    [
        body(),
        body(air=0.001),  # a gas bubble in a crop of the spine
        body(air=0.8, fat=0.05, bone=0.02),  # a crop of the lung
        body().astype(np.float32) + np.float32(0.25),  # resampled
        body().clip(-1000, 1000),
        padded(-1024),
        padded(-2048),
        padded(-32768),
        body(shape=(2, 900, 900)),  # more than is looked at
    ],
)
def test_hounsfield_units_are_recognised(array: np.ndarray) -> None:
    assert in_hounsfield(array) is True


def mr(low: float = 0.0, high: float = 1500.0) -> np.ndarray:
    """Background at `low` and tissue up to `high`."""
    tissue = np.random.default_rng(0).beta(3, 3, (10, 40, 40)) * (high - low) + low
    tissue[:, :12] = low
    return tissue


@pytest.mark.parametrize(
    "array",
    [
        mr().astype(np.int16),
        body() + 1024,  # CT as stored in unsigned files
        (body() + 1024) / 4096,
        mr(-4, 9),  # z-scores
        (body() - body().mean()) / body().std(),
        mr(0, 255).astype(np.uint8),
        np.stack([body()] * 3, axis=-1),
    ],
)
def test_values_that_cannot_be_hounsfield_units(array: np.ndarray) -> None:
    assert in_hounsfield(array) is False


@pytest.mark.parametrize(
    "array",
    [
        mr(-60, 1200),  # registration overshoots
        np.concatenate([mr(0, 12000).ravel(), [-950]]).reshape(1, 1, -1),
        mr(-1000, 1000),  # rescaled, background at the minimum
        np.random.default_rng(0).uniform(-1000, 1000, (10, 40, 40)),  # a map of frequencies
        np.random.default_rng(0).uniform(-4096, 4095, (10, 40, 40)),  # phase
        body(air=0, fat=0.3),  # a crop without air: fat and soft tissue could be anything
        body().clip(-160, 240),
        np.array([[[-3000, -3000, 0]]]),
        body(air=0.985, fat=0.003, bone=0.002),  # almost nothing but air
        with_some(-2000),  # air is not the lowest value
        with_some(5000),  # denser than 12 bits can say
    ],
)
def test_values_that_may_be_anything(array: np.ndarray) -> None:
    assert in_hounsfield(array) is None


def test_a_volume_is_ct_as_stated_else_as_it_looks() -> None:
    grid = Volume.from_canonical(body()).grid
    stated = {modality: Volume(body(), grid, modality).is_ct for modality in ("", "CT", "MR", "PET/CT")}
    assert stated == {"": True, "CT": True, "MR": False, "PET/CT": True}
    assert not Volume(body() + 1024, grid).is_ct
    assert Volume(body() + 1024, grid, "ct").is_ct
    assert not Volume(body().clip(0, 255).astype(np.uint8), grid, "CT").is_ct  # no longer in Hounsfield units


def test_the_phantom_has_hounsfield_units() -> None:
    volume, _ = Phantom(shape=(16, 32, 32)).load("case-1", files=None)  # type: ignore[arg-type]
    assert in_hounsfield(volume.array) is True
    assert states_ct(Phantom.card.modality) is True
