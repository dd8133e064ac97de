"""What clients painted, as gestures: middle lines, outlines, boxes, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import ndimage
from syrupy.assertion import SnapshotAssertion

from intrabench.models.parts.nninteractive_marks import marks
from intrabench.people.servers.client_gestures import gesture, outline, thinned
from intrabench.play.gestures import turn_of
from intrabench.play.validate import Refused
from intrabench.prompts import Lasso, Prompts, Scribble

SHAPE = (6, 40, 50)
YES = {"include_interaction": True}


def loop(seed: int) -> np.ndarray:
    """A filled shape in one piece."""
    noise = ndimage.gaussian_filter(np.random.default_rng(seed).random((40, 50)), 4)
    pieces, _ = ndimage.label(noise > np.quantile(noise, 0.7), np.ones((3, 3)))
    return ndimage.binary_fill_holes(pieces == pieces[tuple(np.argwhere(pieces)[0])])


@pytest.mark.parametrize("seed", range(8))
def test_an_outline_makes_the_same_loop_again(seed: int) -> None:
    """Our client fills it as nnInteractive's do."""
    filled = loop(seed)
    found = gesture("lasso", {**YES, "interaction_bbox": [[3, 4], [0, 40], [0, 50]]}, filled[None], SHAPE)
    assert found.kind == "lasso"
    (mark,) = marks(turn_of([found]).prompts, SHAPE, (1, 1, 1))
    again = np.zeros(SHAPE, bool)
    again[tuple(slice(*bound) for bound in mark.bbox)] = mark.image
    assert np.array_equal(again[3], filled)
    assert again.sum() == filled.sum()


def test_an_outline_of_one_pixel_and_of_two() -> None:
    dot = np.zeros((5, 5), bool)
    dot[2, 3] = True
    assert outline(dot).tolist() == [[2, 3]]
    dot[3, 4] = True
    assert {tuple(row) for row in outline(dot).tolist()} == {(2, 3), (3, 4)}


@pytest.mark.parametrize("thickness", [1, 3, 5])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_stroke_is_its_middle_line(axis: int, thickness: int) -> None:
    """A straight stroke along the last other axis, painted with a brush in its plane."""
    painted, other, along = np.zeros((30, 31, 32), np.uint8), *[one for one in range(3) if one != axis]
    at = [0, 0, 0]
    at[axis], at[other] = 4, 15
    where: list[Any] = [slice(4, 5)] * 3
    where[other] = slice(15 - thickness // 2, 16 + thickness // 2)
    where[along] = slice(5, 25)
    painted[tuple(where)] = 1
    found = gesture("scribble", {"include_interaction": False}, painted, painted.shape)  # type: ignore[arg-type]
    rows = np.array(found.place)
    assert (found.kind, found.label) == ("scribble", 0)
    assert set(rows[:, axis]) == {4}
    assert set(rows[:, other]) == {15}
    assert (np.abs(np.diff(rows[:, along])) == 1).all()  # in drawing order, or the other way round
    assert len(rows) >= 20 - thickness


def test_a_thin_stroke_comes_back_as_it_was_drawn() -> None:
    rows = np.array([(2, y, 10 + y // 3) for y in range(5, 30)])
    (mark,) = marks(Prompts(scribbles=(Scribble(rows),)), SHAPE, (1, 1, 1))
    assert mark.image is not None
    found = np.array(gesture("scribble", {**YES, "interaction_bbox": mark.bbox}, mark.image, SHAPE).place)
    assert found.tolist() in (rows.tolist(), rows[::-1].tolist())


def test_thinning_keeps_pieces_and_squares() -> None:
    mask = np.zeros((20, 20), bool)
    mask[2:4, 2:4] = mask[8:15, 3:17] = True
    thin = thinned(mask)
    assert not (thin & ~mask).any()
    assert ndimage.label(thin, np.ones((3, 3)))[1] >= 1
    assert thin[8:15, 3:17].sum(axis=0).max() == 1
    square = np.zeros((4, 4), bool)
    square[1:3, 1:3] = True
    assert thinned(square).sum() == 1


@pytest.mark.parametrize(
    ("box", "kind", "place"),
    [
        ([[3, 4], [5, 9], [6, 12]], "box2d", (3, 5, 6, 9, 12)),
        ([[1, 4], [5, 9], [6, 12]], "box3d", (1, 5, 6, 4, 9, 12)),
        ([[1, 4], [5, 6], [6, 12]], "box3d", (1, 5, 6, 4, 6, 12)),
        ([[4, 3], [9, 5], [12.2, 5.8]], "box2d", (3, 5, 6, 9, 12)),
        ([[-4, 3], [30, 99], [0, 50]], "box3d", (0, 30, 0, 3, 40, 50)),
    ],
)
def test_boxes(box: Any, kind: str, place: Any) -> None:
    found = gesture("bbox", {**YES, "bbox_coords": box}, None, SHAPE)
    assert (found.kind, tuple(found.place)) == (kind, place)


def test_a_lasso_across_the_slices_is_a_stroke() -> None:
    painted = np.ones((4, 1, 9), np.uint8)
    found = gesture("lasso", {**YES, "interaction_bbox": [[1, 5], [7, 8], [20, 29]]}, painted, SHAPE)
    assert found.kind == "scribble"
    assert len(found.place) == 2 * (4 + 9) - 4
    assert turn_of([found]).prompts.extents().tolist() == [[1, 7, 20, 5, 8, 29]]


@pytest.mark.parametrize(
    ("kind", "meta", "painted"),
    [
        ("point", {"coordinates": [1, 2, 3]}, None),
        ("point", {**YES, "coordinates": [1, 2]}, None),
        ("point", {**YES, "coordinates": [1, 2, "x"]}, None),
        ("point", {**YES, "coordinates": [1, 2, float("nan")]}, None),
        ("point", {**YES, "coordinates": [1, 2, 1e300]}, None),
        ("point", {**YES, "coordinates": [1, 2, 50]}, None),
        ("bbox", {**YES, "bbox_coords": [[1, 1], [2, 3], [2, 3]]}, None),
        ("bbox", {**YES, "bbox_coords": [[9, 12], [2, 3], [2, 3]]}, None),
        ("bbox", {**YES}, None),
        ("scribble", YES, np.zeros(SHAPE, np.uint8)),
        ("scribble", YES, np.ones((2, 2, 2), np.uint8)),
        ("scribble", {**YES, "interaction_bbox": [[5, 7], [0, 1], [0, 1]]}, np.ones((2, 1, 1), bool)),
        ("lasso", {**YES, "interaction_bbox": [[0, 2]] * 3}, np.ones((2, 2, 2), bool)),
    ],
)
def test_what_is_refused(kind: Any, meta: Any, painted: Any, wording: SnapshotAssertion) -> None:
    with pytest.raises(Refused) as caught:
        gesture(kind, meta, painted, SHAPE)
    assert caught == wording


def test_a_lasso_is_what_the_prompts_say() -> None:
    corners = np.array([(2, 6, 10), (2, 18, 10), (2, 12, 21)])
    (mark,) = marks(Prompts(lassos=(Lasso(corners, 0),)), SHAPE, (1, 1, 1))
    found = gesture("lasso", {"include_interaction": False, "interaction_bbox": mark.bbox}, mark.image, SHAPE)
    (again,) = marks(turn_of([found]).prompts, SHAPE, (1, 1, 1))
    assert again.label == 0
    assert np.array_equal(again.image, mark.image)  # type: ignore[arg-type]
