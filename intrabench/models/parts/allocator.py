"""Keep freed memory for the next slice instead of returning it to the system each time."""

from __future__ import annotations

import ctypes
import sys
from functools import cache

_TRIM_THRESHOLD, _MMAP_MAX = -1, -4  # names of glibc's mallopt parameters


@cache
def keep_freed_memory() -> None:
    """Tell glibc (elsewhere: do nothing) to reuse large freed blocks.

    A network on the CPU takes and frees hundreds of megabytes per slice. By default glibc maps each of these afresh,
    and the page faults cost a good part of the time (``python -m benchmarks encode``).
    """
    if not sys.platform.startswith("linux"):
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):  # another C library, such as musl
        return
    mallopt(_MMAP_MAX, 0)
    mallopt(_TRIM_THRESHOLD, 2**31 - 1)
