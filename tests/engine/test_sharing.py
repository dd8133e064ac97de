"""Several runs of the same command share a folder by leases alone, as the members of a job array do."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

import intrabench
from intrabench.results.parts import damaged_parts, read_rows
from intrabench.results.runs import read_records
from tests.engine.test_run import lasting

PLUGIN = Path(__file__).with_name("sharing_plugin.py")
DATA = "phantom:shape=8x24x24,instances=2,scans=6"
pytestmark = pytest.mark.usefixtures("data")


def started(out: str, role: str = "", workers: int = 0) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "intrabench", "run", "--model", "sharing", "--prompter", "box_volume"]
    words += ["--prompter", "box_slice", "--dataset", DATA, "--plugin", str(PLUGIN), "--out", out]
    environment = {**os.environ, "ROLE": role}
    return subprocess.Popen(
        [*words, "--workers", str(workers)], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def run(out: Path) -> pl.DataFrame:
    """The same, in this process."""
    return intrabench.run("sharing", ["box_volume", "box_slice"], DATA, plugin=PLUGIN, out=out)


def ended(process: subprocess.Popen[str]) -> int:
    _, told = process.communicate()
    assert "Traceback" not in told
    return process.returncode


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
def test_three_runs_of_which_one_is_killed_give_the_rows_of_one(undisturbed: pl.DataFrame, workers: int) -> None:
    victim = started("out", "victim", workers)
    while not Path("reached").exists():
        assert victim.poll() is None
        time.sleep(0.01)
    others = [started("out", workers=workers) for _ in range(2)]
    for other in others:  # they play the rest meanwhile
        assert other.stderr is not None
        assert any(re.search(r"waiting for process \d+ on .+, which holds out/locks/", line) for line in other.stderr)
    victim.kill()
    victim.communicate()
    assert [ended(other) for other in others] == [0, 0]
    assert lasting(read_rows(Path("out"))).equals(undisturbed)
    assert len(stored("out")) == len(undisturbed)
    assert {path.suffix for path in Path("out/locks").iterdir()} <= {".run", ".tries"}  # of the one that was killed
    run(Path("out"))
    assert len(stored("out")) == len(undisturbed)


def test_where_everybody_gets_every_lease_work_is_doubled_but_no_row_is_and_none_is_lost(
    undisturbed: pl.DataFrame,
) -> None:
    """As on a mount whose exclusive creation does not exclude."""
    both = [started("out", "without") for _ in range(2)]
    assert [ended(one) for one in both] == [0, 0]
    assert damaged_parts(Path("out")) == []
    assert lasting(read_rows(Path("out"))).equals(undisturbed)
    assert len(stored("out")) == 2 * len(undisturbed)
    assert [record["state"] for record in read_records(Path("out"))] == ["finished"] * 2
