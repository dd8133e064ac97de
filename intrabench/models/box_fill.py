"""The baseline: fill the boxes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from intrabench.mask import Box, Mask, Region
from intrabench.models.base import WHOLE, Answer, Request, VolumeModel
from intrabench.prompts import counting_boxes2d
from intrabench.volume import Volume


@dataclass(eq=False)
class BoxFill(VolumeModel):
    """Answers every box with the filled box; every model should beat it."""

    name = "box_fill"
    dims = 2
    accepts = frozenset({"box2d", "box3d"})

    def segment_one(self, volume: Volume, request: Request) -> Answer:
        """Fill the boxes of all turns; later 2D boxes replace earlier ones on their slice.

        Only slices with a new box are answered for.
        """
        blocks: list[Box] = []
        for turn in request.given:
            if turn.prompts.box3d is not None:
                z0, y0, x0, z1, y1, x1 = (int(v) for v in turn.prompts.box3d)
                blocks.append((z0, y0, x0, z1, y1, x1))
        flat, _ = counting_boxes2d([turn.prompts for turn in request.given])
        blocks += [(z, y0, x0, z + 1, y1, x1) for z, y0, x0, y1, x1 in flat.tolist()]
        newest = request.turns[-1].prompts
        valid = WHOLE if newest.box3d is not None else Region(slices=newest.slices())
        return Answer(fill(blocks, volume.shape), valid)


def fill(blocks: list[Box], shape: tuple[int, int, int]) -> Mask:
    """The union of half-open boxes, clipped to the volume."""
    if not blocks:
        return Mask.empty()
    corners = np.array(blocks)
    low = corners[:, :3].clip(min=0).min(axis=0)
    high = np.minimum(corners[:, 3:], shape).max(axis=0)
    array = np.zeros(np.maximum(high - low, 0), dtype=bool)
    for block in corners:
        first, stop = (block[:3] - low).clip(min=0), (block[3:] - low).clip(min=0)
        array[first[0] : stop[0], first[1] : stop[1], first[2] : stop[2]] = True
    return Mask.of(array, low)
