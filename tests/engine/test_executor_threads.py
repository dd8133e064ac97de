"""Calls in threads: the first error stops all, and what comes later is called, too."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from threading import Event, main_thread

import pytest

from intrabench.engine.executors import executor as module
from intrabench.engine.executors.executor import Stopped, run_threads


def failing(error: BaseException) -> Callable[[], None]:
    def call() -> None:
        raise error

    return call


def test_the_first_error_stops_the_others_and_is_raised() -> None:
    stopped, ended = Event(), list[bool]()
    with pytest.raises(ValueError, match="broken"):
        run_threads([lambda: ended.append(stopped.wait(10)), failing(ValueError("broken"))], stopped.set)
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

    run_threads([lambda: late.wait(10)], lambda: None, more)
    assert late.is_set()


def test_ctrl_c_waits_for_all_that_was_stopped() -> None:
    stopped, ended = Event(), list[bool]()

    def ending() -> None:
        time.sleep(0.05)  # it is waited for now
        signal.pthread_kill(main_thread().ident or 0, signal.SIGINT)
        stopped.wait(10)
        time.sleep(0.05)  # handing over what is complete
        ended.append(True)

    with pytest.raises(KeyboardInterrupt):
        run_threads([ending], stopped.set)
    assert ended == [True]
