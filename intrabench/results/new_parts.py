"""The parts that other runs write into a folder meanwhile, found without listing it each time."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from intrabench.results.packs import contents, is_pack, listed, number_of, part_name
from intrabench.results.runs import RUNNING, read_record

PERIOD, SHARE = 2.0, 0.02
"""Seconds until the folder is listed although nothing seems to have changed, and the most of the time for that."""


class Arrivals:
    """The parts of a results folder that were not there at the last look.

    A run numbers its parts, so only the next part of each run that goes on is looked for. All parts are listed if the
    folder of records has changed, because a run began or ended there or somebody packs parts; and now and then, for
    what comes in another way, as with `merge`.

    later: how the names of runs begin whose next parts are not looked for; those are found when all are listed.
    """

    def __init__(self, root: Path, later: str = "") -> None:
        self.later = later
        self._rows, self._runs = root / "rows", root / "runs"
        self._seen: set[str] = set()
        self._ended: set[str] = set()
        self._next: dict[str, int] = {}
        self._changed, self._listed, self._pause = -1, 0.0, 0.0

    def know(self, paths: Iterable[Path]) -> None:
        """These files are no news any more, nor are the parts in those that are packs."""
        for path in paths:
            self._note([path.name, *contents(path)])

    def _note(self, names: Iterable[str]) -> None:
        for name in names:
            self._seen.add(name)
            run, number = number_of(name)
            if run in self._next:
                self._next[run] = max(self._next[run], number + 1)

    def look(self) -> list[Path]:
        """The parts that are new; they stay so until they are known."""
        found = self._next_parts()
        changed = _changed(self._runs)  # after these, because it is told here before packed parts are deleted
        if changed != self._changed or time.monotonic() - self._listed > self._pause:
            found = self._list()
            self._changed = changed
        return found

    def _next_parts(self) -> list[Path]:
        _changed(self._rows)
        found = []
        for run, number in self._next.items():
            if self.later and run.startswith(self.later):
                continue
            while (path := self._rows / part_name(run, number)).exists():
                found.append(path)
                number += 1
        return found

    def _list(self) -> list[Path]:
        started = time.monotonic()
        found = [path for path in listed(self._rows) if path.name not in self._seen and not self._is_known(path)]
        with os.scandir(self._runs) as entries:
            runs = {entry.name.removesuffix(".json") for entry in entries if entry.name.endswith(".json")} - self._ended
        self._ended |= {run for run in runs if read_record(self._runs.parent, run).get("state", RUNNING) != RUNNING}
        self._next = dict.fromkeys(runs - self._ended, 1)
        self._note(tuple(self._seen))
        self._listed = time.monotonic()
        self._pause = max(PERIOD, (self._listed - started) / SHARE)
        return found

    def _is_known(self, pack: Path) -> bool:
        """Whether it is a pack of known parts."""
        if is_pack(pack.name) and self._seen.issuperset(contents(pack)):
            self._seen.add(pack.name)
            return True
        return False


def _changed(folder: Path) -> int:
    """When names in a folder changed last. Network disks look anew for a folder that is opened."""
    if sys.platform == "win32":  # which opens no folders
        return folder.stat().st_mtime_ns
    handle = os.open(folder, os.O_RDONLY)
    try:
        return os.fstat(handle).st_mtime_ns
    finally:
        os.close(handle)
