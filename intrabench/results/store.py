"""The results folder: Parquet parts, one atomic file per finished wave, and the turns beside the rows.

rows/RUN-0001.parquet    one line per session and round
turns/RUN-0001.parquet   the turns of the user, as JSON
masks/SESSION.npz        with --save-masks: packed masks per round
runs/RUN.json            the manifest of the run: command, versions, machine, data, how it ended
"""

from __future__ import annotations

import json
import os
import struct
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from io import BytesIO
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from intrabench.atomic import all_atomically, make_folder
from intrabench.bounded import Arrays
from intrabench.documents import Unreadable, regular
from intrabench.errors import IntraBenchError
from intrabench.leftovers import remove_leftovers
from intrabench.mask import Mask
from intrabench.names import check_utf8, file_name
from intrabench.results.upgrade import UPGRADED, upgraded
from intrabench.target import WHOLE_CASE

SCHEMA: dict[str, Any] = {
    "run_id": pl.String,
    "session": pl.String,
    "contract": pl.Int64,
    "protocol": pl.String,
    "stop": pl.String,
    "metrics": pl.String,
    "dataset": pl.String,
    "dataset_version": pl.String,
    "case": pl.String,
    "patient": pl.String,
    "target": pl.String,
    "label": pl.String,
    "instance": pl.Int64,
    "target_voxels": pl.Int64,
    "target_ml": pl.Float64,
    "model": pl.String,
    "model_version": pl.String,
    "weights": pl.String,
    "weights_sha256": pl.String,
    "seen_in_training": pl.String,
    "prompter": pl.String,
    "prompter_version": pl.String,
    "seed": pl.Int64,
    "strict": pl.Boolean,
    "round": pl.Int64,
    "status": pl.String,
    "error": pl.String,
    "ended": pl.Boolean,
    "prompts_hash": pl.String,
    "adapted": pl.String,
    "interactions": pl.Float64,
    "dof": pl.Float64,
    "seconds_human": pl.Float64,
    "dice": pl.Float64,
    "iou": pl.Float64,
    "fp_voxels": pl.Int64,
    "fn_voxels": pl.Int64,
    "pred_voxels": pl.Int64,
    "encode_s": pl.Float64,
    "segment_s": pl.Float64,
    "batch": pl.Int64,
    "prompt_s": pl.Float64,
    "peak_memory_mb": pl.Float64,
    "peak_gpu_mb": pl.Float64,
    "device": pl.String,
    "dtype": pl.String,
    "package_versions_hash": pl.String,
    "written_at": pl.Int64,
}
"""Columns that all rows have; each other metric has one more, of floats, named by the ids in `metrics`.

`contract` is the version of the meaning of rows; `weights` is the kind of the model's weights (registered, random, or a
file of the user's); `written_at` (nanoseconds, `Store.stamp`) decides which of two rows of a session is newer.
`patient` changes no answer, so it may be corrected later: the newest row of a case decides for all its rows, also for
those without one.
"""

ALWAYS = ("dice", "iou")
"""Metrics that all rows have."""

TURNS: dict[str, Any] = {
    "session": pl.String,
    "round": pl.Int64,
    "turn": pl.Int64,
    "given": pl.String,
    "written_at": pl.Int64,
}

FAILED = ("error", "oom", "timeout")
"""Statuses that count as Dice 0, give exit code 1 and are tried again by the next run."""


