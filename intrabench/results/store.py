"""The results folder: Parquet parts, one atomic file per finished batch, and the turns beside the rows.

rows/RUN-0001.parquet    one line per session and round
turns/RUN-0001.parquet   the turns of the user, as JSON
masks/SESSION.npz        with --save-masks: packed masks per round
people/*.parquet         what people did and how long it took them, where people prompt
runs/RUN.json            the manifest of the run: command, versions, machine, data, how it ended
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from io import BytesIO
from pathlib import Path
from threading import RLock
from typing import Any

import polars as pl

from intrabench.errors import IntraBenchError
from intrabench.files.atomic import all_atomically, make_folder
from intrabench.files.cleanup import LEASES, remove_leftovers
from intrabench.files.names import check_utf8
from intrabench.mask import Mask
from intrabench.results.damage import is_sound
from intrabench.results.files import read_parts
from intrabench.results.masks import is_whole, masks_file, write_masks
from intrabench.results.new_parts import Arrivals
from intrabench.results.packs import PAUSES, part_name
from intrabench.results.parts import DECIDING, cases_of, current_rows, latest_stamp, newest_stamp
from intrabench.results.progress import Progress
from intrabench.results.schema import SCHEMA, TURNS, measured_columns
from intrabench.results.statuses import UNDONE
from intrabench.target import WHOLE_CASE

RECORD_S = 60.0
"""Seconds after which the record of a run is renewed while it goes on."""


class Store:
    """A results folder open for writing; several threads may use it."""

    def __init__(
        self, root: Path, run_id: str, record: Callable[[], Mapping[str, Any]] = dict, later: str = ""
    ) -> None:
        """Create the folder. `record` gives the run's record, with the first part and then each minute.

        later: as for `Arrivals`. parts: how many were written.
        """
        self.root, self.run_id, self._record, self.parts = root, run_id, record, 0
        # Libraries that other threads import change the current folder for a moment, as ITK does.
        self._place = root.absolute()
        self._lock = RLock()
        self._arrivals, self._progress = Arrivals(self._place, later), Progress()
        self._patients: pl.DataFrame | None = None
        self._newest, self._next_record = -1, 0.0
        self._stamps: list[int] = []
        check_utf8(str(root), "the results folder")  # polars writes to no other path
        try:
            for folder in ("rows", "turns", "runs", "locks"):
                make_folder(root / folder)
            probe = root / "runs" / f".{run_id}.tmp"
            probe.touch()
            probe.unlink()
            clean(root)
        except OSError as error:
            raise _cannot_write(root, error) from error

    def stamp(self) -> int:
        """The time in nanoseconds, but later than all that this store has written or read.

        So what a run writes is newer than what it found, although the clock of the machine before may have been ahead.
        """
        with self._lock:
            if self._newest < 0:
                self._newest = newest_stamp(self._place)
            self._newest = max(time.time_ns(), min(self._newest + 1, _LAST))
            self._stamps = [*self._stamps[:1], self._newest]
            return self._newest

    def write_part(self, rows: Sequence[Mapping[str, Any]], turns: Sequence[Mapping[str, Any]]) -> None:
        """Write the turns and then the rows of finished sessions; a session counts only once its rows are written.

        Raises:
            IntraBenchError: a row has a column that is neither in `SCHEMA` nor a metric of its `metrics`.
        """
        schema = SCHEMA | measured_columns(rows)
        with self._lock:  # so that no part is there before one with a lower number
            if time.monotonic() >= self._next_record:
                self._next_record = time.monotonic() + RECORD_S
                self.write_record(self._record())
            self.parts += 1
            name = part_name(self.run_id, self.parts)
            now = self.stamp()
            stamped = pl.DataFrame([{"run_id": self.run_id, "written_at": now, **row} for row in rows], schema=schema)
            history = pl.DataFrame([{"written_at": now, **turn} for turn in turns], schema=TURNS)
            self._write({self._place / "turns" / name: partial(write_parquet, history)})
            self._write({self._place / "rows" / name: partial(write_parquet, stamped)})
            self._arrivals.know([self._place / "rows" / name])
            if is_sound(stamped):
                self._progress.played(stamped)

    def write_record(self, record: Mapping[str, Any]) -> None:
        """Write the record of the run, in place of an earlier one; `stamps` are its first and its newest one."""
        with self._lock:
            self.stamp()
            text = json.dumps(
                {"run_id": self.run_id, "stamps": [self._stamps[0], self._stamps[-1]], **record}, indent=1, default=str
            )
            self._write({self._place / "runs" / f"{self.run_id}.json": lambda path: path.write_text(text, "utf-8")})

    def finished(self, rounds: int) -> set[str]:
        """Sessions that are complete for this number of rounds, also by the parts that other runs have written since.

        The set is live: later calls change it. A call costs as much as what is new.
        """
        with self._lock:
            self._look()
            return self._progress.finished(rounds)

    def look_everywhere(self) -> None:
        """From now on look for the parts of all runs, at once."""
        with self._lock:
            self._arrivals.later = ""

    def failed_cases(self) -> set[str]:
        """Sessions that stand for a case whose last preparation failed."""
        with self._lock:
            self._look()
            rows = current_rows(self._progress.all().filter(pl.col("target") == WHOLE_CASE))
            return set(rows.filter(pl.col("status").is_in(UNDONE))["session"].to_list())

    def are_newest(self, sessions: Collection[str]) -> bool:
        """Whether no other session in the folder was written after one of these, or together with one."""
        with self._lock:
            self._look()
            rows = self._progress.all()
        ours = rows["session"].is_in(pl.Series(list(sessions), dtype=pl.String).implode())
        first = rows.filter(ours)["written_at"].min()
        return bool(ours.all()) or rows.filter(~ours & (pl.col("written_at") >= first)).is_empty()

    def patients(self) -> pl.DataFrame:
        """Who the patients of cases were by the rows that were found first: dataset, case, patient."""
        with self._lock:
            if self._patients is None:
                self._look()
            found = self._patients
        assert found is not None
        return found

    def _look(self) -> None:
        """Read the parts that are new."""
        # A part may be packed and deleted after it was listed and before it is read. Then its rows are in a pack, which
        # is new, so the folder is looked at again.
        for pause in PAUSES:
            new = self._arrivals.look()
            if not new and self._patients is not None:
                break
            rows = read_parts(new, SCHEMA, DECIDING, metrics=False)
            if self._patients is None:
                self._patients = cases_of(current_rows(rows))
            self._newest = max(self._newest, latest_stamp(rows))
            self._progress.add(rows)
            there = [path for path in new if os.path.lexists(path)]
            self._arrivals.know(there)
            if len(there) == len(new):
                break
            time.sleep(pause)

    def has_masks(self, session: str) -> bool:
        """Whether the masks of a session are stored; a file that was cut short does not count."""
        return is_whole(masks_file(self._place, session))

    def bad_masks(self, session: str) -> str:
        """A sentence if there is a file of a session's masks that does not count; else an empty string."""
        path = masks_file(self.root, session)
        return f"{path} cannot be read; its session is played again" if path.exists() and not is_whole(path) else ""

    def write_masks(self, sessions: Mapping[str, Sequence[Mask]]) -> None:
        """Store the masks of sessions, one per round."""
        self._write(
            {masks_file(self._place, session): partial(write_masks, masks=masks) for session, masks in sessions.items()}
        )

    def copy_masks(self, sessions: Mapping[str, str]) -> None:
        """Store for sessions the masks of others: those that each of them names."""
        self._write(
            {
                masks_file(self._place, session): partial(_share, masks_file(self._place, other))
                for session, other in sessions.items()
            }
        )

    def _write(self, files: Mapping[Path, Callable[[Path], Any]]) -> None:
        """Write files, each by its function: all before one of them counts."""
        path = next(iter(files))
        try:
            with all_atomically(list(files)) as parts:
                for (path, write), part in zip(files.items(), parts, strict=True):  # noqa: B007
                    write(part)
        except OSError as error:
            raise _cannot_write(self.root / path.relative_to(self._place), error) from error


