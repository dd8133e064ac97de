"""Stored masks as NIfTI on the original grid of their scans."""

from __future__ import annotations

from pathlib import Path

from intrabench.datasets.cases import store
from intrabench.errors import IntraBenchError
from intrabench.names import file_name
from intrabench.results.labels import MODEL
from intrabench.results.origin import dataset_of
from intrabench.results.store import read_masks, read_rows
from intrabench.volume import Volume, write_nifti


def export(results: Path, folder: Path) -> int:
    """Write ``DATASET/CASE/TARGET__MODEL__PROMPTER__seedS_roundR.nii.gz`` for all kept masks; returns how many.

    Names are those of `file_name`. Sessions that differ in something else, such as the protocol, or in upper and lower
    case alone, have their key behind them.

    Raises:
        IntraBenchError: the run kept no masks, or its data set is unknown or not available.
    """
    written = 0
    owners: dict[str, str] = {}
    last: tuple[tuple[str, str], Volume] | None = None
    for row in read_rows(results).with_columns(MODEL).sort("dataset", "case", "session", "round").iter_rows(named=True):
        masks = read_masks(results, row["session"])
        if row["round"] >= len(masks):
            continue
        place = row["dataset"], row["case"]
        if last is None or last[0] != place:
            last = place, store.open_case(dataset_of(results, row), row["case"]).volume
        who = [row["target"], row["model"], row["prompter"], f"seed{row['seed']}_round{row['round']}"]
        within = Path(file_name(row["dataset"]), file_name(row["case"]))
        key = str(within / file_name(*who)).casefold()
        if owners.setdefault(key, row["session"]) != row["session"]:
            who.append(row["session"])
        path = folder / within / f"{file_name(*who)}.nii.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_nifti(path, masks[row["round"]].to_array(last[1].shape), last[1].grid)
        written += 1
    if not written:
        raise IntraBenchError(f"{results} has no masks; repeat the run with --save-masks")
    return written
