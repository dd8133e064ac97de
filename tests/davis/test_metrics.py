"""J and F: equal to davisinteractive, and to their definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from syrupy.assertion import SnapshotAssertion

from intrabench.davis.metrics import batched, f_of_frames, j_of_frames, objects_in, tolerance_pixels
from intrabench.davis.packed import counts, outlines, pack
from intrabench.errors import IntraBenchError
from intrabench.mask import Mask
from tests.davis.golden import arrays, read

PAIRS = read("metrics_J_F.json")


@pytest.mark.parametrize("name", PAIRS)
def test_golden_pairs(name: str, wording: SnapshotAssertion) -> None:
    stored, expected = arrays(f"pairs/{name}"), PAIRS[name]
    truth, answer = stored["gt"][None], stored["pred"][None]
    assert tolerance_pixels(truth.shape[1:]) == expected["bound_pix"]
    for count in (None, 1, 3):
        wanted = expected[f"nb_objects={count}"]
        if isinstance(wanted, str):  # the original raises ValueError
            with pytest.raises(IntraBenchError) as caught:
                batched(truth, answer, count)
            assert caught == wording
            continue
        overlaps, contours = batched(truth, answer, count)
        assert overlaps.tolist() == [wanted["J"]]
        assert contours.tolist() == [wanted["F"]]
    for bound, name in ((2, "2px"), (0.02, "0.02")):
        assert batched(truth, answer, 1, bound)[1].item() == expected[f"F_obj1_bound_th={name}"]
    found = [int(counts(outlines(pack(labels == 1, 0), labels.shape[2]))[0]) for labels in (truth, answer)]
    assert found == expected["n_boundary_gt_pred_obj1"]


def f_as_written(truth: np.ndarray, answer: np.ndarray, bound: float) -> float:
    """Of one frame, by loops over all pixels."""
    height, width = truth.shape

    def outline(mask: np.ndarray) -> set[tuple[int, int]]:
        found = set()
        for y in range(height):
            for x in range(width):
                east, south = min(x + 1, width - 1), min(y + 1, height - 1)
                if len({mask[y, x], mask[y, east], mask[south, x], mask[south, east]}) > 1:
                    found.add((y, x))
        return found

    ours, theirs = outline(truth), outline(answer)
    if not ours or not theirs:
        return float(ours == theirs)
    precision, recall = (
        sum(any((y - b) ** 2 + (x - a) ** 2 <= bound**2 for b, a in others) for y, x in ones) / len(ones)
        for ones, others in ((theirs, ours), (ours, theirs))
    )
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


@given(
    npst.arrays(bool, (2, 3, 7, 9), elements=st.booleans() | st.just(False)),
    st.sampled_from([1, 2, 3.5]),
)
def test_f_and_j_follow_their_definitions(masks: np.ndarray, bound: float) -> None:
    truth, answer = masks
    shape = truth.shape[0], truth.shape[1], truth.shape[2]
    found = f_of_frames(Mask.of(truth), Mask.of(answer), shape, bound)
    assert found.tolist() == [f_as_written(one, other, bound) for one, other in zip(truth, answer, strict=True)]
    union = (truth | answer).sum(axis=(1, 2))
    expected = [1.0 if not n else b / n for b, n in zip((truth & answer).sum(axis=(1, 2)), union, strict=True)]
    assert j_of_frames(Mask.of(truth), Mask.of(answer), 3).tolist() == expected


def test_only_the_wanted_frames_and_objects() -> None:
    truth = np.zeros((3, 8, 8), np.uint8)
    truth[:, 2:5, 2:5], truth[1, 6, 6] = 2, 255
    assert objects_in(truth) == [2]
    answer = np.where(truth == 2, 2, 0)
    answer[2] = 0
    assert batched(truth, answer, frames=[0, 2])[0].tolist() == [[1.0], [0.0]]
    assert batched(truth, answer, 2)[0].tolist() == [[1.0, 1.0], [1.0, 1.0], [1.0, 0.0]]


def test_masks_of_another_shape(wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        batched(np.ones((3, 8, 8), int), np.ones((2, 8, 8), int))
    assert caught == wording


def test_the_tolerance_is_that_of_the_diagonal() -> None:
    assert tolerance_pixels((480, 854)) == 8 == math.ceil(0.008 * math.hypot(480, 854))
    assert tolerance_pixels((480, 854), 3) == 3
