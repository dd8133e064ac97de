"""What was played is written once the scan is known to be unchanged and the scores are known."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from intrabench.engine import write_buffer
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

    def keep(self, batches: Sequence[SessionBatch]) -> None:
        self.parts.append([str(spec) for batch in batches for spec in batch.specs])


@pytest.fixture(autouse=True)
def _as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches are not turned into rows."""
    monkeypatch.setattr(write_buffer, "played", lambda batches: batches)


def buffer(integrity: FakeSeal) -> tuple[WriteBuffer, FakeWriter]:
    writer, given = FakeWriter(), cast(Any, integrity)
    take: Any = writer.keep
    return WriteBuffer(take, given), writer


def batch(names: str, scored_after: float = 0.0) -> SessionBatch:
    specs: Any = list(names)
    sessions: Any = [FakeSession(scored_after) for _ in specs]
    return SessionBatch(specs, [[session] for session in sessions], {})


def test_short_batches_become_one_part() -> None:
    batches, writer = buffer(FakeSeal(seconds=1000.0))
    batches.add(batch("a"))
    batches.add(batch("bc"))
    assert batches.flush_if_due() == []
    assert (batches.empty, writer.parts) == (False, [])
    assert batches.flush() == []
    assert (batches.empty, writer.parts) == (True, [["a", "b", "c"]])
    batches.add(batch("d"))
    assert batches.flush() == []
    assert writer.parts[1:] == [["d"]]


@pytest.mark.parametrize(("seconds", "pause"), [(60 * SHARE, 60.0), (0.0, LEAST_SECONDS)])
def test_looks_take_a_small_share_of_the_time_and_small_scans_are_held_for_a_moment(
    seconds: float, pause: float
) -> None:
    batches, writer = buffer(FakeSeal(seconds=seconds))
    batches.add(batch("a"))
    batches._checked_at = time.perf_counter() - 0.9 * pause
    batches.flush_if_due()
    assert writer.parts == []
    batches._checked_at = time.perf_counter() - pause
    batches.flush_if_due()
    assert writer.parts == [["a"]]
    batches.add(batch("b"))
    batches.flush_if_due()
    assert writer.parts == [["a"]]


def test_what_has_no_scores_yet_is_held_until_the_next_time() -> None:
    batches, writer = buffer(FakeSeal())
    batches.add(batch("ab"))
    batches.add(late := batch("cd", scored_after=SHARE * 200))
    batches.add(batch("e"))
    assert batches.unscored == ["c", "d"]
    batches._checked_at = time.perf_counter() - 100
    assert batches.flush_if_due() == []
    assert writer.parts == [["a", "b"]]
    assert max(cast(Any, late.sessions[0][0]).waited) <= 0  # there was something to write
    batches._checked_at = time.perf_counter() - 300  # a small share of which is long enough
    assert batches.flush_if_due() == []
    assert writer.parts == [["a", "b"], ["c", "d", "e"]]
    batches.add(batch("f", scored_after=1e9))
    batches.flush()
    assert writer.parts[2:] == [["f"]]


def test_under_a_broken_seal_nothing_counts() -> None:
    integrity = FakeSeal()
    batches, writer = buffer(integrity)
    batches.add(batch("a"))
    batches.flush()
    batches.add(batch("b"))
    batches.add(batch("c", scored_after=1e9))
    integrity.broken = True
    batches._checked_at = time.perf_counter() - 60
    assert batches.flush_if_due() == ["b", "c"]
    assert (batches.broken, batches.empty) == (True, True)
    assert writer.parts == [["a"]]
    batches.add(batch("d"))
    assert batches.flush() == ["d"]
    assert writer.parts == [["a"]]
