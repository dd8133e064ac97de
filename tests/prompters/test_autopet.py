"""The scribbles of autoPET V: equal to the published simulator's, and each of its traps by its parameter."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import ndimage
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.errors import IntraBenchError
from intrabench.identity.versions import version_of
from intrabench.mask import Mask, grow
from intrabench.prompters.base import CannotCorrect
from intrabench.prompters.combined import parts_of
from intrabench.prompters.errors import largest_part
from intrabench.prompters.strokes import STROKES
from intrabench.prompters.user import User
from intrabench.target import Target
from intrabench.turns import Turn
from tests.prompters import masks

pytest.importorskip("skimage")
GOLDEN = Path(__file__).parents[1] / "golden" / "autopet5"
UNITS = json.loads((GOLDEN / "scribble_units.json").read_text())["units"]
MASKS = np.load(GOLDEN / "scribble_units.npz")


def target_of(array: np.ndarray) -> Target:
    depth, height, width = array.shape
    return Target("case", "lesion", 0, Mask.of(array), (depth, height, width), (3.0, 2.0, 2.0))


def correction(truth: np.ndarray, answer: np.ndarray, words: str = "", seed: int = 0) -> Turn:
    refinement: Any = parts_of(f"autopet:{words}" if words else "autopet")[0]
    return refinement.correct(User(target_of(truth), seed=seed, component="autopet"), Mask.of(answer))


def drawn(turn: Turn) -> list[list[int]]:
    (scribble,) = turn.prompts.scribbles
    return scribble.points.tolist()


@pytest.mark.parametrize("order", ["F", "C"])
@pytest.mark.parametrize("name", UNITS)
def test_scribbles_are_the_published_ones(name: str, order: str) -> None:
    """Through the prompter: all of the mask is missed, and one far voxel besides is wrong."""
    mask = np.ascontiguousarray(MASKS[name].T.astype(bool))
    for words, expected in UNITS[name][order].items():
        style, _, old = words.partition(" with cc3d ")
        if expected.get("returned") == 2:
            assert not mask.any()
            continue
        options = f"style={style},empty=counts_zero,memory={'fortran' if order == 'F' else 'c'}"
        turn = correction(mask, np.zeros_like(mask), options + (",ties=pixel" if old else ""))
        assert [point[::-1] for point in drawn(turn)] == expected["points"]
        assert turn.prompts.scribbles[0].label == 1
        assert [action.kind for action in turn.actions] == ["scribble" if expected["size"] > 1 else "click"]


def test_orders_of_memory_and_ties_make_a_difference() -> None:
    """So that the parameters above are not idle."""
    assert UNITS["equal_parts_in_slice"]["C"] != UNITS["equal_parts_in_slice"]["F"]
    assert any(" with cc3d" in words for unit in UNITS.values() for order in unit.values() for words in order)


def test_the_sign_is_that_of_the_longer_scribble_or_of_the_larger_error() -> None:
    truth, answer = np.zeros((2, 3, 40, 40), bool)
    truth[1, 2:31, 2] = True  # a line of 29 missed voxels, of which 24 are drawn
    answer[1, 5:20, 10:25] = True  # a square of 225 wrong ones, whose skeleton is shorter
    by_voxels, by_error = (correction(truth, answer, words) for words in ("", "sign=error"))
    assert [turn.prompts.scribbles[0].label for turn in (by_voxels, by_error)] == [1, 0]
    assert len(drawn(by_voxels)) == 24
    both = correction(truth, np.roll(truth, 5, axis=2))
    assert both.prompts.scribbles[0].label == 1, "equal ones are missed"


def test_an_empty_side_fails_or_counts_zero(wording: SnapshotAssertion) -> None:
    truth = np.zeros((3, 12, 12), bool)
    truth[1, 3:8, 3:8] = True
    with pytest.raises(CannotCorrect) as caught:
        correction(truth, np.zeros_like(truth))
    assert caught == wording
    with pytest.raises(CannotCorrect, match="no missed voxels,"):
        correction(truth, np.ones_like(truth))
    with pytest.raises(CannotCorrect) as caught:
        correction(truth, truth)
    assert caught == wording
    assert correction(truth, truth, "empty=counts_zero").waits
    assert correction(truth, np.ones_like(truth), "empty=counts_zero").prompts.scribbles[0].label == 0


def test_without_a_lesion_nothing_is_drawn() -> None:
    nothing, answer = np.zeros((3, 12, 12), bool), np.ones((3, 12, 12), bool)
    assert correction(nothing, answer).waits


def test_the_same_error_gives_the_same_scribble_unless_the_seed_is_the_sessions() -> None:
    truth = np.zeros((1, 40, 40), bool)
    truth[0, 5:35, 5:35] = True
    answer = np.zeros_like(truth)
    answer[0, 0, 0] = True
    for style in ("random", "boundary"):
        assert len({str(drawn(correction(truth, answer, f"style={style}", seed))) for seed in range(4)}) == 1
        own = [str(drawn(correction(truth, answer, f"style={style},seed=session", seed))) for seed in (0, 1, 2, 0)]
        assert len(set(own)) == 3
        assert own[0] == own[3]


def test_a_small_disc_is_painted_all_over_or_in_its_middle() -> None:
    z, y, x = np.ogrid[:1, :21, :21]
    disc = ((y - 10) ** 2 + (x - 10) ** 2 <= 64) & (z == 0)
    assert len(drawn(correction(disc, ~disc & (y < 1), "sign=error"))) == disc.sum() == 197
    assert drawn(correction(disc, ~disc & (y < 1), "sign=error,thin=keeps")) == [[0, 10, 10]]


def test_parts_of_a_slice_and_the_slice_with_most_errors() -> None:
    mask = np.zeros((2, 12, 12), bool)
    mask[0, 1:5, 1:5] = True  # the largest part
    mask[1, 1::3, 1:11] = True  # the slice with most voxels
    assert largest_part(Mask.of(mask)).box == (0, 1, 1, 1, 5, 5)
    assert largest_part(Mask.of(mask), where="slice").box == (1, 1, 1, 2, 2, 11)
    corner = np.zeros((1, 8, 8), bool)
    corner[0, 1:4, 1:4] = corner[0, 4:7, 4:7] = True
    assert largest_part(Mask.of(corner)).voxels == 18
    assert largest_part(Mask.of(corner), connectivity=4).voxels == 9


@given(st.integers(0, 10**6), st.sampled_from(sorted(STROKES)), st.booleans())
def test_scribbles_lie_in_one_part_of_one_error(seed: int, style: Any, dense: bool) -> None:
    rng = np.random.default_rng(seed)
    mask = Mask.of(rng.random((3, 11, 13)) < (0.8 if dense else 0.4))
    part = largest_part(mask)
    box = grow(part.box, (0, 1, 1), (3, 11, 13))
    stroke = STROKES[style](part.crop(box)[0].T, Random(42))
    assert len(stroke) > 0
    assert part.crop(box)[0].T[tuple(stroke.T)].all()
    assert stroke.tolist() == sorted(stroke.tolist())
    assert len(np.unique(stroke, axis=0)) == len(stroke)


SIMULATED = json.loads((GOLDEN / "presimulated.json").read_text())["cases"]


@pytest.mark.parametrize("style", STROKES)
@pytest.mark.parametrize("case", [case for case in SIMULATED if case != "p4_no_lesion"])
def test_first_scribbles_are_those_that_are_published_for_training(case: str, style: str) -> None:
    label = np.load(GOLDEN / "cases" / f"{case}.npz")["label"].T > 0
    turn = first(f"autopet_start:style={style}", label)
    for name, sign in (("tumor", 1), ("background", 0)):
        strokes = [stroke.points[:, ::-1] for stroke in turn.prompts.scribbles if stroke.label == sign]
        assert np.vstack(strokes).tolist() == SIMULATED[case][style][name]
    assert len(turn.actions) == len(turn.prompts.scribbles)


def test_its_parameter_of_parts_is_not_taken_for_parts_of_a_combined_prompter(tmp_path: Path) -> None:
    rows = intrabench.run("random_walker", "autopet_start:parts=2", "phantom:shape=16x32x32", out=tmp_path / "out")
    assert rows["status"].unique().to_list() == ["ok"]
    assert rows["interactions"].min() >= 3  # scribbles, and none of them is lost


def first(spec: str, array: np.ndarray, seed: int = 0) -> Turn:
    prompter = intrabench.prompter(spec)
    return next(prompter.interact(User(target_of(array), seed=seed, component=prompter.spec)))


@given(masks.targets, st.sampled_from(sorted(STROKES)))
def test_first_scribbles_lie_in_the_target_and_beside_it(mask: np.ndarray, style: str) -> None:
    strokes = first(f"autopet_start:style={style}", mask).prompts.scribbles
    near = ndimage.binary_dilation(mask, ndimage.generate_binary_structure(3, 1), 2)
    for stroke in strokes:
        assert len(np.unique(stroke.points[:, 0])) == 1
        assert (mask if stroke.label else near & ~mask)[tuple(stroke.points.T)].all()
    signs = {stroke.label for stroke in strokes}
    assert signs == ({1} if near.sum() == mask.sum() else {0, 1})


def test_parts_beyond_a_number_are_drawn_by_lot() -> None:
    array = np.zeros((3, 60, 60), bool)
    array[1, 3::8, 3::8] = True  # 64 single voxels
    chosen = [
        str([stroke.points.tolist() for stroke in first("autopet_start", array, seed).prompts.scribbles])
        for seed in (0, 1, 0)
    ]
    assert chosen[0] == chosen[2] != chosen[1]
    turn = first("autopet_start:parts=3", array)
    assert [stroke.label for stroke in turn.prompts.scribbles] == [1] * 3 + [0] * 3
    assert [action.kind for action in turn.actions[:3]] == ["click"] * 3
    with pytest.raises(IntraBenchError, match="parts=0 does not fit"):
        intrabench.prompter("autopet_start:parts=0")


def test_wrong_parameters_are_told(wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        intrabench.prompter("autopet:connectivity=26")
    assert caught == wording
    with pytest.raises(IntraBenchError, match="fail"):
        intrabench.prompter("autopet:empty=never")


def test_parameters_at_their_defaults_are_left_out_of_the_spec() -> None:
    prompter = intrabench.prompter("nothing+autopet:style=random,empty=fails,seed=fixed")
    assert prompter.spec == "nothing+autopet:style=random"
    assert version_of(prompter) == "1+1"
