"""Write and count the rows of a run, for sessions that were played and for those that could not be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from intrabench.engine.environment import peak_gpu_mb, peak_memory_mb, versions_hash
from intrabench.engine.progress import Reporter
from intrabench.engine.units import Unit
from intrabench.errors import several
from intrabench.mask import Mask
from intrabench.play.session import Session
from intrabench.results.current import current, newest_plays
from intrabench.results.parts import read_rows
from intrabench.results.schema import FAILED
from intrabench.results.store import Store

MOST_FAILURES = 10
"""Further kinds of failures are only counted, not listed."""


@dataclass
class Summary:
    """The summary of a run.

    failures: failed sessions by ``status: message``. inapplicable: sessions that do not apply by their reason. moved: a
    sentence for each data set whose stored cases are of other patients now. unmeasured: sessions in which a metric
    failed, by its column and the reason. undefined, measured: sessions in which a metric was None in every round, and
    those in which it was not, by its column.
    """

    total: int = 0
    already: int = 0
    computed: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    inapplicable: Counter[str] = field(default_factory=Counter)
    moved: list[str] = field(default_factory=list)
    unmeasured: Counter[tuple[str, str]] = field(default_factory=Counter)
    undefined: Counter[str] = field(default_factory=Counter)
    measured: Counter[str] = field(default_factory=Counter)
    keys: set[str] = field(default_factory=set)

    @property
    def failed(self) -> int:
        """The number of failed sessions."""
        return self.failures.total()

    @property
    def valueless(self) -> list[str]:
        """A line for each metric that failed, or was None in all sessions."""
        found = [(column, count, reason) for (column, reason), count in self.unmeasured.most_common(MOST_FAILURES)]
        known = self.measured.keys() | {column for column, _ in self.unmeasured}
        found += [(name, count, "measure returned None") for name, count in self.undefined.items() if name not in known]
        return [
            f"metric {column} has no value in {several(count, 'session')}: {reason}" for column, count, reason in found
        ]

    @property
    def not_applicable(self) -> list[str]:
        """A line for each reason why sessions do not apply."""
        shown = self.inapplicable.most_common(MOST_FAILURES)
        return [f"{several(count, 'session')} not applicable: {reason}" for reason, count in shown]


def counted(failures: Counter[str]) -> list[str]:
    """Lines that name each distinct failure once, the most frequent first, with the number of its sessions."""
    shown = failures.most_common(MOST_FAILURES)
    lines = [f"{several(count, 'session')}: {failure}" for failure, count in shown]
    if more := len(failures) - len(shown):
        lines.append(f"{more} more kinds of failures are in the column error of the results")
    return lines


class RowWriter:
    """Writes the rows of a run into its store, and counts them."""

    def __init__(self, store: Store, reporter: Reporter) -> None:
        self.store, self.reporter, self.summary = store, reporter, Summary()

    def played(self, units: Sequence[Unit], sessions: Sequence[Session]) -> None:
        """Rows of the sessions that are complete, with their turns and masks, as one part."""
        rows, turns, complete, failures = [], [], 0, list[str]()
        masks: dict[str, Sequence[Mask]] = {}
        for unit, session in zip(units, sessions, strict=True):
            if session.request is not None:
                continue
            complete += 1
            failures += [f"{row['status']}: {row['error']}" for row in session.rows if row["status"] in FAILED][:1]
            self._tell(session)
            rows += [{**_columns(unit), **row, "target_ml": session.target.volume_ml} for row in session.rows]
            turns += session.turns
            if session.masks:
                masks[unit.key] = session.masks
        if masks:
            self.store.write_masks(masks)
        if rows:
            self.store.write_part(rows, turns)
        self._count(complete, failures)

    def _tell(self, session: Session) -> None:
        """Count why a session does not apply, or what its metrics lack."""
        summary, scored = (
            self.summary,
            [row for row in session.rows if row["status"] not in (*FAILED, "not_applicable")],
        )
        summary.unmeasured.update(session.problems)
        summary.inapplicable.update([row["error"] for row in session.rows if row["status"] == "not_applicable"][:1])
        for metric in session.metrics if scored else ():
            empty = all(row[metric.column] is None for row in scored)
            (summary.undefined if empty else summary.measured)[metric.column] += 1

    def failed(self, units: Sequence[tuple[Unit, str, str]]) -> None:
        """Rows of units that were never played, each with its status and the reason."""
        self._write([_bare_row(unit, status, message, dice=0.0) for unit, status, message in units])
        self._count(len(units), [f"{status}: {message}" for _, status, message in units])

    def not_applicable(self, units: Sequence[Unit], reason: str) -> None:
        """Rows of units that do not apply to their model because of the kind of images."""
        self._write([_bare_row(unit, "not_applicable", reason, dice=None) for unit in units])
        self.summary.inapplicable[reason] += len(units)
        self._count(len(units), [])

    def tell_patients(self, units: Sequence[Unit]) -> None:
        """Note for the summary whether stored rows of these cases name other patients; the newest row will decide."""
        now = {(unit.dataset.short_spec, unit.case): unit.patient for unit in units}
        moved: dict[str, list[str]] = {}
        for name, case, patient in read_rows(self.store.root).select("dataset", "case", "patient").unique().iter_rows():
            if now.get((name, case), patient) != patient:
                moved.setdefault(name, []).append(f"{case} was of {patient} and is of {now[name, case]}")
        for name, changes in sorted(moved.items()):
            more = f" and {len(changes) - 3} more" if len(changes) > 3 else ""
            changed = f"{', '.join(sorted(changes)[:3])}{more}"
            self.summary.moved.append(
                f"{name}: patients have changed ({changed}); this counts for all stored rows of these cases"
            )

    def mended(self, whole: Sequence[Unit]) -> None:
        """Revoke the stored failures of whole cases that could be prepared this time."""
        failed_before = self.store.failed_cases()
        units = [unit for unit in whole if unit.key in failed_before]
        self._write([_bare_row(unit, "not_applicable", "mended", dice=None) for unit in units])

    def renewed(self, units: Sequence[Unit]) -> None:
        """Write sessions of this run again that others have replaced since, as after an edit that was undone.

        So the code and the data of the latest run are what tables show, whether its sessions were computed now or
        earlier. A row of each case that is now known to be of another patient is also written again; it decides for the
        whole case.
        """
        rows = read_rows(self.store.root)
        counting = newest_plays(current(rows)[0], apart=["metrics"])
        patients = pl.DataFrame({"session": [unit.key for unit in units], "_now": [unit.patient for unit in units]})
        ours = rows.join(patients, on="session")
        replaced = ours.join(counting, on=["session", "metrics"], how="anti", nulls_equal=True)
        moved = ours.filter(pl.col("patient") != pl.col("_now")).unique(["dataset", "case"])
        again = pl.concat([replaced, moved]).unique(["session", "round"]).drop("patient").rename({"_now": "patient"})
        known = ({name: value for name, value in row.items() if value is not None} for row in again.to_dicts())
        self._write([{name: row[name] for name in row.keys() - {"run_id", "written_at"}} for row in known])

    def _write(self, rows: Sequence[dict[str, Any]]) -> None:
        if rows:
            self.store.write_part(rows, [])

    def _count(self, complete: int, failures: Sequence[str]) -> None:
        self.summary.computed += complete
        self.summary.failures.update(failures)
        self.reporter.advance(complete, len(failures))


def _columns(unit: Unit) -> dict[str, Any]:
    memory = {"peak_memory_mb": peak_memory_mb(), "peak_gpu_mb": peak_gpu_mb()}
    return {**unit.columns(), **memory, "package_versions_hash": versions_hash()}


def _bare_row(unit: Unit, status: str, message: str, dice: float | None) -> dict[str, Any]:
    """A row of a session that was never played."""
    scores = {"round": 0, "dice": dice, "iou": dice, "ended": True, "adapted": "", "prompts_hash": ""}
    effort = {"interactions": 0.0, "dof": 0.0, "seconds_human": 0.0}
    return {**_columns(unit), "session": unit.key, "status": status, "error": message, **scores, **effort}
