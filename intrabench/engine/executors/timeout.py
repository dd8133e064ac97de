"""How long a worker may take for what it does."""

from __future__ import annotations

import math
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer
from typing import Any

PREPARING_SECONDS = 3600.0
"""How long a case may be converted, or its download stand still."""

LOADING_SECONDS = 120.0
"""The least time for a process to start, and for a model to be loaded; a short limit is meant for sessions."""

LONGEST_TICK = 1.0
"""Seconds: if this process itself was stopped meanwhile, that time is not the worker's."""


class Timeout:
    """Counts the time of what a worker is doing, against a limit in seconds.

    Playing a batch has one clock, which stands still while the model is loaded or something is encoded; each such step
    has a clock of its own; so has the preparation of a case, with a limit of its own. share: the part of the limit that
    a batch gets.
    """

    def __init__(self, limit: float) -> None:
        self.limit, self.share, self.phase, self.what = limit, 1.0, "", ""
        self._spent: dict[str, float] = {}

    def begins(self, phase: str, what: str = "") -> None:
        """Another step begins, or an earlier one goes on."""
        if phase != "playing":
            self._spent.pop(phase, None)
        self.phase, self.what = phase, what

    def batch(self, share: float = 1.0) -> None:
        """A batch begins or ends."""
        self._spent.pop("playing", None)
        self.share = share

    def tick(self, seconds: float) -> None:
        """So much time has passed."""
        self._spent[self.phase] = self._spent.get(self.phase, 0.0) + min(seconds, LONGEST_TICK)

    @property
    def allowed(self) -> float:
        """Seconds for the current step."""
        if self.phase == "preparing":
            return PREPARING_SECONDS
        if self.phase in ("", "loading"):
            return max(self.limit, LOADING_SECONDS)
        return self.limit * (self.share if self.phase == "playing" else 1.0)

    @property
    def expired(self) -> bool:
        """Whether it takes too long."""
        return self._spent.get(self.phase, 0.0) > self.allowed


@contextmanager
def after(seconds: float, call: Callable[..., object], *args: Any) -> Iterator[None]:
    """Call something, in a thread of its own, if the context lasts for so long."""
    if seconds == math.inf:
        yield
        return
    timer = Timer(seconds, call, args)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextmanager
def interrupted_after(seconds: float) -> Iterator[None]:
    """End what lasts for so long as Ctrl-C does; nothing is ended outside of the main thread.

    Raises:
        TimeoutError: it was ended; its traceback says where.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    lock, ended, late = threading.Lock(), False, False

    def interrupt() -> None:
        nonlocal late
        with lock:
            if ended:
                return
            late = True
            if sys.platform == "win32":
                signal.raise_signal(signal.SIGINT)  # which the main thread handles
            else:
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)  # also while it sleeps

    try:
        with after(seconds, interrupt):
            yield
        with lock:
            ended = True
    except KeyboardInterrupt as error:
        if not late:
            raise
        raise TimeoutError(f"it took longer than {seconds:g} s").with_traceback(error.__traceback__) from None
    finally:
        ended = True
