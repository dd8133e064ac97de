"""Output that ends no command: nobody may read it, the disk may be full, or there may be none at all."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from io import BufferedWriter, FileIO, TextIOWrapper
from typing import Any

_STREAMS = ("stdin", "stdout", "stderr")


class _Lasting(FileIO):
    """A file that takes everything; `problem` is why something of it is lost, unless nobody wanted to read on."""

    problem: OSError | None = None

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:  # as by `| head`
            pass
        except OSError as error:
            self.problem = error
        return len(data)


class Output:
    """Standard output and error of this process, from now on such that no command fails by them.

    A run that has hours to go on must not end because its messages go nowhere. Other letters than a terminal has are
    written as Python does.
    """

    def __init__(self) -> None:
        _fill_gaps()
        self._lasting: dict[str, _Lasting] = {}
        for name in _STREAMS[1:]:
            stream = getattr(sys, name)
            if not isinstance(stream, TextIOWrapper):
                continue  # a test's or a notebook's
            stream.reconfigure(errors="backslashreplace")
            raw: Any = getattr(stream.buffer, "raw", stream.buffer)  # unbuffered streams have none
            if isinstance(raw, FileIO) and raw.fileno() in (1, 2):
                self._lasting[name] = _Lasting(raw.fileno(), "w", closefd=False)
                buffer = BufferedWriter(self._lasting[name])
                how: dict[str, Any] = {name: getattr(stream, name) for name in ("encoding", "errors", "write_through")}
                setattr(sys, name, TextIOWrapper(buffer, line_buffering=stream.line_buffering, **how))

    def problem(self) -> str:
        """Why the output is not whole, as one sentence; empty if it is, or if its reader wanted no more."""
        with suppress(Exception):  # code of others may have closed it
            sys.stdout.flush()
        lasting = self._lasting.get("stdout")
        if lasting is None or lasting.problem is None:
            return ""
        reason = lasting.problem.strerror or type(lasting.problem).__name__
        return f"the output cannot be written ({reason}); give it another place, and run the command again"


def _fill_gaps() -> None:
    """Open what the shell closed (``>&-``); the next file would else take its place, and messages go into it."""
    for number, name in enumerate(_STREAMS):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
        if getattr(sys, name) is None:
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115
