"""Models of results that are one file or folder, and count as two because its path was written in two ways."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from pathlib import Path

from intrabench.results.parts import read_rows
from intrabench.specs.specs import located


def two_spellings(models: Iterable[str]) -> list[str]:
    """A sentence for each path of which models have several spellings, as seen from here."""
    found: dict[str, list[str]] = {}
    for model in models:
        found.setdefault(located(model), []).append(model)
    return [
        f"{' and '.join(same)} are one model, whose path is written in {len(same)} ways, so they have a line each; "
        "write it the same way in all runs"
        for same in found.values()
        if len(same) > 1
    ]


def other_spellings(root: Path, models: Collection[str]) -> list[str]:
    """A sentence for each of these models whose sessions a results folder has under another spelling of its path."""
    at = {place: model for model in models if (place := located(model)) != model or os.sep in model}
    stored = read_rows(root, ["model"], metrics=False)["model"].unique().sort().to_list() if at else []
    return [
        f"{root} has sessions of {other}, which is {at[located(other)]} with its path written otherwise; they count as "
        f"two models, so its sessions are played again; give --model {other} to continue those"
        for other in stored
        if located(other) in at and other not in models
    ]
