"""What is finished, kept up to date: equal to what is computed from all rows, and found without reading them again."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from intrabench.results import new_parts, store
from intrabench.results.parts import PROGRESS, finished_of, finished_sessions
from intrabench.results.progress import Progress
from intrabench.results.schema import SCHEMA
from intrabench.results.statuses import STATUSES
from intrabench.results.store import Store
from tests.results.test_store import row

OUT = Path("out")
TYPES = {name: SCHEMA[name] for name in PROGRESS}


@pytest.mark.parametrize("seed", range(5))
def test_what_is_finished_is_what_all_rows_say(seed: int) -> None:
    chance, progress, rows = random.Random(seed), Progress(), []
    for number in range(60):
        new = [
            {
                "session": f"s{(session := chance.randrange(40))}",
                "target": "*" if session % 3 == 0 else "t",
                "round": chance.randrange(3),
                "status": chance.choice(STATUSES),
                "ended": chance.random() < 0.05,
                "written_at": number,
            }
            for _ in range(chance.randrange(6))
        ]
        rows += new
        chance.choice([progress.add, progress.played])(pl.DataFrame(new, schema=TYPES))
        for rounds in (0, 2):
            assert progress.finished(rounds) == finished_of(pl.DataFrame(rows, schema=TYPES), rounds)
    assert 0 < len(progress.finished(2)) <= len(progress.finished(0)) < 40


def test_a_row_that_comes_twice_counts_once() -> None:
    progress = Progress()
    one = pl.DataFrame([row("a", written_at=1, target="t")], schema=TYPES)
    for _ in range(3):
        progress.add(one)
        assert progress.finished(0) == {"a"}
        assert progress.finished(1) == set()


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Folders are listed only when something changed, and parts that are read are noted here."""
    read: list[Path] = []
    real = store.read_parts
    monkeypatch.setattr(new_parts, "PERIOD", 3600.0)
    monkeypatch.setattr(
        store, "read_parts", lambda paths, *args, **more: read.extend(paths) or real(paths, *args, **more)
    )
    return read


def going_on(run: str) -> Store:
    return Store(OUT, run, lambda: {"state": "running"})


def test_parts_of_other_runs_are_found_one_by_one(patient: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = going_on("run-a"), going_on("run-b")
    ours.write_part([row("a")], [])
    assert ours.finished(0) == {"a"}
    theirs.write_part([row("b")], [])  # its record is new
    assert ours.finished(0) == {"a", "b"}
    monkeypatch.setattr(new_parts, "listed", None)  # from here on, nothing is listed
    theirs.write_part([row("c")], [])
    theirs.write_part([row("d"), row("e", status="oom")], [])
    ours.write_part([row("f")], [])
    assert ours.finished(0) == {"a", "b", "c", "d", "f"}
    theirs.write_part([row("e")], [])
    theirs.write_part([row("d", 1, status="error")], [])
    assert ours.finished(0) == {"a", "b", "c", "e", "f"} == finished_sessions(OUT, 0)
    assert [path.name for path in patient] == [f"run-b-000{number}.parquet" for number in range(1, 6)]


def test_parts_that_came_in_another_way_are_found_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = going_on("run-a")
    ours.write_part([row("a")], [])
    assert ours.finished(0) == {"a"}
    Store(Path("other"), "run-x").write_part([row("x")], [])
    Path("other/rows/run-x-0001.parquet").rename(OUT / "rows" / "run-x-0007.parquet")
    monkeypatch.setattr(new_parts.time, "monotonic", lambda: 1e9)
    assert ours.finished(0) == {"a", "x"}


def test_a_run_that_ended_is_not_asked_any_more(patient: list[Path]) -> None:
    ours, theirs = going_on("run-a"), going_on("run-b")
    theirs.write_part([row("b")], [])
    theirs.write_record({"state": "finished"})
    ours.write_part([row("a")], [])
    assert ours.finished(0) == {"a", "b"}
    theirs.write_part([row("c")], [])
    assert ours.finished(0) == {"a", "b"}  # nobody does this
    assert [path.name for path in patient] == ["run-b-0001.parquet"]


def test_rows_that_nobody_reads_are_not_finished_for_their_writer_either() -> None:
    ours = going_on("run-a")
    rows: list[dict[str, Any]] = [row("a"), row("b", dice=7.0)]
    ours.write_part(rows, [])
    assert ours.finished(0) == finished_sessions(OUT, 0) == set()


def test_a_part_that_vanishes_before_it_is_read_is_looked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = going_on("run-a"), going_on("run-b")
    theirs.write_part([row("b")], [])
    assert ours.finished(0) == {"b"}
    theirs.write_part([row("c")], [])
    place, real = OUT / "rows" / "run-b-0002.parquet", store.read_parts

    def packed(paths: list[Path], *args: Any, **more: Any) -> pl.DataFrame:
        if place.exists():
            place.rename(OUT / "rows" / "packed-20260101T000000-abcdef.parquet")
            (OUT / "runs").touch()
        return real(paths, *args, **more)

    monkeypatch.setattr(store, "read_parts", packed)
    assert ours.finished(0) == {"b", "c"}


def test_sessions_are_newest_until_somebody_writes_others() -> None:
    theirs, ours = going_on("run-b"), going_on("run-a")
    theirs.write_part([row("b")], [])
    ours.write_part([row("a"), row("c")], [])
    assert ours.are_newest({"a", "c", "unknown"})
    assert not ours.are_newest({"a"})  # written together: both are asked for, or one may replace the other
    assert not ours.are_newest({"b"})
    theirs.write_part([row("b", 1)], [])
    assert not ours.are_newest({"a", "c"})
    assert ours.are_newest({"a", "b", "c"})
