"""What was played is written once the scan is known to be unchanged."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from intrabench.engine.held import LEAST_SECONDS, SHARE, Held


@dataclass
class FakeSeal:
    broken: bool = False
    seconds: float = 1000.0


@dataclass
class FakeWriter:
    parts: list[Any] = field(default_factory=list)

    def played(self, units: list[str], sessions: list[str]) -> None:
        self.parts.append((units, sessions))


def held(seal: FakeSeal) -> tuple[Any, FakeWriter]:
    writer = FakeWriter()
    found: Any = Held(writer.played, seal)  # type: ignore[arg-type]
    return found, writer


def test_short_waves_become_one_part() -> None:
    waves, writer = held(FakeSeal())
    waves.add(["a"], ["played a"])
    waves.add(["b", "c"], ["played b", "played c"])
    assert not waves.due
    assert waves.settle() == []
    assert writer.parts == [(["a", "b", "c"], ["played a", "played b", "played c"])]
    waves.add(["d"], ["played d"])
    assert waves.settle() == []
    assert writer.parts[1:] == [(["d"], ["played d"])]


def test_looks_take_a_small_share_of_the_time() -> None:
    waves, _ = held(FakeSeal(seconds=60 * SHARE))
    waves._looked -= 59
    assert not waves.due
    waves._looked -= 1
    assert waves.due
    waves.settle()
    assert not waves.due


def test_waves_on_a_small_scan_are_held_for_a_moment() -> None:
    waves, _ = held(FakeSeal(seconds=0.0))
    waves._looked = time.perf_counter()
    assert not waves.due
    waves._looked -= LEAST_SECONDS
    assert waves.due


def test_under_a_broken_seal_nothing_counts() -> None:
    seal = FakeSeal()
    waves, writer = held(seal)
    waves.add(["a"], ["played a"])
    waves.settle()
    waves.add(["b"], ["played b"])
    seal.broken = True
    assert waves.settle() == ["b"]
    assert waves.broken
    assert writer.parts == [(["a"], ["played a"])]
    assert waves.settle() == []
