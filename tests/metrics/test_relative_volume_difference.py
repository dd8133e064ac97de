"""Relative volume difference by hand."""

from __future__ import annotations

import numpy as np
import pytest

from intrabench.mask import Mask
from intrabench.metrics.mask_pair import MaskPair
from intrabench.metrics.relative_volume_difference import RelativeVolumeDifference
from tests.conftest import make_target


@pytest.mark.parametrize(
    ("truth", "answer", "expected"), [(4, 6, 0.5), (4, 4, 0.0), (4, 1, -0.75), (4, 0, -1.0), (0, 0, 0.0), (0, 3, None)]
)
def test_by_hand(truth: int, answer: int, expected: float | None) -> None:
    masks = np.arange(8).reshape(1, 1, 8) < truth, np.arange(8)[::-1].reshape(1, 1, 8) < answer
    pair = MaskPair(make_target(masks[0], (5.0, 0.5, 2.0)), Mask.of(masks[1]))
    assert RelativeVolumeDifference().measure(pair) == expected


def test_failures_count_as_an_empty_answer(ball: np.ndarray) -> None:
    found = RelativeVolumeDifference()
    assert found.measure(MaskPair(make_target(ball), Mask.empty())) == found.worst