def new_run_id() -> str:
    """A name that no other run has; names sort in the order in which runs begin."""
    return time.strftime("%Y%m%dT%H%M%S", time.gmtime()) + "-" + secrets.token_hex(3)


def clean(root: Path) -> None:
    """Remove what killed runs and merges left in a results folder more than a day ago."""
    remove_leftovers(root, ".merge-*", ".probe-*")
    remove_leftovers(root / "locks", *LEASES)
    for folder in ("rows", "turns", "masks", "people", "runs"):
        remove_leftovers(root / folder, ".*.part", ".*.tmp")


def write_parquet(frame: pl.DataFrame, path: Path, metadata: dict[str, str] | None = None) -> None:
    """Write a frame as Parquet; unlike those of polars, the errors tell that a disk is full."""
    content = BytesIO()
    frame.write_parquet(content, metadata=metadata)
    path.write_bytes(content.getbuffer())


def _share(file: Path, path: Path) -> None:
    """Give a file a second name, or copy it where the disk has no second names; no file of masks is written into."""
    try:
        os.link(file, path)
    except OSError:
        shutil.copyfile(file, path)


_LAST = 2**63 - 1
"""The largest stamp that a row can have."""


def _cannot_write(path: Path, error: OSError) -> IntraBenchError:
    reason = error.strerror or str(error)
    return IntraBenchError(f"cannot write to {path} ({reason}); free space or choose another folder with --out")
