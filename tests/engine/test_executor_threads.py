"""Calls in threads: the first error stops all, and what comes later is called, too."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from threading import Event, main_thread
from types import SimpleNamespace
from typing import Any

import pytest

import intrabench
from intrabench.engine.executors import executor as module
from intrabench.engine.executors import placement, worker_process
from intrabench.engine.executors.executor import Executors, Stopped, run_threads
from intrabench.engine.executors.make import FurtherPlayers
from intrabench.engine.executors.process import ProcessExecutor
from intrabench.engine.executors.worker_process import WorkerProcess
from intrabench.engine.options import DEFAULTS
from intrabench.engine.progress.reporter import Silent
from intrabench.engine.task_queue import TaskQueue


def failing(error: BaseException) -> Callable[[], None]:
    def call() -> None:
        raise error

    return call


def test_the_first_error_stops_the_others_and_is_raised() -> None:
    stopped, ended = Event(), list[bool]()
    with pytest.raises(ValueError, match="broken"):
        run_threads([lambda: ended.append(stopped.wait(120)), failing(ValueError("broken"))], stopped.set)
    assert ended == [True]


def test_to_be_stopped_is_no_error() -> None:
    stops = list[int]()
    run_threads([failing(Stopped())], lambda: stops.append(1))
    assert stops == [1]


def test_calls_that_come_later_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ARRIVAL_SECONDS", 0.01)
    late, asked = Event(), list[int]()

    def more() -> list[Callable[[], None]]:
        asked.append(1)
        return [late.set] if len(asked) == 1 else []

    run_threads([lambda: late.wait(120)], lambda: None, more)
    assert late.is_set()


def test_ctrl_c_waits_for_all_that_was_stopped() -> None:
    stopped, ended = Event(), list[bool]()

    def ending() -> None:
        time.sleep(0.05)  # it is waited for now
        signal.pthread_kill(main_thread().ident or 0, signal.SIGINT)
        stopped.wait(120)
        time.sleep(0.05)  # handing over what is complete
        ended.append(True)

    with pytest.raises(KeyboardInterrupt):
        run_threads([ending], stopped.set)
    assert ended == [True]


@pytest.mark.parametrize(
    ("started", "passed", "waiting", "joins"),
    [(True, 3.0, True, True), (True, 1.9, True, False), (True, 3.0, False, False), (False, 3.0, True, False)],
)
def test_further_players_join_when_the_first_has_worked_for_longer_than_it_took_to_start(
    started: bool, passed: float, waiting: bool, joins: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [100.0]
    monkeypatch.setattr(worker_process, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    first, other = (ProcessExecutor(object(), process()) for _ in range(2))  # type: ignore[arg-type]
    if started:
        monkeypatch.setattr(worker_process, "ChildProcess", lambda *_: clock.__setitem__(0, 102.0))
        monkeypatch.setattr(WorkerProcess, "_next", lambda self: ("ready", None))
        monkeypatch.setattr(WorkerProcess, "_converse", lambda *_: None)
        first.worker._start()
    clock[0] += passed
    playing = [first]
    further = FurtherPlayers(playing, [other], lambda: waiting)
    assert further() == ([other] if joins else ())
    assert further() == ()  # each joins once
    assert playing == [first, other][: 1 + joins]  # which are stopped


def process() -> WorkerProcess:
    return WorkerProcess("1", DEFAULTS, Silent(), {}, 600.0)


@pytest.mark.usefixtures("data")
@pytest.mark.parametrize(("workers", "begun", "later"), [("auto", 1, 1), ("2", 2, 0)])
def test_a_small_run_plays_in_one_worker_unless_more_are_asked_for(
    workers: str, begun: int, later: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(placement.VARIABLE, raising=False)
    monkeypatch.setattr(placement, "cores", lambda: 2)
    outworked, run, made = [False], Executors.run, list[Executors]()
    monkeypatch.setattr(WorkerProcess, "outworked_its_start", property(lambda self: outworked[0]))

    def noted(self: Executors, *given: Any) -> None:
        made.append(self)
        run(self, *given)
        outworked[0] = True

    monkeypatch.setattr(Executors, "run", noted)
    rows = intrabench.run("box_fill", "box_volume", "phantom:shape=8x16x16,scans=3,instances=1", workers=workers)
    (executors,) = made
    assert (len(rows), len(executors.players), executors.planned) == (3, begun, 2)
    assert not executors.more()  # nothing is left to play
    monkeypatch.setattr(TaskQueue, "waiting", True)
    assert len(executors.more()) == later
    assert len(executors.players) == 2
