"""The process is killed at the worst moments; the next one goes on as if nothing had happened."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from intrabench.people.annotating import annotation, shared_image
from intrabench.people.annotating.log import read_actions
from intrabench.play.gestures import Gesture
from intrabench.results.parts import read_rows
from tests.people.annotating.playing import NAMES, OUT, annotating, lasting, new_id
from tests.processes import Process

pytestmark = pytest.mark.usefixtures("data")

MOMENTS = ["before the answer", "before the undo is played"]
FINISHED = ["before rows", "amid rows", "before actions", "before the mark"]


def middle() -> list[int]:
    with annotating(Path("undisturbed")) as people:
        found = people.tasks("ab")[0].middle
    assert found is not None
    return list(found)


def undisturbed(place: list[int], turns: int) -> pl.DataFrame:
    with annotating(Path("undisturbed")) as people:
        code = people.tasks("ab")[0].code
        people.give(code, "ab", new_id(), [Gesture("click", place, 1, 1.5)])
        if turns > 1:
            people.give(code, "ab", new_id(), [Gesture("click", (0, 0, 0), 0, 0.5)])
        people.finish(code, "ab", new_id())
    return read_rows(Path("undisturbed"))


def killed(moment: str, place: list[int]) -> None:
    process = Process(play_until, moment, place)
    said = process.stderr.read()
    assert process.wait() == -signal.SIGKILL, said
    process.end()


def play_until(moment: str, place: tuple[int, int, int]) -> None:
    """Two turns, an end to them, and the death of this process at the moment."""

    def die(*_: Any, **__: Any) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    with annotating() as people:
        code = people.tasks("ab")[0].code
        people.give(code, "ab", "first turn", [Gesture("click", place, 1, 1.5)])
        patch = pytest.MonkeyPatch()
        if moment == "before the answer":
            patch.setattr(shared_image, "ask", die)
        people.give(code, "ab", "second turn", [Gesture("click", (0, 0, 0), 0, 0.5)])
        if moment == "before the undo is played":
            patch.setattr(annotation.Annotation, "_forget", die)
            people.undo(code, "ab", "undo it once")
        if moment == "before rows":
            patch.setattr(annotation.Annotation, "_store", die)
        if moment == "amid rows":
            take = lambda self, part: (self.store.write_masks(part.masks), die())  # noqa: E731
            patch.setattr(annotation.ResultWriter, "take", take)
        if moment == "before actions":
            patch.setattr(annotation, "write_actions", die)
        if moment == "before the mark":
            patch.setattr(annotation.Log, "stored", die)
        people.finish(code, "ab", "finish it")


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_turn_is_answered_after_a_kill(moment: str) -> None:
    place = middle()
    killed(moment, place)
    left = 2 if moment == "before the answer" else 1
    with annotating() as people:
        (task, _) = people.tasks("ab")
        assert (task.state, task.turns) == ("begun", left)
        again = people.give(
            task.code, "ab", "second turn", [Gesture("click", (0, 0, 0), 0, 0.5)]
        )  # the page asks again
        assert len(again.turns) == left
        people.finish(task.code, "ab", new_id())
    assert lasting(read_rows(OUT), *NAMES) == lasting(undisturbed(place, left), *NAMES)
    actions = read_actions(OUT)
    assert actions.filter(pl.col("kind") == "click").height == 2
    assert actions["undone"].sum() == 2 - left


@pytest.mark.parametrize("moment", FINISHED)
def test_what_was_finished_is_stored_once(moment: str) -> None:
    place = middle()
    killed(moment, place)
    for _ in range(2):
        with annotating() as people:
            assert people.tasks("ab")[0].state == "finished"
            assert people.finish(people.tasks("ab")[0].code, "ab", "finish it").mask.voxels > 0
            assert people._log.unstored() == []
    parts = pl.concat([pl.read_parquet(part) for part in (OUT / "rows").iterdir()])
    assert parts.sort("round").select("round", "status").rows() == [(0, "ok"), (1, "ok")]
    assert lasting(read_rows(OUT), *NAMES) == lasting(undisturbed(place, 2), *NAMES)
    assert read_actions(OUT).height == 3
    assert len(list((OUT / "people").glob("*.parquet"))) == 1
