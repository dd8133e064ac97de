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
    "prompter": pl.String,
    "seed": pl.Int64,
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
    "device": pl.String,
    "dtype": pl.String,
    "package_versions_hash": pl.String,
    "written_at": pl.Int64,
}
"""Columns of a row; `written_at` (nanoseconds) decides which of two rows of a session is the newer."""

TURNS: dict[str, Any] = {"session": pl.String, "round": pl.Int64, "turn": pl.Int64, "given": pl.String}

FAILED = ("error", "oom", "timeout")
"""Statuses that count as Dice 0, give exit code 1 and are tried again by the next run."""


class Store:
    """A results folder that is being written to."""

    def __init__(self, root: Path, run_id: str, record: Mapping[str, Any] | None = None) -> None:
        """Make the folder; `record` (command, options, versions) is written beside the first part."""
        self.root, self.run_id, self._record, self._parts = root, run_id, record or {}, 0
        self._finished: tuple[frozenset[str], set[str]] | None = None
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
        stamp = {"run_id": self.run_id, "written_at": time.time_ns()}
        stamped = [{**stamp, **row} for row in rows]
        _atomically(self.root / "turns" / name, pl.DataFrame(turns, schema=TURNS).write_parquet)
        _atomically(self.root / "rows" / name, pl.DataFrame(stamped, schema=SCHEMA).write_parquet)

    def finished(self, rounds: int) -> set[str]:
        """`finished_sessions`, read again only when parts came that this run has not seen."""
        parts = frozenset(path.name for path in (self.root / "rows").glob("*.parquet"))
        if self._finished is None or self._finished[0] != parts:
            self._finished = parts, finished_sessions(self.root, rounds)
        return self._finished[1]

    def write_masks(self, session: str, masks: Sequence[Mask]) -> None:
        """Keep the masks of a session, one per round, cropped and bit-packed."""
        arrays: dict[str, np.ndarray[Any, Any]] = {}
        for number, mask in enumerate(masks):
            arrays[f"round{number}"] = mask.pack()
            arrays[f"box{number}"] = np.array(mask.box)

        def write(path: Path) -> None:
            with path.open("wb") as file:
                np.savez_compressed(file, **arrays)  # type: ignore[arg-type]

        (self.root / "masks").mkdir(exist_ok=True)
        _atomically(self.root / "masks" / f"{session}.npz", write)


def read_mask(root: Path, session: str, number: int) -> Mask:
    """The mask of one round of a session that was run with ``--save-masks``."""
    path = root / "masks" / f"{session}.npz"
    if not path.is_file():
        raise IntraBenchError(f"{path} does not exist; run again with --save-masks into a new --out")
    with np.load(path) as arrays:
        box = arrays[f"box{number}"]
        return Mask.unpack(box[:3], box[3:] - box[:3], arrays[f"round{number}"])


def read_rows(root: Path) -> pl.DataFrame:
    """All current rows: of each session the newest, and no case failures that were mended since."""
    frame = _read(root / "rows", SCHEMA)
    frame = frame.filter(pl.col("written_at") == pl.col("written_at").max().over("session"))
    group = ["protocol", "dataset", "case", "model", "prompter", "seed"]
    mended = (pl.col("target") == "*") & (pl.col("written_at") < pl.col("written_at").max().over(group))
    return frame.filter(~mended).unique(["session", "round"], maintain_order=True)


def read_turns(root: Path) -> pl.DataFrame:
    """All stored turns: session, round, turn, given (JSON of `Turn.to_json`)."""
    return _read(root / "turns", TURNS).unique(["session", "turn"], keep="last", maintain_order=True)


def finished_sessions(root: Path, rounds: int) -> set[str]:
    """Sessions that need not be computed again for so many rounds."""
    rows = read_rows(root)
    summary = rows.group_by("session").agg(
        pl.col("round").max().alias("last"),
        pl.col("ended").any(),
        pl.col("status").is_in(FAILED).any().alias("failed"),
    )
    done = summary.filter(~pl.col("failed") & ((pl.col("last") >= rounds) | pl.col("ended")))
    return set(done["session"].to_list())


def _read(folder: Path, schema: Mapping[str, Any]) -> pl.DataFrame:
    paths = sorted(folder.glob("*.parquet"))
    if not paths:
        return pl.DataFrame(schema=dict(schema))
    try:
        return pl.read_parquet(paths)
    except (OSError, pl.exceptions.PolarsError) as error:
        broken = next((path for path in paths if not _readable(path)), folder)
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
