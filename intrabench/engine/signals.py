"""Signals that ask a run to end, as a scheduler does before it takes the machine away."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

ASKING = [signal.SIGTERM]
"""Signals by which others ask a process to end."""
if sys.platform != "win32":
    ASKING.append(signal.SIGHUP)


_asked = False  # since `ending_softly` began


class Asked(KeyboardInterrupt):
    """The run was asked to end by a signal; it ends as by Ctrl-C, but its exit code asks for more."""


def undisturbed() -> None:
    """This process is about to end, with the right exit code: whoever asks again asks in vain."""
    for one in (signal.SIGINT, *ASKING):
        signal.signal(one, signal.SIG_IGN)  # a handler would be taken away before the end of the interpreter


def asked() -> bool:
    """Whether a signal of others has asked this process to end."""
    return _asked


@contextmanager
def ending_softly() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end what runs meanwhile as Ctrl-C does: once, so that nothing disturbs the end.

    Signals that are ignored, as SIGHUP under nohup, stay so. Only the main thread can do this; others go without.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    global _asked
    _asked = False
    asking = [one for one in ASKING if signal.getsignal(one) == signal.SIG_DFL]

    def end(number: int, frame: FrameType | None) -> None:
        global _asked
        _asked = True
        for one in asking:
            signal.signal(one, signal.SIG_IGN)
        raise Asked(signal.Signals(number).name)

    for one in asking:
        signal.signal(one, end)
    try:
        yield
    finally:
        for one in asking:
            signal.signal(one, signal.SIG_DFL)
