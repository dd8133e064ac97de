"""Stored masks as NIfTI on the original grid of their scans."""

from __future__ import annotations

import re
from pathlib import Path

from intrabench import registry
from intrabench.datasets import store
from intrabench.errors import IntraBenchError
from intrabench.results.store import read_mask, read_rows
from intrabench.volume import write_nifti


def export(results: Path, folder: Path) -> int:
    """Write ``DATASET/CASE/TARGET__MODEL__PROMPTER__seedS_roundR.nii.gz`` for all stored masks; returns how many.

    Raises:
        IntraBenchError: the run kept no masks, or the data set is no longer here.
    """
    rows = read_rows(results)
    kept = [row for row in rows.iter_rows(named=True) if (results / "masks" / f"{row['session']}.npz").is_file()]
    if not kept:
        raise IntraBenchError(f"{results} holds no masks; run with --save-masks into a new --out")
    grids = {}
    for row in kept:
        place = row["dataset"], row["case"]
        if place not in grids:
            grids[place] = store.open_case(registry.make("datasets", row["dataset"]), row["case"]).volume
        volume = grids[place]
        name = f"{row['target']}__{row['model']}__{row['prompter']}__seed{row['seed']}_round{row['round']}"
        path = folder / _safe(row["dataset"]) / _safe(row["case"]) / f"{_safe(name)}.nii.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        mask = read_mask(results, row["session"], row["round"])
        write_nifti(path, mask.to_array(volume.shape), volume.grid)
    return len(kept)


def _safe(name: str) -> str:
    return re.sub(r"[^\w.=+-]+", "_", name)
