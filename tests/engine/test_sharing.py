"""Several runs of the same command share a folder by leases alone, as the members of a job array do."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import intrabench
from intrabench.results.parts import damaged_parts, read_rows
from intrabench.results.runs import read_records
from tests.engine.test_run import lasting
from tests.processes import Process, command

PLUGIN = Path(__file__).with_name("sharing_plugin.py")
DATA = "phantom:shape=8x24x24,instances=2,scans=6"
pytestmark = pytest.mark.usefixtures("data")


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Process]:
    """Begins a run in a process of its own."""

    def begin(role: str = "", workers: int = 0) -> Process:
        monkeypatch.setenv("ROLE", role)
        words = ["run", "--model", "sharing", "--prompter", "box_volume", "--prompter", "box_slice", "--dataset", DATA]
        return Process(command, *words, "--plugin", str(PLUGIN), "--out", "out", "--workers", str(workers))

    return begin


def run(out: Path) -> pl.DataFrame:
    """The same, in this process."""
    return intrabench.run("sharing", ["box_volume", "box_slice"], DATA, plugin=PLUGIN, out=out)


def ended(process: Process) -> int | None:
    code, _, told = process.ended()
    assert "Traceback" not in told
    return code


def stored(out: str) -> pl.DataFrame:
    """All rows of all parts, also those that newer ones replace."""
    return pl.concat([pl.read_parquet(part) for part in Path(out, "rows").iterdir()])


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INTRABENCH_DATA", str(tmp_path_factory.mktemp("data")))
        patch.setenv("INTRABENCH_WORKERS", "0")
        rows = lasting(run(tmp_path_factory.mktemp("undisturbed")))
    assert len(rows) == 6 * 2 * 2
    assert set(rows["status"]) == {"ok"}
    return rows


@pytest.mark.parametrize("workers", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_three_runs_of_which_one_is_killed_give_the_rows_of_one(
    started: Callable[..., Process], undisturbed: pl.DataFrame, workers: int
) -> None:
    victim = started("victim", workers)
    while not Path("reached").exists():
        assert victim.wait(0.01) is None
    others = [started(workers=workers) for _ in range(2)]
    for other in others:  # they play the rest meanwhile
        assert any(re.search(r"waiting for process \d+ on .+, which holds out/locks/", line) for line in other.stderr)
    victim.end()
    assert [ended(other) for other in others] == [0, 0]
    assert lasting(read_rows(Path("out"))).equals(undisturbed)
    assert len(stored("out")) == len(undisturbed)
    assert {path.suffix for path in Path("out/locks").iterdir()} <= {".run", ".tries"}  # of the one that was killed
    run(Path("out"))
    assert len(stored("out")) == len(undisturbed)


def test_where_everybody_gets_every_lease_work_is_doubled_but_no_row_is_and_none_is_lost(
    started: Callable[..., Process], undisturbed: pl.DataFrame
) -> None:
    """As on a mount whose exclusive creation does not exclude."""
    both = [started("without") for _ in range(2)]
    assert [ended(one) for one in both] == [0, 0]
    assert damaged_parts(Path("out")) == []
    assert lasting(read_rows(Path("out"))).equals(undisturbed)
    assert len(stored("out")) == 2 * len(undisturbed)
    assert [record["state"] for record in read_records(Path("out"))] == ["finished"] * 2
