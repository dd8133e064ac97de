"""Read the rows and turns of a results folder; parts that are damaged are left out and can be named."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import polars as pl

from intrabench.bounded import believe
from intrabench.errors import IntraBenchError
from intrabench.results.damage import is_sound, left_out
from intrabench.results.packs import number_of, reading
from intrabench.results.schema import FAILED, SCHEMA, TURNS, metric_columns
from intrabench.results.upgrade import UPGRADED, upgraded
from intrabench.target import WHOLE_CASE


def read_rows(
    root: Path, columns: Sequence[str] | None = None, metrics: bool = True, damaged: list[Path] | None = None
) -> pl.DataFrame:
    """All current rows, one per session and round: successes are preferred to failures, newer rows to older ones.

    columns, metrics: only these columns of `SCHEMA`, and whether those of other metrics, to save time and memory.
    Damaged parts are left out; `damaged_parts` lists them. damaged: gets their files.
    """
    needed = None if columns is None else list(dict.fromkeys([*columns, *DECIDING]))
    unread: list[Path] = [] if damaged is None else damaged

    def read(paths: list[Path]) -> pl.DataFrame:
        unread.clear()  # of an earlier try
        return read_parts(paths, SCHEMA, needed, metrics, damaged=unread)

    rows = _counted(current_rows(reading(root / "rows", read)))
    return rows if columns is None else rows.select(*columns, *(metric_columns(rows) if metrics else ()))


def cases_of(rows: pl.DataFrame) -> pl.DataFrame:
    """The cases that current rows are of, with their patients: dataset, case, patient."""
    return _counted(rows).select("dataset", "case", "patient").unique(maintain_order=True)


def _counted(rows: pl.DataFrame) -> pl.DataFrame:
    """Current rows with patients; of whole cases only the failures."""
    return with_patients(rows).filter((pl.col("target") != WHOLE_CASE) | pl.col("status").is_in(FAILED))


def with_patients(rows: pl.DataFrame, *others: pl.DataFrame) -> pl.DataFrame:
    """The rows with the `patient` that the newest row of their case names; if none does, the case is the patient.

    others: rows that may name patients, too.
    """
    where = ["dataset", "case"]
    named = pl.concat([one.select(*where, "patient", "written_at").drop_nulls("patient") for one in (rows, *others)])
    known = named.group_by(where).agg(pl.col("patient").sort_by("written_at", "patient").last())
    found = rows.select(where).join(known, on=where, how="left", maintain_order="left")
    return rows.with_columns(found.select(pl.coalesce("patient", "case")).to_series())


def read_turns(root: Path, sessions: Sequence[str] | None = None) -> pl.DataFrame:
    """The turns of the newest play of sessions (None: of all): session, round, turn, given (JSON of `Turn.to_json`)."""

    turns = reading(root / "turns", lambda paths: read_parts(paths, TURNS, sessions=sessions))
    newest = pl.col("written_at") == pl.col("written_at").max().over("session")
    return turns.filter(newest).unique(["session", "turn"], keep="first", maintain_order=True).drop("written_at")


def damaged_parts(root: Path, rows: Sequence[Path] | None = None) -> list[str]:
    """A sentence for each part that cannot be read. It is ignored, and the next run computes it again.

    rows: those of rows, if they are known from `read_rows`.
    """
    return [left_out(path) for path in damaged_files(root, rows)]


def damaged_files(root: Path, rows: Sequence[Path] | None = None) -> list[Path]:
    """The parts that cannot be read. Turns are large, so only their beginning and end are checked."""
    if rows is None:
        rows = reading(root / "rows", lambda paths: _damaged(paths, SCHEMA))
    return [*rows, *reading(root / "turns", lambda paths: _damaged(paths, {"session": pl.String}))]


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
    """One row per session and round: a failure is dropped once the session succeeded in that round or in a newer play.

    For whole cases the newest row counts, whatever its status.
    """
    failed = pl.col("status").is_in(FAILED) & (pl.col("target") != WHOLE_CASE)
    few = rows.select("session", "round", "written_at", failed.alias("failed")).with_row_index("number")
    succeeded = pl.col("written_at").filter(~pl.col("failed")).max().over("session")
    outdated = pl.col("failed") & (pl.col("written_at") < succeeded).fill_null(False)
    few = few.filter(~outdated).sort("failed", -pl.col("written_at"), maintain_order=True)
    return rows[few.unique(["session", "round"], keep="first", maintain_order=True)["number"]]


def finished_of(rows: pl.DataFrame, rounds: int) -> set[str]:
    summary = (
        current_rows(rows)
        .group_by("session")
        .agg(
            pl.col("round").max().alias("last"),
            pl.col("ended").any(),
            pl.col("status").is_in(FAILED).any().alias("failed"),
        )
    )
    done = summary.filter(~pl.col("failed") & ((pl.col("last") >= rounds) | pl.col("ended")))
    return set(done["session"].to_list())


def latest_stamp(rows: pl.DataFrame) -> int:
    return int(rows["written_at"].cast(pl.Int64).max() or 0)  # type: ignore[arg-type]


def read_parts(
    paths: Sequence[Path],
    schema: Mapping[str, Any],
    columns: Sequence[str] | None = None,
    metrics: bool = True,
    sessions: Sequence[str] | None = None,
    damaged: list[Path] | None = None,
) -> pl.DataFrame:
    """The rows of all parts that can be read; columns, metrics, damaged: as in `read_rows`; sessions: only theirs."""
    unread: list[Path] = [] if damaged is None else damaged
    kept = list(schema if columns is None else columns)
    wanted = pl.lit(True) if sessions is None else pl.col("session").is_in(list(sessions))
    frames = [pl.DataFrame(schema=dict(schema)).select(kept)]
    for some in several_at_once(paths):
        for frame in _sound(some, schema, unread):
            others = metric_columns(frame) if metrics else ()
            frames.append(frame.filter(wanted).select(*kept, *(name for name in others)))
    return pl.concat(frames, how="diagonal")


def several_at_once(paths: Sequence[Path]) -> Iterator[Sequence[Path]]:
    """Paths that are read together. All their columns are, so that damage is found, which takes more than is kept."""
    some, size = list[Path](), 0
    for path in paths:
        some.append(path)
        size += path.stat().st_size if path.is_file() else 0
        if size > _AT_ONCE:
            yield some
            some, size = [], 0
    yield some


def _sound(paths: Sequence[Path], schema: Mapping[str, Any], damaged: list[Path]) -> list[pl.DataFrame]:
    """The rows of the parts that can be read; if not all can be read together, each half is tried alone."""
    found = together(paths, schema)
    if found is not None:
        return [found]
    if len(paths) < 2:
        damaged += paths
        return []
    half = len(paths) // 2
    return [frame for some in (paths[:half], paths[half:]) for frame in _sound(some, schema, damaged)]


def _damaged(paths: Sequence[Path], schema: Mapping[str, Any]) -> list[Path]:
    """The parts that cannot be read."""
    return [path for some in several_at_once(paths) for path in _unsound(some, schema)]


def _unsound(paths: Sequence[Path], schema: Mapping[str, Any]) -> list[Path]:
    if together(paths, schema) is not None:
        return []
    half = len(paths) // 2
    return [path for some in (paths[:half], paths[half:]) for path in _unsound(some, schema)] if half else list(paths)


def together(paths: Sequence[Path], schema: Mapping[str, Any]) -> pl.DataFrame | None:
    """The rows of parts with equal columns; None if one is damaged or from a version with fewer columns."""
    if not paths:
        return pl.DataFrame(schema=dict(schema))
    if not all(path.is_file() for path in paths):  # reading a pipe may wait for ever
        return None
    try:
        _believe(paths, len(schema))
        found = _fitted(pl.scan_parquet(list(paths)), schema).collect()
    except UNREADABLE:
        return None
    return found if is_sound(found) else None


def _believe(paths: Sequence[Path], columns: int) -> None:
    """Refuse parts that announce more rows than can be in them; only their ends are read."""
    rows = int(pl.scan_parquet(list(paths)).select(pl.len()).collect().item())
    believe(paths[0], rows * columns * _VALUE, sum(path.stat().st_size for path in paths), packed=True)


def _fitted(frame: pl.LazyFrame, schema: Mapping[str, Any]) -> pl.LazyFrame:
    """The columns of `schema`, and all other columns of floats, which are metrics, known here or not.

    Columns that older versions did not write are null; all versions wrote `session`.
    """
    given = frame.collect_schema()
    known = {*given.names(), "session"}
    metrics = [name for name, kind in given.items() if name not in schema and kind == pl.Float64]
    if "contract" in schema and "contract" not in known:
        frame, known = upgraded(frame), known | UPGRADED.keys()
    return frame.select(
        *(
            pl.col(name).cast(kind) if name in known else pl.lit(None, kind).alias(name)
            for name, kind in schema.items()
        ),
        *metrics,
    )


_AT_ONCE = 4 << 20
"""Bytes of files that are read together."""

_VALUE = 16
"""Bytes of a text in memory, at least."""

UNREADABLE = (IntraBenchError, OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException)
"""Exceptions of polars for damaged files; a few cause a panic."""
