"""Export the rows of a results folder as one file that any program can read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import polars.selectors as cs

from intrabench.errors import IntraBenchError
from intrabench.files.atomic import atomically, writing
from intrabench.files.documents import json_number
from intrabench.results.current import counting
from intrabench.results.parts import read_rows, read_turns
from intrabench.results.selection import EVERYTHING, Selection
from intrabench.results.spreadsheet import write_csv
from intrabench.results.store import write_parquet


def _write_lines(frame: pl.DataFrame, path: Path) -> None:
    """JSON lines; polars writes infinite numbers as null, which is unknown, so others are written one by one."""
    floats = frame.select(cs.float())
    if not floats.select(pl.any_horizontal(pl.all().is_infinite().any())).to_series().any():
        frame.write_ndjson(path)
        return
    with path.open("w", encoding="utf-8") as file:
        for row in frame.iter_rows(named=True):
            line = {name: json_number(value) for name, value in row.items()}
            file.write(json.dumps(line, ensure_ascii=False, separators=(",", ":"), default=str) + "\n")


_WRITERS: dict[str, Callable[[pl.DataFrame, Path], Any]] = {
    ".csv": write_csv,
    ".parquet": write_parquet,
    ".jsonl": _write_lines,
}


def export_rows(
    results: Path, file: Path, *, turns: bool = False, all: bool = False, selection: Selection = EVERYTHING
) -> tuple[dict[Path, int], list[str]]:
    """Write the rows of a results folder that count to ``FILE.csv``, ``.parquet`` or ``.jsonl``.

    CSV writes infinite distances as ``inf``, JSON as the text ``Infinity`` (`json_number`). turns: also write what the
    users gave, to ``FILE.turns.csv`` and so on. all: also write the sessions that later ones replaced, which tables
    leave out. selection: of which sessions.

    Returns:
        How many lines went where, and a sentence for each kind of sessions that are left out.

    Raises:
        IntraBenchError: there are no rows, or the file cannot be written or has an unknown ending.
    """
    check_ending(file)
    rows = read_rows(results)
    if rows.is_empty():
        raise IntraBenchError(
            f"{results} has no results; `intrabench run` computes some, or give another folder with --out"
        )
    rows, left_out = (rows, []) if all else counting(rows, results)
    rows = selection.of(rows, results)
    order = ("dataset", "case", "target", "model", "prompter", "seed", "session", "round")
    written = {file: rows.sort(order)}
    if turns:
        history = read_turns(results, rows["session"].unique().to_list())
        written[file.with_suffix(f".turns{file.suffix}")] = history.sort("session", "turn")
    for path, frame in written.items():
        write_frame(frame, path)
    return {path: len(frame) for path, frame in written.items()}, left_out


def check_ending(file: Path) -> None:
    """Refuse a file of a kind that is not written."""
    if file.suffix not in _WRITERS:
        raise IntraBenchError(f"{file} has no known ending; give a name that ends in {', '.join(_WRITERS)}")


def write_frame(frame: pl.DataFrame, path: Path) -> None:
    """Write a frame to ``FILE.csv``, ``.parquet`` or ``.jsonl``."""
    with writing(path), atomically(path, durable=False) as part:
        _WRITERS[path.suffix](frame, part)
