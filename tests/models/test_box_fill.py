"""box_fill: analytic cases."""

from __future__ import annotations

import numpy as np
import pytest

from intrabench.mask import Box
from intrabench.models.base import Answer, Request
from intrabench.models.box_fill import BoxFill, fill
from intrabench.prompts import Prompts, box3d, boxes, points
from intrabench.turns import Turn
from intrabench.volume import Volume

SHAPE = (6, 8, 10)
VOLUME = Volume.from_canonical(np.arange(np.prod(SHAPE)).reshape(SHAPE))


def answer(*prompts: Prompts) -> np.ndarray:
    with BoxFill().open(VOLUME) as image:
        [result] = image.segment([Request("s", tuple(Turn(p) for p in prompts))])
    assert isinstance(result, Answer)
    return result.update.to_array(SHAPE)


def block(*bounds: Box) -> np.ndarray:
    expected = np.zeros(SHAPE, dtype=bool)
    for z0, y0, x0, z1, y1, x1 in bounds:
        expected[z0:z1, y0:y1, x0:x1] = True
    return expected


def test_3d_box() -> None:
    np.testing.assert_array_equal(answer(box3d((1, 2, 3, 4, 5, 6))), block((1, 2, 3, 4, 5, 6)))


def test_several_2d_boxes_leave_the_slices_between_empty() -> None:
    filled = answer(boxes({1: (2, 3, 5, 6), 4: (0, 0, 8, 10)}))
    np.testing.assert_array_equal(filled, block((1, 2, 3, 2, 5, 6), (4, 0, 0, 5, 8, 10)))


def test_later_2d_box_replaces_the_earlier_on_its_slice() -> None:
    filled = answer(boxes({1: (0, 0, 8, 10), 2: (1, 1, 3, 3)}), boxes({1: (2, 3, 5, 6)}))
    np.testing.assert_array_equal(filled, block((1, 2, 3, 2, 5, 6), (2, 1, 1, 3, 3, 3)))


def test_boxes_given_at_once_on_a_slice_are_all_filled() -> None:
    parts = Prompts(boxes2d=np.array([(1, 0, 0, 2, 3), (1, 4, 5, 7, 9)]))
    np.testing.assert_array_equal(
        answer(boxes({1: (0, 0, 8, 10)}), parts), block((1, 0, 0, 2, 2, 3), (1, 4, 5, 2, 7, 9))
    )


@pytest.mark.parametrize(
    ("box", "clipped"),
    [
        ((-2, -2, -2, 2, 3, 4), (0, 0, 0, 2, 3, 4)),
        ((4, 6, 7, 60, 80, 100), (4, 6, 7, 6, 8, 10)),
        ((7, 0, 0, 9, 2, 2), (0, 0, 0, 0, 0, 0)),
    ],
)
def test_clipped_to_the_volume(box: Box, clipped: Box) -> None:
    np.testing.assert_array_equal(answer(box3d(box)), block(clipped))


def test_a_box_outside_does_not_disturb_one_inside() -> None:
    filled = fill([(20, 0, 0, 22, 2, 2), (1, 1, 1, 2, 2, 2)], SHAPE)
    np.testing.assert_array_equal(filled.to_array(SHAPE), block((1, 1, 1, 2, 2, 2)))


def test_no_box_is_an_empty_answer() -> None:
    assert not answer(points([(1, 1, 1)])).any()
