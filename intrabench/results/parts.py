"""Read the rows and turns of a results folder; parts that are damaged are left out and can be named."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import polars as pl

from intrabench.results.columns import note_of
from intrabench.results.damage import left_out
from intrabench.results.fast_queries import different, keys, only
from intrabench.results.files import damaged, left_columns, read_parts, together, why
from intrabench.results.model_cards import note_cards
from intrabench.results.packs import number_of, reading
from intrabench.results.schema import SCHEMA, TURNS, metric_columns
from intrabench.results.statuses import UNDONE
from intrabench.target import WHOLE_CASE


def read_rows(root: Path, columns: Sequence[str] | None = None, metrics: bool = True) -> pl.DataFrame:
    """All current rows, one per session and round: successes are preferred to failures, newer rows to older ones.

    columns, metrics: only these columns of `SCHEMA`, and whether those of other metrics, to save time and memory.
    Damaged parts are left out; `damaged_parts` lists them.
    """
    note_cards(root)
    needed = None if columns is None else list(dict.fromkeys([*columns, *DECIDING]))
    found = current_rows(reading(root / "rows", lambda paths: read_parts(paths, SCHEMA, needed, metrics)))
    rows = only(with_patients(found), _COUNTS)
    return rows if columns is None else rows.select(*columns, *(metric_columns(rows) if metrics else ()))


def cases_of(rows: pl.DataFrame) -> pl.DataFrame:
    """The cases that current rows are of, with their patients: dataset, case, patient."""
    cases = rows.filter(_COUNTS).unique(["dataset", "case"], maintain_order=True)
    return with_patients(cases, rows).select("dataset", "case", "patient")


_COUNTS = (pl.col("target") != WHOLE_CASE) | pl.col("status").is_in(UNDONE)
"""Of current rows about whole cases only the failures count."""


def with_patients(rows: pl.DataFrame, *others: pl.DataFrame) -> pl.DataFrame:
    """The rows with the `patient` that the newest row of their case names; if none does, the case is the patient.

    others: rows that may name patients, too.
    """
    where = ["dataset", "case"]
    patients = pl.concat([one.select(*where, "patient", "written_at") for one in (rows, *others)])
    if not patients["patient"].has_nulls() and different(patients, where) == different(patients, [*where, "patient"]):
        return rows
    last = patients.drop_nulls("patient").group_by(where).agg(pl.col("patient").sort_by("written_at", "patient").last())
    found = rows.select(where).join(last, on=where, how="left", maintain_order="left")
    return rows.with_columns(found.select(pl.coalesce("patient", "case")).to_series())


def read_turns(root: Path, sessions: Sequence[str] | None = None) -> pl.DataFrame:
    """The turns of the newest play of sessions (None: of all): session, round, turn, given (JSON of `Turn.to_json`)."""

    turns = reading(root / "turns", lambda paths: read_parts(paths, TURNS, sessions=sessions))
    newest = pl.col("written_at") == pl.col("written_at").max().over("session")
    return turns.filter(newest).unique(["session", "turn"], keep="first", maintain_order=True).drop("written_at")


def damaged_parts(root: Path) -> list[str]:
    """A sentence for each part that cannot be read. It is ignored, and the next run computes it again."""
    return [left_out(path, why(path, SCHEMA) if path.parent.name == "rows" else "") for path in damaged_files(root)]


def left_out_columns(root: Path) -> list[str]:
    """One sentence that names columns of metrics which `read_rows` leaves out, if there are any."""
    damaged_files(root)  # reads what was not read yet
    return note_of(reading(root / "rows", lambda paths: left_columns(paths, SCHEMA)))


def damaged_files(root: Path) -> list[Path]:
    """The parts that cannot be read. Turns are large, so only their beginning and end are checked."""
    return [
        *reading(root / "rows", lambda paths: damaged(paths, SCHEMA)),
        *reading(root / "turns", lambda paths: damaged(paths, {"session": pl.String})),
    ]


def newest_stamp(root: Path) -> int:
    """The newest `written_at` in a folder. It grows within a run, so only the last part of each run is read."""

    def newest(paths: list[Path]) -> int:
        found = 0
        runs = groupby(sorted(paths, key=lambda path: number_of(path.name)), lambda path: number_of(path.name)[0])
        for _, parts in runs:
            readable = (together([path], {"written_at": pl.Int64}) for path in reversed(list(parts)))
            found = max(found, next((latest_stamp(one) for one in readable if one is not None), 0))
        return found

    return reading(root / "rows", newest)


def finished_sessions(root: Path, rounds: int) -> set[str]:
    """Sessions that are complete for this number of rounds."""
    return finished_of(reading(root / "rows", lambda paths: read_parts(paths, SCHEMA, PROGRESS, False)), rounds)


PROGRESS = ("session", "target", "round", "status", "ended", "written_at")
"""Columns that tell which sessions are finished."""

DECIDING = (*PROGRESS, "dataset", "case", "patient")
"""Columns that tell which rows are current, and whose scan a case is."""


def current_rows(rows: pl.DataFrame) -> pl.DataFrame:
    """One row per session and round, in the order of `rows`.

    A failure is dropped once the session succeeded in that round or in a newer play, and so is what follows the end of
    a newer play that was shorter, as of a person who took something back. For whole cases the newest row counts,
    whatever its status.
    """
    failed = pl.col("status").is_in(UNDONE) & (pl.col("target") != WHOLE_CASE)
    ended = pl.col("ended").fill_null(False)
    few = rows.select("session", "round", "written_at", ended, failed.alias("failed")).with_row_index("number")
    again = keys(few, ["session", "round"]).is_duplicated()
    doubtful = few.filter(again | few["failed"])["session"].unique()
    few = few.filter(pl.col("session").is_in(doubtful.implode()))
    succeeded = pl.col("written_at").filter(~pl.col("failed")).max().over("session")
    outdated = pl.col("failed") & (pl.col("written_at") < succeeded).fill_null(False)
    ends = few.filter(pl.col("ended") & ~pl.col("failed")).sort("written_at").group_by("session", maintain_order=True)
    few = few.join(ends.agg(end=pl.col("round").last(), at=pl.col("written_at").last()), on="session", how="left")
    outdated |= ((pl.col("round") > pl.col("end")) & (pl.col("written_at") < pl.col("at"))).fill_null(False)
    newest = few.filter(~outdated).sort("failed", -pl.col("written_at"), maintain_order=True)
    kept = newest.unique(["session", "round"], keep="first")["number"]
    dropped = few["number"].filter(~few["number"].is_in(kept.implode()))
    return only(rows, ~pl.int_range(pl.len()).is_in(dropped.cast(pl.Int64).implode()))


def finished_of(rows: pl.DataFrame, rounds: int) -> set[str]:
    summary = (
        current_rows(rows)
        .group_by("session")
        .agg(
            pl.col("round").max().alias("last"),
            pl.col("ended").any(),
            pl.col("status").is_in(UNDONE).any().alias("failed"),
        )
    )
    done = summary.filter(~pl.col("failed") & ((pl.col("last") >= rounds) | pl.col("ended")))
    return set(done["session"].to_list())


def latest_stamp(rows: pl.DataFrame) -> int:
    return int(rows["written_at"].cast(pl.Int64).max() or 0)  # type: ignore[arg-type]
