"""Stored masks as NIfTI on the original grid of their scans."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from intrabench.datasets.cases import store
from intrabench.errors import IntraBenchError
from intrabench.files.atomic import writing
from intrabench.files.names import file_name
from intrabench.results.current import counting
from intrabench.results.labels import MODEL
from intrabench.results.masks import read_masks
from intrabench.results.origin import dataset_of
from intrabench.results.parts import read_rows
from intrabench.results.selection import EVERYTHING, Selection
from intrabench.volume import Volume, write_nifti


def export(
    results: Path,
    folder: Path,
    *,
    seed: int | None = None,
    round: int | None = None,
    selection: Selection = EVERYTHING,
) -> tuple[int, list[str], list[str]]:
    """Write ``DATASET/CASE/TARGET__MODEL__PROMPTER__seedS_roundR.nii.gz`` for all kept answers that count in tables.

    Names are those of `file_name`. Sessions that differ in something else, such as the protocol, or in upper and lower
    case alone, have their key behind them. seed: only this one. round: only the state after so many corrections; of
    sessions that ended before, the last. selection: of which sessions.

    Returns:
        How many were written, a sentence for each kind of sessions that are left out, and one for each file of masks,
        case or data set that cannot be read.

    Raises:
        IntraBenchError: the run kept no masks, nothing is called so, or a file cannot be written.
    """
    written = 0
    unread: dict[str, None] = {}
    owners: dict[str, str] = {}
    last: tuple[tuple[str, str], Volume | None] | None = None
    rows, left_out = _chosen(results, seed, round, selection)
    for row in rows.iter_rows(named=True):
        place = row["dataset"], row["case"]
        try:
            masks = read_masks(results, row["session"])
            if row["round"] >= len(masks):
                continue
            if last is None or last[0] != place:
                last = place, None
                last = place, store.open_case(dataset_of(results, row), row["case"]).volume
        except IntraBenchError as error:
            unread[str(error)] = None
            continue
        if last[1] is None:
            continue
        who = [row["target"], row["model"], row["prompter"], f"seed{row['seed']}_round{row['round']}"]
        within = Path(file_name(row["dataset"]), file_name(row["case"]))
        key = str(within / file_name(*who)).casefold()
        if owners.setdefault(key, row["session"]) != row["session"]:
            who.append(row["session"])
        path = folder / within / f"{file_name(*who)}.nii.gz"
        with writing(path):
            write_nifti(path, masks[row["round"]].to_array(last[1].shape), last[1].grid)
        written += 1
    if not written and not unread:
        raise IntraBenchError(f"{results} has no masks; repeat the run with --save-masks")
    return written, left_out, list(unread)


def _chosen(results: Path, seed: int | None, round: int | None, selection: Selection) -> tuple[pl.DataFrame, list[str]]:
    """The rows whose masks are wanted, sorted, and which sessions are left out because newer ones count."""
    rows, left_out = counting(read_rows(results), results)
    rows = selection.of(rows, results)
    rows = rows.filter(pl.col("status") != "not_applicable").with_columns(MODEL)
    if seed is not None:
        values = rows["seed"].unique().sort().to_list()
        rows = rows.filter(pl.col("seed") == seed)
        if rows.is_empty():
            raise IntraBenchError(f"{results} has no seed {seed} among these; it has {', '.join(map(str, values))}")
    if round is not None:
        rows = rows.filter(pl.col("round") <= round)
        rows = rows.filter(pl.col("round") == pl.col("round").max().over("session"))
    return rows.sort("dataset", "case", "target", "session", "round"), left_out
