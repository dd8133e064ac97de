"""The clicks of ToothFairy3: drawn before anything is answered, along a tube."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from intrabench.mask import Array, Mask
from intrabench.prompters.base import Prompter
from intrabench.prompters.file_axes import FileAxes
from intrabench.prompters.user import Turns, User
from intrabench.prompts import Prompts, points
from intrabench.specs.specs import switch
from intrabench.specs.values import Count
from intrabench.turns import Click, Turn

END, ALONG, ASIDE, TRIES = 5, 5, 3, 10
"""In voxels: how far from the ends of the tube, from an even distance along it, and from its middle clicks may lie."""


@dataclass(frozen=True)
class TubeClicks(Prompter):
    """No prompts at first; then a click on the target in each round, whatever was answered.

    Clicks lie on slices that are spread evenly from one end of the target to the other. The first and the last are up
    to 5 slices inside of it; each one between is moved by up to 5 slices. In its slice, a click lies up to 3 voxels
    from the medians of both coordinates; after ten tries that miss the target, on any of its voxels there. On a target
    without voxels the user waits.

    clicks: one per round, in the order of the slices. axes: file takes slices along the third axis of the scan's file,
    as published, so another order of axes may give other clicks.

    Source: simulate_clicks.py of ToothFairy3 (AImageLab-zip/ToothFairy, commit 681e8b0), written from its rules; its
    random numbers have no seed and cannot be repeated.
    """

    name = "tube_clicks"
    empty_targets = True
    clicks: Count = 5
    axes: Literal["canonical", "file"] = switch("canonical")

    @property
    def rounds(self) -> int:
        """One for each click."""
        return self.clicks

    def interact(self, user: User) -> Turns:
        """A turn without anything, then a click in each round."""
        mask, rng = user.target.mask, user.rng("places")
        if self.axes == "file" and user.image is not None and mask.any():
            in_file = FileAxes(user.image.grid)
            rows = in_file.canonical(places_along(in_file.mask(mask), self.clicks, rng))
        else:
            rows = places_along(mask, self.clicks, rng)
        yield Turn(Prompts())
        for number in range(self.clicks):
            yield Turn(points(rows[[number]]), (Click(),)) if len(rows) else Turn(Prompts())


def places_along(tube: Mask, count: int, rng: np.random.Generator) -> Array:
    """So many voxels of a tube, rows ``z, y, x``, by slices along z; none if it is empty."""
    if not tube.any():
        return np.zeros((0, 3), np.int64)
    voxels = tube.coordinates()
    low, high = voxels.min(axis=0), voxels.max(axis=0)
    return np.array([_place(voxels, low, high, z, rng) for z in _slices(np.unique(voxels[:, 0]), count, rng)])


def _slices(there: Array, count: int, rng: np.random.Generator) -> list[int]:
    """The slices to click on, of those that the tube is in."""
    low, high = int(there[0]), int(there[-1])
    first, last = int(rng.integers(low, low + END + 1)), int(rng.integers(high - END, high + 1))
    even = _nearest(there, np.linspace(first, last, count, dtype=np.int64))
    moved = even + rng.integers(-ALONG, ALONG + 1, count)
    # The ends of a short tube may change places; then all slices are the last one, as published.
    chosen = _nearest(there, np.minimum(np.maximum(moved, first), last)).tolist()
    chosen[0], chosen[-1] = first if first in there else low, last if last in there else high
    return chosen


def _nearest(there: Array, wanted: Array) -> Array:
    """The slice that is nearest to each wanted one; of two, the lower."""
    return there[np.abs(there[None] - wanted[:, None]).argmin(axis=1)]


def _place(voxels: Array, low: Array, high: Array, z: int, rng: np.random.Generator) -> list[int]:
    """A voxel of the tube in a slice, near its middle if that is found."""
    inside = voxels[voxels[:, 0] == z, 1:]
    middle = np.median(inside, axis=0).astype(np.int64)
    for _ in range(TRIES):
        place = np.clip(middle + rng.integers(-ASIDE, ASIDE + 1, 2), low[1:], high[1:])
        if (inside == place).all(axis=1).any():
            return [z, *place.tolist()]
    return [z, *inside[rng.integers(len(inside))].tolist()]
