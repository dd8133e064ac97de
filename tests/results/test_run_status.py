"""How far runs are, from outside."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.files.locks import locked
from intrabench.results.run_status import RECENT_S, run_status
from intrabench.results.runs import read_record
from intrabench.results.schema import SCHEMA
from intrabench.results.store import Store
from tests.conftest import Said
from tests.results import made

NOW = 1_800_000_000.0


def record(run: str, work: str, state: str = "running", **more: Any) -> None:
    content = {"run_id": run, "state": state, "started": f"2027-{run}", "work": {"cases": [work]}, "command": work}
    Path("out/runs").mkdir(parents=True, exist_ok=True)
    Path("out/locks").mkdir(exist_ok=True)
    Path(f"out/runs/{run}.json").write_text(json.dumps(content | more))


def wrote(run: str, ages: list[float], status: str = "ok") -> None:
    """Sessions of a run that are so many seconds old."""
    several = [{"session": f"{run}-{status}-{age}", "written_at": int((NOW - age) * 1e9)} for age in ages]
    rows = made.rows(*several, run_id=run, status=status)
    Path("out/rows").mkdir(parents=True, exist_ok=True)
    rows.select(SCHEMA.keys()).write_parquet(f"out/rows/{run}-{status}-0001.parquet")


def test_members_of_a_job_are_counted_together(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    record("1", "all", sessions={"total": 40, "already": 4, "open_cases": 2}, options={"note": "first try"})
    record("2", "all", sessions={"total": 44, "already": 9})
    record("3", "other", "finished", sessions={"total": 5, "already": 0})
    wrote("1", [3000.0, 2000.0, 500.0, 100.0])
    wrote("2", [50.0, 30.0], "error")
    wrote("3", [9000.0])
    with locked(Path("out/locks/2.run")):
        one, other = run_status(Path("out"), NOW)
    assert [(member.state, member.sessions, member.note) for member in one.members] == [
        ("killed", 4, "first try"),
        ("running", 2, ""),
    ]
    assert (one.total, one.done, one.failed, one.left, one.open_cases) == (44, 10, 2, 34, 0)
    assert one.per_minute == pytest.approx(4 / RECENT_S * 60)
    assert one.minutes_left == pytest.approx(34 / 0.4)
    assert one.last_s == pytest.approx(30)
    assert (other.done, other.left, other.per_minute, other.minutes_left, other.running) == (1, 4, 0, None, 0)
    said = say("status", "out")
    assert (said.code, said.err) == (0, "")
    assert said.out == wording


def test_runs_say_what_was_done_and_why() -> None:
    phantom = "phantom:shape=8x24x24,instances=3"
    for seed in (0, 1):
        intrabench.run("box_fill", ["box_slice", "box_volume"], phantom, seed=[seed], out="out", note=f"seed {seed}")
    found = run_status(Path("out"), NOW)
    assert [(one.total, one.done, one.left, one.failed, one.running) for one in found] == [(6, 6, 0, 0, 0)] * 2
    assert [one.members[0].note for one in found] == ["seed 0", "seed 1"]


def test_the_record_is_renewed_while_a_run_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    totals = iter((6, 9))
    store = Store(Path("out"), "run", lambda: {"sessions": {"total": next(totals)}})
    rows = [
        {name: value for name, value in made.rows({"case": case}).to_dicts()[0].items() if value is not None}
        for case in "abc"
    ]
    store.write_part(rows[:1], [])
    store.write_part(rows[1:2], [])
    assert read_record(Path("out"), "run")["sessions"] == {"total": 6}
    monkeypatch.setattr(store, "_next_record", 0.0)  # a minute later
    store.write_part(rows[2:], [])
    assert read_record(Path("out"), "run")["sessions"] == {"total": 9}


def test_an_empty_folder(say: Callable[..., Said]) -> None:
    assert run_status(Path("out"), NOW) == []
    assert say("status", "out", "--json").out == "[]\n"