class Store:
    """A results folder open for writing."""

    def __init__(self, root: Path, run_id: str, record: Callable[[], Mapping[str, Any]] = dict) -> None:
        """Create the folder. The result of `record` is written with the first part; `parts` counts the parts."""
        self.root, self.run_id, self._record, self.parts = root, run_id, record, 0
        self._seen: dict[str, pl.DataFrame] = {}
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
        before = max(self._found, self._stamps[-1] if self._stamps else 0)
        self._stamps = [*self._stamps[:1], max(time.time_ns(), min(before + 1, _LAST))]
        return self._stamps[-1]

    @cached_property
    def _found(self) -> int:
        return newest_stamp(self.root)

    def write_part(self, rows: Sequence[Mapping[str, Any]], turns: Sequence[Mapping[str, Any]]) -> None:
        """Write the turns and then the rows of finished sessions; a session counts only once its rows are written.

        Raises:
            IntraBenchError: a row has a column that is neither in `SCHEMA` nor a metric of its `metrics`.
        """
        schema = SCHEMA | _measured(rows)
        if self.parts == 0:
            self.write_record(self._record())
        self.parts += 1
        name = f"{self.run_id}-{self.parts:04d}.parquet"
        now = self.stamp()
        stamped = [{"run_id": self.run_id, "written_at": now, **row} for row in rows]
        given = [{"written_at": now, **turn} for turn in turns]
        _write({self.root / "turns" / name: partial(write_parquet, pl.DataFrame(given, schema=TURNS))})
        _write({self.root / "rows" / name: partial(write_parquet, pl.DataFrame(stamped, schema=schema))})

    def write_record(self, record: Mapping[str, Any]) -> None:
        """Write the record of the run, in place of an earlier one; `stamps` are its first and its newest one."""
        self.stamp()
        text = json.dumps(
            {"run_id": self.run_id, "stamps": [self._stamps[0], self._stamps[-1]], **record}, indent=1, default=str
        )
        _write({self.root / "runs" / f"{self.run_id}.json": lambda path: path.write_text(text, "utf-8")})

    def finished(self, rounds: int) -> set[str]:
        """Sessions that are complete for this number of rounds; only new parts are read."""
        for path in (self.root / "rows").glob("*.parquet"):
            if path.name not in self._seen:
                self._seen[path.name] = found = _read([path], SCHEMA).select(_PROGRESS)
                self._found = max(self._found, _latest(found))  # other runs write here, too
        return _finished(pl.concat(self._seen.values()), rounds) if self._seen else set()

    def failed_cases(self) -> set[str]:
        """Sessions that stand for a case whose last preparation failed."""
        rows = read_rows(self.root)
        return set(rows.filter(pl.col("target") == WHOLE_CASE)["session"].to_list())

    def has_masks(self, session: str) -> bool:
        """Whether the masks of a session are stored; a file that was cut short does not count."""
        return _is_whole(_masks(self.root, session))

    def bad_masks(self, session: str) -> str:
        """A sentence if there is a file of a session's masks that does not count; else an empty string."""
        path = _masks(self.root, session)
        return f"{path} cannot be read; its session is played again" if path.exists() and not _is_whole(path) else ""

    def write_masks(self, sessions: Mapping[str, Sequence[Mask]]) -> None:
        """Store the masks of sessions, one per round, cropped and bit-packed."""

        def write(path: Path, masks: Sequence[Mask]) -> None:
            arrays: dict[str, np.ndarray[Any, Any]] = {}
            for number, mask in enumerate(masks):
                arrays[f"round{number}"] = mask.pack()
                arrays[f"box{number}"] = np.array(mask.box)
            with path.open("wb") as file:
                np.savez_compressed(file, **arrays)  # type: ignore[arg-type]

        _write({_masks(self.root, session): partial(write, masks=masks) for session, masks in sessions.items()})


def clean(root: Path) -> None:
    """Remove what killed runs and merges left in a results folder more than a day ago."""
    remove_leftovers(root, ".merge-*")
    remove_leftovers(root / "locks", "*.lock", "*.run")
    for folder in ("rows", "turns", "masks", "runs"):
        remove_leftovers(root / folder, ".*.part", ".*.tmp")


