"""When a model does not take a prompt: what happens to each kind of prompt."""

from __future__ import annotations

import numpy as np
import pytest

from intrabench.errors import NotApplicable
from intrabench.mask import Mask
from intrabench.play.adapt import adapt
from intrabench.prompts import (
    Abilities,
    Click,
    DrawBox2D,
    DrawBox3D,
    Lasso,
    Prompts,
    Scribble,
    Turn,
    box3d,
    boxes,
    points,
)

POINTS_3D = Abilities(3, frozenset({"point"}))
BOX_3D = Abilities(3, frozenset({"box3d", "point"}))
ONLY_BOX_3D = Abilities(3, frozenset({"box3d"}))
BOX_2D = Abilities(2, frozenset({"box2d"}))
POINTS_2D = Abilities(2, frozenset({"point"}))
ALL_3D = Abilities(3, frozenset({"point", "box2d", "box3d", "scribble", "lasso"}))

THREE = Turn(boxes({2: (0, 0, 4, 4), 3: (1, 1, 5, 5), 4: (2, 2, 7, 6)}, drawn=[2, 4]), (DrawBox2D(), DrawBox2D()))
NOTHING = Mask.empty()


def test_2d_boxes_become_the_centres_of_the_drawn_ones() -> None:
    turn, notes = adapt(THREE, POINTS_3D, NOTHING, first=True)
    assert turn.prompts.points.tolist() == [[2, 1, 1, 1], [4, 4, 3, 1]]
    assert turn.prompts.kinds == {"point"}
    assert notes == ["box2d->point"]
    assert turn.actions == THREE.actions


def test_2d_boxes_become_the_tight_3d_box_of_the_drawn_ones() -> None:
    turn, notes = adapt(THREE, BOX_3D, NOTHING, first=True)
    assert turn.prompts.box3d is not None
    assert turn.prompts.box3d.tolist() == [2, 0, 0, 5, 7, 6]
    assert (turn.prompts.kinds, notes) == ({"box3d"}, ["box2d->box3d"])


def test_a_3d_box_becomes_the_same_2d_box_on_each_of_its_slices() -> None:
    turn, notes = adapt(Turn(box3d((1, 2, 3, 4, 5, 6)), (DrawBox3D(),)), BOX_2D, NOTHING, first=True)
    assert turn.prompts.boxes2d.tolist() == [[z, 2, 3, 5, 6] for z in (1, 2, 3)]
    assert notes == ["box3d->box2d"]


def test_a_3d_box_becomes_the_middle_2d_box_for_a_model_of_volumes() -> None:
    abilities = Abilities(3, frozenset({"box2d", "point"}))
    turn, notes = adapt(Turn(box3d((1, 2, 3, 5, 5, 6)), (DrawBox3D(),)), abilities, NOTHING, first=True)
    assert (turn.prompts.boxes2d.tolist(), notes) == ([[2, 2, 3, 5, 6]], ["box3d->box2d"])


def test_a_3d_box_becomes_its_centre() -> None:
    turn, notes = adapt(Turn(box3d((1, 2, 3, 4, 5, 7)), (DrawBox3D(),)), POINTS_3D, NOTHING, first=True)
    assert (turn.prompts.points.tolist(), notes) == ([[2, 3, 4, 1]], ["box3d->point"])


def test_a_scribble_becomes_its_points_in_one_step() -> None:
    scribble = Scribble(np.array([[1, 1, 1], [1, 1, 2]]), label=0)
    turn, notes = adapt(Turn(Prompts(scribbles=(scribble,)), (Click(),)), POINTS_3D, NOTHING, first=True)
    assert (turn.prompts.points.tolist(), notes) == ([[1, 1, 1, 0], [1, 1, 2, 0]], ["scribble->point"])


