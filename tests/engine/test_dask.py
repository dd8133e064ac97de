"""Runs on a Dask cluster: the same rows as in this process, and what dies costs nothing but time."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event, Semaphore
from types import SimpleNamespace
from typing import Any

import dask
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.engine.clusters import connect
from intrabench.engine.clusters.description import Description, imported
from intrabench.engine.executors.dask import payload
from intrabench.engine.executors.dask.executor import DaskCluster
from intrabench.engine.executors.dask.payload import TaskMessage, TaskResult
from intrabench.engine.executors.dask.worker import _DaskReporter, forget_settings
from intrabench.engine.options import chosen
from intrabench.errors import IntraBenchError
from intrabench.results.parts import read_rows
from intrabench.results.runs import read_records
from tests.engine.test_workers import PLUGIN, differing, lasting
from tests.wording import without_reasons

DATA = "phantom:shape=16x32x32,instances=3,scans=4"
pytestmark = [pytest.mark.usefixtures("data"), pytest.mark.filterwarnings("ignore::UserWarning")]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Two workers, whose data folder is not that of the command: they lack all cases at first."""
    from distributed import LocalCluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INTRABENCH_DATA", str(tmp_path_factory.mktemp("theirs")))
        with (
            dask.config.set({"distributed.scheduler.allowed-failures": 0, "distributed.worker.profile.enabled": False}),
            LocalCluster(n_workers=2, threads_per_worker=1, memory_limit=0, dashboard_address=None) as made,
        ):
            yield made


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INTRABENCH_DATA", str(tmp_path_factory.mktemp("ours")))
        rows = run(str(tmp_path_factory.mktemp("undisturbed")), workers=0)
    assert len(rows) == 24
    assert set(rows["status"]) == {"ok"}
    return rows


@pytest.fixture(scope="module")
def shared(cluster: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that the workers have written."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INTRABENCH_DATA", str(tmp_path_factory.mktemp("mine")))
        folder = tmp_path_factory.mktemp("shared")
        run(str(folder), dask=cluster.scheduler_address)
    return folder


def run(out: str, **options: Any) -> pl.DataFrame:
    given = {"model": "faulty", "prompter": ["box_volume", "stuck"], "dataset": DATA, "plugin": PLUGIN, "out": out}
    return lasting(intrabench.run(**{**given, **options}))


def stored(out: str) -> pl.DataFrame:
    """All rows that are in the files."""
    return pl.concat([pl.read_parquet(path) for path in Path(out, "rows").iterdir()])


def test_rows_are_the_same_written_by_workers_or_brought_back(
    cluster: Any, shared: Path, undisturbed: pl.DataFrame
) -> None:
    assert lasting(read_rows(shared)).equals(undisturbed)
    assert run("brought", dask=cluster.scheduler_address, collect=True).equals(undisturbed)
    (command,) = (one["run_id"] for one in read_records(Path("brought")))
    assert set(stored("brought")["run_id"]) == {command}
    runs = {one["run_id"]: one["state"] for one in read_records(shared)}
    assert set(runs.values()) == {"finished"}
    command = min(runs, key=len)
    writers = set(stored(str(shared))["run_id"])
    assert writers == runs.keys() - {command}
    assert all(writer.startswith(f"{command}-w") for writer in writers)
    for out in (str(shared), "brought"):
        assert len(stored(out)) == len(read_rows(Path(out))) == 24
        assert not list(Path(out, "locks").iterdir())
        assert run(out, dask=cluster.scheduler_address).equals(undisturbed)
        assert len(stored(out)) == 24  # nothing was played again


@pytest.mark.usefixtures("shared")
def test_tasks_show_case_and_model(cluster: Any) -> None:
    keys = {entry[0] for entry in cluster.scheduler.transition_log}
    assert any(key[:2] == ("play faulty", "phantom:shape=16x32x32,scans=4, case case-2") for key in keys)
    assert "play faulty" in cluster.scheduler.task_prefixes


