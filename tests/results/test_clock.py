"""Clocks that were ahead: what a run writes is newer than what it found, whatever the clock says."""

from __future__ import annotations

import time
from pathlib import Path

import polars as pl
import pytest

import intrabench
from intrabench.results.merge import merge
from intrabench.results.parts import newest_stamp, read_rows, read_turns
from intrabench.results.runs import unfinished
from intrabench.results.store import Store
from tests.results.test_store import row

OUT = Path("out")
DAY = 86_400 * 10**9


@pytest.fixture
def tomorrow(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """The clock is a day ahead, until this is undone."""
    real = time.time_ns
    with monkeypatch.context() as patch:
        patch.setattr(time, "time_ns", lambda: real() + DAY)
        yield patch


def turn(given: str) -> dict[str, object]:
    return {"session": "a", "round": 0, "turn": 0, "given": given}


def test_newer_rows_and_turns_count_although_the_clock_was_a_day_ahead(tomorrow: pytest.MonkeyPatch) -> None:
    Store(OUT, "run-1").write_part([row("a", iou=0.1), row("w", target="*", status="error")], [turn("old")])
    tomorrow.undo()
    newer = Store(OUT, "run-2")
    newer.write_part([row("a", iou=0.2), row("w", target="*", status="not_applicable")], [turn("new")])
    assert read_rows(OUT).select("session", "iou").rows() == [("a", 0.2)]
    assert read_turns(OUT)["given"].to_list() == ["new"]
    newer.write_part([row("a", iou=0.3)], [turn("newest")])
    assert read_rows(OUT)["iou"].to_list() == [0.3]
    assert read_turns(OUT)["given"].to_list() == ["newest"]
    ages = [int((time.time_ns() - stamp) / DAY) for stamp in read_rows(OUT)["written_at"]]
    assert ages == [0]  # not more ahead than it must be


def test_an_edit_that_was_undone_counts_although_the_clock_was_ahead(tomorrow: pytest.MonkeyPatch) -> None:
    Store(OUT, "run-1").write_part([row("a", model_version="1.edited")], [])
    tomorrow.undo()
    Store(OUT, "run-2").write_part([row("b", model_version="1.undone")], [])
    assert intrabench.table(OUT, by="model,model_version")["model_version"].to_list() == ["1.edited", "1.undone"]
    with pytest.warns(intrabench.errors.PartialResults, match="1 older session of"):
        assert intrabench.table(OUT)["sessions"].to_list() == [1]


def test_of_two_runs_at_once_the_later_part_counts(tomorrow: pytest.MonkeyPatch) -> None:
    slow = Store(OUT, "run-1")
    tomorrow.undo()
    slow.write_part([row("other")], [])
    with pytest.MonkeyPatch.context() as patch:
        real = time.time_ns
        patch.setattr(time, "time_ns", lambda: real() + DAY)
        Store(OUT, "run-2").write_part([row("a", status="error", ended=True)], [])
    assert slow.finished(0) == {"other"}  # a run looks before it plays
    slow.write_part([row("a", iou=0.2)], [turn("new")])
    assert slow.finished(0) == {"other", "a"}
    assert read_turns(OUT)["given"].to_list() == ["new"]


def test_the_clock_may_go_back_during_a_run(tomorrow: pytest.MonkeyPatch) -> None:
    store = Store(OUT, "run")
    store.write_part([row("a", iou=0.1)], [])
    tomorrow.undo()
    store.write_part([row("a", iou=0.2)], [])
    assert read_rows(OUT)["iou"].to_list() == [0.2]


def test_only_the_last_part_of_each_run_is_read_to_know_the_newest(monkeypatch: pytest.MonkeyPatch) -> None:
    for run in ("run-1", "run-2"):
        store = Store(OUT, run)
        for _ in range(3):
            store.write_part([row("a")], [])
    read: list[str] = []
    real = pl.scan_parquet
    monkeypatch.setattr(pl, "scan_parquet", lambda paths: read.extend(path.name for path in paths) or real(paths))
    assert newest_stamp(OUT) == pl.read_parquet(OUT / "rows" / "run-2-0003.parquet")["written_at"].max()
    assert set(read) == {"run-1-0003.parquet", "run-2-0003.parquet"}


def test_the_newest_part_has_the_largest_number_and_may_be_damaged() -> None:
    store = Store(OUT, "run")
    store.parts = 9998
    for _ in range(3):
        store.write_part([row("a")], [])
    last = OUT / "rows" / "run-10001.parquet"
    assert newest_stamp(OUT) == pl.read_parquet(last)["written_at"].max()
    last.write_bytes(b"")
    assert newest_stamp(OUT) == pl.read_parquet(OUT / "rows" / "run-10000.parquet")["written_at"].max()
    assert newest_stamp(Path("nowhere")) == 0


def test_an_absurd_stamp_does_not_stop_a_run() -> None:
    store = Store(OUT, "run")
    store.write_part([row("a", written_at=2**63 - 1)], [])
    Store(OUT, "run-2").write_part([row("b")], [])
    assert sorted(read_rows(OUT)["session"]) == ["a", "b"]


def test_a_run_that_was_completed_is_whole_although_the_clock_was_ahead(tomorrow: pytest.MonkeyPatch) -> None:
    began = {"started": "2030-01-02T00:00:00+00:00", "ended": None, "work": {"model": ["m"]}, "command": "c"}
    Store(OUT, "run-1", lambda: {**began, "state": "running"}).write_part([row("a")], [])
    tomorrow.undo()
    (left,) = unfinished(OUT)
    assert left["run_id"] == "run-1"
    ended = {**began, "started": "2030-01-01T00:00:00+00:00", "ended": "2030-01-01T00:00:01+00:00"}
    Store(OUT, "run-2").write_record({**ended, "state": "finished"})
    assert unfinished(OUT) == []


def test_of_merged_folders_the_later_stamp_counts_and_a_run_afterwards_more(tomorrow: pytest.MonkeyPatch) -> None:
    Store(Path("ahead"), "run-1").write_part([row("a", iou=0.1)], [])
    tomorrow.undo()
    Store(Path("right"), "run-2").write_part([row("a", iou=0.2)], [])
    merge([Path("right"), Path("ahead")], OUT, newest=True)
    assert read_rows(OUT)["iou"].to_list() == [0.1]
    Store(OUT, "run-3").write_part([row("a", iou=0.3)], [])
    assert read_rows(OUT)["iou"].to_list() == [0.3]
