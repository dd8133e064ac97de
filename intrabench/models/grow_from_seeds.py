"""A training-free 3D model: 3D Slicer's "Grow from seeds", by ITK's filter, in a neighbourhood of the prompts."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from intrabench.mask import Bools, Floats
from intrabench.models.base import Predictor
from intrabench.models.parts.neighbourhood import Frame, Labels
from intrabench.models.parts.seeded_model import SeededModel
from intrabench.models.parts.seeds import BACKGROUND, TARGET
from intrabench.progress import loading
from intrabench.specs.values import NotNegative
from intrabench.volume import Volume


@dataclass(eq=False)
class GrowFromSeeds(SeededModel):
    """3D Slicer's "Grow from seeds": fast GrowCut (Zhu et al., IMIC workshop at MICCAI 2014), by ITK's filter.

    Each cell belongs to the seed to which the path with the smallest sum of intensity differences leads, through its 26
    neighbours. Points and strokes of all rounds are seeds. Outside of boxes is background, and their middle is target.
    Without boxes the border of the neighbourhood is background. A correction changes only the surroundings of the
    points that contradict the answer so far.

    locality: how much intensity a millimetre of the path counts, in the unit of the scan; 0, as in Slicer, takes no
    account of distance. margin_mm: size of the neighbourhood around boxes. size_mm: expected radius of a target that
    has one point. seed_mm: radius of a point. middle: the part of a box's width that is its middle. max_voxels: larger
    neighbourhoods are divided on a coarser grid. Nothing was tuned.
    """

    name = "grow_from_seeds"
    version = "2"
    extra = "growcut"
    requires = ("itk.itkFastGrowCutPython",)

    locality: NotNegative = 0.0

    @cached_property
    def itk(self) -> Any:
        """ITK, with the filter and the images that it takes loaded: it loads its parts when they are first used."""
        with loading(f"loading {self.name}"):
            import itk

            _ = itk.FastGrowCut, itk.image_view_from_array(np.zeros((3, 3, 3), np.float32))
        return itk

    def load(self) -> None:
        """Load ITK now, which takes seconds."""
        _ = self.itk

    def open(self, volume: Volume) -> AbstractContextManager[Predictor]:
        """Open one image, after loading ITK."""
        self.load()
        return super().open(volume)

    def divide(self, frame: Frame, image: Floats, seeds: Labels) -> Bools:
        """Grow the seeds until they meet.

        The filter does not grow from cells at the border of its image, so there is one more cell around.
        """
        labels = np.select([seeds == TARGET, seeds == BACKGROUND], [1, 2], 0)
        scan = self.itk.image_view_from_array(np.pad(image.astype(np.float32), 1, mode="edge"))
        drawn = self.itk.image_view_from_array(np.pad(labels.astype(np.uint8), 1))
        for one in (scan, drawn):
            one.SetSpacing(frame.step_mm[::-1])
        grown = self.itk.FastGrowCut[type(scan), type(drawn)].New()
        grown.SetInput(scan)
        grown.SetSeedImage(drawn)
        grown.SetDistancePenalty(self.locality)
        grown.Update()
        return np.asarray(self.itk.array_from_image(grown.GetOutput()) == 1)[1:-1, 1:-1, 1:-1]
