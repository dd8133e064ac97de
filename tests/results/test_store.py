"""The results folder: parts, newest rows, masks, damage."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.errors import IntraBenchError
from intrabench.mask import Mask
from intrabench.results import new_parts
from intrabench.results.masks import read_masks
from intrabench.results.parts import damaged_parts, finished_sessions, read_rows, read_turns
from intrabench.results.schema import SCHEMA, metric_columns
from intrabench.results.store import Store

WHO = {"protocol": "p@1", "dataset": "d", "case": "c", "target": "t.1", "model": "m", "prompter": "p", "seed": 0}


def row(session: str, round: int = 0, status: str = "ok", ended: bool = False, **more: object) -> dict[str, object]:
    return {**WHO, "session": session, "round": round, "status": status, "ended": ended, "dice": 0.5, **more}


def test_rows_and_turns_come_back_as_written() -> None:
    store = Store(Path("out"), "run")
    turns = [{"session": "a", "round": 0, "turn": 0, "given": "{}"}]
    store.write_part([row("a"), row("a", 1, ended=True)], turns)
    rows = read_rows(Path("out"))
    assert list(rows.schema) == list(SCHEMA)
    assert rows.select("session", "round", "run_id").rows() == [("a", 0, "run"), ("a", 1, "run")]
    assert read_turns(Path("out")).rows(named=True) == turns
    assert [path.name for path in Path("out/rows").iterdir()] == ["run-0001.parquet"]


def test_parts_from_before_a_column_was_there() -> None:
    store = Store(Path("out"), "run")
    store.write_part([row("a", iou=0.25)], [])
    old = Path("out/rows/run-0001.parquet")
    pl.read_parquet(old).drop("metrics", "peak_gpu_mb").write_parquet(old)
    store.write_part([row("b", metrics="dice@1", peak_gpu_mb=2.0)], [])
    rows = read_rows(Path("out")).sort("session")
    assert rows.select("iou", "metrics", "peak_gpu_mb").rows() == [(0.25, None, None), (None, "dice@1", 2.0)]
    assert finished_sessions(Path("out"), 0) == {"a", "b"}


def test_the_newest_patient_of_a_case_counts_for_all_its_rows() -> None:
    store = Store(Path("out"), "run")
    store.write_part([row("old"), row("other", dataset="e"), row("alone", case="x")], [])
    store.write_part([row("first", patient="wrong")], [])
    store.write_part([row("second", patient="P1"), row("third", dataset="e", patient="P1")], [])
    store.write_part([row("later, of an old version")], [])
    found = dict(read_rows(Path("out")).select("session", "patient").rows())
    assert found.pop("alone") == "x"
    assert set(found.values()) == {"P1"}
    assert len(found) == 6


def test_every_metric_has_a_column_known_here_or_not() -> None:
    store = Store(Path("out"), "run")
    store.write_part([row("a", metrics="dice@1 roughness:scale=2@1", **{"roughness:scale=2": 0.25})], [])
    store.write_part([row("b", metrics="dice@1 hd95_mm@1", hd95_mm=float("inf"))], [])
    rows = read_rows(Path("out")).sort("session")
    assert metric_columns(rows) == ["roughness:scale=2", "hd95_mm"]
    assert rows.select("session", *metric_columns(rows)).rows() == [("a", 0.25, None), ("b", None, float("inf"))]
    assert damaged_parts(Path("out")) == []


@pytest.mark.parametrize("metrics", [None, "dice@1", "hd95_mm@1"])
def test_a_value_that_nobody_asked_for_is_refused(metrics: str | None, wording: SnapshotAssertion) -> None:
    store = Store(Path("out"), "run")
    with pytest.raises(IntraBenchError) as caught:
        store.write_part([row("a", metrics=metrics, roughness=0.5)], [])
    assert caught == wording
    assert read_rows(Path("out")).is_empty()


def test_nothing_there_is_an_empty_frame() -> None:
    assert read_rows(Path("nowhere")).is_empty()
    assert list(read_turns(Path("nowhere")).schema) == ["session", "round", "turn", "given"]
    assert finished_sessions(Path("nowhere"), 0) == set()


def test_the_newest_rows_of_a_session_count() -> None:
    store = Store(Path("out"), "run")
    store.write_part([row("a", status="error"), row("b")], [])
    store.write_part([row("a"), row("a", 1)], [])
    rows = read_rows(Path("out")).sort("session", "round")
    assert rows.select("session", "round", "status").rows() == [("a", 0, "ok"), ("a", 1, "ok"), ("b", 0, "ok")]


@pytest.mark.parametrize(
    ("rows", "rounds", "done"),
    [
        ([row("a")], 0, True),
        ([row("a")], 1, False),
        ([row("a"), row("a", 1)], 1, True),
        ([row("a", ended=True)], 5, True),
        ([row("a", status="stopped", ended=True)], 5, True),
        ([row("a", status="not_applicable", ended=True)], 5, True),
        ([row("a"), row("a", 1, status="timeout", ended=True)], 1, False),
        ([row("a", status="oom", ended=True)], 0, False),
    ],
)
def test_what_counts_as_finished(rows: list[dict[str, object]], rounds: int, done: bool) -> None:
    store = Store(Path("out"), "run")
    store.write_part(rows, [])
    assert finished_sessions(Path("out"), rounds) == ({"a"} if done else set())
    assert store.finished(rounds) == ({"a"} if done else set())


def test_parts_of_other_workers_are_read_once_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker does not read what each of the others writes; what comes of other runs it sees at once."""
    monkeypatch.setattr(new_parts, "PERIOD", 1e9)
    one, two = (Store(Path("out"), f"run-w{n}", later="run-w") for n in range(2))
    other = Store(Path("out"), "other")
    for store in (one, two, other):
        store.write_part([row(store.run_id, ended=True)], [])
    began = {"run-w0", "run-w1", "other"}
    assert two.finished(0) == began
    one.write_part([row("a", ended=True)], [])
    assert two.finished(0) == began
    other.write_part([row("b", ended=True)], [])
    assert two.finished(0) == began | {"b"}
    two.look_everywhere()
    assert two.finished(0) == began | {"a", "b"}


