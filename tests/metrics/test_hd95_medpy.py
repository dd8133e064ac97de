"""HD95 as MedPy takes it: against its definition in a few lines, and by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import ndimage
from scipy.spatial.distance import cdist

from intrabench.mask import Mask
from intrabench.metrics.mask_pair import MaskPair
from intrabench.registry import registry
from intrabench.target import Target

SPACING_MM = (3.0, 1.0, 0.5)


def measured(truth: np.ndarray, answer: np.ndarray, spec: str = "hd95_medpy") -> float:
    shape = (truth.shape[0], truth.shape[1], truth.shape[2])
    target = Target("case", "canal", 1, Mask.of(truth), shape, SPACING_MM)
    value = registry.make("metrics", spec).measure(MaskPair(target, Mask.of(answer)))
    assert value is not None
    return float(value)


def defined(truth: np.ndarray, answer: np.ndarray, size: tuple[float, ...]) -> float:
    """The percentile of all distances from voxel to voxel, over the whole array."""
    one, other = (np.argwhere(mask & ~ndimage.binary_erosion(mask)) * size for mask in (truth, answer))
    far = cdist(one, other)
    return float(np.percentile([*far.min(axis=1), *far.min(axis=0)], 95))


@given(seed=st.integers(0, 2**32))
def test_it_is_the_percentile_of_both_ways_together(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth, answer = (ndimage.zoom(rng.standard_normal((3, 4, 4)), 4, order=1) > limit for limit in (0.3, 0.5))
    truth[0, 0, 0] = answer[-1, -1, -1] = True
    assert measured(truth, answer) == pytest.approx(defined(truth, answer, (1, 1, 1)), abs=1e-12)
    assert measured(truth, answer, "hd95_medpy:spacing=mm") == pytest.approx(
        defined(truth, answer, SPACING_MM), abs=1e-12
    )
    assert measured(answer, truth) == measured(truth, answer)


def test_by_hand_and_empty_masks() -> None:
    none, one, other = np.zeros((3, 4, 12), bool), np.zeros((3, 4, 12), bool), np.zeros((3, 4, 12), bool)
    one[1, 1, 1] = other[2, 1, 1] = True
    assert measured(one, one) == 0
    assert (measured(one, other), measured(one, other, "hd95_medpy:spacing=mm")) == (1, 3)
    assert measured(none, none) == 0
    assert measured(one, none) == measured(none, one) == 13  # sqrt(9 + 16 + 144)
    assert measured(one, none, "hd95_medpy:spacing=mm") == pytest.approx(math.hypot(9, 4, 6))
