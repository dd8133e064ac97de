"""A process that ends with the one that started it."""

from __future__ import annotations

import os
import select
import signal
import sys
import threading

from intrabench.engine.signals import ASKING

INTERRUPT = b"!"
"""What the owner writes into a lifeline where it cannot send a signal: as by Ctrl-C."""


def exit_with_parent(lifeline: int) -> None:
    """End this process and its children when the other end of a pipe is closed, as it is when its owner dies.

    On Linux the system sends the signal, so that it also ends a computation that lets no other Python code run; other
    systems leave that to a thread. Signals by which a scheduler asks all processes of a job to end are left to the
    owner, which has this one hand over what is complete.
    """
    for asking in ASKING:
        signal.signal(asking, signal.SIG_IGN)
    if sys.platform == "linux":
        import fcntl

        fcntl.fcntl(lifeline, fcntl.F_SETOWN, -os.getpgrp())
        fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)
        if select.select([lifeline], [], [], 0)[0]:  # it was closed before
            os._exit(1)
    else:
        watch(lifeline)


def watch(lifeline: int) -> None:
    """The same by a thread, which also heeds `INTERRUPT`."""
    threading.Thread(target=_watch, args=(lifeline,), name="lifeline", daemon=True).start()


def _watch(lifeline: int) -> None:
    while os.read(lifeline, 1) == INTERRUPT:
        signal.raise_signal(signal.SIGINT)  # which the main thread handles
    if sys.platform != "win32" and os.getpgrp() == os.getpid():  # the task is ours
        os.killpg(os.getpgrp(), signal.SIGKILL)
    os._exit(1)
