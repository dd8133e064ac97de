"""Lesion-wise F1 by hand, and against counting with SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import ndimage

from intrabench.mask import Mask
from intrabench.metrics.lesion_f1 import LesionF1
from intrabench.metrics.mask_pair import MaskPair
from tests.conftest import make_target

SHAPE = (4, 5, 6)
sparse = arrays(bool, SHAPE, elements=st.sampled_from([False, False, False, True]))


def f1(truth: np.ndarray, answer: np.ndarray, connectivity: int = 26) -> float:
    return LesionF1(connectivity).measure(MaskPair(make_target(truth), Mask.of(answer)))


def test_by_hand() -> None:
    """Three lesions, of which two are found; of four components of the answer, two are of one lesion, one is wrong."""
    truth, answer = np.zeros((2, 5, 20, 20), dtype=bool)
    truth[1, 1:4, 1:12] = truth[3, 15:18, 2:5] = truth[3, 15:18, 12:15] = True
    answer[1, 2, 2:4] = answer[1, 2, 8:10] = answer[3, 17:20, 4:7] = answer[0, 10, 18] = True
    assert f1(truth, answer) == 2 * 2 / (2 * 2 + 1 + 1)
    assert f1(truth, truth) == 1.0
    assert f1(truth, answer & ~truth) == 0.0
    empty = np.zeros_like(truth)
    assert (f1(truth, empty), f1(empty, answer), f1(empty, empty)) == (0.0, 0.0, 1.0)


@pytest.mark.parametrize(("connectivity", "expected"), [(26, 1.0), (18, 2 / 3), (6, 2 / 3)])
def test_corners_join_lesions(connectivity: int, expected: float) -> None:
    truth, answer = np.zeros((2, 2, 2, 2), dtype=bool)
    truth[0, 0, 0] = truth[1, 1, 1] = answer[0, 0, 0] = True
    assert f1(truth, answer, connectivity) == expected


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_lesions_in_a_single_row(axis: int) -> None:
    truth = np.zeros((3, 3, 3), dtype=bool)
    truth[tuple(slice(None, None, 2) if n == axis else 0 for n in range(3))] = True
    assert f1(truth, truth) == 1.0
    assert f1(truth, truth & (np.arange(27).reshape(3, 3, 3) == 0)) == 2 / 3


@given(sparse, sparse, st.sampled_from([(6, 1), (18, 2), (26, 3)]))
def test_as_counted_one_by_one(truth: np.ndarray, answer: np.ndarray, connectivity: tuple[int, int]) -> None:
    around = ndimage.generate_binary_structure(3, connectivity[1])
    lesions, answers = (ndimage.label(mask, around) for mask in (truth, answer))
    found = sum(bool((answer & (lesions[0] == n)).any()) for n in range(1, lesions[1] + 1))
    wrong = sum(not (truth & (answers[0] == n)).any() for n in range(1, answers[1] + 1))
    total = 2 * found + (lesions[1] - found) + wrong
    assert f1(truth, answer, connectivity[0]) == (2 * found / total if total else 1.0)
