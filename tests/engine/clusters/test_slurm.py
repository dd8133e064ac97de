"""Job scripts in a real Slurm on this machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from tests.engine.clusters.slurm import INSTALL, Slurm, missing, slurm, wait
from tests.engine.kill_drill import PLUGIN, compare

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(missing()), reason=f"{', '.join(missing())} not installed; run: {INSTALL}"),
]

RUN = ["run", "--model", "box_fill", "--prompter", "box_slice", "--prompter", "box_interp:n=2", "--save-masks"]
SLOW = ["run", "--model", "slow", "--plugin", "slow.py", "--prompter", "box_slice", "--save-masks"]
DATA = ["--dataset", "phantom:shape=16x32x32,instances=3,scans=6"]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Slurm]:
    with slurm() as running:
        yield running


@pytest.fixture(autouse=True)
def _workers(monkeypatch: pytest.MonkeyPatch, data: Path) -> None:
    """As a user's: the tests' own setting does not come along."""
    monkeypatch.delenv("INTRABENCH_WORKERS", raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


def intrabench(*words: str) -> str:
    """What a command prints."""
    command = [sys.executable, "-m", "intrabench", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def script(members: int, *run: str, kind: tuple[str, ...] = ("--slurm",)) -> str:
    small = ("--cpus", "1", "--memory", "1G", "--time", "0:30:00")
    return intrabench("job", *kind, "-n", str(members), *small, "--", *run)


def logs() -> str:
    return "\n".join(f"{path}:\n{path.read_text()}" for path in sorted(Path.cwd().glob("*.log")))


def assert_equal(whole: str, out: str) -> None:
    """Rows, turns and masks are those of a run that nobody disturbed."""
    wrong: Counter[str] = Counter()
    compare(Path(whole), Path(out), wrong)
    assert not +wrong, f"{wrong}\n{logs()}"


def parts(out: str) -> list[Path]:
    return sorted(Path(out).glob("rows/*.parquet"))


def test_members_of_an_array_share_the_work(cluster: Slurm) -> None:
    intrabench(*RUN, *DATA, "--out", "whole")
    job = cluster.submit(script(3, *RUN, *DATA, "--out", "it's shared"))
    ended = cluster.finish(job)
    assert [member["JobState"] for member in ended] == ["COMPLETED"] * 3, logs()
    assert_equal("whole", "it's shared")
    assert len(list(Path("it's shared").glob("runs/*.json"))) == 3
    assert len(pl.read_parquet(parts("it's shared"))) == 36  # none was played twice


def played() -> list[int]:
    """The number of the run's process for each time that the slow model was asked."""
    return [int(line) for line in Path("played").read_text().splitlines()] if Path("played").exists() else []


@pytest.fixture
def sessions() -> int:
    """The sessions of a run of the slow model that nobody disturbed, in ``whole``."""
    noted = "import os; open('played', 'a').write(f'{os.getppid()}\\n'); time.sleep(0.3)"
    Path("slow.py").write_text(PLUGIN.replace("time.sleep(0.02)", noted))
    intrabench(*SLOW, *DATA, "--out", "whole")
    return len(played())


def test_a_member_that_is_told_to_stop_is_queued_again_and_goes_on(cluster: Slurm, sessions: int) -> None:
    job = cluster.submit(script(1, *SLOW, *DATA, "--out", "stopped"))
    wait(lambda: len(played()) >= sessions + 8, 120, "the ninth session")
    cluster("scancel", "--signal=TERM", job)
    wait(lambda: "PENDING" in cluster.waiting(job), 60, "the member's place in the queue")
    kept = pl.read_parquet(parts("stopped"))
    assert 0 < len(kept) < sessions, logs()
    (ended,) = cluster.finish(job)
    assert (ended["JobState"], ended["Restarts"]) == ("COMPLETED", "1"), logs()
    assert_equal("whole", "stopped")
    now = pl.read_parquet(parts("stopped"))
    assert len(now) == sessions
    assert len(kept.join(now, on=["session", "round", "written_at"], how="semi")) == len(kept)
    assert len(played()) <= 2 * sessions + 3, "no more than one wave was played twice"


def test_the_scan_of_a_member_that_is_killed_is_taken_over(cluster: Slurm, sessions: int) -> None:
    job = cluster.submit(script(2, *SLOW, *DATA, "--out", "shared"))
    wait(lambda: len(played()) >= sessions + 4, 120, "the fifth session")
    os.kill(played()[-1], signal.SIGKILL)
    ended = sorted((member["JobState"], member["ExitCode"]) for member in cluster.finish(job))
    assert ended == [("COMPLETED", "0:0"), ("FAILED", "137:0")], logs()
    assert_equal("whole", "shared")


def test_a_member_whose_command_fails_is_not_queued_again(cluster: Slurm) -> None:
    (ended,) = cluster.finish(cluster.submit(script(1, *RUN, *DATA).replace("--save-masks", "--modle")))
    assert (ended["JobState"], ended["Restarts"], ended["ExitCode"]) == ("FAILED", "0", "2:0")


def test_a_dask_cluster_of_jobs_plays_the_run(cluster: Slurm, monkeypatch: pytest.MonkeyPatch) -> None:
    intrabench(*RUN, *DATA, "--out", "whole")
    for name in ("SLURM_CONF", "PATH"):
        monkeypatch.setenv(name, cluster.environment[name])
    run = (*RUN, *DATA, "--out", "it's shared")
    Path("cluster.yaml").write_text(script(2, *run, kind=("--slurm", "--dask")))
    intrabench(*run, "--dask", "cluster.yaml")
    assert_equal("whole", "it's shared")
    rows = pl.read_parquet(parts("it's shared"))
    assert len(rows) == 36
    assert all("-w" in run for run in rows["run_id"]), "workers write"
    assert list(Path.cwd().glob("intrabench-*.log"))
    wait(lambda: not cluster("squeue", "--noheader"), 60, "the end of the jobs with the run")


def test_a_job_whose_time_is_over_is_replaced(cluster: Slurm, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SLURM_CONF", "PATH"):
        monkeypatch.setenv(name, cluster.environment[name])
    Path("slow.py").write_text(PLUGIN.replace("time.sleep(0.02)", "time.sleep(0.3)"))
    run = (*SLOW, "--dataset", "phantom:shape=16x32x32,instances=3,scans=10")
    intrabench(*run, "--out", "whole")
    text = script(1, *run, "--out", "shared", kind=("--slurm", "--dask")).replace("--lifetime, 1500s", "--lifetime, 8s")
    Path("cluster.yaml").write_text(text.replace("60s", "1s"))
    intrabench(*run, "--out", "shared", "--dask", "cluster.yaml")
    assert_equal("whole", "shared")
    assert len(list(Path.cwd().glob("intrabench-*.log"))) > 1, "there were several jobs, one after the other"


def test_no_daemon_is_left(cluster: Slurm) -> None:
    with slurm() as other:
        assert other.folder != cluster.folder
        pids = [int((other.folder / name).read_text()) for name in ("munge.pid", "slurmctld.pid", "slurmd.pid")]
        assert all(Path(f"/proc/{pid}").exists() for pid in pids)
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)
    assert not other.folder.exists()
