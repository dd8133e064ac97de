"""Boundary IoU against RClicks' own on the masks of its clicker, and by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.mask import Mask
from intrabench.metrics.boundary_iou import BoundaryIoU, boundary, boundary_iou
from intrabench.metrics.mask_pair import MaskPair
from intrabench.metrics.parts.overlap import Overlap
from intrabench.target import Target
from tests.conftest import GOLDEN, make_target


def iou(truth: np.ndarray, answer: np.ndarray, ignore: np.ndarray | None = None) -> float:
    """Of masks ``(y, x)``."""
    ignored = Mask.of(ignore[None]) if ignore is not None else None
    return boundary_iou(Mask.of(truth[None]), Mask.of(answer[None]), truth.shape, ignored)  # type: ignore[arg-type]


def test_as_rclicks_in_its_sequences() -> None:
    with np.load(GOLDEN / "rclicks" / "clicker_sequences.npz") as golden:
        cases = sorted({name.partition("/")[0] for name in golden.files})
        assert len(cases) == 10
        for case in cases:
            ids, packed, expected = (golden[f"{case}/{name}"] for name in ("gt", "ritm_pred_packbits", "boundary_ious"))
            answers = np.unpackbits(packed, axis=1, count=ids.size).astype(bool).reshape(-1, *ids.shape)
            found = [iou(ids == 1, answer, ids == -1) for answer in answers]
            # of two empty masks RClicks has NaN, we 1
            np.testing.assert_allclose(found, np.where(np.isnan(expected), 1, expected), atol=1e-6, err_msg=case)


def test_as_rclicks_in_single_masks() -> None:
    with np.load(GOLDEN / "rclicks" / "clicker_static.npz") as golden:
        cases = sorted({name.partition("/")[0] for name in golden.files})
        assert "perfect_pred_with_ignore" in cases  # 0, because the answer's boundary lies in ignored pixels
        for case in cases:
            ids, answer = golden[f"{case}/gt"], golden[f"{case}/pred"].astype(bool)
            assert iou(ids == 1, answer, ids == -1) == pytest.approx(float(golden[f"{case}/biou"]), abs=1e-6), case


def test_by_hand() -> None:
    """In 40 x 30 pixels a boundary is one pixel wide; 10 x 10 pixels have 36 of them."""
    square = np.zeros((40, 30), dtype=bool)
    square[5:15, 5:15] = True
    assert round(0.02 * math.hypot(40, 30)) == 1
    assert np.count_nonzero(boundary(Mask.of(square[None]), 1).array) == 36
    assert iou(square, np.roll(square, 1, axis=1)) == 18 / (36 + 36 - 18)
    assert iou(square, square) == 1.0
    assert iou(square, ~square) == 0.0
    empty = np.zeros_like(square)
    assert iou(square, empty) == iou(empty, square) == 0.0
    assert iou(empty, empty) == 1.0


def test_the_border_of_the_image_is_a_boundary() -> None:
    everything = np.ones((100, 150), dtype=bool)
    band = boundary(Mask.of(everything[None]), 4).to_array((1, 100, 150))[0]
    inner = np.zeros_like(everything)
    inner[4:-4, 4:-4] = True
    np.testing.assert_array_equal(band, ~inner)


def test_a_box_that_is_not_tight_changes_nothing() -> None:
    square = np.zeros((1, 40, 30), dtype=bool)
    square[0, 5:15, 5:15] = True
    loose, tight = Mask((0, 0, 0), square), Mask.of(square)
    other = Mask.of(np.roll(square, 2, axis=1))
    assert boundary_iou(loose, other, (40, 30)) == boundary_iou(tight, other, (40, 30))


def test_where_nothing_is_left_to_count() -> None:
    square = np.zeros((40, 30), dtype=bool)
    square[5:15, 5:15] = True
    assert iou(square, square, ignore=square) == 1.0


@pytest.mark.parametrize("other", [1, 2])
def test_masks_of_several_slices_are_refused(other: int, wording: SnapshotAssertion) -> None:
    one, two = np.zeros((2, 3, 8, 8), dtype=bool)
    one[0, 2:5, 2:5] = two[other, 2:5, 2:5] = True
    with pytest.raises(ValueError) as caught:
        boundary_iou(Mask.of(one), Mask.of(two), (8, 8))
    assert caught == wording


def measured(target: Target, answer: np.ndarray) -> float | None:
    return BoundaryIoU().measure(MaskPair(target, Mask.of(answer)))


def test_boundaries_are_of_images(ball: np.ndarray) -> None:
    image, moved = make_target(ball[9:10]), np.roll(ball[9:10], 1, axis=2)
    found = measured(image, moved)
    assert found is not None
    assert 0 < found < Overlap.of(image.mask, Mask.of(moved)).iou
    assert measured(make_target(ball), ball) is None


def test_ignored_pixels_do_not_move_a_boundary() -> None:
    """Taken out of the masks they would become a border of both."""
    truth, band = np.zeros((2, 1, 40, 40), dtype=bool)
    truth[0, 10:30, 10:30], band[0, 18:22, 10:30] = True, True
    target = replace(make_target(truth), ignore=Mask.of(band))
    answer = truth.copy()
    answer[0, 10, 10:30] = False
    # the boundary is one pixel wide: 76 pixels of the truth less 8 ignored, of the answer 74 less 8, 56 less 8 common
    assert measured(target, answer) == pytest.approx(48 / (68 + 66 - 48))