@pytest.mark.parametrize("collect", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_session_that_kills_its_process_fails_alone(
    cluster: Any, undisturbed: pl.DataFrame, collect: bool, wording: SnapshotAssertion
) -> None:
    Path("fault").write_text("exit prompter blob.2")
    before = _pids(cluster)
    rows = run("out", dask=cluster.scheduler_address, collect=collect, cases="case-1")
    bad = differing(rows, undisturbed.filter(case="case-1"))
    assert bad == [("blob.2", "stuck", "error", wording)]
    assert _pids(cluster) == before


@pytest.mark.parametrize("collect", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_group_whose_dask_worker_dies_is_played_by_another(
    cluster: Any, undisturbed: pl.DataFrame, collect: bool
) -> None:
    Path("fault").write_text("parent-once prompter blob.2")
    before = _pids(cluster)
    assert run("out", dask=cluster.scheduler_address, collect=collect).equals(undisturbed)
    assert not Path("fault").exists()
    assert _pids(cluster) != before
    assert len(stored("out")) == 24


def _pids(cluster: Any) -> set[int]:
    with cluster.get_client() as client:
        client.wait_for_workers(2)
        return set(client.run(os.getpid).values())


def test_a_worker_that_does_not_see_the_results_folder_is_refused(
    cluster: Any, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    mine = os.open(tmp_path, os.O_RDONLY)  # a path that only this process has
    try:
        with pytest.raises(IntraBenchError) as caught:
            run(f"/proc/self/fd/{mine}/out", dask=cluster.scheduler_address)
        assert str(caught.value).replace(f"/fd/{mine}/", "/fd/MINE/") == wording
        rows = run(f"/proc/self/fd/{mine}/out", dask=cluster.scheduler_address, collect=True, cases="case-1")
    finally:
        os.close(mine)
    assert set(rows["status"]) == {"ok"}


BEGUN, END = Semaphore(0), Event()


def waiting(*_: Any) -> TaskResult:
    """A task of a worker in this process."""
    BEGUN.release()
    END.wait(120)
    return TaskResult(missing=17)


def test_the_only_worker_is_replaced_when_it_has_ended_and_its_task_goes_on() -> None:
    """As at the end of the wall time of its job."""
    from distributed import Client, LocalCluster

    run = SimpleNamespace(run="r", results=None, needs=(sys.version.split()[0], intrabench.__version__, "", []))
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "10ms"}),
        LocalCluster(n_workers=1, processes=False, dashboard_address=None) as made,
        Client(made) as client,
        ThreadPoolExecutor() as threads,
    ):
        cluster = DaskCluster(client, run, SimpleNamespace(job=None))  # type: ignore[arg-type]
        cluster.wait()
        (first,) = cluster.seats
        try:
            outcome = threads.submit(cluster.executors[0]._done, waiting, TaskMessage(0, "case"), "play", "case", 1)
            assert BEGUN.acquire(timeout=120)
            client.retire_workers([first], close_workers=True, remove=True)
            until = time.monotonic() + 120
            while not BEGUN.acquire(timeout=0.05):
                assert time.monotonic() < until, f"nobody goes on: {set(cluster.seats)}"
                cluster._looked = 0.0
                cluster.more()
        finally:
            END.set()
            cluster.stopped_at = cluster.stopped_at or time.monotonic() - 60
        assert outcome.result(60).missing == 17
        assert first not in cluster.seats


def test_what_workers_lack_is_said(wording: SnapshotAssertion) -> None:
    python, version = sys.version.split()[0], intrabench.__version__
    assert payload.lacking(python, version, "", [str(PLUGIN)]) == ""
    assert payload.lacking("3.9.1", version, "", []).replace(python, "PYTHON") == wording
    assert payload.lacking(python, "0.0", "", []).replace(version, "VERSION") == wording
    assert payload.lacking(python, version, "", ["/no.py"]) == wording
    assert payload.lacking(python, version, "/no/locks/1.run", []) == wording


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"dask": "local:0"}, "--dask local:0 is no number of workers; give local:1 to local:1024"),
        ({"dask": "local"}, "--dask local is no number of workers"),
        ({"dask": "http://a:1"}, "--dask http://a:1 is no cluster; give local:4, tcp://HOST:8786"),
        ({"dask": "tcp://host"}, "--dask tcp://host is no cluster"),
        ({"dask": "no.yaml"}, "--dask no.yaml: there is no such file"),
        (
            {"dask": "local:2", "workers": 2},
            "--workers 2 is for this machine, and --dask local:2 has workers of its own",
        ),
        ({"collect": True}, "--collect brings rows back from a cluster; give --dask, too"),
    ],
)
def test_what_is_no_cluster_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(IntraBenchError) as caught:
        run("out", **given)
    assert str(caught.value).startswith(said)


def test_objects_are_refused(wording: SnapshotAssertion) -> None:
    from intrabench.models.box_fill import BoxFill

    with pytest.raises(IntraBenchError) as caught:
        chosen({"model": BoxFill(), "dask": "local:2"})
    assert caught == wording


def test_what_a_model_changes_in_its_process_stays_there(cluster: Any) -> None:
    plugin = PLUGIN.with_name("patching_plugin.py")
    given = {"prompter": "box_slice", "dataset": "phantom:shape=12x32x32,instances=2", "plugin": plugin}
    alone = run("alone", **given, model="box_fill", workers=0)
    rows = run("out", **given, model=["patching:how=all", "box_fill"], dask=cluster.scheduler_address)
    assert rows.filter(model="box_fill").equals(alone)


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n" * 9])
def test_who_is_waited_for_is_said_soon(monkeypatch: pytest.MonkeyPatch, answer: bytes) -> None:
    assert connect.SILENT_SECONDS < 5
    monkeypatch.setattr(connect, "SILENT_SECONDS", 0.1)
    monkeypatch.setattr(connect, "CONNECT_SECONDS", 1)
    said: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor(1) as threads:
        where = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        threads.submit(lambda: server.accept()[0].sendall(answer) if answer else None)
        with (
            pytest.raises(IntraBenchError, match="no scheduler answers there"),
            connect.connected(where, said.append),
        ):
            pass
    assert said[:1] == ([] if answer else [f"waiting up to 1 s for the scheduler of --dask {where}"])


