"""Voxel counts, Dice and IoU against whole arrays."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from intrabench.mask import Mask
from intrabench.metrics.parts.overlap import Overlap

SHAPE = (3, 4, 5)
dense = arrays(bool, SHAPE, elements=st.booleans()) | st.just(np.zeros(SHAPE, dtype=bool))


@given(dense, dense)
def test_as_on_whole_arrays(truth: np.ndarray, answer: np.ndarray) -> None:
    found = Overlap.of(Mask.of(truth), Mask.of(answer))
    total, union = truth.sum() + answer.sum(), (truth | answer).sum()
    assert found.dice == (2 * (truth & answer).sum() / total if total else 1.0)
    assert found.iou == ((truth & answer).sum() / union if union else 1.0)
    assert found.false_positives == (answer & ~truth).sum()
    assert found.false_negatives == (truth & ~answer).sum()
