"""What the prompts of all turns say about the voxels around them: where to look, sure seeds, and a first guess."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from intrabench.mask import Box, grow
from intrabench.models.base import Request

Floats = NDArray[np.float32]
Spacing = tuple[float, float, float]


@dataclass(frozen=True, eq=False)
class Hints:
    """All prompts of a history. points: rows ``z, y, x, label``, oldest first. blocks: rows of half-open boxes
    ``z0, y0, x0, z1, y1, x1``, disjoint along z where they come from 2D boxes; outside of all of them is background."""

    points: NDArray[np.int64]
    blocks: NDArray[np.int64]

    @classmethod
    def of(cls, request: Request) -> Hints:
        """Collect the turns: a later 3D box replaces an earlier one, a later 2D box an earlier one on its slice.

        2D boxes win over 3D boxes, because they are drawn on what the user sees. A slice between two boxed slices
        that has no own box gets the box around its two neighbours: the target passes there, we do not know where.
        """
        rows: list[NDArray[np.int64]] = [np.zeros((0, 4), dtype=np.int64)]
        by_slice: dict[int, NDArray[np.int64]] = {}
        block: list[NDArray[np.int64]] = []
        for prompts in (turn.prompts for turn in request.turns):
            rows += [np.column_stack([s.points, np.full(len(s.points), s.label)]) for s in prompts.scribbles]
            rows.append(prompts.points)
            by_slice |= {int(row[0]): row[1:] for row in prompts.boxes2d}
            block = block if prompts.box3d is None else [prompts.box3d]
        blocks = _stack(by_slice) if by_slice else block
        return cls(np.vstack(rows), np.array(blocks, dtype=np.int64).reshape(-1, 6))

    def box(self, shape: tuple[int, int, int], spacing_mm: Spacing, margin_mm: float, radius_mm: float) -> Box | None:
        """The neighbourhood: boxes plus a margin, or points plus a radius, clipped to the volume; None if nothing."""
        reach = margin_mm if len(self.blocks) else radius_mm
        low = np.vstack([self.blocks[:, :3], self.points[:, :3]])
        high = np.vstack([self.blocks[:, 3:], self.points[:, :3] + 1])
        if len(low) == 0:
            return None
        tight = [int(v) for v in (*low.min(axis=0), *high.max(axis=0))]
        z, y, x = (int(np.ceil(reach / step)) + 1 for step in spacing_mm)
        return grow((tight[0], tight[1], tight[2], tight[3], tight[4], tight[5]), (z, y, x), shape)


def _stack(by_slice: dict[int, NDArray[np.int64]]) -> list[NDArray[np.int64]]:
    """2D boxes as blocks, the gaps between them filled by the box around both neighbours."""
    blocks = []
    known = sorted(by_slice)
    for z, after in zip(known, [*known[1:], known[-1] + 1], strict=True):
        a, b = by_slice[z], by_slice[after if after in by_slice else z]
        blocks.append(np.array([z, *a[:2], z + 1, *a[2:]]))
        if after > z + 1:
            blocks.append(np.array([z + 1, *np.minimum(a, b)[:2], after, *np.maximum(a, b)[2:]]))
    return blocks
