"""The robot as a simulated user: which frame, which strokes, for which object."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage

import intrabench
from intrabench.mask import Mask
from intrabench.prompters.base import Refinement, dialogue
from intrabench.prompters.davis import DavisRobot
from intrabench.prompters.davis_slices import DavisSlices
from intrabench.prompters.joint import joint_dialogue
from intrabench.prompters.user import Clock, User, Users
from intrabench.turns import Click, DrawScribble, Turn
from tests.conftest import make_target

pytest.importorskip("skimage")
SHAPE = (5, 40, 60)


def bar(z: slice, y: slice, x: slice) -> np.ndarray:
    array = np.zeros(SHAPE, bool)
    array[z, y, x] = True
    return array


LONG, SHORT = bar(slice(0, 4), slice(5, 14), slice(8, 50)), bar(slice(1, 3), slice(22, 34), slice(8, 30))
NOTHING = np.zeros(SHAPE, bool)


def users(*truths: np.ndarray, clock: Clock | None = None, spacing_mm: Any = (1.0, 1.0, 1.0)) -> Users:
    clock = clock or Clock()
    targets = [make_target(truth, spacing_mm, instance=number) for number, truth in enumerate(truths, 1)]
    return Users(tuple(User(target, component="davis", clock=clock, given=[]) for target in targets))


def strokes(turn: Turn | None) -> list[tuple[int, set[int]]]:
    """The label of each stroke, and the frames that it is in."""
    lines = turn.prompts.scribbles if turn else ()
    return [(line.label, set(line.points[:, 0].tolist())) for line in lines]


def test_the_first_scribbles_are_in_the_frame_with_most_of_the_objects() -> None:
    turns = next(joint_dialogue(DavisRobot(), users(LONG, SHORT)))
    assert [strokes(turn) for turn in turns] == [[(1, {1})], [(1, {1})]]
    for turn, truth in zip(turns, (LONG, SHORT), strict=True):
        assert turn is not None
        (line,) = turn.prompts.scribbles
        assert truth[tuple(line.points.T)].all()
        assert len(line.points) > 15
        assert turn.actions == (DrawScribble(),)


def test_then_it_goes_to_the_worst_frame_where_it_has_not_been() -> None:
    clock = Clock()
    talk = joint_dialogue(DavisRobot(), users(LONG, SHORT, clock=clock))
    next(talk)
    answer = LONG.copy()
    answer[2, :, 30:], answer[0, :, 40:] = False, False
    seen = []
    for number in range(1, 5):
        clock.round = number
        turns = talk.send([Mask.of(answer), Mask.of(SHORT)])
        seen.append([strokes(turn) for turn in turns])
    assert seen[:2] == [[[(1, {2})], []], [[(1, {0})], []]]  # frame 2 is worse
    assert [frames for label, frames in seen[2][0]] in ([{2}], [{0}])  # nothing else is wrong, so again


def test_a_scribble_into_the_background_is_negative_for_the_object_that_is_wrongly_there() -> None:
    clock = Clock()
    talk = joint_dialogue(DavisRobot(), users(LONG, SHORT, clock=clock))
    next(talk)
    clock.round = 1
    wide = LONG | bar(slice(3, 4), slice(18, 36), slice(30, 58))
    turns = talk.send([Mask.of(wide), Mask.of(SHORT)])
    assert strokes(turns[0]) == [(0, {3})]
    assert turns[1] is None
    swapped = talk.send([Mask.of(SHORT), Mask.of(LONG)])  # each lies where the other should be
    assert strokes(swapped[0]) == [(1, {0})]
    assert swapped[1] is None  # it is told by the stroke of the other, if the rules say so


def test_nothing_is_drawn_once_all_is_right() -> None:
    talk = joint_dialogue(DavisRobot(), users(LONG, SHORT))
    next(talk)
    with pytest.raises(StopIteration):
        talk.send([Mask.of(LONG), Mask.of(SHORT)])


def test_the_published_robot_finds_nothing_to_draw_in_a_small_error() -> None:
    small = bar(slice(2, 3), slice(20, 22), slice(30, 32))
    with pytest.raises(StopIteration):
        next(joint_dialogue(DavisRobot(robot="published"), users(small)))
    (turn,) = next(joint_dialogue(DavisRobot(), users(small)))
    assert turn is not None
    assert turn.prompts.points.tolist() == [[2, 20, 30, 1]]
    assert turn.actions == (Click(),)


def test_the_published_robot_leaves_a_frame_where_it_finds_nothing_for_the_next() -> None:
    clock = Clock()
    small = bar(slice(2, 3), slice(20, 22), slice(30, 32))
    truth = LONG | small
    talk = joint_dialogue(DavisRobot(robot="published"), users(truth, clock=clock))
    next(talk)
    clock.round = 1
    answer = truth.copy()
    answer[2, 20:22, 30:32], answer[0, :, 45:] = False, False
    (turn,) = talk.send([Mask.of(answer)])
    assert strokes(turn) == [(1, {0})]


def test_one_video_object_alone() -> None:
    user = users(LONG).each[0]
    turn = next(dialogue(DavisRobot(), user))
    assert strokes(turn) == [(1, {0})]


def corrected(truth: np.ndarray, answer: np.ndarray, refinement: Refinement, **more: Any) -> Turn | None:
    return refinement.correct(users(truth, **more).each[0], Mask.of(answer))


def test_the_slice_with_the_largest_error_is_corrected() -> None:
    answer = LONG.copy()
    answer[3, :, 20:], answer[2, :, :25] = False, False
    assert strokes(corrected(LONG, answer, DavisSlices())) == [(1, {3})]
    wide = answer | bar(slice(4, 5), slice(2, 30), slice(5, 58))
    assert {label for label, _ in strokes(corrected(LONG, wide, DavisSlices()))} == {0}
    assert corrected(LONG, LONG, DavisSlices()) is None


def test_dice_chooses_the_slice_where_little_is_right() -> None:
    truth = LONG | bar(slice(4, 5), slice(5, 9), slice(8, 24))
    answer = truth.copy()
    answer[4], answer[2, :, 30:] = False, False
    assert strokes(corrected(truth, answer, DavisSlices())) == [(1, {2})]
    assert strokes(corrected(truth, answer, DavisSlices(choose="dice"))) == [(1, {4})]


def test_a_small_error_gets_a_click_on_its_deepest_voxel() -> None:
    answer = LONG.copy()
    answer[1, 8:10, 20:22] = False
    turn = corrected(LONG, answer, DavisSlices())
    assert turn is not None
    assert turn.prompts.points.tolist() == [[1, 8, 20, 1]]
    assert turn.actions == (Click(),)


def test_it_returns_to_a_slice_only_if_nothing_else_is_wrong() -> None:
    answer = LONG.copy()
    answer[3, :, 20:], answer[2, :, :20] = False, False
    someone = users(LONG)
    given: Any = someone.each[0].given
    frames = []
    for _ in range(3):
        turn = DavisSlices().correct(someone.each[0], Mask.of(answer))
        assert turn is not None
        given.append(turn)
        frames.append(turn.prompts.slices())
    assert frames == [(3,), (2,), (3,)]


def test_in_a_joint_session_all_are_corrected_in_the_slice_that_is_worst_for_all() -> None:
    left, right = LONG.copy(), SHORT.copy()
    left[3, :, 20:], left[2, :, 35:], right[2, :, 10:] = False, False, False
    turns = DavisSlices().correct_jointly(users(LONG, SHORT), [Mask.of(left), Mask.of(right)])
    assert turns is not None
    assert [strokes(turn) for turn in turns] == [[(1, {2})], [(1, {2})]]
    prompter = intrabench.prompter("points_volume:n=1,placement=center+davis_slices")
    talk = joint_dialogue(prompter, users(LONG, SHORT))
    assert all(turn is not None and len(turn.prompts.points) == 1 for turn in next(talk))
    again = talk.send([Mask.of(left), Mask.of(right)])
    assert {z for turn in again if turn for z in turn.prompts.slices()} == {2}


@settings(max_examples=settings().max_examples // 3)  # each draws two frames
@given(st.integers(0, 10**6), st.sampled_from([(1.0, 1.0, 1.0), (3.0, 0.7, 0.7), (2.0, 1.5, 0.8)]))
def test_strokes_lie_in_their_own_error_in_one_slice(seed: int, spacing_mm: tuple[float, float, float]) -> None:
    rng = np.random.default_rng(seed)
    truth, answer = (ndimage.gaussian_filter(rng.random(SHAPE), (0, 3, 3)) > 0.5 for _ in range(2))
    for refinement in (DavisSlices(), DavisSlices(choose="dice")):
        turn = corrected(truth, answer, refinement, spacing_mm=spacing_mm)
        assert turn is not None
        assert len(turn.prompts.slices()) == 1
        for line in turn.prompts.scribbles:
            wrong = (truth & ~answer) if line.label else (answer & ~truth)
            assert wrong[tuple(line.points.T)].all()
        for z, y, x, label in turn.prompts.points.tolist():
            assert truth[z, y, x] == bool(label) != answer[z, y, x]
