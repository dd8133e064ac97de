"""Values in files as labels: whole numbers from 0 up. Fractions, and the grey levels of soft masks, are no labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from intrabench.errors import IntraBenchError, several

Array = NDArray[Any]
Threshold = float | Literal["refuse", "none"]
"""What happens to soft masks: refused, or cut at this share of a full voxel; none: every whole number is a label."""

_NEAR = 0.05
"""So far from a whole number, a value may be one that was scaled or stored with rounding."""
_FULL = (1, 255, 65_535)
"""What voxels that are all inside have in soft masks of fractions, of 8 and of 16 bits."""
_FEW = 3
"""Fewer values on borders may be labels, such as outlines, unless they are grey."""
_GREY = 1 / 8
"""From this share of what is full on, values are grey; smaller ones number objects."""
_BACKGROUND = 0.01
"""The share of a soft mask that is background, at least."""


@dataclass(frozen=True)
class LabelValues:
    """How values become labels. round: those near whole numbers are taken for these."""

    threshold: Threshold = "refuse"
    round: bool = False

    def labels(self, values: Array, name: str) -> Array:
        """The values as whole numbers from 0 up, in any order of axes; with a threshold, 1 is inside.

        name: the file, for messages.

        Raises:
            IntraBenchError: values are no numbers, no labels, or below 0, or none reaches the threshold.
        """
        if isinstance(self.threshold, float):
            return _inside(values, self.threshold, name)
        if self.round and values.dtype.kind == "f" and np.isfinite(values).all():
            nearest = np.rint(values)
            values = nearest if np.abs(values - nearest).max(initial=0) <= _NEAR else values
        _check_whole(values, name, "or write round = true in", "or write threshold = 0.5 in")
        found = from_zero(values, name)
        if self.threshold == "refuse":
            check_hard(found, name, 'write threshold = 0.5 in dataset.toml, or "none" if each value is a label')
        return found


WHOLE = LabelValues()
"""Whole numbers alone, and no soft masks."""


def whole_numbers(values: Array, name: str) -> Array:
    """The values as integers; integers stay as they are.

    Raises:
        IntraBenchError: values are no numbers, or not whole.
    """
    _check_whole(values, name)
    return values.astype(np.int32) if values.dtype.kind == "f" else values


def from_zero(values: Array, name: str) -> Array:
    """The values as whole numbers from 0 up.

    Raises:
        IntraBenchError: values are no numbers, not whole, or below 0.
    """
    labels = values.view(np.uint8) if values.dtype.kind == "b" else whole_numbers(values, name)
    lowest = int(labels.min(initial=0))
    if lowest < 0:
        raise IntraBenchError(
            f"{name} holds the value {lowest}, expected labels from 0 up; change it, or save the file as unsigned"
        )
    return labels


def check_hard(labels: Array, name: str, remedy: str) -> None:
    """Refuse a soft mask, in which most values lie only on borders from smaller to larger ones.

    labels: whole numbers from 0 up, two axes or more in any order. remedy: what to do, for the message.

    Raises:
        IntraBenchError: it is one.
    """
    soft, all_ = _on_borders(labels if labels.ndim == 3 else labels.reshape(-1, *labels.shape[-2:]))
    if soft:
        raise IntraBenchError(
            f"{name} holds {all_} values, of which {soft} lie{'s' * (soft == 1)} only on borders from smaller to "
            f"larger ones, as in a soft or antialiased mask, so they are no labels; {remedy}"
        )


def _check_whole(values: Array, name: str, rounded: str = "", cut: str = "") -> None:
    """Refuse values that are not whole; rounded, cut: what else can be done in ``dataset.toml``."""
    if values.dtype.kind not in "biuf":
        raise IntraBenchError(
            f"{name} holds {kind_of(values.dtype)} instead of one number per voxel; save it as a label map"
        )
    if values.dtype.kind != "f" or not values.size:
        return
    # plane by plane, for the memory
    planes = values if values.ndim > 1 else values[None]
    wrong = np.concatenate([plane[~(np.abs(plane) < 2**31) | (plane != np.rint(plane))] for plane in planes])
    if not wrong.size:
        return
    off = np.nan_to_num(np.abs(wrong - np.rint(wrong)), nan=np.inf)
    near = bool(off.max() <= _NEAR)
    others = len(np.unique(wrong)) - 1
    more = f" and {several(others, 'other value')}" if others else ""
    instead = "round them" if near else "cut a soft mask at a threshold"
    option = f", {rounded if near else cut} dataset.toml" if rounded else ""
    if not (np.abs(wrong) < 2**31).all():
        instead, option = "write 0 where there is no label", ""
    where = f"{wrong[off.argmax()]!s}{more} in {wrong.size} of {values.size} voxels"
    raise IntraBenchError(
        f"{name} holds values that are not whole numbers ({where}), so it is no label map; {instead}{option}"
    )


def kind_of(dtype: np.dtype[Any]) -> str:
    """What values are, in words."""
    return "colours" if dtype.names else "complex numbers" if dtype.kind == "c" else str(dtype)


def _inside(values: Array, threshold: float, name: str) -> Array:
    """1 where a soft mask has at least a share of what is full."""
    if values.dtype.kind not in "biuf" or (values.dtype.kind == "f" and not np.isfinite(values).all()):
        raise IntraBenchError(f"{name} holds {kind_of(values.dtype)} with values that are no numbers; export it again")
    low, high = float(values.min(initial=0)), float(values.max(initial=0))
    full = next((full for full in _FULL if high <= full * 1.001), None)
    if full is None or low < -0.001 * full:
        raise IntraBenchError(
            f"{name} holds values from {low:g} to {high:g}, but threshold in dataset.toml is a share of what is full, "
            "1 or the largest value of 8 or 16 bits; rescale it"
        )
    found = (values >= threshold * full).view(np.uint8)
    if high > 0 and not found.any():
        raise IntraBenchError(
            f"{name} holds no value of at least threshold = {threshold:g} of {full}, only up to {high:g}; if these are "
            "labels, remove threshold from dataset.toml"
        )
    return found


def _on_borders(labels: Array) -> tuple[int, int]:
    """How many values of ``(plane, row, column)`` lie only on borders, if they are most of all values above 0, and all.

    A value is a level of a soft border if it fills no block of 3 x 3 in any plane, and if at most of its places there
    are smaller and larger values within two steps. Large labels fill blocks, instances of a few voxels lie in the
    background, and a division of everything into small parts has none.
    """
    from scipy import ndimage

    top = int(labels.max(initial=0))
    if not _FEW < top <= _FULL[-1]:
        return 0, 0
    planes = [plane for plane in labels if plane.any()]
    there, solid = np.zeros(top + 1, dtype=bool), np.zeros(top + 1, dtype=bool)
    for plane in planes:
        there[plane] = True
        rows = (plane[2:] == plane[1:-1]) & (plane[1:-1] == plane[:-2])  # of three that are equal
        both = rows[:, 2:] & rows[:, 1:-1] & rows[:, :-2]
        middle = plane[1:-1, 1:-1]
        both &= (middle == plane[1:-1, 2:]) & (middle == plane[1:-1, :-2])
        solid[middle[both]] = True
    all_ = int(there[1:].sum())
    thin = there & ~solid
    thin[[0, top]] = False
    grey = top in _FULL[1:] and bool((np.flatnonzero(there[1:]) + 1 >= _GREY * top).all())
    least = all_ - 1 if grey and 1 < all_ <= _FEW else max(_FEW, (all_ - 1) / 2)
    if thin.sum() < least:
        return 0, all_
    counts = np.zeros((2, top + 1), dtype=np.int64)
    for plane in planes:
        low, high = ndimage.minimum_filter(plane, 5), ndimage.maximum_filter(plane, 5)
        for row, chosen in enumerate((plane > 0, (low < plane) & (plane < high))):
            counts[row] += np.bincount(plane[chosen], minlength=top + 1)
    if labels.size - counts[0].sum() < _BACKGROUND * labels.size:
        return 0, all_
    soft = int(np.count_nonzero(thin & (2 * counts[1] > counts[0])))
    return (soft if soft >= least else 0), all_
