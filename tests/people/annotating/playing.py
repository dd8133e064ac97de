"""Play as people do, with what a page would send."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from intrabench.people.annotating.annotation import Annotation, View
from intrabench.play.gestures import Gesture
from intrabench.results.parts import read_rows, read_turns
from intrabench.turns import Turn, turns_by_round

DATA = "phantom:shape=16x32x32,instances=2"
OUT = Path("out")
PASSING = ["encode_s", "segment_s", "prompt_s", "batch", "peak_memory_mb", "run_id", "written_at"]
NAMES = ["session", "prompter", "prompter_version"]

_ids = itertools.count()


def new_id() -> str:
    """An id that no other change has."""
    return f"change-{next(_ids):06d}"


def annotating(out: Path = OUT, **options: Any) -> Annotation:
    """People annotate a phantom with a model without training."""
    return Annotation({"model": "random_walker", "dataset": DATA, **options}, out)


def gestures(turn: Turn, seconds: float = 1.25) -> list[Gesture]:
    """What a hand did for a turn, of which all was given by hand."""
    prompts = turn.prompts
    found = [Gesture("click", voxel, label, seconds) for *voxel, label in prompts.points.tolist()]
    found += [Gesture("box2d", box, 1, seconds) for box in prompts.boxes2d.tolist()]
    found += [] if prompts.box3d is None else [Gesture("box3d", prompts.box3d.tolist(), 1, seconds)]
    found += [Gesture("scribble", one.points.tolist(), one.label, seconds) for one in prompts.scribbles]
    return found + [Gesture("lasso", one.points.tolist(), one.label, seconds) for one in prompts.lassos]


def play(people: Annotation, code: str, rater: str, turns: Sequence[Turn], finish: bool = True) -> View:
    """Give turns, and finish."""
    for turn in turns:
        people.give(code, rater, new_id(), gestures(turn))
    return people.finish(code, rater, new_id(), 0.5) if finish else people.view(code, rater)


def turns_of(out: Path, session: str) -> list[Turn]:
    """The stored turns of a session."""
    rounds = turns_by_round(read_turns(out, [session]).sort("turn").to_dicts())
    return [turn for number in sorted(rounds) for turn in rounds[number]]


def lasting(rows: pl.DataFrame, *more: str) -> list[dict[str, Any]]:
    """What must be equal between equal sessions."""
    return rows.drop(*PASSING, *more).sort("target", "round").to_dicts()


def simulated(out: Path, **options: Any) -> pl.DataFrame:
    """The rows of a simulated user, whose turns can be made by hand."""
    import intrabench

    given = {"model": "random_walker", "dataset": DATA, "prompter": "box_volume+scribble", "rounds": 2, **options}
    intrabench.run(out=out, **given)
    return read_rows(out)
