"""What this machine has, in numbers of bytes; None where the system does not tell."""

from __future__ import annotations

import os
import sys
from contextlib import suppress


def memory_bytes() -> int | None:
    """The memory of the machine; Windows does not tell without more packages."""
    if sys.platform != "win32":
        with suppress(ValueError, OSError):
            return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return None
