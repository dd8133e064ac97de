"""Groups that several hands play together: all units once, and nobody waits for ever."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import intrabench
from intrabench.engine import shared_task
from intrabench.engine.shared_task import SHORTEST_SECONDS, WHOLE, SharedTask

MANY = "phantom:shape=16x96x96,instances=12"
Units: Any = list


@given(st.integers(1, 100), st.integers(1, 9))
def test_each_unit_is_handed_out_once_and_all_hands_get_some(number: int, executors: int) -> None:
    shared = SharedTask(None, Units(range(number)), print, executors)  # type: ignore[arg-type]
    found: list[Any] = []
    while portion := shared.portion():
        found.append(portion)
        shared.played()
    shared.wait()
    assert [spec for portion in found for spec in portion] == list(range(number))
    assert len(found) >= min(executors, number)
    assert (len(found) == 1) >= (executors == 1)
    assert not shared


def test_portions_are_large_until_others_have_nothing_else_to_do() -> None:
    busy = [True, True, False, False]
    shared = SharedTask(None, Units(range(2 * WHOLE + 20)), print, 2, lambda: busy.pop(0))  # type: ignore[arg-type]
    sizes = [len(shared.portion()) for _ in range(4)]
    assert sizes == [WHOLE, WHOLE, 19, 1]


def test_portions_of_sessions_that_take_no_time_are_large() -> None:
    shared = SharedTask(None, Units(range(100)), print, 5)  # type: ignore[arg-type]
    sizes = list[int]()
    for seconds in (SHORTEST_SECONDS, SHORTEST_SECONDS / 10, SHORTEST_SECONDS):
        sizes.append(len(shared.portion()))
        shared.played(sizes[-1], seconds)
    assert sizes == [5, 5, 50]
    assert len(shared.portion()) == 40


def test_the_owner_waits_for_those_who_help() -> None:
    shared = SharedTask(None, Units(range(2)), print, 2)  # type: ignore[arg-type]
    assert shared.portion() == [0]
    assert shared.portion() == [1]
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(shared.wait)
        shared.played()
        assert not waiting.done()
        shared.played()
        assert waiting.result(60) is None


def test_a_single_image_is_shared_by_two_workers_unless_it_is_encoded(
    data: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from intrabench.engine.executors.process import ProcessExecutor

    real, played = ProcessExecutor.play, list[tuple[str, int]]()

    def play(self: ProcessExecutor, task: Any, specs: Any, take: Any) -> None:
        played.append((self.name, len(specs)))
        real(self, task, specs, take)

    monkeypatch.setattr(ProcessExecutor, "play", play)
    monkeypatch.setattr(shared_task, "SHORTEST_SECONDS", 0.0)
    shared = intrabench.run("box_fill", "box_volume", MANY, workers=2)
    alone = intrabench.run("box_fill", "box_volume", MANY, workers=0, out="alone")
    assert sorted(number for _, number in played) == [2] * 6
    assert shared["dice"].to_list() == alone["dice"].to_list()
    monkeypatch.setattr("intrabench.models.box_fill.BoxFill.encodes", True)
    played.clear()
    intrabench.run("box_fill", "box_volume", MANY, workers=2, out="encoded")
    assert [number for _, number in played] == [12]
