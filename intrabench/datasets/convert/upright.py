"""Scans whose axes are not at right angles: refused, or resampled to a grid with right angles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from intrabench.datasets.convert.resample import onto_grid
from intrabench.datasets.convert.segments import Segment
from intrabench.errors import IntraBenchError
from intrabench.mask import Mask
from intrabench.volume import Grid, Volume

LIMIT_DEGREES = 0.5
"""Up to this angle, volumes taken from the spacing are wrong by about 0.01 %, and distances by less than 1 %."""


def check_upright(volume: Volume, remedy: str) -> None:
    """Refuse a scan on which lengths in millimetres along the axes would not be distances.

    remedy: what to do, for the message.
    """
    skew = volume.grid.skew_degrees
    if skew > LIMIT_DEGREES:
        raise IntraBenchError(
            f"the axes of the scan are {skew:.1f} degrees off right angles (gantry tilt, or a registration in "
            f"the header), so volumes and distances in mm would be wrong; {remedy}"
        )


def upright(volume: Volume, segments: Sequence[Segment]) -> tuple[Volume, list[Segment]]:
    """A sheared scan without channels, and its segments, on a grid with right angles that holds all of the scan.

    The first axis of the file stays, the second keeps its plane. So slices that gantry tilt shifted against each other
    stay whole and are shifted back. Intensities are interpolated linearly, and are the lowest one outside of the scan;
    masks are resampled by nearest neighbour.
    """
    from scipy import ndimage

    old = volume.grid
    directions, lengths = np.linalg.qr(old.affine[:3, :3])
    steps = np.diag(lengths)
    shear = lengths / steps[:, None]  # from indices of the old grid to those of the new one, but for the origin
    ends = np.stack(np.meshgrid(*((0, extent - 1) for extent in old.shape)), axis=-1).reshape(-1, 3) @ shear.T
    low, high = np.floor(ends.min(axis=0).round(3)), np.ceil(ends.max(axis=0).round(3))
    affine = np.eye(4)
    affine[:3, :3] = directions * steps
    affine[:3, 3] = old.affine[:3, 3] + affine[:3, :3] @ low
    depth = [int(extent) for extent in high - low + 1]
    new, back = Grid((depth[0], depth[1], depth[2]), affine), np.linalg.inv(shear)
    stored = old.from_canonical(volume.array)
    array = ndimage.affine_transform(stored, back, back @ low, new.shape, order=1, cval=float(stored.min()))
    note = f"the axes were {old.skew_degrees:.1f} degrees off right angles; scan and labels are resampled to right ones"
    made = Volume(new.to_canonical(array), new, volume.modality, (*volume.notes, note))
    return made, [replace(segment, mask=_moved(segment.mask, old, new)) for segment in segments]


def _moved(mask: Mask, old: Grid, new: Grid) -> Mask:
    affine = old.canonical_affine.copy()
    affine[:3, 3] += affine[:3, :3] @ mask.start
    return onto_grid(mask.array, affine, new)
