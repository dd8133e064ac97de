"""Dice on prompted slices and away from them, and voxels beyond the ends; against loops over whole arrays."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import intrabench
from intrabench.mask import Mask, Region
from intrabench.metrics.lookup import metric
from intrabench.metrics.score import score
from intrabench.models.base import Answer
from intrabench.play.lockstep import play
from intrabench.play.session import Session
from intrabench.prompts import boxes, points
from intrabench.protocols import protocol
from intrabench.target import Target
from intrabench.turns import Click, DrawBox2D, Turn
from tests.conftest import make_target
from tests.play.test_session import ALL, Scripted, Stub

SPECS = ("dice_prompted", "dice_away:most=2", "dice_away:least=3,most=5", "dice_away:least=6", "beyond_ends")


def measured(target: Target, answer: np.ndarray, prompted: tuple[int, ...]) -> list[float | None]:
    metrics = [metric(spec) for spec in SPECS]
    columns = score(target, Mask.of(answer), metrics, prompted=prompted).columns
    return [columns[one.column] for one in metrics]


def by_hand(truth: np.ndarray, answer: np.ndarray, prompted: tuple[int, ...]) -> list[float | None]:
    """The same, voxel by voxel."""
    own = [z for z in range(len(truth)) if truth[z].any()]
    away = [min(abs(z - one) for one in prompted) for z in range(len(truth))]

    def dice(slices: list[int]) -> float | None:
        total = sum(int(truth[z].sum() + answer[z].sum()) for z in slices)
        common = sum(int((truth[z] & answer[z]).sum()) for z in slices)
        return (2 * common / total if total else 1.0) if slices else None

    inside = range(own[0], own[-1] + 1)
    bins = [[z for z in inside if least <= away[z] <= most] for least, most in ((1, 2), (3, 5), (6, 99))]
    beyond = sum(int(answer[z].sum()) for z in range(len(truth)) if z not in inside)
    return [dice(list(prompted)), *map(dice, bins), float(beyond)]


@pytest.mark.parametrize("seed", range(6))
def test_as_counted_voxel_by_voxel(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth, answer, ignore = rng.random((3, 20, 5, 4)) < [[[[0.4]]], [[[0.3]]], [[[0.1]]]]
    truth[: 3 + seed] = truth[16:] = False
    prompted = tuple(sorted(rng.choice(20, 2, replace=False).tolist()))
    target = replace(make_target(truth), ignore=Mask.of(ignore))
    assert measured(target, answer, prompted) == by_hand(truth & ~ignore, answer & ~ignore, prompted)


def test_what_has_no_value() -> None:
    truth = np.zeros((9, 4, 4), bool)
    truth[3:6, 1:3, 1:3] = True
    target = make_target(truth)
    assert measured(target, truth, ()) == [None, None, None, None, 0.0]  # nothing but a 3D box was given
    assert measured(target, truth, (4,)) == [1.0, 1.0, None, None, 0.0]  # no slice is further away
    assert measured(target, np.ones_like(truth), (4,))[-1] == 6 * 16
    assert measured(replace(target, mask=Mask.empty()), truth, (4,)) == [0.0, None, None, None, None]
    with pytest.raises(intrabench.IntraBenchError):
        metric("dice_away:least=3,most=2")


def test_rounds_know_what_the_hand_has_prompted_so_far(ball: np.ndarray) -> None:
    target = make_target(ball)
    first, last = (int(target.mask.occupied_slices[end]) for end in (0, -1))
    whole = dict.fromkeys(range(first, last + 1), (0, 0, *ball.shape[1:]))
    turns = (
        Turn(boxes(whole, drawn=[first]), (DrawBox2D(),)),  # the boxes on all other slices are derived
        Turn(points([target.mask.coordinates()[-1]]), (Click(),)),
    )
    answer = Mask.of(ball[: first + 1])
    session = Session(
        *("s", target, Scripted(turns), ALL, protocol("overlap@1")),
        rounds=1,
        metrics=[metric("dice_prompted"), metric("dice_away")],
    )
    play([session], Stub(lambda request: Answer(answer, Region())))
    found = [(row["dice_prompted"], row["dice_away"]) for row in session.rows]
    at_last = int(ball[last].sum())
    here = int(ball[first].sum())
    assert found == [(1.0, 0.0), (2 * here / (2 * here + at_last), 0.0)]  # an equal answer has other scores
