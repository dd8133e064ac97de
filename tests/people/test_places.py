"""Where voxels lie beside a mask, and edges beside the tight box."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from intrabench.mask import Mask
from intrabench.people.places import depth_mm, edges
from intrabench.prompts import box3d, boxes
from intrabench.target import Target

CUBE = Mask.of(np.ones((5, 7, 9)), (2, 3, 4))
SPACING = (2.0, 1.0, 0.5)
TARGET = Target("case", "cube", 1, CUBE, (20, 30, 40), SPACING)


@pytest.mark.parametrize(
    ("voxel", "depth"),
    [
        ((4, 6, 8), 2.5),  # the middle; 5 voxels of 0.5 mm to the next one outside along x
        ((2, 6, 8), 2.0),
        ((4, 3, 8), 1.0),
        ((1, 6, 8), -2.0),
        ((4, 6, 14), -1.0),
        ((4, 1, 14), -np.hypot(2, 1)),
    ],
)
def test_depth_is_to_the_nearest_voxel_of_the_other_side(voxel: tuple[int, int, int], depth: float) -> None:
    assert depth_mm(CUBE, np.array([voxel]), SPACING) == pytest.approx([depth])


def test_nothing_is_infinitely_far() -> None:
    assert depth_mm(Mask.empty(), np.array([[0, 0, 0]]), SPACING).tolist() == [-np.inf]
    assert len(depth_mm(CUBE, np.zeros((0, 3), np.int64), SPACING)) == 0


@given(st.tuples(st.integers(0, 9), st.integers(0, 15), st.integers(0, 19)), st.floats(0.1, 10))
def test_the_sign_is_that_of_the_mask_and_lengths_scale(voxel: tuple[int, int, int], unit: float) -> None:
    there = np.array([voxel])
    (depth,) = depth_mm(CUBE, there, SPACING)
    assert (depth > 0) == CUBE.contains(there)[0]
    scaled = tuple(one * unit for one in SPACING)
    assert depth_mm(CUBE, there, scaled)[0] == pytest.approx(depth * unit, rel=1e-5)  # type: ignore[arg-type]


def test_edges_lie_outwards_of_the_tight_box() -> None:
    (found,) = edges(TARGET, boxes({4: (2, 6, 11, 12)}))
    assert found.tolist() == [[1, 7, 1], [-1, 4.5, 0.5], [1, 7, 1], [-0.5, 4.5, 0.5]]
    (found,) = edges(TARGET, box3d((2, 3, 4, 8, 10, 13)))
    assert found.tolist() == [[0, 10, 2], [0, 7, 1], [0, 4.5, 0.5], [2, 10, 2], [0, 7, 1], [0, 4.5, 0.5]]


def test_boxes_that_miss_have_no_edges() -> None:
    assert list(edges(TARGET, boxes({0: (2, 6, 11, 12), 4: (20, 20, 25, 25)}))) == []
    assert list(edges(TARGET, box3d((10, 0, 0, 12, 9, 9)))) == []
    thin = Target("case", "cube", 1, Mask.of(np.ones((9, 9, 4)), (0, 0, 0)), (20, 30, 40), SPACING)
    assert list(edges(thin, boxes({4: (0, 0, 9, 4)}))) == []
    flat = Target("case", "cube", 1, Mask.of(np.ones((4, 9, 9)), (0, 0, 0)), (20, 30, 40), SPACING)
    assert len(list(edges(flat, boxes({3: (0, 0, 9, 9)})))) == 1
    assert list(edges(flat, box3d((0, 0, 0, 4, 9, 9)))) == []
    derived = boxes({4: (2, 6, 11, 12), 5: (2, 6, 11, 12)}, drawn=[4])
    assert len(list(edges(TARGET, derived))) == 1
