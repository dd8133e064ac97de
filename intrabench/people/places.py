"""Where prompts lie: how far voxels are from the boundary of a mask, and edges of boxes from those of the tight box."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from intrabench.mask import Floats, Mask, intersection
from intrabench.prompts import Prompts
from intrabench.target import Target

SMALLEST = 5
"""Voxels of the shortest side of a tight box whose edges are compared: smaller ones may be missed altogether, and what
still hits them would be a selection."""


def depth_mm(mask: Mask, voxels: NDArray[np.int64], spacing_mm: tuple[float, float, float]) -> Floats:
    """(n) How far each voxel lies inside a mask, in mm: to the nearest voxel outside; negative if it is outside.

    Then it is the distance to the nearest voxel of the mask, minus infinity if this is empty. In three dimensions,
    between centres of voxels; the edge of the volume counts as outside.
    """
    import edt

    if not mask.any():
        return np.full(len(voxels), -np.inf)
    within = mask.contains(voxels)
    found = np.zeros(len(voxels))
    if within.any():
        bytes_ = np.ascontiguousarray(mask.array).view(np.uint8)
        depth = np.asarray(edt.edt(bytes_, anisotropy=spacing_mm, black_border=True))
        found[within] = depth[tuple((voxels[within] - np.array(mask.start)).T)]
    if not within.all():
        steps = np.array(spacing_mm)
        surface = mask.coordinates() * steps
        found[~within] = [-np.sqrt(((surface - one) ** 2).sum(axis=1).min()) for one in voxels[~within] * steps]
    return found


def edges(target: Target, prompts: Prompts) -> Iterator[Floats]:
    """For each drawn box its edges beside those of the tight box of the reference there: rows of three numbers in mm.

    How far the edge lies outwards, the length of the tight box along this axis, the spacing of voxels there. A box on a
    slice without the target, or beside it, is left out, and so is one around less than `SMALLEST` voxels.
    """
    spacing = np.array(target.spacing_mm)
    for z, y0, x0, y1, x1 in prompts.drawn_boxes2d.tolist():
        box, tight = (z, y0, x0, z + 1, y1, x1), target.mask.slice(z).box
        if _comparable(box, tight, slice(1, 3)):
            yield _edges(np.array(box), np.array(tight), spacing)[[1, 2, 4, 5]]
    if prompts.box3d is not None and _comparable(tuple(prompts.box3d.tolist()), target.mask.box, slice(0, 3)):
        yield _edges(np.array(prompts.box3d), np.array(target.mask.box), spacing)


def _comparable(box: Any, tight: Any, axes: slice) -> bool:
    sides = np.array(tight[3:]) - np.array(tight[:3])
    return intersection(box, tight) is not None and bool((sides[axes] >= SMALLEST).all())


def _edges(box: NDArray[np.int64], tight: NDArray[np.int64], spacing: Floats) -> Floats:
    outwards = np.concatenate([tight[:3] - box[:3], box[3:] - tight[3:]])
    along = np.tile(spacing, 2)
    return np.column_stack([outwards * along, np.tile(tight[3:] - tight[:3], 2) * along, along])
