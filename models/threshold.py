"""A model of your own: one file, one class, one method."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from intrabench import Answer, BoxFill, Mask, Request, Volume, VolumeModel, box_slices


@dataclass(eq=False)
class Threshold(VolumeModel):
    """The brighter voxels inside the boxes: everything above a quantile of the boxes' intensities."""

    name = "threshold"
    dims = 2
    accepts = frozenset({"box2d", "box3d"})

    quantile: float = 0.5

    def segment_one(self, volume: Volume, request: Request) -> Answer:
        """Fill the boxes, then keep what is bright in them."""
        filled = BoxFill().segment_one(volume, request).update
        if not filled.any():
            return Answer(Mask.empty())
        values = volume.array[box_slices(filled.box)]
        bright = values >= np.quantile(values[filled.array], self.quantile)
        return Answer(Mask.of(filled.array & bright, filled.start))