def test_a_failure_never_hides_what_succeeded_before() -> None:
    store = Store(Path("out"), "run")
    store.write_part([row("a")], [])
    store.write_part([row("a", status="error", ended=True)], [])
    assert read_rows(Path("out"))["status"].to_list() == ["ok"]
    assert store.finished(0) == {"a"}
    assert store.finished(1) == set()
    store.write_part([row("a"), row("a", 1, status="oom", ended=True)], [])
    assert read_rows(Path("out")).sort("round")["status"].to_list() == ["ok", "oom"]
    store.write_part([row("a"), row("a", 1), row("a", 2)], [])
    assert read_rows(Path("out")).sort("round")["status"].to_list() == ["ok"] * 3


def test_of_a_whole_case_the_newest_row_counts() -> None:
    store = Store(Path("out"), "run")
    for status, seen in (("error", 1), ("not_applicable", 0), ("error", 1)):
        store.write_part([row("w", status=status, target="*", ended=True)], [])
        assert len(read_rows(Path("out"))) == seen
        assert store.failed_cases() == ({"w"} if seen else set())


def test_the_turns_of_the_newest_play_count() -> None:
    store = Store(Path("out"), "run")
    turns = [{"session": "a", "round": 0, "turn": number, "given": "old"} for number in range(3)]
    store.write_part([row("a", status="error")], turns)
    store.write_part([row("a")], [{**turns[0], "given": "new"}])
    assert read_turns(Path("out"))["given"].to_list() == ["new"]


def test_leftovers_of_a_killed_run_are_not_read() -> None:
    store = Store(Path("out"), "run")
    store.write_part([row("a")], [])
    Path("out/rows/.run-0002.parquet.123.tmp").write_bytes(b"half")
    assert len(read_rows(Path("out"))) == 1


def test_masks_come_back_bit_for_bit() -> None:
    store = Store(Path("out"), "run")
    array = np.random.default_rng(0).random((3, 4, 5)) > 0.5
    store.write_masks({"a": [Mask.of(array, (7, 8, 9)), Mask.empty()]})
    assert store.has_masks("a")
    back, empty = read_masks(Path("out"), "a")
    assert np.array_equal(back.to_array((12, 14, 16))[7:10, 8:12, 9:14], array)
    assert not empty.any()
    assert read_masks(Path("out"), "b") == []
