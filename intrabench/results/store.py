"""The results folder: Parquet parts, one atomic file per finished wave, and the turns beside the rows.

rows/RUN-0001.parquet    one line per session and round
turns/RUN-0001.parquet   what the user gave, as JSON
masks/SESSION.npz        with --save-masks: packed masks per round
runs/RUN.json            command, time, package versions
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from intrabench.errors import IntraBenchError
from intrabench.mask import Mask
from intrabench.target import WHOLE_CASE

SCHEMA: dict[str, Any] = {
    "run_id": pl.String,
    "session": pl.String,
    "protocol": pl.String,
    "dataset": pl.String,
    "dataset_version": pl.String,
    "case": pl.String,
    "target": pl.String,
    "label": pl.String,
    "instance": pl.Int64,
    "target_voxels": pl.Int64,
    "target_ml": pl.Float64,
    "model": pl.String,
    "model_version": pl.String,
    "weights_sha256": pl.String,
    "seen_in_training": pl.String,
    "prompter": pl.String,
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
    "nsd_2mm": pl.Float64,
    "hd95_mm": pl.Float64,
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
"""Columns of a row; `written_at` (nanoseconds) decides which of two rows of a session is the newer."""

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
    """A results folder that is being written to."""

    def __init__(self, root: Path, run_id: str, record: Mapping[str, Any] | None = None) -> None:
        """Make the folder; `record` (command, options, versions) is written beside the first part."""
        self.root, self.run_id, self._record, self._parts = root, run_id, record or {}, 0
        self._seen: dict[str, pl.DataFrame] = {}
        try:
            for folder in ("rows", "turns", "runs", "locks"):
                (root / folder).mkdir(parents=True, exist_ok=True)
            probe = root / "runs" / f".{run_id}.tmp"
            probe.touch()
            probe.unlink()
        except OSError as error:
            raise _cannot_write(root, error) from error

    def write_part(self, rows: Sequence[Mapping[str, Any]], turns: Sequence[Mapping[str, Any]]) -> None:
        """Write the rows and turns of finished sessions; the rows come last, they are what makes them count."""
        if self._parts == 0:
            text = json.dumps({"run_id": self.run_id, **self._record}, indent=1, default=str)
            _atomically(self.root / "runs" / f"{self.run_id}.json", lambda path: path.write_text(text, "utf-8"))
        self._parts += 1
        name = f"{self.run_id}-{self._parts:04d}.parquet"
        now = time.time_ns()
        stamped = [{"run_id": self.run_id, "written_at": now, **row} for row in rows]
        given = [{"written_at": now, **turn} for turn in turns]
        _atomically(self.root / "turns" / name, pl.DataFrame(given, schema=TURNS).write_parquet)
        _atomically(self.root / "rows" / name, pl.DataFrame(stamped, schema=SCHEMA).write_parquet)

    def finished(self, rounds: int) -> set[str]:
        """Sessions that need not be computed again for so many rounds; only parts not seen before are read."""
        for path in (self.root / "rows").glob("*.parquet"):
            if path.name not in self._seen:
                self._seen[path.name] = _read([path], SCHEMA).select(_PROGRESS)
        return _finished(pl.concat(self._seen.values()), rounds) if self._seen else set()

    def failed_cases(self) -> set[str]:
        """Sessions that stand for a case that could not be prepared when it was last tried."""
        rows = read_rows(self.root)
        return set(rows.filter(pl.col("target") == WHOLE_CASE)["session"].to_list())

    def has_masks(self, session: str) -> bool:
        """Whether the masks of a session were kept."""
        return _masks(self.root, session).is_file()

    def write_masks(self, session: str, masks: Sequence[Mask]) -> None:
        """Keep the masks of a session, one per round, cropped and bit-packed."""
        arrays: dict[str, np.ndarray[Any, Any]] = {}
        for number, mask in enumerate(masks):
            arrays[f"round{number}"] = mask.pack()
            arrays[f"box{number}"] = np.array(mask.box)

        def write(path: Path) -> None:
            with path.open("wb") as file:
                np.savez_compressed(file, **arrays)  # type: ignore[arg-type]

        path = _masks(self.root, session)
        path.parent.mkdir(exist_ok=True)
        _atomically(path, write)


def read_masks(root: Path, session: str) -> list[Mask]:
    """The masks that were kept of a session, one per round; none when it was run without ``--save-masks``."""
    path = _masks(root, session)
    if not path.is_file():
        return []
    with np.load(path) as arrays:
        boxes = [arrays[f"box{number}"] for number in range(len(arrays.files) // 2)]
        return [Mask.unpack(box[:3], box[3:] - box[:3], arrays[f"round{n}"]) for n, box in enumerate(boxes)]


def read_rows(root: Path) -> pl.DataFrame:
    """All current rows, one per session and round: what succeeded before what failed, the newer before the older."""
    rows = _current(_read(sorted((root / "rows").glob("*.parquet")), SCHEMA))
    return rows.filter((pl.col("target") != WHOLE_CASE) | pl.col("status").is_in(FAILED))


def read_turns(root: Path) -> pl.DataFrame:
    """The turns of the newest play of every session: session, round, turn, given (JSON of `Turn.to_json`)."""
    turns = _read(sorted((root / "turns").glob("*.parquet")), TURNS)
    newest = pl.col("written_at") == pl.col("written_at").max().over("session")
    return turns.filter(newest).drop("written_at")


def finished_sessions(root: Path, rounds: int) -> set[str]:
    """Sessions that need not be computed again for so many rounds."""
    return _finished(_read(sorted((root / "rows").glob("*.parquet")), SCHEMA), rounds)


_PROGRESS = ("session", "target", "round", "status", "ended", "written_at")


def _current(rows: pl.DataFrame) -> pl.DataFrame:
    """One row per session and round: a failure is dropped once the session succeeded in that round or in a newer play.

    Of a whole case the newest row counts, whatever it says.
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


def _masks(root: Path, session: str) -> Path:
    return root / "masks" / f"{session}.npz"


def _read(paths: Sequence[Path], schema: Mapping[str, Any]) -> pl.DataFrame:
    if not paths:
        return pl.DataFrame(schema=dict(schema))
    try:
        try:
            frame = pl.read_parquet(list(paths))
        except pl.exceptions.PolarsError:  # parts of older versions have fewer columns
            frame = pl.concat([pl.read_parquet(path) for path in paths], how="diagonal_relaxed")
        return frame.with_columns(pl.lit(None, kind).alias(n) for n, kind in schema.items() if n not in frame.columns)
    except (OSError, pl.exceptions.PolarsError) as error:
        broken = next((path for path in paths if not _readable(path)), paths[0])
        raise IntraBenchError(f"{broken} cannot be read; delete it, its sessions are then run again") from error


def _readable(path: Path) -> bool:
    try:
        pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError):
        return False
    return True


def _atomically(path: Path, write: Any) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        write(temporary)
        os.replace(temporary, path)
    except OSError as error:
        raise _cannot_write(path, error) from error
    finally:
        temporary.unlink(missing_ok=True)


def _cannot_write(path: Path, error: OSError) -> IntraBenchError:
    reason = error.strerror or str(error)
    return IntraBenchError(f"cannot write to {path} ({reason}); free space or choose another folder with --out")
