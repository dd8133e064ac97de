"""Refinements: where corrections lie, which sign they have, what they depend on, and when they end."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import ndimage
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.effort import effort_of_round
from intrabench.errors import IntraBenchError
from intrabench.mask import Mask
from intrabench.models.base import Request
from intrabench.play.lockstep import play
from intrabench.play.session import Session
from intrabench.prompters.base import Refinement
from intrabench.prompters.combined import Combined
from intrabench.prompters.errors import deepest, largest_component
from intrabench.prompters.user import Clock, User
from intrabench.prompts import Prompts, boxes
from intrabench.protocols import protocol, stopping
from intrabench.target import Target
from intrabench.turns import Click, DrawBox2D, Turn
from intrabench.volume import Volume
from tests.conftest import make_target
from tests.prompters.masks import SHAPE, pairs
from tests.prompters.paint import Paint

NAMES = [
    *(
        "scribble",
        "scribble:one_slice=published",
        "click_slice",
        "click_volume",
        "click_center",
        "click_center:units=voxel,tie=seeded",
    ),
    *("click_deepest", "click_deepest:space=slice", "click_component", "click_component:error=one_sign,depth=mm"),
    *("clickability:model=uniform,group=3", "clickability:space=slice", "clickability:group=10,mass=single"),
]
SPACING = (2.0, 0.5, 0.7)


def refinement(spec: str) -> Refinement:
    combined = intrabench.prompter(f"box_slice+{spec}")
    assert isinstance(combined, Combined)
    assert combined.refinement is not None
    return combined.refinement


def user(target: Target, **more: object) -> User:
    everywhere = Turn(boxes(dict.fromkeys(range(target.shape[0]), (0, 0, 1, 1))))
    return User(target, component="r", given=[everywhere], **more)  # type: ignore[arg-type]


def correct(spec: str, truth: np.ndarray, answer: np.ndarray, **more: object) -> Turn | None:
    return refinement(spec).correct(user(make_target(truth, SPACING), **more), Mask.of(answer))


def rows(prompts: Prompts) -> list[tuple[int, ...]]:
    """Points and strokes alike, ``z, y, x, label``."""
    strokes = [(*point, stroke.label) for stroke in prompts.scribbles for point in stroke.points.tolist()]
    return [*map(tuple, prompts.points.tolist()), *strokes]


@pytest.mark.parametrize("spec", NAMES)
@given(pairs, st.integers(0, 5))
def test_corrections_lie_on_errors_with_the_right_sign(
    spec: str, pair: tuple[np.ndarray, np.ndarray], seed: int
) -> None:
    truth, answer = pair
    assume(truth.any())
    turn = correct(spec, truth, answer, seed=seed)
    if (truth == answer).all():
        assert turn is None
        return
    assert turn is not None
    assert turn.actions
    found = rows(turn.prompts)
    assert found
    for z, y, x, label in found:
        assert truth[z, y, x] != answer[z, y, x]
        assert truth[z, y, x] == label
    again = correct(spec, truth, answer, seed=seed)
    assert again is not None
    assert again.to_json() == turn.to_json()


@given(pairs)
def test_click_slice_clicks_once_on_every_wrong_slice(pair: tuple[np.ndarray, np.ndarray]) -> None:
    truth, answer = pair
    assume(truth.any())
    turn = correct("click_slice", truth, answer)
    wrong = np.flatnonzero((truth != answer).any(axis=(1, 2))).tolist()
    assert ([] if turn is None else turn.prompts.points[:, 0].tolist()) == wrong
    if turn is not None:
        assert effort_of_round(turn.actions).interactions == len(wrong)


def test_click_slice_stays_on_the_slices_of_the_initial_prompting(ball: np.ndarray) -> None:
    target = make_target(ball)
    first, derived = Turn(boxes({9: (0, 0, 1, 1)}), (DrawBox2D(),)), Turn(boxes({10: (0, 0, 1, 1)}))
    correction = Turn(boxes({12: (0, 0, 1, 1)}), (Click(),))
    turn = refinement("click_slice").correct(User(target, given=[first, derived, correction]), Mask.empty())
    assert turn is not None
    assert turn.prompts.points[:, 0].tolist() == [9, 10]


def test_click_center_is_deep_within_the_only_slice() -> None:
    """The faces of the only slice are no border; where depth counts voxels, they are, as published."""
    truth = np.zeros((1, 20, 30), bool)
    truth[0, 4:11, 5:20] = True
    for units, place in (("mm", [0, 7, 7]), ("voxel", [0, 4, 5])):
        turn = correct(f"click_center:units={units}", truth, np.zeros_like(truth))
        assert turn is not None
        assert turn.prompts.points[0, :3].tolist() == place


@given(pairs)
def test_click_center_is_the_deepest_voxel_of_the_largest_error(pair: tuple[np.ndarray, np.ndarray]) -> None:
    truth, answer = pair
    assume(truth.any())
    assume((truth != answer).any())
    labels, count = ndimage.label(truth != answer, np.ones((3, 3, 3)))
    sizes = np.bincount(labels.ravel())[1:]
    largest = labels == count - int(sizes[::-1].argmax())
    for units, spacing in (("mm", SPACING), ("voxel", (1, 1, 1))):
        depth = ndimage.distance_transform_edt(np.pad(largest, 1), sampling=spacing)[1:-1, 1:-1, 1:-1].round(3)
        expected = np.argwhere(depth == depth.max())
        component = largest_component(Mask.of(truth != answer))
        assert np.array_equal(component.to_array(SHAPE), largest)
        assert deepest(component, SPACING, units) == [tuple(row) for row in expected.tolist()]  # type: ignore[arg-type]
        turn = correct(f"click_center:units={units}", truth, answer)
        assert turn is not None
        assert turn.prompts.points[0, :3].tolist() == expected[0].tolist()


def test_the_sign_of_a_scribble_is_a_bernoulli_draw() -> None:
    truth, answer = np.zeros((2, 20, 20), dtype=bool), np.zeros((2, 20, 20), dtype=bool)
    truth[:, 5:10, 5:10] = True  # 50 voxels, of which 30 are missed
    answer[:, 5:7, 5:10] = True
    answer[:, 5:10, 12:14] = True  # 20 wrongly included: 6 of 10 scribbles are positive
    turns = [correct("scribble", truth, answer, seed=seed) for seed in range(200)]
    positive = sum(rows(turn.prompts)[0][3] for turn in turns if turn is not None)
    assert positive / 200 == pytest.approx(30 / 50, abs=0.105)  # three standard deviations


def test_a_positive_scribble_runs_through_every_missed_slice_from_the_first_to_the_last() -> None:
    truth = np.zeros((4, 12, 20), dtype=bool)
    for z in range(4):
        truth[z, 3:8, 2 + z : 7 + z] = True
    turn = correct("scribble", truth, np.zeros_like(truth))
    assert turn is not None
    assert rows(turn.prompts) == [(z, 5, 4 + z, 1) for z in range(4)]


def test_a_negative_scribble_is_a_connected_part_of_the_outline_two_pixels_away() -> None:
    truth, answer = np.zeros((20, 30, 30), dtype=bool), np.zeros((20, 30, 30), dtype=bool)
    truth[6:14, 10:20, 10:20] = True
    answer[2:18, 10:20, 4:26] = True
    turn = correct("scribble", truth, answer)
    assert turn is not None
    assert [action.kind for action in turn.actions] == ["scribble"]
    (stroke,) = turn.prompts.scribbles
    assert {*stroke.points[:, 1].tolist()} == {10}  # the first of the worst coronal planes
    plane = np.argwhere(truth[:, 15])
    distances = [np.sqrt(((plane - point[[0, 2]]) ** 2).sum(axis=1)).min() for point in stroke.points]
    assert min(distances) > 1
    assert max(distances) <= 2
    steps = np.abs(np.diff(stroke.points, axis=0)).max(axis=1)
    assert steps.max() == 1  # in drawing order, without a jump
    assert len(stroke.points) == 0.6 * (2 * (8 + 10) + 4)  # of four sides and four corners


def test_a_rim_too_thin_for_the_outline_is_clicked_away_at_its_deepest() -> None:
    truth, answer = np.zeros((9, 20, 20), dtype=bool), np.zeros((9, 20, 20), dtype=bool)
    truth[2:7, 5:8, 2:18] = True
    answer[1:8, 5:8, 2:18] = True
    turn = correct("scribble", truth, answer)
    assert turn is not None
    assert [action.kind for action in turn.actions] == ["click"]
    assert turn.prompts.points[:, 3].tolist() == [0]


def test_a_plane_without_the_target_gets_a_line() -> None:
    truth, answer = np.zeros((9, 20, 20), dtype=bool), np.zeros((9, 20, 20), dtype=bool)
    truth[4, 2, 2] = True
    answer[1:8, 12:17, 9] = True
    answer[4, 2, 2] = True
    turn = correct("scribble", truth, answer)
    assert turn is not None
    (stroke,) = turn.prompts.scribbles
    assert stroke.points[:, 0].tolist() == [1, 2, 3, 4, 5, 6, 7]
    assert {*stroke.points[:, 2]} == {9}


def shape_of(seed: int) -> np.ndarray:
    """A picture ``(1, 128, 128)`` of a smooth shape, as a lesion or an organ has."""
    y, x = np.ogrid[:128, :128]
    waves = ndimage.gaussian_filter(np.random.default_rng(seed).normal(size=(128, 128)), 8)
    labels, _ = ndimage.label(waves / waves.std() > ((y - 64) ** 2 + (x - 64) ** 2) / 1800)
    return np.asarray(labels == 1 + np.bincount(labels.ravel())[1:].argmax())[None]


def test_no_scribble_in_a_picture_is_one_pixel() -> None:
    lengths = []
    for image in range(12):
        truth, lesions = shape_of(image), shape_of(image + 100)
        answer = np.roll(truth, (3, -5), (1, 2)) ^ np.roll(lesions, 30, 1)
        for seed in range(3):
            turn = correct("scribble", truth, answer, seed=seed)
            assert turn is not None
            strokes = turn.prompts.scribbles
            assert effort_of_round(turn.actions).interactions == (3 if strokes else 1)
            assert all(len(np.unique(one.points, axis=0)) > 1 for one in strokes)
            assert all(np.abs(np.diff(one.points, axis=0)).max() == 1 for one in strokes)
            lengths += [len(one.points) for one in strokes]
            published = correct("scribble:one_slice=published", truth, answer, seed=seed)
            assert published is not None
            assert len(rows(published.prompts)) == 1
    assert len(lengths) > 30
    assert np.median(lengths) > 20


@given(pairs, st.integers(0, 5))
def test_a_scribble_of_one_voxel_is_a_click_and_costs_one(pair: tuple[np.ndarray, np.ndarray], seed: int) -> None:
    truth, answer = pair
    assume(truth.any())
    assume((truth != answer).any())
    turn = correct("scribble", truth, answer, seed=seed)
    assert turn is not None
    drawn = [len(np.unique(one.points, axis=0)) > 1 for one in turn.prompts.scribbles]
    assert [action.kind for action in turn.actions] == (["scribble"] if drawn else ["click"])
    assert all(drawn)


@pytest.mark.parametrize("spec", ["scribble", "davis_slices"])
def test_a_round_error_in_one_slice_is_clicked_in_its_middle(spec: str) -> None:
    y, x = np.ogrid[:40, :40]
    truth = np.asarray((y - 21) ** 2 + (x - 17) ** 2 <= 81)[None]
    turn = correct(spec, truth, np.zeros_like(truth))
    assert turn is not None
    assert [action.kind for action in turn.actions] == ["click"]
    assert turn.prompts.points.tolist() == [[0, 21, 17, 1]]


def test_ignored_voxels_are_no_errors() -> None:
    truth, answer = np.zeros((3, 8, 8), dtype=bool), np.zeros((3, 8, 8), dtype=bool)
    truth[1, 2:5, 2:5] = True
    answer[1, 2:5, 2:7] = True
    target = Target("c", "t", 1, Mask.of(truth), truth.shape, SPACING, ignore=Mask.of(answer & ~truth))
    for spec in NAMES:
        assert refinement(spec).correct(user(target), Mask.of(answer)) is None


def played(spec: str, truth: np.ndarray, rounds: int = 5, stop: str = "", radius: float = 2.5) -> Session:
    volume = Volume.from_canonical(truth.astype(np.float32), SPACING)
    model = Paint(radius)
    chosen = stopping(protocol("overlap@1"), stop)
    session = Session(
        "k", make_target(truth, SPACING), intrabench.prompter(spec), model.abilities, chosen, rounds=rounds
    )
    with model.open(volume) as image:
        play([session], image)
        session.asked_of = image.requests  # type: ignore[attr-defined]
    return session


def requests(session: Session) -> list[Request]:
    return session.asked_of  # type: ignore[attr-defined, no-any-return]


@pytest.mark.parametrize("spec", NAMES)
@pytest.mark.parametrize("initial", ["box_interp:n=2", "points_slice:n=1", "point_prop:points=2", "box_prop"])
def test_round_0_is_that_of_the_initial_prompter_alone(ball: np.ndarray, initial: str, spec: str) -> None:
    alone, refined = played(initial, ball), played(f"{initial}+{spec}", ball)
    assert len(alone.rows) == 1
    assert refined.rows[0]["dice"] == alone.rows[0]["dice"]
    assert refined.rows[0]["prompts_hash"] == alone.rows[0]["prompts_hash"]
    assert len(refined.rows) == 6 or refined.rows[-1]["ended"]


def test_a_perfect_answer_is_left_alone() -> None:
    block = np.zeros((5, 9, 9), dtype=bool)
    block[1:4, 2:6, 2:7] = True
    for spec in NAMES:
        (row,) = played(f"box_slice+{spec}", block).rows
        assert (row["dice"], row["interactions"], row["ended"]) == (1.0, 6.0, True)


@pytest.mark.parametrize("spec", ["scribble", "click_slice", "click_volume"])
def test_earlier_prompts_are_given_again_or_not(ball: np.ndarray, spec: str) -> None:
    keep = requests(played(f"box_slice+{spec}", ball, rounds=2))[-1]
    drop = requests(played(f"box_slice+{spec}:previous=drop", ball, rounds=2))[-1]
    assert len(keep.given) == len(keep.turns) == len(drop.turns) == 3
    assert len(drop.given) == 1
    assert drop.mask.any()  # the last answer is fed back in both


def test_effort_of_refinement_follows_from_the_actions(ball: np.ndarray) -> None:
    session = played("box_interp:n=3+scribble", ball)
    actions = [json_turn["given"].count('"kind":"scribble"') for json_turn in session.turns]
    clicks = [json_turn["given"].count('"kind":"click"') for json_turn in session.turns]
    spent = 6 + np.cumsum(3 * np.array(actions) + clicks)
    assert [row["interactions"] for row in session.rows] == spent.tolist()


@pytest.mark.parametrize(
    ("refine", "stop", "ends"),
    [
        ("click_slice", "dice=0.85", lambda rows: rows[-1]["dice"] >= 0.85 > rows[-2]["dice"]),
        ("click_volume", "interactions=8", lambda rows: rows[-1]["interactions"] == 8),
        ("click_volume", "seconds=27", lambda rows: rows[-1]["seconds_human"] == 26),
        ("click_volume", "interactions=2", lambda rows: rows[-1]["interactions"] == 6),  # round 0 is always played
    ],
)
def test_stop_rules(ball: np.ndarray, refine: str, stop: str, ends: object) -> None:
    session = played(f"box_interp:n=3+{refine}", ball, rounds=60, stop=stop, radius=0.5)
    assert session.rows[-1]["status"] == "stopped"
    assert session.rows[-1]["ended"]
    assert ends(session.rows)  # type: ignore[operator]


def test_a_stop_rule_is_part_of_the_protocol() -> None:
    stopped = stopping(protocol("basic@1"), "dice=0.90,seconds=60")
    assert (stopped.id, stopped.stop.spec) == ("basic@1", "dice=0.9,seconds=60")
    assert stopping(protocol("basic@1"), "dice=1") == protocol("basic@1")
    assert protocol("basic@1").stop.spec == ""
    for words, told in (("dice=2", "from 0 to 1"), ("clicks=3", "no parameter 'clicks'"), ("dice", "malformed")):
        with pytest.raises(IntraBenchError, match=told):
            stopping(protocol("basic@1"), words)


@pytest.mark.parametrize("spec", NAMES)
def test_every_round_draws_anew_and_order_does_not_matter(ball: np.ndarray, spec: str) -> None:
    answer = np.zeros_like(ball)
    clocks = [Clock(number) for number in (1, 2, 1)]
    first, second, again = (correct(spec, ball, answer, clock=clock) for clock in clocks)
    assert first is not None
    assert second is not None
    assert again is not None
    assert first.to_json() == again.to_json()
    if spec in ("click_slice", "click_volume"):
        assert first.to_json() != second.to_json()


@pytest.mark.parametrize(
    "spec",
    [
        "scribble",
        "hand:jitter_mm=1",
        "box_slice+box_interp",
        "box_slice+hand:jitter_mm=1+scribble",
        "box_slice+",
        "box_slice+scribbel",
        "box_slice+scribble:previous=maybe",
        "box_slice+hand:miss_rate=2",
        "box_slice+hand:jitter=2",
    ],
)
def test_wrong_combinations_are_one_sentence(spec: str, wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        intrabench.prompter(spec)
    assert caught == wording


def test_specs_of_combinations() -> None:
    for spec in ("box_interp:n=3+scribble", "box_slice+click_center:tie=seeded+hand:jitter_mm=2"):
        assert intrabench.prompter(spec).spec == spec
    assert intrabench.prompter("box_interp+scribble:previous=keep+hand:jitter_mm=0").spec == "box_interp:n=3+scribble"
    assert intrabench.prompter("box_slice+hand:jitter_mm=0").spec == "box_slice"


@pytest.mark.parametrize("spec", ["box_prop", "point_prop+scribble"])
def test_propagation_means_nothing_for_a_model_of_volumes(ball: np.ndarray, spec: str) -> None:
    abilities = intrabench.model("random_walker").abilities
    session = Session("k", make_target(ball), intrabench.prompter(spec), abilities, protocol("overlap@1"))
    (row,) = session.rows
    assert (row["status"], row["dice"]) == ("not_applicable", None)
    assert session.request is None
