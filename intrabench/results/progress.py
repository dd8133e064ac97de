"""Which sessions are finished, kept up to date as rows are added, at a cost that grows with the new rows alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from intrabench.results.parts import PROGRESS, finished_of
from intrabench.results.schema import SCHEMA
from intrabench.results.statuses import UNDONE
from intrabench.target import WHOLE_CASE

_NONE = pl.DataFrame(schema={name: SCHEMA[name] for name in PROGRESS})


@dataclass(frozen=True)
class _Level:
    """Rows sorted by the hash of their session, so that those of a session are found without looking at others."""

    hashes: NDArray[np.uint64]
    rows: pl.DataFrame

    @classmethod
    def of(cls, rows: pl.DataFrame) -> _Level:
        hashes = rows["session"].hash().to_numpy()
        order = np.argsort(hashes, kind="stable")
        return cls(hashes[order], rows[order])

    def about(self, hashes: NDArray[np.uint64]) -> pl.DataFrame:
        """The rows with one of these hashes, each given once."""
        begin, end = (np.searchsorted(self.hashes, hashes, side) for side in ("left", "right"))
        found: NDArray[Any] = np.flatnonzero(begin < end)
        return self.rows[np.concatenate([np.arange(begin[n], end[n]) for n in found])] if len(found) else self.rows[:0]


class Progress:
    """How far sessions are.

    Rows are kept in levels, each less than half as long as the one before; so a row is sorted again only a few times.
    """

    def __init__(self) -> None:
        self._levels: list[_Level] = []
        self._unsorted: list[pl.DataFrame] = []
        self._finished: dict[int, set[str]] = {}

    def add(self, rows: pl.DataFrame) -> None:
        """Add rows with the columns `PROGRESS`; the same row may come several times."""
        if rows.is_empty():
            return
        rows = rows.select(PROGRESS)
        self._sort()
        if self._finished:
            hashes = rows["session"].unique().hash().unique().sort().to_numpy()
            about = pl.concat([*(level.about(hashes) for level in self._levels), rows])
            self._update(about)
        self._sort_in(rows)

    def played(self, rows: pl.DataFrame) -> None:
        """Add rows that are newer than all others: if they complete their sessions, earlier ones need no look."""
        rows = rows[list(PROGRESS)]
        sessions, targets, numbers, statuses, ended, _ = (column.to_list() for column in rows)
        done = [
            {session for session, number, over in zip(sessions, numbers, ended, strict=True) if over or number >= last}
            for last in self._finished
        ]
        if WHOLE_CASE in targets or not {*statuses}.isdisjoint(UNDONE) or any(one != {*sessions} for one in done):
            self.add(rows)
            return
        for finished in self._finished.values():
            finished.update(sessions)
        self._unsorted.append(rows)

    def _sort(self) -> None:
        """Sort in what was only put aside."""
        if self._unsorted:
            rows, self._unsorted = pl.concat(self._unsorted), []
            self._sort_in(rows)

    def _sort_in(self, rows: pl.DataFrame) -> None:
        while self._levels and len(self._levels[-1].rows) < 2 * len(rows):
            rows = pl.concat([self._levels.pop().rows, rows])
        self._levels.append(_Level.of(rows))

    def finished(self, rounds: int) -> set[str]:
        """Sessions that are complete for this number of rounds. The set is live: it changes as rows are added."""
        if rounds not in self._finished:
            self._finished[rounds] = finished_of(self.all(), rounds)
        return self._finished[rounds]

    def all(self) -> pl.DataFrame:
        """All rows."""
        return pl.concat([_NONE, *(level.rows for level in self._levels), *self._unsorted])

    def _update(self, rows: pl.DataFrame) -> None:
        """Look again at sessions, of which `rows` are all."""
        sessions = set(rows["session"].to_list())
        for rounds, finished in self._finished.items():
            now = finished_of(rows, rounds)
            finished |= now  # others may be looking, so none is left out in between
            finished -= sessions - now
