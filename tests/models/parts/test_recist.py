"""Strokes as MedSAM2's script gives them to the network."""

from __future__ import annotations

import numpy as np
import pytest

from intrabench.models.parts.recist import Line, without_strokes
from intrabench.prompts import Prompts, Scribble

SHAPE = (40, 60)


def taken(rows: list[tuple[int, int, int]], line: Line = "points", label: int = 1) -> Prompts:
    return without_strokes(Prompts(scribbles=(Scribble(np.array(rows), label),)), line, SHAPE)


def test_five_pixels_are_those_that_the_script_draws_first() -> None:
    xs = np.arange(20, 38)
    chosen = np.random.RandomState(2024).choice(len(xs), size=5, replace=False)
    found = taken([(4, 7, int(x)) for x in xs[::-1]])  # in any order, with one pixel twice
    assert found.points.tolist() == [[4, 7, int(xs[n]), 1] for n in chosen]
    assert len(np.unique(found.points, axis=0)) == 5
    assert found.kinds == {"point"}
    assert np.array_equal(taken([(4, 7, 20), *((4, 7, int(x)) for x in xs)]).points, found.points)


@pytest.mark.parametrize("line", ["points", "box"])
def test_a_line_on_the_background_is_points(line: Line) -> None:
    found = taken([(1, 3, x) for x in range(9)], line, label=0)
    assert len(found.points) == 5
    assert set(found.points[:, 3].tolist()) == {0}
    assert len(found.boxes2d) == 0


def test_short_lines_give_all_their_pixels() -> None:
    assert sorted(taken([(0, 1, 1), (0, 2, 2), (0, 3, 3)]).points.tolist()) == [[0, n, n, 1] for n in (1, 2, 3)]
    for line in ("points", "box"):
        assert taken([(2, 9, 9)], line).points.tolist() == [[2, 9, 9, 1]]


@pytest.mark.parametrize(
    ("ends", "square"),
    [
        (((10, 20), (10, 31)), (5, 20, 15, 30)),  # 11 long: its middle is at 25 and half of it 5
        (((10, 20), (13, 24)), (9, 20, 13, 24)),  # 5 long, so 2 to each side of 11, 22
        (((2, 30), (2, 50)), (0, 30, 12, 50)),  # not above the slice
        (((20, 59), (39, 59)), (20, 50, 38, 59)),  # nor beyond its last pixel
    ],
)
def test_the_square_around_a_line(
    ends: tuple[tuple[int, int], tuple[int, int]], square: tuple[int, int, int, int]
) -> None:
    (y0, x0), (y1, x1) = ends
    count = max(y1 - y0, abs(x1 - x0)) + 1
    pixels = zip(np.linspace(y0, y1, count).round().astype(int), np.linspace(x0, x1, count).astype(int), strict=True)
    found = taken([(3, int(y), int(x)) for y, x in pixels], "box")
    assert found.boxes2d.tolist() == [[3, *square]]
    assert len(found.points) == 0


def test_a_stroke_across_slices_is_a_line_in_each() -> None:
    found = taken([(0, 5, 5), (1, 5, 6), (1, 5, 7)])
    assert sorted(found.points.tolist()) == [[0, 5, 5, 1], [1, 5, 6, 1], [1, 5, 7, 1]]


def test_other_prompts_stay_in_front() -> None:
    prompts = Prompts(points=[(1, 2, 3, 0)], boxes2d=[(0, 1, 1, 4, 4)], scribbles=(Scribble([(1, 8, 8)]),))
    found = without_strokes(prompts, "points", SHAPE)
    assert found.points.tolist() == [[1, 2, 3, 0], [1, 8, 8, 1]]
    assert found.boxes2d.tolist() == [[0, 1, 1, 4, 4]]
