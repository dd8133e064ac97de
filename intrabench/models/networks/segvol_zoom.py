"""SegVol's way through a volume: look at all of it in one small frame (zoom out), then at what was found (zoom in).

Du et al., "SegVol", NeurIPS 2024, https://github.com/BAAI-DCAI/SegVol. Everything is in voxels ``(z, y, x)`` of the
canonical array. Boxes are half-open as everywhere here; only those that the network gets include their last voxel.
"Crop" is the part of a volume that is looked at, "frame" the crop resized to 32 x 256 x 256 voxels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from intrabench.mask import Box, Index, Mask, box_slices
from intrabench.models.networks.segvol import WINDOW, upscaled

POINTS = 5
"""How many points each window gets."""
Encode = Callable[[Box | None, Tensor], Tensor]
"""From an image ``(1, 1, 32, 256, 256)`` to its embedding. The key tells it from the others of the crop, to cache by:
the box of the crop's voxels that it shows, or None for the frame."""
Decode = Callable[[Tensor, Tensor | None, Tensor | None, Tensor | None], Tensor]
"""`SegVol.decode`: from embedding, points, labels and boxes (all three on the CPU) to logits ``(1, 1, 32, 64, 64)``.
If there is a text, it is in there."""


@dataclass(frozen=True, eq=False)
class Crop:
    """The bright part of a volume. image: float32 in [0, 1]. start: its first voxel in the volume."""

    image: NDArray[np.float32]
    start: Index

    @classmethod
    def of(cls, volume: NDArray[np.generic]) -> Crop:
        """Voxels above the mean are the foreground; its percentiles 0.05 and 99.95 become 0 and 1, zeros are cut off.

        Without contrast in the foreground the crop is the whole volume, all zeros. Two steps of the original are left
        out because later ones undo them: the z-score before the scaling, the padding before zeros are cut off.
        """
        values = volume.astype(np.float32, copy=False)
        foreground = values[values > values.mean()]
        # single precision, so that nothing below becomes double
        low, high = np.percentile(foreground if foreground.size else values, (0.05, 99.95)).astype(np.float32)
        if not high > low:
            return cls(np.zeros(volume.shape, dtype=np.float32), (0, 0, 0))
        box = Mask.of(values > low).box
        return cls((np.clip(values[box_slices(box)], low, high) - low) / (high - low), box[:3])

    @property
    def box(self) -> Box:
        """The crop's voxels in the volume, a half-open box."""
        (z, y, x), (depth, height, width) = self.start, self.image.shape
        return z, y, x, z + depth, y + height, x + width

    def frame(self) -> Tensor:
        """The crop in the frame, ``(1, 1, 32, 256, 256)``."""
        return functional.interpolate(torch.from_numpy(self.image)[None, None], WINDOW, mode="nearest-exact")


