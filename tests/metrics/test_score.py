"""Dice, IoU and counts against dense arrays; empty cases; ignored voxels; surfaces at chosen distances."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from intrabench.errors import IntraBenchError
from intrabench.mask import Mask
from intrabench.metrics.parts.overlap import Overlap
from intrabench.metrics.score import METRICS, score
from tests.conftest import make_target

SHAPE = (3, 4, 5)
IN_VOLUMES = tuple(metric for metric in METRICS if metric != "boundary_iou@1")
dense = arrays(bool, SHAPE, elements=st.booleans()) | st.just(np.zeros(SHAPE, dtype=bool))


@given(dense, dense)
def test_as_on_whole_arrays(truth: np.ndarray, answer: np.ndarray) -> None:
    found = Overlap.of(Mask.of(truth), Mask.of(answer))
    total, union = truth.sum() + answer.sum(), (truth | answer).sum()
    assert found.dice == (2 * (truth & answer).sum() / total if total else 1.0)
    assert found.iou == ((truth & answer).sum() / union if union else 1.0)
    assert found.false_positives == (answer & ~truth).sum()
    assert found.false_negatives == (truth & ~answer).sum()


def test_empty_cases(ball: np.ndarray) -> None:
    target = make_target(ball)
    values = score(target, Mask.empty(), IN_VOLUMES)
    assert (values["dice"], values["iou"], values["nsd_2mm"], values["hd95_mm"]) == (0, 0, 0, np.inf)
    both = score(replace(target, mask=Mask.empty()), Mask.empty(), IN_VOLUMES)
    assert (both["dice"], both["iou"], both["nsd_2mm"], both["hd95_mm"]) == (1, 1, 1, 0)


def test_false_positives_anywhere_count(ball: np.ndarray) -> None:
    answer = ball.copy()
    answer[19, 23, 27] = True
    values = score(make_target(ball), Mask.of(answer), IN_VOLUMES)
    assert values["fp_voxels"] == 1
    assert values["dice"] == 2 * ball.sum() / (2 * ball.sum() + 1)
    assert values["hd95_mm"] < 1
    assert score(make_target(ball), Mask.of(answer & ~ball), IN_VOLUMES)["dice"] == 0


def test_ignored_voxels_count_neither_way(ball: np.ndarray) -> None:
    band = np.zeros_like(ball)
    band[:9] = True
    target = replace(make_target(ball), ignore=Mask.of(band))
    answer = ball.copy()
    answer[:9] = ~answer[:9]
    assert score(target, Mask.of(answer), IN_VOLUMES)["dice"] == 1.0
    assert score(target, Mask.of(answer), IN_VOLUMES)["nsd_2mm"] == 1.0


@pytest.mark.parametrize(("shift", "nsd"), [(0, 1.0), (1, 1.0), (2, 1.0)])
def test_a_slab_moved_within_the_tolerance_has_a_perfect_surface(shift: int, nsd: float) -> None:
    truth = np.zeros((12, 6, 6), dtype=bool)
    truth[3:7] = True
    values = score(make_target(truth), Mask.of(np.roll(truth, shift, axis=0)), IN_VOLUMES)
    assert values["nsd_2mm"] == nsd
    assert values["hd95_mm"] == shift
    assert values["dice"] == pytest.approx((4 - shift) / 4)


def test_spacing_is_in_the_surfaces() -> None:
    truth = np.zeros((12, 6, 6), dtype=bool)
    truth[3:7] = True
    values = score(make_target(truth, (3.0, 1.0, 1.0)), Mask.of(np.roll(truth, 1, axis=0)), IN_VOLUMES)
    assert values["hd95_mm"] == 3.0
    assert values["nsd_2mm"] < 1.0


def test_only_what_the_protocol_asks_for(ball: np.ndarray) -> None:
    assert "nsd_2mm" not in score(make_target(ball), Mask.of(ball), ("dice@1", "iou@1"))
    with pytest.raises(IntraBenchError, match="no metric 'dice@2'"):
        score(make_target(ball), Mask.of(ball), ("dice@2",))


def test_boundaries_are_of_images(ball: np.ndarray) -> None:
    image = make_target(ball[9:10])
    moved = Mask.of(np.roll(ball[9:10], 1, axis=2))
    values = score(image, moved, ("boundary_iou@1",))
    assert 0 < values["boundary_iou"] < values["iou"]
    assert "boundary_iou" not in score(image, moved, IN_VOLUMES)
    assert "boundary_iou" not in score(make_target(ball), Mask.of(ball), ("boundary_iou@1",))


def test_ignored_pixels_do_not_move_a_boundary() -> None:
    """Taken out of the masks they would become a border of both."""
    truth, band = np.zeros((2, 1, 40, 40), dtype=bool)
    truth[0, 10:30, 10:30], band[0, 18:22, 10:30] = True, True
    target = replace(make_target(truth), ignore=Mask.of(band))
    answer = truth.copy()
    answer[0, 10, 10:30] = False
    # the boundary is one pixel wide: 76 pixels of the truth less 8 ignored, of the answer 74 less 8, 56 less 8 common
    values = score(target, Mask.of(answer), ("boundary_iou@1",))
    assert values["boundary_iou"] == pytest.approx(48 / (68 + 66 - 48))
