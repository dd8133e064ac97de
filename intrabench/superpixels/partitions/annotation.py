"""An annotation: the targets that one person drew, and what is left, as a partition of the image."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from intrabench.mask import box_slices
from intrabench.superpixels.partitions.partition import Partition
from intrabench.superpixels.partitions.relabel import relabelled
from intrabench.target import Target


def annotation_of(targets: Sequence[Target]) -> Partition:
    """The segments of an annotation: of each target its voxels, of all that is left the background.

    Where targets overlap, the smaller one counts. Ignored voxels are background.
    """
    labels = np.zeros(targets[0].shape, np.int32)
    for number, target in enumerate(sorted(targets, key=lambda target: -target.mask.voxels), start=1):
        labels[box_slices(target.mask.box)][target.mask.array] = number
    return Partition(relabelled(labels, labels.shape, "the annotation"), targets[0].spacing_mm)
