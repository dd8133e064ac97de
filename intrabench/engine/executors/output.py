"""What a process that was started prints: a file, because a pipe that nobody reads would block it."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress

from intrabench.files.temporary import PREFIX

MOST = 2**16
"""Bytes that are looked at once."""


class Output:
    """A file that one process writes and another reads, each from its own place; `written` is the writer's end.

    It is deleted as soon as the system allows that: on Unix at once, so that nothing is left however processes end.
    """

    def __init__(self) -> None:
        self.written, self._path = tempfile.mkstemp(prefix=PREFIX)
        self._file = open(self._path, "rb")  # noqa: SIM115
        self._read = 0
        self._delete()

    def release(self) -> None:
        """The writer has its end."""
        os.close(self.written)

    def lines(self) -> list[str]:
        """The complete lines since the last time; of very much only the end."""
        size, lines = os.fstat(self._file.fileno()).st_size, list[str]()
        if size - self._read > MOST:
            lines = [f"({size - self._read - MOST} bytes that a worker printed are left out)"]
            self._read = size - MOST
        self._file.seek(self._read)
        new = self._file.read(size - self._read)
        whole = new[: new.rfind(b"\n") + 1]
        self._read += len(whole)
        return lines + whole.decode(errors="replace").splitlines()

    def last_words(self) -> str:
        """The last line; of a fatal error, what it was and the line of code where it was."""
        self._file.seek(max(0, self._file.seek(0, os.SEEK_END) - MOST))
        lines = self._file.read().decode(errors="replace").strip().splitlines()
        fatal = next((number for number, line in enumerate(lines) if line.startswith("Fatal Python error")), None)
        if fatal is None:
            return lines[-1] if lines else ""
        place = next((line.strip() for line in lines[fatal:] if line.startswith('  File "')), "")
        return lines[fatal] + (f", {place}" if place else "")

    def close(self) -> None:
        """The writer has ended."""
        self._file.close()
        self._delete()

    def _delete(self) -> None:
        with suppress(OSError):  # gone, or still open, as Windows minds
            os.unlink(self._path)
