"""What was played is written once the scan is known to be unchanged and the scores are known."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from intrabench.engine.result_batches import SessionBatch
from intrabench.engine.write_buffer import LEAST_SECONDS, SHARE, WriteBuffer


@dataclass
class FakeSeal:
    broken: bool = False
    seconds: float = 0.0


@dataclass
class FakeSession:
    """scored_after: how long one has to wait for its scores."""

    scored_after: float = 0.0
    waited: list[float | None] = field(default_factory=list)

    def scored(self, seconds: float | None = 0.0) -> bool:
        self.waited.append(seconds)
        return seconds is None or max(seconds, 0.0) >= self.scored_after


@dataclass
class FakeWriter:
    parts: list[list[str]] = field(default_factory=list)

    def keep(self, waves: Sequence[SessionBatch]) -> None:
        self.parts.append([str(unit) for wave in waves for unit in wave.units])


def held(seal: FakeSeal) -> tuple[WriteBuffer, FakeWriter]:
    writer, given = FakeWriter(), cast(Any, seal)
    return WriteBuffer(writer.keep, given), writer


def wave(names: str, scored_after: float = 0.0) -> SessionBatch:
    units: Any = list(names)
    sessions: Any = [FakeSession(scored_after) for _ in units]
    return SessionBatch(units, [[session] for session in sessions], {})


def test_short_waves_become_one_part() -> None:
    waves, writer = held(FakeSeal(seconds=1000.0))
    waves.add(wave("a"))
    waves.add(wave("bc"))
    assert waves.settle_if_due() == []
    assert (waves.empty, writer.parts) == (False, [])
    assert waves.settle() == []
    assert (waves.empty, writer.parts) == (True, [["a", "b", "c"]])
    waves.add(wave("d"))
    assert waves.settle() == []
    assert writer.parts[1:] == [["d"]]


@pytest.mark.parametrize(("seconds", "pause"), [(60 * SHARE, 60.0), (0.0, LEAST_SECONDS)])
def test_looks_take_a_small_share_of_the_time_and_small_scans_are_held_for_a_moment(
    seconds: float, pause: float
) -> None:
    waves, writer = held(FakeSeal(seconds=seconds))
    waves.add(wave("a"))
    waves._looked = time.perf_counter() - 0.9 * pause
    waves.settle_if_due()
    assert writer.parts == []
    waves._looked = time.perf_counter() - pause
    waves.settle_if_due()
    assert writer.parts == [["a"]]
    waves.add(wave("b"))
    waves.settle_if_due()
    assert writer.parts == [["a"]]


def test_what_has_no_scores_yet_is_held_until_the_next_time() -> None:
    waves, writer = held(FakeSeal())
    waves.add(wave("ab"))
    waves.add(late := wave("cd", scored_after=SHARE * 200))
    waves.add(wave("e"))
    assert waves.unscored == ["c", "d"]
    waves._looked = time.perf_counter() - 100
    assert waves.settle_if_due() == []
    assert writer.parts == [["a", "b"]]
    assert max(cast(Any, late.sessions[0][0]).waited) <= 0  # there was something to write
    waves._looked = time.perf_counter() - 300  # a small share of which is long enough
    assert waves.settle_if_due() == []
    assert writer.parts == [["a", "b"], ["c", "d", "e"]]
    waves.add(wave("f", scored_after=1e9))
    waves.settle()
    assert writer.parts[2:] == [["f"]]


def test_under_a_broken_seal_nothing_counts() -> None:
    seal = FakeSeal()
    waves, writer = held(seal)
    waves.add(wave("a"))
    waves.settle()
    waves.add(wave("b"))
    waves.add(wave("c", scored_after=1e9))
    seal.broken = True
    waves._looked = time.perf_counter() - 60
    assert waves.settle_if_due() == ["b", "c"]
    assert (waves.broken, waves.empty) == (True, True)
    assert writer.parts == [["a"]]
    waves.add(wave("d"))
    assert waves.settle() == ["d"]
    assert writer.parts == [["a"]]
