"""Batches wait here to be written until the scan is known to be unchanged and their scores are there."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import TypeAlias

from intrabench.engine.integrity import IntegrityCheck
from intrabench.engine.result_batches import ResultBatch, SessionBatch, played
from intrabench.engine.session_spec import SessionSpec

SHARE = 0.05
"""The largest share of the time for the integrity check, which reads the whole scan, and for awaiting scores."""
LEAST_SECONDS = 2.0
"""Batches shorter than this become one part: small files cost more than playing them again after a kill."""


Take: TypeAlias = Callable[[ResultBatch], None]
"""Stores finished sessions."""


class WriteBuffer:
    """Batches that were played. They are written once the scan was found unchanged and their scores are known.

    broken: whether it was changed at the last look.
    """

    def __init__(self, take: Take, integrity: IntegrityCheck) -> None:
        self.integrity, self.broken, self._take = integrity, False, take
        self._batches: list[SessionBatch] = []
        self._checked_at = time.perf_counter()

    def add(self, batch: SessionBatch) -> None:
        """Add a batch."""
        self._batches.append(batch)

    @property
    def empty(self) -> bool:
        """Whether all that was played is written."""
        return not self._batches

    @property
    def unscored(self) -> Sequence[SessionSpec]:
        """Specs whose scores are not known yet."""
        return [
            spec
            for batch in self._batches
            for spec, own in zip(batch.specs, batch.sessions, strict=True)
            if not all(session.scored() for session in own)
        ]

    def flush_if_due(self) -> Sequence[SessionSpec]:
        """`flush` if the integrity check and a part take a small share of the time since the last one.

        Batches without scores wait until the next time; if no batch has them, this waits for them for as small a share.
        """
        passed = time.perf_counter() - self._checked_at
        if passed <= max(self.integrity.seconds / SHARE, LEAST_SECONDS):
            return []
        return self.flush(self._scored_within(0.0) or self._scored_within(SHARE * passed))

    def _scored_within(self, seconds: float) -> int:
        """How many batches, from the first on, have all their scores after waiting for so long at most."""
        until = time.perf_counter() + seconds
        return len(list(takewhile(lambda batch: _scored(batch, until), self._batches)))

    def flush(self, count: int | None = None) -> Sequence[SessionSpec]:
        """Check that the scan is unchanged, and write all batches as one part, once their scores are known.

        If it was changed, nothing is written; the specs are returned, because they do not count. count: write only the
        first batches.
        """
        count = len(self._batches) if count is None else count
        if not count:
            return []
        for batch in self._batches[:count]:
            _scored(batch, None)
        self.broken = self.integrity.broken
        if self.broken:
            count = len(self._batches)
        ready, self._batches = self._batches[:count], self._batches[count:]
        if self.broken:
            return [spec for batch in ready for spec in batch.specs]
        self._take(played(ready))
        self._checked_at = time.perf_counter()
        return []


def _scored(batch: SessionBatch, until: float | None) -> bool:
    """Whether all scores of a batch are known, after waiting for them until then; None: as long as it takes."""
    sessions = [session for own in batch.sessions for session in own]
    return all(session.scored(None if until is None else until - time.perf_counter()) for session in sessions)
