"""Store what was played: the one writer of a run, which also counts, and mends what earlier runs left."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from threading import RLock, Timer
from typing import Any

from intrabench.engine.failure_limit import FailureLimit
from intrabench.engine.progress.reporter import Reporter
from intrabench.engine.result_batches import ResultBatch, bare_rows
from intrabench.engine.session_spec import SessionSpec
from intrabench.engine.summary import Summary
from intrabench.engine.write_buffer import LEAST_SECONDS
from intrabench.results.rewrites import replaced
from intrabench.results.store import Store

MOST_PARTS = 64
"""So many parts are written together at most: each has a lock with a heartbeat."""


class ResultWriter:
    """Writes the parts of a run into its store, and counts them; several threads may bring some.

    limit: the failures that end the run once they are counted. gathers: parts that follow each other within
    `LEAST_SECONDS` are written together, at the latest after so long; `flush` writes the rest. Failures and masks never
    wait.
    """

    def __init__(
        self, store: Store, reporter: Reporter, limit: FailureLimit | None = None, gathers: bool = False
    ) -> None:
        self.store, self.reporter, self.summary, self.limit = store, reporter, Summary(), limit
        self._gathers, self._lock = gathers, RLock()
        self._waiting: list[ResultBatch] = []
        self._calls: list[Callable[[], object]] = []  # once these are written
        self._wrote_at, self._timer = -math.inf, Timer(0, lambda: None)
        self._error: Exception | None = None  # of the timer's thread

    def take(self, part: ResultBatch) -> None:
        """Write a part, masks before rows, now or together with those that follow; it is counted once it is written.

        Raises:
            IntraBenchError: it cannot be written, or earlier ones could not.
        """
        with self._lock:
            self._waiting.append(part)
            soon = self._gathers and not part.masks and not part.summary.failed and len(self._waiting) < MOST_PARTS
            if not soon or time.monotonic() - self._wrote_at > LEAST_SECONDS:
                self.flush()
            elif len(self._waiting) == 1:
                self._timer = Timer(LEAST_SECONDS, self._flush_in_time)
                self._timer.daemon = True
                self._timer.start()
        last = {row["session"]: row["dice"] for row in part.rows}
        self._tell(part.summary, [score for score in last.values() if score is not None])

    def once_written(self, call: Callable[[], object]) -> None:
        """Have something called once all that was taken so far is written, or could not be; it must not fail."""
        with self._lock:
            if self._waiting:
                self._calls.append(call)
                return
        call()

    def flush(self) -> None:
        """Write all that waits.

        Raises:
            IntraBenchError: it cannot be written, or earlier ones could not.
        """
        with self._lock, ExitStack() as after:
            self._timer.cancel()
            parts, self._waiting = self._waiting, []
            for call in reversed(self._calls):  # the last one is called first
                after.callback(call)
            self._calls = []
            if self._error is not None:
                raise self._error
            if masks := {session: each for part in parts for session, each in part.masks.items()}:
                self.store.write_masks(masks)
            if rows := [row for part in parts for row in part.rows]:
                self.store.write_part(rows, [turn for part in parts for turn in part.turns])
            self._wrote_at = time.monotonic()
            for part in parts:
                self.summary.add(part.summary)

    def _flush_in_time(self) -> None:
        try:
            self.flush()
        except Exception as error:
            self._error = error

    def count(self, summary: Summary, dice: Sequence[float]) -> None:
        """Count what was written. dice: that of the last round of each session.

        Raises:
            TooManyFailures: so many sessions failed that the run is to end.
        """
        with self._lock:
            self.summary.add(summary)
        self._tell(summary, dice)

    def _tell(self, summary: Summary, dice: Sequence[float]) -> None:
        self.reporter.advance(summary.computed, summary.failed, dice)
        if self.limit is not None:
            with self._lock:
                self.limit.check(self.summary, self.store.root)

    def tell_patients(self, now: Mapping[tuple[str, str], str]) -> None:
        """Note for the summary whether stored rows of these cases name other patients; the newest row will decide."""
        moved: dict[str, list[str]] = {}
        for name, case, patient in self.store.patients().iter_rows():
            if now.get((name, case), patient) != patient:
                moved.setdefault(name, []).append(f"{case} was of {patient} and is of {now[name, case]}")
        for name, changes in sorted(moved.items()):
            more = f" and {len(changes) - 3} more" if len(changes) > 3 else ""
            changed = f"{', '.join(sorted(changes)[:3])}{more}"
            self.summary.moved.append(
                f"{name}: patients have changed ({changed}); this counts for all stored rows of these cases"
            )

    def mended(self, whole: Sequence[SessionSpec]) -> None:
        """Revoke the stored failures of these whole cases, which could be prepared this time."""
        self._write([row for spec in whole for row in bare_rows(spec, "not_applicable", "mended", dice=None)])

    def renewed(self, patients: Mapping[tuple[str, str], str]) -> None:
        """Write sessions of this run again that others have replaced since, as after an edit that was undone.

        So the code and the data of the latest run are what tables show, whether its sessions were computed now or
        earlier. A row of each case that is now known to be of another patient is also written again; it decides for the
        whole case. patients: by data set and case. Only newer sessions replace others.
        """
        if self.summary.moved or not self.store.are_newest(self.summary.keys):
            self._write(replaced(self.store.root, self.summary.keys, patients))

    def _write(self, rows: Sequence[Mapping[str, Any]]) -> None:
        if rows:
            self.store.write_part(rows, ())