def read_masks(root: Path, session: str) -> list[Mask]:
    """The stored masks of a session, one per round; none without ``--save-masks``.

    Raises:
        IntraBenchError: the file cannot be read.
    """
    path = _masks(root, session)
    try:
        with Arrays(regular(path)) as arrays:
            boxes: list[Any] = [arrays[f"box{number}"] for number in range(len(arrays) // 2)]
            return [Mask.unpack(box[:3], box[3:] - box[:3], arrays[f"round{n}"]) for n, box in enumerate(boxes)]
    except FileNotFoundError:
        return []
    except Exception as error:  # zip, zlib and numpy raise different exceptions for damaged files
        raise IntraBenchError(_left_out(path)) from error


def write_parquet(frame: pl.DataFrame, path: Path) -> None:
    """Write a frame as Parquet; unlike those of polars, the errors tell that a disk is full."""
    content = BytesIO()
    frame.write_parquet(content)
    path.write_bytes(content.getbuffer())


def read_rows(root: Path) -> pl.DataFrame:
    """All current rows, one per session and round: successes are preferred to failures, newer rows to older ones.

    Damaged parts are left out; `damaged_parts` lists them.
    """
    rows = with_patients(_current(_read(sorted((root / "rows").glob("*.parquet")), SCHEMA)))
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
        turns = _read(paths, TURNS)
    else:  # part by part, to limit memory
        kept = (_read([path], TURNS).filter(pl.col("session").is_in(sessions)) for path in paths)
        turns = pl.concat([pl.DataFrame(schema=TURNS), *kept])
    newest = pl.col("written_at") == pl.col("written_at").max().over("session")
    return turns.filter(newest).drop("written_at")


def metric_columns(rows: pl.DataFrame) -> list[str]:
    """The metrics that rows have besides Dice and IoU: all their columns of floats that are not in `SCHEMA`."""
    return [name for name, kind in rows.schema.items() if name not in SCHEMA and kind == pl.Float64]


def damaged_parts(root: Path) -> list[str]:
    """A sentence for each part that cannot be read. It is ignored, and the next run computes it again."""
    return [_left_out(path) for path in damaged_files(root)]


def damaged_masks(root: Path) -> list[str]:
    """A sentence for each file of masks that was cut short; it counts as missing."""
    return [_left_out(path) for path in cut_masks(root)]


def cut_masks(root: Path) -> list[Path]:
    """The files of masks that were cut short."""
    return [path for path in sorted((root / "masks").glob("*.npz")) if not _is_whole(path)]


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
        newest = max(newest, next((_latest(found) for found in readable if found is not None), 0))
    return newest


def finished_sessions(root: Path, rounds: int) -> set[str]:
    """Sessions that are complete for this number of rounds."""
    return _finished(_read(sorted((root / "rows").glob("*.parquet")), SCHEMA), rounds)


_LAST = 2**63 - 1
"""The largest stamp that a row can have."""

_PROGRESS = ("session", "target", "round", "status", "ended", "written_at")


def _current(rows: pl.DataFrame) -> pl.DataFrame:
    """One row per session and round: a failure is dropped once the session succeeded in that round or in a newer play.

    For whole cases the newest row counts, whatever its status.
    """
    rows = rows.with_columns(_failed=pl.col("status").is_in(FAILED) & (pl.col("target") != WHOLE_CASE))
    succeeded = pl.col("written_at").filter(~pl.col("_failed")).max().over("session")
    outdated = pl.col("_failed") & (pl.col("written_at") < succeeded).fill_null(False)
    rows = rows.filter(~outdated).sort("_failed", -pl.col("written_at"), maintain_order=True)
    return rows.unique(["session", "round"], keep="first", maintain_order=True).drop("_failed")


def _finished(rows: pl.DataFrame, rounds: int) -> set[str]:
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


def _measured(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The columns of rows besides `SCHEMA`: one for each metric that their `metrics` name."""
    ids = (id for ids in dict.fromkeys(str(row.get("metrics") or "") for row in rows) for id in ids.split())
    columns = {name: pl.Float64 for name in (id.rpartition("@")[0] for id in ids) if name not in SCHEMA}
    for name in {name for row in rows for name in row} - SCHEMA.keys() - columns.keys():
        raise IntraBenchError(
            f"a row has a value called {name!r}, which is neither a column of the results nor a metric of its run; "
            "give the metric with --metric, or omit the value"
        )
    return columns


def _masks(root: Path, session: str) -> Path:
    return root / "masks" / f"{file_name(session)}.npz"  # rows of somebody else may name any session


def _is_whole(path: Path) -> bool:
    """Whether a zip ends as it says itself: with a record of 22 bytes, right behind its directory."""
    try:
        with regular(path).open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - 22, 0))
            end = file.read()
    except (OSError, Unreadable):
        return False
    return end.startswith(b"PK\5\6") and size == 22 + sum(struct.unpack_from("<II", end, 12))


def _left_out(path: Path) -> str:
    beside = " and its namesake in rows" if path.parent.name == "turns" else ""
    sessions = "plays its session" if path.parent.name == "masks" else "computes its sessions"
    return f"{path} cannot be read and is left out; delete it{beside}, and the command of its run {sessions} again"


def _latest(rows: pl.DataFrame) -> int:
    return int(rows["written_at"].cast(pl.Int64).max() or 0)  # type: ignore[arg-type]


def _read(paths: Sequence[Path], schema: Mapping[str, Any]) -> pl.DataFrame:
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
        found = _fitted(pl.scan_parquet(list(paths)), schema).collect()
    except _UNREADABLE:
        return None
    return found if _is_sound(found) else None


MOST_ROUNDS = 10**6
"""No session has more; tables count up to the last round of all."""


NEEDED = (
    *("session", "round", "status", "written_at"),
    *("protocol", "dataset", "case", "target", "model", "prompter"),
)
"""Columns that no row of any version lacks."""


def _is_sound(frame: pl.DataFrame) -> bool:
    """Whether rows have what all that reads them relies on; a part may have been written by anybody."""
    needed = [name for name in NEEDED if name in frame.columns]
    rounds = frame["round"] if "round" in needed else pl.Series([0])
    return not any(frame[name].has_nulls() for name in needed) and bool(rounds.is_between(0, MOST_ROUNDS).all())


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


_UNREADABLE = (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException)
"""Exceptions of polars for damaged files; a few cause a panic."""


def _write(files: Mapping[Path, Callable[[Path], Any]]) -> None:
    """Write files, each by its function: all before one of them counts."""
    path = next(iter(files))
    try:
        with all_atomically(list(files)) as parts:
            for (path, write), part in zip(files.items(), parts, strict=True):  # noqa: B007
                write(part)
    except OSError as error:
        raise _cannot_write(path, error) from error


def _cannot_write(path: Path, error: OSError) -> IntraBenchError:
    reason = error.strerror or str(error)
    return IntraBenchError(f"cannot write to {path} ({reason}); free space or choose another folder with --out")
