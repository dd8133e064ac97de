"""Read the rows and turns of a results folder; parts that are damaged are left out and can be named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import polars as pl

from intrabench.bounded import believe
from intrabench.errors import IntraBenchError
from intrabench.results.damage import is_sound, left_out
from intrabench.results.schema import FAILED, SCHEMA, TURNS
from intrabench.results.upgrade import UPGRADED, upgraded
from intrabench.target import WHOLE_CASE


def read_rows(root: Path) -> pl.DataFrame:
    """All current rows, one per session and round: successes are preferred to failures, newer rows to older ones.

    Damaged parts are left out; `damaged_parts` lists them.
    """
    rows = with_patients(_current(read_parts(sorted((root / "rows").glob("*.parquet")), SCHEMA)))
    return rows.filter((pl.col("target") != WHOLE_CASE) | pl.col("status").is_in(FAILED))


def with_patients(rows: pl.DataFrame, *others: pl.DataFrame) -> pl.DataFrame:
    """The rows with the `patient` that the newest row of their case names; if none does, the case is the patient.

    others: rows that may name patients, too.
    """
    where = ["dataset", "case"]
    named = pl.concat([one.select(*where, "patient", "written_at").drop_nulls("patient") for one in (rows, *others)])
    known = named.group_by(where).agg(pl.col("patient").sort_by("written_at", "patient").last())
    found = rows.drop("patient").join(known, on=where, how="left", maintain_order="left")
    return found.with_columns(pl.coalesce("patient", "case")).select(rows.columns)


def read_turns(root: Path, sessions: Sequence[str] | None = None) -> pl.DataFrame:
    """The turns of the newest play of sessions (None: of all): session, round, turn, given (JSON of `Turn.to_json`)."""
    paths = sorted((root / "turns").glob("*.parquet"))
    if sessions is None:
        turns = read_parts(paths, TURNS)
    else:  # part by part, to limit memory
        kept = (read_parts([path], TURNS).filter(pl.col("session").is_in(sessions)) for path in paths)
        turns = pl.concat([pl.DataFrame(schema=TURNS), *kept])
    newest = pl.col("written_at") == pl.col("written_at").max().over("session")
    return turns.filter(newest).drop("written_at")


def damaged_parts(root: Path) -> list[str]:
    """A sentence for each part that cannot be read. It is ignored, and the next run computes it again."""
    return [left_out(path) for path in damaged_files(root)]


def damaged_files(root: Path) -> list[Path]:
    """The parts that cannot be read. Turns are large, so only their beginning and end are checked."""
    rows, turns = (sorted((root / folder).glob("*.parquet")) for folder in ("rows", "turns"))
    return [*_damaged(rows, SCHEMA), *_damaged(turns, {"session": pl.String})]


def newest_stamp(root: Path) -> int:
    """The newest `written_at` in a folder. It grows within a run, so only the last part of each run is read."""

    def place(path: Path) -> tuple[str, int, str]:
        run, _, number = path.stem.rpartition("-")
        return run, len(number), number

    newest = 0
    for _, parts in groupby(sorted((root / "rows").glob("*.parquet"), key=place), lambda path: place(path)[0]):
        readable = (_together([path], {"written_at": pl.Int64}) for path in reversed(list(parts)))
        newest = max(newest, next((latest_stamp(found) for found in readable if found is not None), 0))
    return newest


def finished_sessions(root: Path, rounds: int) -> set[str]:
    """Sessions that are complete for this number of rounds."""
    return finished_of(read_parts(sorted((root / "rows").glob("*.parquet")), SCHEMA), rounds)


PROGRESS = ("session", "target", "round", "status", "ended", "written_at")


def _current(rows: pl.DataFrame) -> pl.DataFrame:
    """One row per session and round: a failure is dropped once the session succeeded in that round or in a newer play.

    For whole cases the newest row counts, whatever its status.
    """
    rows = rows.with_columns(_failed=pl.col("status").is_in(FAILED) & (pl.col("target") != WHOLE_CASE))
    succeeded = pl.col("written_at").filter(~pl.col("_failed")).max().over("session")
    outdated = pl.col("_failed") & (pl.col("written_at") < succeeded).fill_null(False)
    rows = rows.filter(~outdated).sort("_failed", -pl.col("written_at"), maintain_order=True)
    return rows.unique(["session", "round"], keep="first", maintain_order=True).drop("_failed")


def finished_of(rows: pl.DataFrame, rounds: int) -> set[str]:
    summary = (
        _current(rows)
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


def read_parts(paths: Sequence[Path], schema: Mapping[str, Any]) -> pl.DataFrame:
    """The rows of all parts that can be read."""
    frame = _together(paths, schema)
    if frame is None:
        parts = [part for path in paths if (part := _together([path], schema)) is not None]
        return pl.concat([pl.DataFrame(schema=dict(schema)), *parts], how="diagonal")
    return frame


def _damaged(paths: Sequence[Path], schema: Mapping[str, Any]) -> list[Path]:
    if _together(paths, schema) is not None:
        return []
    return [path for path in paths if _together([path], schema) is None]


def _together(paths: Sequence[Path], schema: Mapping[str, Any]) -> pl.DataFrame | None:
    """The rows of parts with equal columns; None if one is damaged or from a version with fewer columns."""
    if not paths:
        return pl.DataFrame(schema=dict(schema))
    if not all(path.is_file() for path in paths):  # reading a pipe may wait for ever
        return None
    try:
        _believe(paths, len(schema))
        found = _fitted(pl.scan_parquet(list(paths)), schema).collect()
    except _UNREADABLE:
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


_VALUE = 16
"""Bytes of a text in memory, at least."""

_UNREADABLE = (IntraBenchError, OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException)
"""Exceptions of polars for damaged files; a few cause a panic."""