def test_a_lasso_becomes_its_tight_box() -> None:
    lasso = Lasso(np.array([[4, 2, 3], [4, 6, 3], [4, 6, 9]]))
    turn, notes = adapt(Turn(Prompts(lassos=(lasso,)), (Click(),)), BOX_2D, NOTHING, first=True)
    assert (turn.prompts.boxes2d.tolist(), notes) == ([[4, 2, 3, 7, 10]], ["lasso->box2d"])
    negative = Turn(Prompts(lassos=(Lasso(lasso.points, 0),)), (Click(),))
    with pytest.raises(NotApplicable):
        adapt(negative, BOX_2D, NOTHING, first=False)


@pytest.mark.parametrize("abilities", [BOX_2D, ONLY_BOX_3D])
def test_an_initial_point_is_not_applicable_to_a_model_that_takes_only_boxes(abilities: Abilities) -> None:
    with pytest.raises(NotApplicable, match="initial point"):
        adapt(Turn(points([(1, 1, 1)]), (Click(),)), abilities, NOTHING, first=True)


def test_corrections_become_the_box_of_the_slice_and_the_positive_points() -> None:
    array = np.zeros((3, 10, 10), dtype=bool)
    array[1, 2:4, 2:4] = True
    array[2, 0, 0] = True
    correction = Turn(Prompts(points=[[1, 7, 3, 1], [1, 0, 0, 0], [2, 5, 5, 0]]), (Click(),))
    turn, notes = adapt(correction, BOX_2D, Mask.of(array), first=False)
    assert turn.prompts.boxes2d.tolist() == [[1, 2, 2, 8, 4]]
    assert (turn.prompts.kinds, notes) == ({"box2d"}, ["point->box2d"])
    turn, notes = adapt(correction, ONLY_BOX_3D, Mask.of(array), first=False)
    assert turn.prompts.box3d is not None
    assert (turn.prompts.box3d.tolist(), notes) == ([1, 0, 0, 3, 8, 4], ["point->box3d"])


def test_corrections_keep_the_earlier_box() -> None:
    array = np.zeros((3, 10, 10), dtype=bool)
    array[1, 2:4, 2:4] = True
    correction = Turn(Prompts(points=[[1, 7, 3, 1], [2, 5, 5, 1]]), (Click(),))
    earlier = [Turn(boxes({1: (5, 0, 6, 3)})), Turn(boxes({1: (1, 1, 5, 9)}))]  # the later one counts
    turn, _ = adapt(correction, BOX_2D, Mask.of(array), first=False, earlier=earlier)
    assert turn.prompts.boxes2d.tolist() == [[1, 1, 1, 8, 9], [2, 5, 5, 6, 6]]
    turn, _ = adapt(correction, ONLY_BOX_3D, Mask.of(array), first=False, earlier=[Turn(box3d((0, 3, 3, 2, 5, 5)))])
    assert turn.prompts.box3d is not None
    assert turn.prompts.box3d.tolist() == [0, 2, 2, 3, 8, 6]


def test_negative_corrections_alone_are_ignored() -> None:
    turn, notes = adapt(Turn(points([(1, 1, 1)], label=0), (Click(),)), BOX_2D, NOTHING, first=False)
    assert (turn.prompts.kinds, notes) == (frozenset(), ["ignored"])


def test_slice_propagation_is_not_applicable_to_a_volume_model() -> None:
    free = Turn(boxes({3: (0, 0, 4, 4)}))
    with pytest.raises(NotApplicable, match="slice by slice"):
        adapt(free, ALL_3D, NOTHING, first=False)
    turn, notes = adapt(free, BOX_2D, NOTHING, first=False)
    assert (turn.prompts.boxes2d.tolist(), notes) == ([[3, 0, 0, 4, 4]], [])


def test_what_is_taken_passes_unchanged_and_strict_forbids_the_rest() -> None:
    turn, notes = adapt(THREE, ALL_3D, NOTHING, first=True, strict=True)
    assert (turn.prompts.to_json(), notes) == (THREE.prompts.to_json(), [])
    with pytest.raises(NotApplicable, match="--strict"):
        adapt(THREE, POINTS_2D, NOTHING, first=True, strict=True)
