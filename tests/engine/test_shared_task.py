"""Groups that several hands play together: all units once, and nobody waits for ever."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import intrabench
from intrabench.engine.shared_task import WHOLE, SharedTask

MANY = "phantom:shape=16x96x96,instances=12"
Units: Any = list


@given(st.integers(1, 100), st.integers(1, 9))
def test_each_unit_is_handed_out_once_and_all_hands_get_some(number: int, hands: int) -> None:
    pool = SharedTask(None, Units(range(number)), print, hands)  # type: ignore[arg-type]
    found: list[Any] = []
    while portion := pool.portion():
        found.append(portion)
        pool.played()
    pool.wait()
    assert [unit for portion in found for unit in portion] == list(range(number))
    assert len(found) >= min(hands, number)
    assert (len(found) == 1) >= (hands == 1)
    assert not pool


def test_portions_are_large_until_others_have_nothing_else_to_do() -> None:
    busy = [True, True, False, False]
    pool = SharedTask(None, Units(range(2 * WHOLE + 20)), print, 2, lambda: busy.pop(0))  # type: ignore[arg-type]
    sizes = [len(pool.portion()) for _ in range(4)]
    assert sizes == [WHOLE, WHOLE, 19, 1]


def test_the_owner_waits_for_those_who_help() -> None:
    pool = SharedTask(None, Units(range(2)), print, 2)  # type: ignore[arg-type]
    assert pool.portion() == [0]
    assert pool.portion() == [1]
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(pool.wait)
        pool.played()
        assert not waiting.done()
        pool.played()
        assert waiting.result(10) is None


def test_a_single_image_is_shared_by_two_workers_unless_it_is_encoded(
    data: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from intrabench.engine.executors.process import ProcessExecutor

    real, played = ProcessExecutor.play, list[tuple[str, int]]()

    def play(self: ProcessExecutor, group: Any, units: Any, take: Any) -> None:
        played.append((self.name, len(units)))
        real(self, group, units, take)

    monkeypatch.setattr(ProcessExecutor, "play", play)
    shared = intrabench.run("box_fill", "box_volume", MANY, workers=2)
    alone = intrabench.run("box_fill", "box_volume", MANY, workers=0, out="alone")
    assert sorted(number for _, number in played) == [2] * 6
    assert shared["dice"].to_list() == alone["dice"].to_list()
    monkeypatch.setattr("intrabench.models.box_fill.BoxFill.encodes", True)
    played.clear()
    intrabench.run("box_fill", "box_volume", MANY, workers=2, out="encoded")
    assert [number for _, number in played] == [12]
