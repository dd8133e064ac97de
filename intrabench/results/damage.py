"""Which stored rows are sound, and the sentence about a file that is not. Anybody may have written a part."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from intrabench.files.names import one_line
from intrabench.metrics.base import SLACK
from intrabench.results.columns import bounds_of
from intrabench.results.schema import metric_columns
from intrabench.results.statuses import STATUSES

NEEDED = (
    *("session", "round", "status", "written_at"),
    *("protocol", "dataset", "case", "target", "model", "prompter"),
)
"""Columns that no row of any version lacks."""

MOST_ROUNDS = 10**6
"""No session has more; tables count up to the last round of all."""

_LARGEST = 1e18
_RANGES: dict[str, tuple[float, float]] = {
    "round": (0, MOST_ROUNDS),
    "written_at": (0, 2**63 - 1),
    **dict.fromkeys(("dice", "iou"), (0, 1)),
    **dict.fromkeys(("interactions", "dof", "seconds_human", "target_voxels", "target_ml"), (0, _LARGEST)),
    **dict.fromkeys(("diagonal_mm", "diagonal_voxels"), (0, _LARGEST)),
    **dict.fromkeys(("fp_voxels", "fn_voxels", "pred_voxels", "batch"), (0, _LARGEST)),
    **dict.fromkeys(("encode_s", "segment_s", "prompt_s", "peak_memory_mb", "peak_gpu_mb"), (0, _LARGEST)),
}
"""The smallest and largest values of columns that are no metrics, or that all rows have; NaN is in no range."""


_CHOICES = {"status": STATUSES, "seen_in_training": ("yes", "no", "unknown")}


def is_sound(frame: pl.DataFrame) -> bool:
    """Whether rows have what all that reads them relies on."""
    if any(frame[name].has_nulls() for name in NEEDED if name in frame.columns):
        return False
    for name, choices in _CHOICES.items():
        if name in frame.columns and not {*frame[name].unique().drop_nulls()}.issubset(choices):
            return False
    return all(_within(frame[name], *range_).all() for name, range_ in _ranges(frame).items())


def _within(values: pl.Series, low: float, high: float) -> pl.Series:
    """Which values are from `low` to `high`; NaN is not."""
    return (values >= low) & (values <= high)  # queries, as of `is_between`, take a millisecond for so many columns


def out_of_range(frame: pl.DataFrame) -> str:
    """The first value outside of the range of its column, in words; empty if there is none."""
    for name, (low, high) in _ranges(frame).items():
        if not (right := _within(frame[name], low, high)).all():
            value = frame[name].filter(~right)[0]
            low, high = (low, high) if name in _RANGES else (low + SLACK, high - SLACK)
            return f"it has {one_line(name)[:_SHOWN]} = {value:g}, expected {low:g} to {high:g}"
    return ""


def _ranges(frame: pl.DataFrame) -> dict[str, tuple[float, float]]:
    """The least and the largest value that columns of a frame may have; those of metrics may be rounded."""
    ranges: dict[str, tuple[float, float]] = {name: _RANGES[name] for name in _RANGES if name in frame.columns}
    if "session" in frame.columns and "status" in frame.columns:
        measured = bounds_of(metric_columns(frame))
        ranges |= {name: (low - SLACK, high + SLACK) for name, (low, high) in measured.items() if name not in _RANGES}
    return ranges


_SHOWN = 60


def left_out(path: Path, why: str = "") -> str:
    """The sentence about a part, or a file of masks, that is not sound; why: what is wrong with what was read."""
    beside = " and its namesake in rows" if path.parent.name == "turns" else ""
    sessions = "plays its session" if path.parent.name == "masks" else "computes its sessions"
    what = f"{path} cannot be read and is left out{f' ({why})' if why else ''}"
    return f"{what}; delete it{beside}, and the command of its run {sessions} again"
