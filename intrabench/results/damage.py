"""Which stored rows are sound, and the sentence about a file that is not. Anybody may have written a part."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from intrabench.results.statuses import STATUSES

NEEDED = (
    *("session", "round", "status", "written_at"),
    *("protocol", "dataset", "case", "target", "model", "prompter"),
)
"""Columns that no row of any version lacks."""

MOST_ROUNDS = 10**6
"""No session has more; tables count up to the last round of all."""

_LARGEST = 1e18
_RANGES = {
    "round": (0, MOST_ROUNDS),
    "written_at": (0, 2**63 - 1),
    "dice": (0, 1),
    "iou": (0, 1),
    **dict.fromkeys(("interactions", "dof", "seconds_human", "target_voxels", "target_ml"), (0, _LARGEST)),
}
"""The smallest and largest values; NaN is in no range."""


def is_sound(frame: pl.DataFrame) -> bool:
    """Whether rows have what all that reads them relies on."""
    if any(frame[name].has_nulls() for name in NEEDED if name in frame.columns):
        return False
    if "status" in frame.columns and not frame["status"].is_in(STATUSES).all():
        return False
    return all(frame[name].is_between(*_RANGES[name]).all() for name in _RANGES if name in frame.columns)


def left_out(path: Path) -> str:
    """The sentence about a part, or a file of masks, that is not sound."""
    beside = " and its namesake in rows" if path.parent.name == "turns" else ""
    sessions = "plays its session" if path.parent.name == "masks" else "computes its sessions"
    return f"{path} cannot be read and is left out; delete it{beside}, and the command of its run {sessions} again"
