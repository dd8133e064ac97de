"""Several executors at work, each in a thread of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from threading import Event, Thread
from typing import Any

from intrabench.engine.executors.executor import Stopped

ARRIVAL_SECONDS = 1.0
"""How often it is asked whether more executors have come."""

Call = Callable[[], Any]


def run_threads(calls: Iterable[Call], stop: Call, more: Callable[[], Iterable[Call]] = tuple) -> None:
    """Make each call in a thread of its own, also those that come later (`more`), until all have returned.

    What the first one raises, or Ctrl-C, has `stop` called, which lets the others end soon; it is raised again then.
    """
    ends, errors = list[Event](), list[BaseException]()  # in Python 3.11, Ctrl-C makes `Thread.join` take it for ended

    def work(call: Call, end: Event) -> None:
        try:
            call()
        except BaseException as error:
            errors.append(error)
            stop()
        finally:
            end.set()

    def begin(new: Iterable[Call]) -> None:
        for call in new:
            Thread(target=work, args=(call, end := Event()), daemon=True).start()
            ends.append(end)

    try:
        begin(calls)
        while running := [end for end in ends if not end.is_set()]:
            running[0].wait(ARRIVAL_SECONDS)
            begin(more())
    except BaseException:  # Ctrl-C, or a signal that ends the run
        stop()
        for end in ends:
            end.wait()
        raise
    if raised := [error for error in errors if not isinstance(error, Stopped)]:
        raise raised[0]
