"""No run on a Dask cluster waits for ever: for a worker or a scheduler that is silent, paused, dying or refusing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Thread
from types import SimpleNamespace
from typing import Any

import dask
import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.engine.executors.dask import discovery, executor
from intrabench.engine.executors.dask.discovery import WorkerDiscovery, answered
from intrabench.engine.executors.dask.executor import DEATHS, DaskCluster, DaskExecutor, Left, Lost
from intrabench.engine.executors.dask.payload import Payload, TaskMessage, TaskResult
from intrabench.engine.executors.dask.worker import DaskWorker
from intrabench.engine.options import chosen
from intrabench.errors import IntraBenchError, Unfinished
from intrabench.models.base import Failure

TASK = TaskMessage(0, "case")


class Asked:
    """A question to a worker; without an answer it is open."""

    status = "pending"

    def __init__(self, *answer: str | Exception) -> None:
        self.answer = answer

    def done(self) -> bool:
        return bool(self.answer)

    def result(self, timeout: float) -> str:
        assert timeout <= 1
        (answer,) = self.answer
        if isinstance(answer, Exception):
            raise answer
        return answer


class Client:
    """A client of a scheduler that tells of some workers, and of all of them only if it is asked to."""

    cluster, status = None, "running"

    def __init__(self, **workers: Asked) -> None:
        self.answers, self.states, self.asked = workers, dict.fromkeys(workers, "running"), list[str]()

    def scheduler_info(self, n_workers: int = 5) -> dict[str, Any]:
        told = list(self.states)[: n_workers if n_workers >= 0 else None]
        return {"workers": {name: {"status": self.states[name]} for name in told}}

    def submit(self, function: Any, *needs: object, workers: list[str], **_: Any) -> Asked:
        (name,) = workers
        self.asked.append(name)
        return self.answers[name]

    def subscribe_topic(self, topic: str, handler: Any) -> None:
        pass


def arriving(client: Client) -> WorkerDiscovery:
    return WorkerDiscovery(client, ("3", "1", "", []))


def test_nobody_waits_for_a_worker_that_does_not_answer() -> None:
    client = Client(a=Asked(""), b=Asked(), c=Asked(""))
    found = arriving(client)
    assert found.look() == set()
    assert found.open
    assert found.look() == {"a", "c"}
    client.answers["b"].answer = ("",)
    assert found.look() == {"a", "b", "c"}
    assert not found.open
    assert client.asked == ["a", "b", "c"]


def test_a_cluster_may_have_many_workers() -> None:
    """Versions of Dask from 2025.4 on tell of five unless they are asked for all."""
    client = Client(**{f"w{number}": Asked("") for number in range(12)})
    found = arriving(client)
    found.look()
    assert len(found.look()) == 12


def test_a_paused_worker_gets_nothing_to_do_until_it_goes_on(wording: SnapshotAssertion) -> None:
    client = Client(a=Asked(""), b=Asked(""))
    found = arriving(client)
    found.look()
    client.states["a"] = "paused"
    assert found.look() == {"b"}
    assert found.waited_for == wording
    client.states["a"] = "running"
    assert found.look() == {"a", "b"}


def test_a_worker_that_comes_back_is_asked_again() -> None:
    client = Client(a=Asked(""))
    found = arriving(client)
    found.look()
    assert found.look() == {"a"}
    client.states = {}
    assert found.look() == set()
    client.states = {"a": "running"}
    assert found.look() == set()
    assert found.look() == {"a"}


@pytest.mark.parametrize(
    "answer",
    [
        "has Python 3.9",
        ModuleNotFoundError("no intrabench"),
    ],
)
def test_a_worker_that_cannot_take_part_is_named(answer: str | Exception, wording: SnapshotAssertion) -> None:
    found = arriving(Client(a=Asked(answer)))
    found.look()
    with pytest.raises(IntraBenchError) as caught:
        found.look()
    assert str(caught.value) == wording


def test_a_scheduler_that_does_not_answer_ends_the_run(
    monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    monkeypatch.setattr(discovery, "SILENT_SECONDS", 0.1)
    end = Event()
    with pytest.raises(Unfinished) as caught:
        answered(lambda: end.wait(120))
    assert caught == wording
    end.set()

    def gone() -> None:
        raise OSError("closed")

    with pytest.raises(Unfinished) as caught:
        answered(gone)
    assert caught == wording


def test_a_scheduler_that_is_gone_tells_of_no_workers(wording: SnapshotAssertion) -> None:
    client = Client()
    client.scheduler_info = lambda n_workers: {}  # type: ignore[method-assign,assignment,misc]
    with pytest.raises(Unfinished) as caught:
        arriving(client).look()
    assert caught == wording


@pytest.fixture
def cluster() -> DaskCluster:
    """A fleet whose client does nothing."""
    runner = SimpleNamespace(model=SimpleNamespace(short_spec="m"))
    job = SimpleNamespace(datasets=[SimpleNamespace(short_spec="d")], runners=[runner])
    payload = SimpleNamespace(run="r", needs=("3", "1", "", []))
    return DaskCluster(Client(), payload, SimpleNamespace(job=job))  # type: ignore[arg-type]


def make_executor(cluster: DaskCluster, *coming: Exception | TaskResult, begins: bool) -> DaskExecutor:
    """A hand to whose task this happens, once or more often for the last. begins: the task was begun before."""
    far, left = DaskExecutor(cluster), list(coming)

    def asked(function: Any, task: TaskMessage, key: tuple[str, str, str], priority: int) -> TaskResult:
        if begins:
            cluster._hear((0.0, ["started", key[2]]))
        found = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(found, Exception):
            raise found
        return found

    far._asked = asked  # type: ignore[method-assign]
    return far


def done(far: DaskExecutor) -> TaskResult:
    return far._done(lambda: TaskResult(), TASK, "play", "case", 1)


def test_workers_that_die_before_they_begin_end_the_run(cluster: DaskCluster, wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        done(make_executor(cluster, Left(), begins=False))
    assert caught == wording


def test_workers_that_die_while_others_play_do_not_end_the_run(cluster: DaskCluster) -> None:
    cluster.started["another"] = 1
    end = TaskResult(missing=17)
    assert done(make_executor(cluster, *[Left()] * 9, end, begins=False)).missing == 17


def test_a_case_whose_preparation_kills_workers_is_lost(cluster: DaskCluster, wording: SnapshotAssertion) -> None:
    """Also if it is code of the data set that runs in the Dask worker itself."""
    found = make_executor(cluster, Left(), begins=True).prepare(cluster.job.datasets[0], "case")
    assert isinstance(found, Failure)
    assert found.message == wording


def test_a_connection_that_is_lost_for_a_moment_is_no_death(cluster: DaskCluster) -> None:
    assert done(make_executor(cluster, *[Lost()] * 2 * DEATHS, TaskResult(missing=17), begins=True)).missing == 17
    assert not cluster.deaths


def told_again(cluster: DaskCluster, *coming: Exception | TaskResult) -> list[bool]:
    """What the workers that get a task are told, one after the other."""
    far, told = make_executor(cluster, *coming, begins=False), list[bool]()
    ask = far._asked

    def asked(function: Any, message: TaskMessage, key: tuple[str, str, str], priority: int) -> TaskResult:
        told.append(message.again)
        return ask(function, message, key, priority)

    far._asked = asked  # type: ignore[method-assign,assignment]
    done(far)
    return told


def test_workers_are_told_once_a_task_was_handed_out_again(cluster: DaskCluster) -> None:
    """Another worker may have stored it before it died, so they look for what others store."""
    assert told_again(cluster, TaskResult()) == [False]
    assert told_again(cluster, Lost(), Left(), TaskResult()) == [False, True, True]
    assert told_again(cluster, TaskResult()) == [True]


def test_a_worker_that_refuses_its_tasks_and_stays_ends_the_run(
    cluster: DaskCluster, pauses: list[float], wording: SnapshotAssertion
) -> None:
    with pytest.raises(Unfinished) as caught:
        done(make_executor(cluster, TaskResult(stopped=True), begins=False))
    assert caught == wording
    assert sum(pauses) == 60


@pytest.mark.parametrize("begun", [False, True])
def test_what_waits_at_a_paused_worker_goes_to_another(
    cluster: DaskCluster, begun: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not what it has begun, which it finishes."""
    monkeypatch.setattr(executor, "POLL_SECONDS", 0.01)
    cluster.seats["b"], cluster.started["name"] = Counter(), int(begun)
    looked = list[object]()

    class Waiting:
        key, status, cancelled = ("play", "case", "name"), "pending", False

        def add_done_callback(self, call: Callable[[object], None]) -> None:
            self.call = call

        def cancel(self) -> None:
            self.cancelled = True

        def result(self, timeout: float) -> TaskResult:
            return TaskResult(missing=17)

    future = Waiting()

    def whereabouts(key: object) -> str:
        looked.append(key)
        if len(looked) == 2:
            future.status = "finished"
            future.call(future)
        return "a"

    cluster.whereabouts = whereabouts  # type: ignore[method-assign]
    if begun:
        assert DaskExecutor(cluster)._result(future, "name", "a").missing == 17
    else:
        with pytest.raises(Left):
            DaskExecutor(cluster)._result(future, "name", "a")
    assert future.cancelled is not begun


