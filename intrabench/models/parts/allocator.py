"""Keep freed memory for the next slice instead of returning it to the system each time, until nobody needs it."""

from __future__ import annotations

import ctypes
import sys
from contextlib import suppress
from functools import cache

_TRIM_THRESHOLD, _MMAP_MAX = -1, -4  # names of glibc's mallopt parameters


@cache
def keep_freed_memory() -> None:
    """Tell glibc (elsewhere: do nothing) to reuse large freed blocks.

    A network on the CPU takes and frees hundreds of megabytes per slice. By default glibc maps each of these afresh,
    and the page faults cost a good part of the time (``python -m benchmarks encode``).
    """
    _call("mallopt", _MMAP_MAX, 0)
    _call("mallopt", _TRIM_THRESHOLD, 2**31 - 1)


def return_freed_memory() -> None:
    """Return what was freed to the system now (glibc; elsewhere: do nothing)."""
    _call("malloc_trim", 0)


def _call(name: str, *numbers: int) -> None:
    """Call a function of glibc."""
    if not sys.platform.startswith("linux"):
        return
    with suppress(AttributeError, OSError):  # another C library, such as musl
        getattr(ctypes.CDLL(None), name)(*numbers)
