"""Recordings with known seconds, errors of the hand and wrong clicks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

import intrabench
from intrabench.people.annotating.annotation import Annotation
from intrabench.play.gestures import Gesture
from intrabench.results.parts import read_rows
from tests.people.annotating.playing import new_id, turns_of

DATA = "phantom:shape=12x32x32,instances=2,scans=6"
PEOPLE = Path("people")


def record(
    prompters: Sequence[str] = ("points_volume:n=3+click_center", "box_interp:n=3"),
    raters: Sequence[str] = ("ab", "cd"),
    cases: str = "first:6",
    seed: int = 0,
    each: float = 2.0,
    once: float = 1.5,
) -> None:
    """Each rater does all targets, as the hand of a simulated user does it; rater n has the nth prompter.

    An action takes `each` seconds, with a coefficient of variation of 0.3, and the first of a turn `once` more.
    """
    random = np.random.default_rng(seed)
    for number, (rater, prompter) in enumerate(zip(raters, prompters, strict=True)):
        robot = Path(f"robot-{number}")
        intrabench.run(
            "random_walker", prompter, DATA, out=robot, rounds=2, cases=cases, protocol="overlap@1", seed=seed
        )
        rows = read_rows(robot)
        given = {"model": "random_walker", "dataset": DATA, "cases": [cases], "protocol": "overlap@1"}
        with Annotation(given, PEOPLE) as people:
            places = [(group, unit) for group, unit, _ in people._tasks._places.values()]
            for (group, unit), task in zip(places, people.tasks(rater), strict=True):
                (session,) = rows.filter(case=group.case, target=unit.targets[0].id)["session"].unique()
                for turn in turns_of(robot, session):
                    prompts = turn.prompts.by_hand
                    hand = [("click", place, label) for *place, label in prompts.points.tolist()]
                    hand += [("box2d", box, 1) for box in prompts.boxes2d.tolist()]
                    times = each * (1 + 0.3 * random.standard_normal(len(hand))).clip(0.1)
                    times[0] += once
                    made = [
                        Gesture(kind, place, label, float(seconds), 1e9)  # type: ignore[arg-type]
                        for (kind, place, label), seconds in zip(hand, times, strict=True)
                    ]
                    people.give(task.code, rater, new_id(), made)
                people.finish(task.code, rater, new_id(), 3.0)
