"""Clicks as JSON of grand-challenge: what was given on a scan up to each round, for programs that read such files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from intrabench.datasets.cases import store
from intrabench.errors import IntraBenchError, several
from intrabench.files.atomic import new_folder
from intrabench.files.names import file_name
from intrabench.models.grand_challenge import BACKGROUND, PointOrder, named_points, write_points
from intrabench.results.current import counting
from intrabench.results.labels import MODEL
from intrabench.results.origin import dataset_of
from intrabench.results.parts import read_rows, read_turns
from intrabench.results.selection import EVERYTHING, Selection
from intrabench.turns import turns_by_round

_ANSWERED = ("dataset", "case", "model", "prompter", "seed", "protocol")
"""Columns of what is in one folder: all targets of a case, with the same random numbers."""


def export_clicks(
    root: Path,
    folder: Path,
    names: Sequence[str] = (),
    order: PointOrder = "xyz",
    selection: Selection = EVERYTHING,
) -> tuple[int, Sequence[str]]:
    """Write ``DATASET/CASE/MODEL__PROMPTER__seedS/N_clicks.json`` for each round N, with all points so far.

    Points are voxels of the scan's own file, target by target in the order of the case; strokes are given as their
    points. names: what positive points are called, by the targets' order; without, as their targets. Negative ones
    are called background.

    Returns:
        How many files there are, and a sentence for each kind of sessions that are left out.

    Raises:
        IntraBenchError: there are no results, the names are not as many as the targets of a case, or the folder exists.
    """
    rows, left_out = counting(read_rows(root), root)
    rows = selection.of(rows, root).filter(pl.col("status") != "not_applicable").with_columns(MODEL)
    if rows.is_empty():
        raise IntraBenchError(f"{root} has no sessions with clicks; `intrabench run` computes some")
    turns = read_turns(root, rows["session"].unique().to_list()).sort("turn")
    given = {str(one): part.to_dicts() for (one,), part in turns.group_by("session", maintain_order=True)}
    written = 0
    with new_folder(folder) as begun:
        several_protocols = rows["protocol"].n_unique() > 1
        for (*_, protocol), part in rows.sort(_ANSWERED).group_by(_ANSWERED, maintain_order=True):
            first = part.row(0, named=True)
            who = [first["model"], first["prompter"], f"seed{first['seed']}", *[str(protocol)] * several_protocols]
            within = Path(file_name(first["dataset"]), file_name(first["case"]), file_name(*who))
            for number, points in enumerate(_points(root, part, given, names, order)):
                path = begun / within / f"{number}_clicks.json"
                path.parent.mkdir(parents=True, exist_ok=True)
                write_points(path, points)
                written += 1
    return written, left_out


def _points(
    root: Path,
    rows: pl.DataFrame,
    given: Mapping[str, Sequence[Mapping[str, Any]]],
    names: Sequence[str],
    order: PointOrder,
) -> list[list[dict[str, Any]]]:
    """The points up to each round of a case."""
    row = rows.row(0, named=True)
    case = store.open_case(dataset_of(root, row), row["case"])
    places = [info.id for info in case.index.targets]
    if names and len(names) != len(places):
        raise IntraBenchError(
            f"--names has {several(len(names), 'name')}, but case {row['case']} has "
            f"{several(len(places), 'target')}: {', '.join(places)}; name each, in this order, or choose cases with "
            "--cases"
        )
    sessions = dict(rows.select("target", "session").unique().iter_rows())
    rounds = {one: turns_by_round(given.get(sessions[one], ())) for one in places if one in sessions}
    called = dict(zip(places, names or places, strict=True))
    return [
        [
            point
            for one, turns in rounds.items()
            for round in range(last + 1)
            for turn in turns.get(round, ())
            for point in named_points(case.volume, turn, (called[one], BACKGROUND), order)
        ]
        for last in range(int(rows["round"].max()) + 1)  # type: ignore[arg-type]
    ]