def test_what_waits_at_a_worker_that_never_answers_goes_to_another(cluster: DaskCluster) -> None:
    future, places = SimpleNamespace(key=("play", "case", "name")), iter(["b", "a"])
    cluster.seats["a"], cluster.started["name"] = Counter(), 0
    cluster.whereabouts = lambda key: next(places)  # type: ignore[method-assign]
    assert not DaskExecutor(cluster)._strayed(future, "name", "a"), "all have answered"
    cluster.discovery._asked["b"] = Asked()
    assert DaskExecutor(cluster)._strayed(future, "name", "a"), "it is at b"
    assert not DaskExecutor(cluster)._strayed(future, "name", "a"), "it is at a"


@pytest.fixture
def dask_worker(data: Path) -> Iterator[DaskWorker]:
    """A run at a worker, in this process."""
    options = chosen(
        {"model": "box_fill", "prompter": "box_volume", "dataset": "phantom:shape=8x16x16,instances=1,scans=2"}
    )
    worker = SimpleNamespace(name="a", nanny=None, log_event=lambda topic, message: None)
    made = DaskWorker(Payload("r", options, Path.cwd(), None), worker)
    yield made
    made.close(finished=True)


def test_a_worker_that_had_nothing_to_do_for_long_works_again(dask_worker: DaskWorker) -> None:
    assert dask_worker.prepare(TaskMessage(0, "case-1"), "one").prepared is not None
    dask_worker._idle()
    assert dask_worker.preparer.worker._process is None
    outcome = dask_worker.prepare(TaskMessage(0, "case-2"), "two")
    assert not outcome.stopped
    assert outcome.prepared is not None


def test_the_end_of_a_run_ends_what_a_worker_still_does(
    dask_worker: DaskWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a group that another worker has finished, because this one was silent for long."""
    begun, end = Event(), Event()

    def play(task: TaskMessage) -> TaskResult:
        begun.set()
        end.wait(120)
        return TaskResult(stopped=end.is_set())

    monkeypatch.setattr(dask_worker, "_played", play)
    monkeypatch.setattr(dask_worker.executor, "stop", end.set)
    thread = Thread(target=dask_worker.play, args=(TASK, "one"))
    thread.start()
    assert begun.wait(120)
    dask_worker.close(finished=True)
    thread.join()
    assert end.is_set()


@pytest.mark.usefixtures("data")
def test_local_workers_that_cannot_start_are_said(wording: SnapshotAssertion) -> None:
    with (
        dask.config.set({"distributed.worker.preload": ["no_such_module"]}),
        pytest.raises(IntraBenchError) as caught,
    ):
        intrabench.run("box_fill", "box_volume", "phantom:shape=8x16x16,instances=1", dask="local:1")
    assert caught == wording
