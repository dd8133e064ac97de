"""Errors of the hand, recovered from prompts that the user error model made."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import intrabench
from intrabench.mask import Mask
from intrabench.people.calibrating.fits import Hits, fit_hand, hits
from intrabench.people.playback import StoredSession
from intrabench.prompts import Prompts, boxes, points
from intrabench.target import Target
from intrabench.turns import Click, Turn

SPACING = (3.0, 0.7, 0.9)


_Z, _Y, _X = np.ogrid[:30, :100, :100]
ARRAY = ((_Z - 15) * 3.0) ** 2 + ((_Y - 50) * 0.7) ** 2 + ((_X - 50) * 0.9) ** 2 <= 24**2
BALL = Target("case", "ball", 1, Mask.of(ARRAY), (30, 100, 100), SPACING)
prompter_of = cache(intrabench.prompter)


def played(*given: Prompts, rater: str = "r") -> StoredSession:
    return StoredSession(
        {"rater": rater, "session": "s"}, {n: [Turn(p, (Click(),))] for n, p in enumerate(given)}, BALL, Path()
    )


def by(spec: str, sessions: int, seed: int = 0) -> Hits:
    prompter = prompter_of(spec)
    each = [prompter.preview(ARRAY, SPACING, seed * 1000 + number) for number in range(sessions)]
    return hits(played(one, rater=f"r{number % 2}") for number, one in enumerate(each))


def test_slack_and_jitter_are_recovered() -> None:
    found = fit_hand(by("box_interp:n=5+hand:jitter_mm=1.5,box_slack=0.08", 40, seed=3))
    assert found["jitter_mm"].value == pytest.approx(1.5, abs=0.12)
    assert found["box_slack"].value == pytest.approx(0.08, abs=0.006)
    assert found["jitter_mm"].sessions == 40
    assert found["jitter_mm"].n == 40 * 3 * 4  # two of five slices are the tips of the ball
    for name, truth in (("jitter_mm", 1.5), ("box_slack", 0.08)):
        assert found[name].low < truth < found[name].high
    assert (found["miss_rate"].n, found["miss_rate"].enough) == (0, False)


def test_boxes_in_space_count_by_their_six_faces() -> None:
    found = fit_hand(by("box_volume+hand:jitter_mm=4,box_slack=0.05", 60))
    assert found["jitter_mm"].n == 60 * 6
    assert found["jitter_mm"].low < 4 < found["jitter_mm"].high
    assert found["box_slack"].low < 0.05 < found["box_slack"].high


def test_rounding_to_large_voxels_is_no_jitter() -> None:
    spacing, truth = (3.0, 2.0, 2.0), np.pad(np.ones((20, 30, 30), bool), 20)
    target = Target("case", "block", 1, Mask.of(truth), truth.shape, spacing)  # type: ignore[arg-type]
    prompter = intrabench.prompter("box_slice+hand:jitter_mm=1")
    given = [prompter.preview(truth, spacing, seed) for seed in range(12)]
    found = fit_hand(hits(StoredSession(played().row, {0: [Turn(one, (Click(),))]}, target, Path()) for one in given))
    assert found["jitter_mm"].value == pytest.approx(1, abs=0.06)  # with rounding it is 1.15
    assert found["box_slack"].value < 0.005


def test_a_steady_hand_has_no_errors() -> None:
    found = fit_hand(by("box_slice", 6))
    assert found["jitter_mm"].value == found["box_slack"].value == 0
    inside = [boxes({15: (20, 25, 80, 75)})] * 6  # within the tight box
    assert fit_hand(hits(map(played, inside)))["box_slack"].value == 0


def test_intervals_hold_what_was_put_in() -> None:
    held = np.zeros(3)
    for seed in range(40):
        found = fit_hand(by("box_interp:n=4+hand:jitter_mm=2,box_slack=0.1", 12, seed))
        clicks = fit_hand(by("points_volume:n=3+hand:miss_rate=0.15", 16, seed))
        inside = [found["jitter_mm"], found["box_slack"], clicks["miss_rate"]]
        held += [one.low <= truth <= one.high for one, truth in zip(inside, (2, 0.1, 0.15), strict=True)]
    assert held.min() >= 34, held


def test_wrong_signs_are_told_by_the_reference_in_any_round() -> None:
    right = Prompts([[15, 50, 50, 1], [0, 0, 0, 0]])
    wrong = Prompts([[15, 50, 50, 0], [0, 0, 0, 1]])
    found = fit_hand(hits([*(played(right, right) for _ in range(6)), *(played(right, wrong) for _ in range(2))]))
    assert (found["miss_rate"].value, found["miss_rate"].n) == (4 / 32, 32)
    assert found["miss_rate"].high > 0.25  # the interval of 4 of 32 clicks, although sessions are much alike
    assert fit_hand(hits([played(right)] * 20))["miss_rate"].high == pytest.approx(1 - 0.025 ** (1 / 40))


def test_derived_prompts_and_ignored_voxels_do_not_count() -> None:
    derived = points([[15, 50, 50], [15, 0, 0]], clicked=[True, False])
    assert fit_hand(hits([played(derived)]))["miss_rate"].n == 1
    banded = Target("case", "ball", 1, BALL.mask, BALL.shape, SPACING, ignore=Mask.of(np.ones((1, 1, 1)), (0, 0, 0)))
    one = played(points([[0, 0, 0], [15, 50, 50]]))
    assert fit_hand(hits([StoredSession(one.row, one.rounds, banded, Path())]))["miss_rate"].n == 1


def test_clicks_that_may_have_slipped_are_no_wrong_signs() -> None:
    """With a jitter of 2 mm, clicks 1 mm beside the boundary tell nothing; without boxes nobody knows of a jitter."""
    beside = points([[15, 50, 50 + 28]])  # 27 voxels are 24.3 mm: the first one outside
    near = hits(played(beside) for _ in range(20))
    assert fit_hand(near)["miss_rate"].value == 1
    drawn = by("box_interp:n=3+hand:jitter_mm=2", 20)
    both = Hits(near.rater + drawn.rater, near.edges + drawn.edges, near.clicks + drawn.clicks)
    assert fit_hand(both)["miss_rate"].n == 0


def test_boxes_beside_the_target_are_counted_apart() -> None:
    given = boxes({0: (0, 0, 9, 9), 15: (0, 0, 5, 5), 16: (20, 20, 80, 80)})
    found = hits([played(given)])
    assert (found.beside, len(found.edges[0])) == (2, 4)
