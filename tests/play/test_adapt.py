"""When a model does not take a prompt: what happens to each kind of prompt."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.errors import NotApplicable
from intrabench.mask import Mask
from intrabench.play import adapt as adaptation
from intrabench.play.adapt import NEITHER, ONLY_TEXT
from intrabench.prompters.user import User
from intrabench.prompts import Abilities, Lasso, Prompts, Scribble, StrokePoints, box3d, boxes, points
from intrabench.randomness import stream
from intrabench.turns import Click, DrawBox2D, DrawBox3D, DrawScribble, Turn, TypeText
from tests.conftest import make_target

adapt = partial(adaptation.adapt, rng=partial(stream, 0))

POINTS_3D = Abilities(3, frozenset({"point"}))
BOX_3D = Abilities(3, frozenset({"box3d", "point"}))
ONLY_BOX_3D = Abilities(3, frozenset({"box3d"}))
BOX_2D = Abilities(2, frozenset({"box2d"}))
POINTS_2D = Abilities(2, frozenset({"point"}))
ALL = frozenset({"point", "box2d", "box3d", "scribble", "lasso"})
ALL_3D, ALL_3D_DERIVED = Abilities(3, ALL), Abilities(3, ALL, derived="all")

THREE = Turn(boxes({2: (0, 0, 4, 4), 3: (1, 1, 5, 5), 4: (2, 2, 7, 6)}, drawn=[2, 4]), (DrawBox2D(), DrawBox2D()))
NOTHING = Mask.empty()


TEXT_3D, TEXT_POINTS_3D = Abilities(3, frozenset({"text"})), Abilities(3, frozenset({"text", "point"}))
TEXT_BOX_3D = Abilities(3, frozenset({"text", "box3d"}))
NAMED = Turn(Prompts(text="left kidney"), (TypeText(2),))
CLICKED = Turn(points([(1, 2, 3)]), (Click(),))


def test_a_text_reaches_models_that_take_it_and_no_others() -> None:
    for taken in (TEXT_3D, TEXT_POINTS_3D):
        assert adapt(NAMED, taken, NOTHING, first=True) == (NAMED, [])
    for untold in (POINTS_3D, BOX_3D, BOX_2D, POINTS_2D, ALL_3D):
        for first in (True, False):
            with pytest.raises(NotApplicable, match=ONLY_TEXT):
                adapt(NAMED, untold, NOTHING, first=first)


def test_a_text_beside_other_prompts_is_ignored_and_noted_and_costs_the_same(wording: SnapshotAssertion) -> None:
    both = Turn(Prompts(points=[[1, 2, 3, 1]], text="left kidney"), (TypeText(2), Click()))
    turn, notes = adapt(both, POINTS_3D, NOTHING, first=True)
    assert (turn.prompts.text, turn.prompts.points.tolist(), notes) == (None, [[1, 2, 3, 1]], ["text ignored"])
    assert turn.actions == both.actions
    kept, notes = adapt(both, TEXT_POINTS_3D, NOTHING, first=True)
    assert (kept.prompts.text, notes) == ("left kidney", [])
    with pytest.raises(NotApplicable) as caught:
        adapt(both, POINTS_3D, NOTHING, first=True, strict=True)
    assert caught == wording


def test_corrections_of_a_model_that_takes_only_text_do_not_exist() -> None:
    scribbled = Turn(Prompts(scribbles=(Scribble(np.array([[1, 2, 3], [1, 2, 4]])),)), (DrawScribble(),))
    for turn in (CLICKED, scribbled, THREE, Turn(box3d((0, 0, 0, 1, 1, 1)), (DrawBox3D(),))):
        with pytest.raises(NotApplicable, match=NEITHER):
            adapt(turn, TEXT_3D, NOTHING, first=False, earlier=[NAMED])
    with pytest.raises(NotApplicable, match="previous=drop"):
        adapt(replace(CLICKED, afresh=True), TEXT_3D, NOTHING, first=False, earlier=[NAMED])


def test_a_click_after_a_text_becomes_a_box_around_the_answer_for_a_model_of_boxes() -> None:
    answer = Mask.of(np.ones((2, 2, 2), dtype=bool))
    turn, notes = adapt(CLICKED, TEXT_BOX_3D, answer, first=False, earlier=[NAMED])
    assert turn.prompts.box3d is not None
    assert (turn.prompts.box3d.tolist(), notes) == ([0, 0, 0, 2, 3, 4], ["point->box3d"])


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


LINE = np.array([[z, 4, 9 - z] for z in range(6)])
STROKES = Turn(Prompts(scribbles=(Scribble(LINE, 1), Scribble(LINE + 1, 0))), (DrawScribble(), DrawScribble()))


def test_a_scribble_becomes_its_points_in_one_step() -> None:
    for abilities in (POINTS_2D, replace(POINTS_3D, strokes="all")):
        turn, notes = adapt(STROKES, abilities, NOTHING, first=True)
        given = [*((*row, 1) for row in LINE.tolist()), *((*row, 0) for row in (LINE + 1).tolist())]
        assert ([*map(tuple, turn.prompts.points.tolist())], notes) == (given, ["scribble->point"])
        assert turn.actions == STROKES.actions


@pytest.mark.parametrize(
    ("which", "positive", "notes"),
    [("one_negative", 6, ["scribble->point", "scribble->one point"]), ("one", 1, ["scribble->one point"])],
)
def test_a_model_of_volumes_gets_a_drawn_point_of_a_stroke(
    which: StrokePoints, positive: int, notes: list[str]
) -> None:
    drawn = set()
    for seed in range(60):
        rng = partial(stream, seed)
        turn, told = adapt(STROKES, replace(POINTS_3D, strokes=which), NOTHING, first=False, rng=rng)
        *first, last = turn.prompts.points.tolist()
        assert (len(first), {label for *_, label in first}, last[3], told) == (positive, {1}, 0, notes)
        assert {tuple(place) for *place, _ in first} <= {*map(tuple, LINE.tolist())}
        drawn.add((first[0][0], last[0]))
        again, _ = adapt(STROKES, replace(POINTS_3D, strokes=which), NOTHING, first=False, rng=rng)
        assert again.to_json() == turn.to_json()
    assert {z for _, z in drawn} == {1, 2, 3, 4, 5, 6}  # anywhere on the stroke, and for each stroke anew
    assert {z for z, _ in drawn} == ({0} if positive > 1 else {0, 1, 2, 3, 4, 5})
    assert len(drawn) > 6 or positive > 1


def test_models_that_take_strokes_or_no_points_get_no_drawn_point() -> None:
    assert adapt(STROKES, ALL_3D, NOTHING, first=True)[0].prompts.kinds == {"scribble"}
    turn, notes = adapt(STROKES, ONLY_BOX_3D, Mask.of(np.ones((1, 1, 1), bool)), first=False)
    assert turn.prompts.box3d is not None
    assert (turn.prompts.box3d.tolist(), notes) == ([0, 0, 0, 6, 5, 10], ["scribble->box", "point->box3d"])


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


@pytest.mark.parametrize("abilities", [ALL_3D_DERIVED, Abilities(2, ALL)])
def test_what_is_taken_passes_unchanged_and_strict_forbids_the_rest(abilities: Abilities) -> None:
    turn, notes = adapt(THREE, abilities, NOTHING, first=True, strict=True)
    assert (turn.prompts.to_json(), notes) == (THREE.prompts.to_json(), [])
    for lacking in (POINTS_2D, ALL_3D):
        with pytest.raises(NotApplicable, match="--strict"):
            adapt(THREE, lacking, NOTHING, first=True, strict=True)


TWO = Turn(
    Prompts(
        boxes2d=np.array([(2, 0, 0, 4, 4), (2, 1, 6, 7, 9), (3, 0, 0, 2, 2)]), drawn=np.array([False, True, False])
    ),
    (DrawBox2D(),),
)
"""Two boxes on a slice, and one on the next."""


def test_several_boxes_on_a_slice() -> None:
    one_box = Abilities(3, frozenset({"box2d", "point"}), derived="all", one_box=True)
    turn, notes = adapt(TWO, one_box, NOTHING, first=True)
    assert (turn.prompts.boxes2d.tolist(), notes) == ([[2, 0, 0, 7, 9], [3, 0, 0, 2, 2]], ["boxes->box"])
    assert turn.prompts.drawn.tolist() == [True, False]  # type: ignore[union-attr]
    assert adapt(turn, one_box, NOTHING, first=True)[1] == []
    assert adapt(TWO, BOX_2D, NOTHING, first=True)[1] == []  # the union of the answers
    turn, notes = adapt(TWO, POINTS_2D, NOTHING, first=True)
    assert (turn.prompts.points.tolist(), notes) == ([[2, 3, 7, 1]], ["box2d->point"])  # of the drawn one
    correction = Turn(points([(2, 8, 1)]), (Click(),))
    turn, _ = adapt(correction, BOX_2D, NOTHING, first=False, earlier=[TWO])
    assert turn.prompts.boxes2d.tolist() == [[2, 0, 0, 9, 9]]


def test_a_box_of_the_volume_says_less_than_those_of_slices() -> None:
    both = Turn(replace(TWO.prompts, box3d=np.array((1, 0, 0, 4, 8, 8))), (DrawBox2D(), DrawBox3D()))
    turn, _ = adapt(both, BOX_2D, NOTHING, first=True)
    assert turn.prompts.boxes2d.tolist() == [*TWO.prompts.boxes2d.tolist(), [1, 0, 0, 8, 8]]


def test_a_model_of_volumes_gets_what_the_hand_gave() -> None:
    line = points([(2, 1, 1), (3, 2, 2), (4, 3, 3)], clicked=[True, False, True])
    both = replace(THREE, prompts=replace(THREE.prompts, points=line.points, clicked=line.clicked))
    turn, notes = adapt(both, ALL_3D, NOTHING, first=True)
    assert turn.prompts.boxes2d.tolist() == [[2, 0, 0, 4, 4], [4, 2, 2, 7, 6]]
    assert turn.prompts.points.tolist() == [[2, 1, 1, 1], [4, 3, 3, 1]]
    assert (turn.actions, notes) == (THREE.actions, ["derived->drawn"])
    assert adapt(turn, ALL_3D, NOTHING, first=True)[1] == []  # there is nothing to drop


@pytest.mark.parametrize(
    ("spec", "model", "points", "boxes", "notes"),
    [
        ("point_interp:n=3", "sammed3d", 3, 0, ["derived->drawn"]),
        ("point_interp:n=3", "sammed3d:derived=all", 13, 0, []),
        ("point_interp:n=3+hand:jitter_mm=2", "sammed3d", 3, 0, ["derived->drawn"]),
        ("point_interp:n=3", "segvol", 3, 0, ["derived->drawn"]),
        ("point_interp:n=3", "segvol:derived=all", 13, 0, []),
        ("box_interp:n=3", "sammed3d", 3, 0, ["box2d->point"]),
        ("box_interp:n=3", "sammed3d:derived=all", 3, 0, ["box2d->point"]),  # also then only the drawn boxes
        ("box_interp:n=3", "nninteractive", 0, 3, ["derived->drawn"]),
        ("box_interp:n=3", "nninteractive:derived=all", 0, 13, []),
        ("box_interp:n=3,jitter_px=1", "sam2_video", 0, 3, ["derived->drawn"]),
        ("box_interp:n=3", "sam2_video:derived=all", 0, 13, []),
        ("box_interp:n=3", "random_walker", 0, 3, ["derived->drawn"]),
        ("box_interp:n=3", "random_walker:derived=all", 0, 13, []),
        ("box3d_slice", "random_walker", 0, 2, ["derived->drawn"]),
        ("box_slice", "random_walker", 0, 13, []),
        ("box_interp:n=3", "litemedsam", 0, 13, []),
        ("point_interp:n=3", "sam", 13, 0, []),
    ],
)
def test_what_prompters_give_to_models(
    ball: np.ndarray, spec: str, model: str, points: int, boxes: int, notes: list[str]
) -> None:
    turn = next(intrabench.prompter(spec).interact(User(make_target(ball))))
    taken, told = adapt(turn, intrabench.model(model).abilities, NOTHING, first=True)
    assert (len(taken.prompts.points), len(taken.prompts.boxes2d), told) == (points, boxes, notes)
    assert taken.actions == turn.actions


def test_a_conversion_keeps_apart_what_was_derived() -> None:
    line = points([(1, 1, 1), (2, 2, 2)], clicked=[True, False])
    stroke = Prompts(points=line.points, clicked=line.clicked, scribbles=(Scribble(np.array([[5, 5, 5]])),))
    turn, notes = adapt(Turn(stroke, (Click(),)), POINTS_3D, NOTHING, first=True)
    assert turn.prompts.points.tolist() == [[1, 1, 1, 1], [5, 5, 5, 1]]
    assert notes == ["scribble->point", "derived->drawn"]
    loop = replace(THREE.prompts, lassos=(Lasso(np.array([[6, 2, 3], [6, 6, 9]])),))
    boxed = Abilities(3, frozenset({"box2d"}))
    turn, notes = adapt(Turn(loop, (Click(),)), boxed, NOTHING, first=True)
    assert turn.prompts.boxes2d[:, 0].tolist() == [2, 4, 6]
    assert notes == ["lasso->box2d", "derived->drawn"]
    whole = Turn(replace(THREE.prompts, box3d=np.array([7, 0, 0, 8, 9, 9])), (DrawBox3D(),))
    turn, _ = adapt(whole, boxed, NOTHING, first=True)
    assert turn.prompts.boxes2d[:, 0].tolist() == [2, 4, 7]


def test_boxes_derived_from_clicks_leave_the_clicks() -> None:
    both = replace(points([(3, 2, 2)]), boxes2d=np.array([[3, 1, 1, 5, 5]]), drawn=np.array([False]))
    for lacking in (POINTS_3D, BOX_3D, POINTS_2D):
        turn, notes = adapt(Turn(both, (Click(),)), lacking, NOTHING, first=True)
        assert (turn.prompts.points.tolist(), len(turn.prompts.boxes2d)) == ([[3, 2, 2, 1]], 0)
        assert (turn.prompts.box3d, notes) == (None, ["derived->drawn"])
    with pytest.raises(NotApplicable, match="derived 2D boxes need"):
        adapt(Turn(boxes({3: (1, 1, 5, 5)}, drawn=[]), (Click(),)), POINTS_3D, NOTHING, first=True)


def test_a_turn_of_derived_prompts_alone_is_not_applicable_to_a_model_of_volumes() -> None:
    derived = Turn(boxes({3: (1, 1, 5, 5)}, drawn=[]), (Click(),))
    with pytest.raises(NotApplicable, match="only derived prompts"):
        adapt(derived, ALL_3D, NOTHING, first=False)
    assert len(adapt(derived, ALL_3D_DERIVED, NOTHING, first=False)[0].prompts.boxes2d) == 1


@pytest.mark.parametrize(
    ("spec", "builds"),
    [
        *((name, True) for name in ("sammed3d", "sammed3d_turbo", "sam2_video", "nninteractive", "random_walker")),
        *((name, True) for name in ("sam", "sam:policy=radioactive", "sam2", "grabcut", "scribbleprompt_unet")),
        *((name, True) for name in ("medsam", "litemedsam", "box_fill")),  # by the box around their mask
        *((name, False) for name in ("segvol", "segvol:derived=all", "sam:feedback=none")),
    ],
)
def test_corrections_without_earlier_prompts_need_the_last_answer(
    spec: str, builds: bool, wording: SnapshotAssertion
) -> None:
    abilities = intrabench.model(spec).abilities
    correction = Turn(points([(1, 1, 1)]), (Click(),), afresh=True)
    mask = Mask((1, 0, 0), np.ones((1, 4, 4), dtype=bool))
    assert abilities.builds_on_mask == builds
    if builds:
        taken, _ = adapt(correction, abilities, mask, first=False)
        assert taken.prompts.kinds == ({"point"} if "point" in abilities.accepts else {"box2d"})
    else:
        with pytest.raises(NotApplicable) as caught:
            adapt(correction, abilities, mask, first=False)
        assert caught == wording
        adapt(correction, abilities, mask, first=True)  # before the first answer there is nothing to drop
    adapt(replace(correction, afresh=False), abilities, mask, first=False)