def test_a_scheduler_that_does_not_answer_is_said(monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion) -> None:
    monkeypatch.setattr("intrabench.engine.clusters.connect.CONNECT_SECONDS", 0.1)
    with pytest.raises(IntraBenchError) as caught:
        run("out", dask="tcp://127.0.0.1:9")
    assert without_reasons(str(caught.value)) == wording


@pytest.mark.parametrize(
    "text",
    [
        "cluster: [",
        "- a",
        "cluster: SLURMcluster",
        "cluster: os.system",
        "cluster: !!python/object/apply:os.system [ls]",
        "cluster: LocalCluster\nscale: many",
        "cluster: LocalCluster\nscale: 0",
        "clusters: LocalCluster",
        "scale: 2",
        "cluster: LocalCUDACluster",
        "cluster: LocalCluster\narguments: {nothing: 1}",
        "scheduler_file: no.json",
    ],
)
def test_a_file_that_describes_no_cluster_is_refused(text: str, wording: SnapshotAssertion) -> None:
    Path("d.yaml").write_text(text)
    with pytest.raises(IntraBenchError) as caught:
        run("out", dask="d.yaml")
    assert without_reasons(str(caught.value)).partition(": TypeError")[0] == wording


def test_a_cluster_is_started_as_a_file_says(undisturbed: pl.DataFrame) -> None:
    Path("d.yaml").write_text(
        "cluster: LocalCluster\narguments: {memory_limit: 0, dashboard_address: null}\nscale: 1\n"
    )
    assert run("out", dask="d.yaml").equals(undisturbed)


def test_a_queued_cluster_gets_one_thread_and_ends_before_its_wall_time() -> None:
    def completed(name: str, **arguments: Any) -> dict[str, Any]:
        return Description(Path("d.yaml"), name, arguments)._completed("dask_jobqueue")

    ends = ["--nthreads", "1", "--lifetime", "14100s", "--lifetime-stagger", "60s"]
    assert completed("SLURMCluster", walltime="04:00:00")["worker_extra_args"] == ends
    assert completed("LSFCluster", walltime="04:00")["worker_extra_args"] == ends
    assert completed("PBSCluster", walltime=14400) == {"walltime": "04:00:00", "worker_extra_args": ends}
    own = ["--nthreads", "2", "--lifetime", "1h"]
    assert completed("SLURMCluster", walltime="1-00:00:00", worker_extra_args=own)["worker_extra_args"] == own
    imported("dask_jobqueue")
    usual = ["--nthreads", "1", "--lifetime", "1500s", "--lifetime-stagger", "60s"]
    assert completed("SLURMCluster")["worker_extra_args"] == usual, "it asks for 30 minutes where nothing is said"
    assert completed("HTCondorCluster")["worker_extra_args"] == ["--nthreads", "1"], "which knows no wall time"
    with dask.config.set({"jobqueue.slurm.walltime": "02:00:00"}):
        assert "6900s" in completed("SLURMCluster")["worker_extra_args"]


def test_classes_of_clusters_leave_the_meaning_of_an_interruption_alone() -> None:
    code = "import signal; from intrabench.engine.clusters.description import imported; imported('dask_jobqueue'); "
    code += "print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


def test_a_run_without_a_cluster_imports_nothing_of_dask() -> None:
    code = "import sys, intrabench; intrabench.run('box_fill', 'box_volume', 'phantom:shape=8x16x16,instances=1'); "
    code += "print(sorted({'dask', 'distributed', 'yaml'} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[-2] == "[]"


def test_what_plays_is_not_slowed_by_the_settings_of_a_dask_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    import distributed  # noqa: F401  # its settings

    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "65536")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("MKL_NUM_THREADS", "6")  # the user's own
    forget_settings()
    assert not {"MALLOC_TRIM_THRESHOLD_", "OMP_NUM_THREADS"} & os.environ.keys()
    assert os.environ["MKL_NUM_THREADS"] == "6"


def test_notices_of_workers_do_not_flood_the_scheduler() -> None:
    class Worker:
        sent: list[list[str]] = []

        def log_event(self, topic: str, message: list[str]) -> None:
            self.sent.append([topic, *message])

    reporter = _DaskReporter(Worker(), "run")
    for slice in range(100):
        reporter.doing("1", f"encoding slice {slice}")
    reporter.doing("1", "")
    assert [one[3] for one in Worker.sent] == ["encoding slice 0", ""]


def test_without_the_package_it_is_one_sentence() -> None:
    code = "import sys; sys.modules['distributed'] = None; import intrabench; "
    code += "intrabench.run('box_fill', 'box_volume', 'phantom:shape=8x16x16,instances=1', dask='local:1')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    said = "--dask needs the package distributed; run: pip install 'intrabench[cluster]'"
    assert done.stderr.splitlines()[-1].endswith(said)
