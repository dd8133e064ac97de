"""Export the rows of a results folder as one file that any program can read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from intrabench.errors import IntraBenchError
from intrabench.files.atomic import atomically, writing
from intrabench.results.current import counting
from intrabench.results.parts import read_rows, read_turns
from intrabench.results.selection import EVERYTHING, Selection
from intrabench.results.spreadsheet import write_csv
from intrabench.results.store import write_parquet

_WRITERS: dict[str, Callable[[pl.DataFrame, Path], Any]] = {
    ".csv": write_csv,
    ".parquet": write_parquet,
    ".jsonl": pl.DataFrame.write_ndjson,
}


def export_rows(
    results: Path, file: Path, *, turns: bool = False, all: bool = False, selection: Selection = EVERYTHING
) -> tuple[dict[Path, int], list[str]]:
    """Write the rows of a results folder that count to ``FILE.csv``, ``.parquet`` or ``.jsonl``.

    CSV writes infinite distances as ``inf``; JSON has no such number and gets ``null``. turns: also write what the
    users gave, to ``FILE.turns.csv`` and so on. all: also write the sessions that later ones replaced, which tables
    leave out. selection: of which sessions.

    Returns:
        How many lines went where, and a sentence for each kind of sessions that are left out.

    Raises:
        IntraBenchError: there are no rows, or the file cannot be written or has an unknown ending.
    """
    if file.suffix not in _WRITERS:
        raise IntraBenchError(f"{file} has no known ending; give a name that ends in {', '.join(_WRITERS)}")
    rows = read_rows(results)
    if rows.is_empty():
        raise IntraBenchError(
            f"{results} has no results; `intrabench run` computes some, or give another folder with --out"
        )
    rows, left_out = (rows, []) if all else counting(rows)
    rows = selection.of(rows, results)
    order = ("dataset", "case", "target", "model", "prompter", "seed", "session", "round")
    written = {file: rows.sort(order)}
    if turns:
        history = read_turns(results, rows["session"].unique().to_list())
        written[file.with_suffix(f".turns{file.suffix}")] = history.sort("session", "turn")
    for path, frame in written.items():
        _write(frame, path)
    return {path: len(frame) for path, frame in written.items()}, left_out


def _write(frame: pl.DataFrame, path: Path) -> None:
    with writing(path), atomically(path, durable=False) as part:
        _WRITERS[path.suffix](frame, part)