class Prompts(NamedTuple):
    """What is asked, in the frame, as the decoder takes it: points ``(1, k, 3)``, labels ``(1, k)``, box ``(1, 6)``."""

    points: Tensor | None = None
    labels: Tensor | None = None
    box: Tensor | None = None

    @classmethod
    def of(cls, crop: Crop, points: NDArray[np.integer] | None = None, box: Sequence[int] | None = None) -> Prompts:
        """From rows ``z, y, x, label`` and a half-open box of the volume; what lies outside moves to the edge."""
        sides, window = np.array(crop.image.shape), np.array(WINDOW)
        fed: list[Tensor | None] = [None, None, None]
        if points is not None and len(points):
            places = (2 * (points[:, :3].astype(np.int64) - crop.start) + 1) * window // (2 * sides)  # of centres
            fed[:2] = torch.tensor(places.clip(0, window - 1)[None]).float(), torch.tensor(points[None, :, 3]).float()
        if box is not None:
            ends = np.reshape(box, (2, 3)) - crop.start
            # like a mask resized by "nearest-exact": the first and last i with (i + 1/2) * side / window in the box
            first, last = -((sides - 2 * ends * window) // (2 * sides)) - [[0], [1]]
            middle = ends.sum(axis=0) * window // (2 * sides)  # for a box so thin that the frame does not show it
            corners = np.where(first <= last, (first, last), middle).clip(0, window - 1)
            fed[2] = torch.tensor(corners.reshape(1, 6)).float()
        return cls(*fed)


@torch.no_grad()
def segment(crop: Crop, prompts: Prompts, encode: Encode, decode: Decode, generator: torch.Generator) -> Mask:
    """The mask in the volume: what the windows show around all that the frame shows; empty if that is nothing."""
    logits = upscaled(decode(encode(None, crop.frame()), *prompts))
    roi = region(logits, crop.image.shape)
    if roi is None:
        return Mask.empty()
    found = zoom_in(crop, roi, logits, prompts, encode, decode, generator) > 0
    return Mask.of(found.cpu().numpy(), np.add(roi[:3], crop.start).tolist())


def in_crop(logits: Tensor, shape: Sequence[int], box: Box) -> Tensor:
    """What values of the frame are in `box` of a crop of `shape`."""
    for axis, rows in enumerate(_rows(shape)):
        logits = logits.index_select(axis, rows[box[axis] : box[axis + 3]].to(logits.device))
    return logits


def region(logits: Tensor, shape: Sequence[int]) -> Box | None:
    """The box in a crop of `shape` around what the frame's logits found, grown to a window; None if there is nothing.

    A side that lacks an odd number of voxels stays one short, and what an edge of the crop cuts off is not added at
    the other end: both as in the original.
    """
    found = logits > 0
    used = [torch.unique(rows, return_inverse=True) for rows in _rows(shape)]  # small scenes do not use all
    for axis, (rows, _) in enumerate(used):
        found = found.index_select(axis, rows.to(found.device))
    corners = _bounds(found)
    if corners is None:
        return None
    low, high = [], []
    for axis, (_, place) in enumerate(used):
        voxels = ((place >= corners[axis]) & (place <= corners[axis + 3])).nonzero()
        half = max(0, WINDOW[axis] - len(voxels)) // 2
        low.append(max(0, int(voxels[0]) - half))
        high.append(min(shape[axis], int(voxels[-1]) + half + 1))
    return low[0], low[1], low[2], high[0], high[1], high[2]


def windows(roi: Box) -> list[Box]:
    """Boxes that cover a box of the crop, as large as a window if it is; each half a window on, the last one flush."""
    spans = []
    for axis, window in enumerate(WINDOW):
        start, end = roi[axis], roi[axis + 3]
        starts = [*range(start, end - window, window // 2), max(start, end - window)]
        spans.append([(first, min(first + window, end)) for first in starts])
    return [(z0, y0, x0, z1, y1, x1) for (z0, z1), (y0, y1), (x0, x1) in product(*spans)]


def zoom_in(
    crop: Crop,
    roi: Box,
    logits: Tensor,
    prompts: Prompts,
    encode: Encode,
    decode: Decode,
    generator: torch.Generator,
) -> Tensor:
    """Logits in the shape of `roi`, a box of the crop; the mean where windows overlap. `logits` are the frame's.

    Each window gets points drawn from those asked for, if there are any, and a box: around what the frame's logits
    found in it, or, if it is the only window, the one asked for. The original refuses points together with a box.
    A text, of which only `decode` knows, goes with all that; without points and boxes it goes alone.
    """
    shape = crop.image.shape
    found = in_crop(logits > 0, shape, roi)
    target_points = _target_points(prompts, shape)
    placeless = prompts.points is None and prompts.box is None
    cube = torch.zeros(WINDOW, dtype=torch.bool)
    if prompts.box is not None:
        z0, y0, x0, z1, y1, x1 = prompts.box[0].long().tolist()
        cube[z0 : z1 + 1, y0 : y1 + 1, x0 : x1 + 1] = True
    total, count = torch.zeros_like(found, dtype=logits.dtype), torch.zeros_like(found, dtype=torch.uint8)
    boxes = windows(roi)
    for box in boxes:
        inside, sides = box_slices(np.subtract(box, roi[:3] * 2).tolist()), np.subtract(box[3:], box[:3])
        margin = (np.array(WINDOW) - sides) // 2  # a smaller window stands between zeros, the smaller half before it
        place = box_slices((*margin.tolist(), *(margin + sides).tolist()))
        image = torch.zeros(1, 1, *WINDOW)
        image[0, 0][place] = torch.from_numpy(crop.image[box_slices(box)])
        # below, points and the box asked for lack the margin: the original forgets it
        inside_window = ((target_points >= torch.tensor(box[:3])) & (target_points < torch.tensor(box[3:]))).all(dim=1)
        voxels = target_points[inside_window] - torch.tensor(box[:3])
        points, labels = (None, None) if prompts.points is None else drawn(voxels, generator)
        if prompts.box is not None and len(boxes) == 1:
            corners = _bounds(in_crop(cube, shape, roi))
        elif (corners := _bounds(found[inside])) is not None:
            corners = tuple(np.add(corners, np.tile(margin, 2)).tolist())
        fed = None if placeless else torch.tensor([corners or (-1,) * 6]).float()  # to the network a box like any other
        total[inside] += upscaled(decode(encode(box, image), points, labels, fed))[place]
        count[inside] += 1
    return total / count


def _target_points(prompts: Prompts, shape: Sequence[int]) -> Tensor:
    """The voxels ``(k, 3)`` of a crop of `shape` that the frame's target points stand for, in C order.

    In a crop smaller than the frame there may be none for a point: the original loses it, here it is the nearest one.
    """
    if prompts.points is None or prompts.labels is None:
        return torch.zeros(0, 3, dtype=torch.long)
    found = set()
    for point in prompts.points[prompts.labels == 1].long().tolist():
        along = []
        for rows, place, side, window in zip(_rows(shape), point, shape, WINDOW, strict=True):
            same = (rows == place).nonzero()[:, 0].tolist()
            along.append(same or [(2 * place + 1) * side // (2 * window)])
        found |= set(product(*along))
    return torch.tensor(sorted(found), dtype=torch.long).reshape(-1, 3)


def drawn(voxels: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Five points ``(1, 5, 3)`` and labels ``(1, 5)`` for a window from its target voxels ``(k, 3)``.

    One and up to four more, which may have it again, then label -1 (ignored); without voxels one ignored point only.
    """
    if not len(voxels):
        return torch.full((1, 1, 3), -1.0), torch.full((1, 1), -1.0)
    one = torch.randint(len(voxels), (1,), generator=generator)
    chosen = torch.cat([one, torch.randperm(len(voxels), generator=generator)[: POINTS - 1]])
    padding = POINTS - len(chosen)
    labels = functional.pad(torch.ones(1, len(chosen)), (0, padding), value=-1.0)
    return functional.pad(voxels[chosen].float(), (0, 0, 0, padding), value=-1.0)[None], labels


def _rows(shape: Sequence[int]) -> list[Tensor]:
    """For each axis and each voxel of the crop along it the frame's voxel that it takes its value from."""
    # asked of torch itself, which computes this in single precision and now and then is one off the exact fraction
    frame = [torch.arange(side)[None, None].float() for side in WINDOW]
    return [functional.interpolate(rows, side)[0, 0].long() for rows, side in zip(frame, shape, strict=True)]


def _bounds(found: Tensor) -> tuple[int, ...] | None:
    """First and last voxel of a boolean tensor's foreground; None if there is none."""
    hits = [found.any(dim=(axis - 2, axis - 1)).nonzero() for axis in range(3)]
    if not len(hits[0]):
        return None
    return (*(int(hit[0]) for hit in hits), *(int(hit[-1]) for hit in hits))
