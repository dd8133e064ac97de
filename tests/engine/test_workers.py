"""Runs in worker processes: the same rows as in this one, and a worker's end costs only the sessions at fault."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.engine import shared_task
from intrabench.engine.executors import make
from tests.engine.test_run import PASSING

PLUGIN = Path(__file__).with_name("faulty_plugin.py")
MANY = "phantom:shape=8x64x64,instances=6"
pytestmark = [pytest.mark.usefixtures("data"), pytest.mark.filterwarnings("ignore::UserWarning")]


def run(out: str, **options: object) -> pl.DataFrame:
    given = {"model": "faulty", "prompter": ["box_volume", "stuck"], "dataset": MANY, "plugin": PLUGIN}
    return lasting(intrabench.run(**{**given, "out": out, "workers": 1, "timeout": 3, **options}))  # type: ignore[arg-type]


def lasting(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.drop(PASSING).sort("session", "round")


@pytest.fixture
def undisturbed() -> pl.DataFrame:
    rows = run("undisturbed", workers=0)
    assert len(rows) == 12
    assert set(rows["status"]) == {"ok"}
    return rows


def corner(target: str) -> str:
    """The first column of the box of a target, by which the model knows it."""
    from intrabench.datasets.base import Files
    from intrabench.registry.registry import make

    _, targets = make("datasets", MANY).load("case-1", Files(None, None))
    return str(next(one.mask.box[2] for one in targets if one.id == target))


def differing(rows: pl.DataFrame, undisturbed: pl.DataFrame) -> list[tuple[str, str, str, str]]:
    """The sessions that differ; there must be one row for each, also among all that are stored."""
    assert rows["session"].to_list() == undisturbed["session"].to_list()
    bad = rows.join(undisturbed, on=rows.columns, how="anti", nulls_equal=True)
    return sorted(bad.select("target", "prompter", "status", "error").rows())


def test_workers_give_the_same_rows(undisturbed: pl.DataFrame) -> None:
    assert run("one").equals(undisturbed)
    assert run("two", workers=2).equals(undisturbed)
    assert not list(Path("two/locks").glob("*.lock"))


KILLED = "the worker process ended with "
LATE = "took longer than 3 s (--timeout)"
ONE_BY_ONE = {
    "segv prompter blob.2": ("error", f"{KILLED}signal 11: Fatal Python error: Segmentation fault"),
    "exit prompter blob.2": ("error", f"{KILLED}exit code 3"),
    "kill prompter blob.2": ("error", f"{KILLED}signal 9, perhaps out of memory"),
    "fork prompter blob.2": ("error", f"{KILLED}exit code 5"),
    "hang prompter blob.2": ("timeout", f"1 session {LATE}"),
    "busy prompter blob.2": ("timeout", f"1 session {LATE}"),
    "leak prompter blob.2": ("oom", "1 session took more than 0.5 GB of memory, a worker's share; use fewer --workers"),
}
"""Faults of which one session of a case fails, with its status and the beginning of what it says."""
WHOLE = {
    "hang open any": {("timeout", f"opening the image {LATE}")},
    "exit open any": {("error", f"{KILLED}exit code 3; 3 workers died of this image")},
    "hang metric any": {
        ("timeout", f"1 session {LATE}"),
        ("timeout", f"1 session {LATE}; 3 workers died of this image"),
    },
}
"""Those of which all sessions fail."""
HARMLESS = ("exit close any", "hang close any", "term prompter blob.2", "hup prompter blob.2")
"""Those of which none does: all is stored before the image is closed, and a scheduler's signals mean the whole run."""
FAULTS = [*ONE_BY_ONE, *WHOLE, *HARMLESS]
KINDS = ["segv prompter blob.2", "fork prompter blob.2", "hang prompter blob.2", "leak prompter blob.2"]
KINDS += ["exit open any", "term prompter blob.2"]
"""One of each kind: it dies, leaves a process, never answers, grows; before any session; without any fault of it."""


@pytest.mark.parametrize("faults", [KINDS, pytest.param(FAULTS, marks=pytest.mark.slow)], ids=["each kind", "all"])
def test_whatever_a_worker_dies_of_costs_only_the_sessions_at_fault(
    monkeypatch: pytest.MonkeyPatch, faults: list[str]
) -> None:
    monkeypatch.setattr(make, "default_memory_limit_mb", lambda workers: 500.0)
    monkeypatch.setattr(shared_task, "WHOLE", 1)  # each session has all of the time limit, enough to leak
    given = {"dataset": f"phantom:shape=8x24x24,instances=3,scans={len(faults)}", "metric": "halting", "workers": 2}
    expected = run("undisturbed", **{**given, "workers": 0})
    assert len(expected) == len(faults) * 3 * 2
    where = {f"case-{number}": fault for number, fault in enumerate(faults, 1)}
    assert set(expected["case"]) == where.keys()
    Path("fault").write_text("\n".join(f"{fault} {case}" for case, fault in where.items()))
    rows = run("out", **given)
    bad = {fault: differing(rows.filter(case=case), expected.filter(case=case)) for case, fault in where.items()}
    for fault, differ in bad.items():
        if fault in ONE_BY_ONE:
            (found,) = differ
            status, said = ONE_BY_ONE[fault]
            assert found[:3] == ("blob.2", "stuck", status)
            assert found[3].startswith(said)
        elif fault in WHOLE:
            assert len(differ) == 6
            assert {found[2:] for found in differ} == WHOLE[fault]
        else:
            assert fault in HARMLESS
            assert differ == []
    assert not list(Path("out/locks").glob("*.lock"))
    assert stored("out") == len(rows)
    Path("fault").unlink()
    assert run("out", **{**given, "workers": 0}).equals(expected)  # failed sessions are tried again


def stored(out: str) -> int:
    """The number of all rows in files, also of those that newer ones replace."""
    return sum(len(pl.read_parquet(path)) for path in Path(out, "rows").iterdir())


@pytest.mark.parametrize("others", [12, pytest.param(60, marks=pytest.mark.slow)])
def test_a_session_that_kills_its_worker_is_found_among_others(others: int) -> None:
    many = f"phantom:shape=8x96x96,instances={others + 1}"
    expected = run("undisturbed", workers=0, dataset=many, prompter="stuck")
    assert len(expected) == others + 1
    Path("fault").write_text("exit prompter blob.10")
    ((target, _, status, error),) = differing(run("out", dataset=many, prompter="stuck"), expected)
    assert (target, status, error) == ("blob.10", "error", f"{KILLED}exit code 3")
    assert stored("out") == others + 1


@pytest.mark.slow
def test_a_model_that_dies_of_two_of_its_sessions_fails_both(undisturbed: pl.DataFrame) -> None:
    Path("fault").write_text(f"segv segment {corner('blob.5')}")
    bad = differing(run("out"), undisturbed)
    assert [one[:3] for one in bad] == [("blob.5", "box_volume", "error"), ("blob.5", "stuck", "error")]


def test_objects_are_played_in_this_process(data: Path, wording: SnapshotAssertion) -> None:
    from intrabench.errors import IntraBenchError
    from intrabench.models.box_fill import BoxFill

    with pytest.raises(IntraBenchError) as caught:
        intrabench.run(BoxFill(), "box_volume", workers=2)
    assert caught == wording
