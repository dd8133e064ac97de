"""A process that ends with the one that started it."""

from __future__ import annotations

import fcntl
import os
import select
import signal
import sys


def ends_with(lifeline: int) -> None:
    """End this process and its children when the other end of a pipe is closed, as it is when its owner dies.

    The system sends the signal, so that it also ends a computation that lets no other Python code run. Signals by which
    a scheduler asks all processes of a job to end are left to the owner, which has this one hand over what is complete.
    """
    for asking in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(asking, signal.SIG_IGN)
    if sys.platform != "linux":  # elsewhere SIGIO is ignored unless it is handled
        signal.signal(signal.SIGIO, lambda *_: os._exit(1))
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, -os.getpgrp())
    fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)
    if select.select([lifeline], [], [], 0)[0]:  # it was closed before
        os._exit(1)
