"""Perturbations that batchgenerators has too give its values, also where both draw random numbers."""

from __future__ import annotations

import random
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from intrabench.datasets.perturb.base import IntensityChange
from intrabench.datasets.perturb.perturbed import perturbation
from tests.datasets.perturb.test_perturbed import photo, scan

Function = Callable[..., np.ndarray]


def official(module: str, function: str) -> Function:
    return getattr(import_module(f"batchgenerators.augmentations.{module}_augmentations"), function)


def within(image: np.ndarray, change: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    return change(image) if image.shape[1] > 1 else change(image[:, 0])[:, None]


PEERS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "noise:sigma=0.2": lambda image: official("noise", "augment_gaussian_noise")(image, (0.2, 0.2)),
    "rician:sigma=0.3": lambda image: official("noise", "augment_rician_noise")(image, (0.3, 0.3)),
    "blur:sigma=2.5": lambda image: within(
        image, lambda seen: official("noise", "augment_gaussian_blur")(seen, (2.5, 2.5))
    ),
    "gamma:gamma=2": lambda image: official("color", "augment_gamma")(image, (2, 2)),
    "contrast:factor=0.4": lambda image: official("color", "augment_contrast")(image, lambda: 0.4, per_channel=False),
    "contrast:factor=3": lambda image: official("color", "augment_contrast")(image, lambda: 3.0, per_channel=False),
    "low_resolution:zoom=0.3": lambda image: within(
        image, lambda seen: official("resample", "augment_linear_downsampling_scipy")(seen, (0.3, 0.3))
    ),
}


@pytest.mark.parametrize("make", [scan, photo])
@pytest.mark.parametrize("spec", PEERS)
def test_values_are_equal(spec: str, make: Callable[[], Any]) -> None:
    array = make().array / 255.0
    image = (array[None] if array.ndim == 3 else np.moveaxis(array, -1, 0)).astype(np.float32)
    change = perturbation(spec)
    assert isinstance(change, IntensityChange)
    seed = int(np.random.default_rng(3).integers(2**32))
    np.random.seed(seed)  # noqa: NPY002
    random.seed(seed)
    expected = PEERS[spec](image.copy())
    assert np.array_equal(change.change(image.copy(), np.random.default_rng(3)), expected)


def test_a_gamma_below_one_is_that_gamma() -> None:
    """batchgenerators would draw one between it and 1."""
    image = np.random.default_rng(0).random((1, 4, 8, 8)).astype(np.float32)
    low, span = image.min(), np.ptp(image)
    for seed in range(4):
        found = perturbation("gamma:gamma=0.5").change(image.copy(), np.random.default_rng(seed))  # type: ignore[attr-defined]
        assert np.allclose(found, ((image - low) / span) ** 0.5 * span + low, atol=1e-5)


def test_few_slices_keep_one_at_a_low_resolution() -> None:
    image = np.random.default_rng(0).random((1, 2, 8, 8)).astype(np.float32)
    found = perturbation("low_resolution:zoom=0.1").change(image.copy(), np.random.default_rng(0))  # type: ignore[attr-defined]
    assert np.isfinite(found).all()
    assert len(np.unique(found)) == 1
