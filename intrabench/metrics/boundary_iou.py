"""Boundary IoU: how well two masks of one image agree near their boundaries.

B. Cheng et al., "Boundary IoU: Improving Object-Centric Image Segmentation Evaluation" (CVPR 2021, arXiv:2103.16562),
section 4, with the distance of its code and of RClicks: 2 % of the image's diagonal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from intrabench.mask import Mask, joint_box
from intrabench.metrics.base import Metric
from intrabench.metrics.mask_pair import MaskPair

SHARE = 0.02
"""Width of a boundary, in diagonals of the image."""


@dataclass(frozen=True)
class BoundaryIoU(Metric):
    """Boundary IoU of images: the IoU of what lies within 2 % of the diagonal of each mask's border.

    A volume of several slices has no value. Both empty: 1; one empty: 0.
    """

    name = "boundary_iou"
    title = "Boundary IoU"
    bounds = (0.0, 1.0)
    source = "B. Cheng et al., Boundary IoU, CVPR 2021, arXiv 2103.16562"

    def measure(self, pair: MaskPair) -> float | None:
        """The IoU of both boundaries; ignored pixels are not taken out of the masks, where they would be a border."""
        target = pair.target
        if target.shape[0] != 1:
            return None
        return boundary_iou(target.mask, pair.given, target.shape[1:], target.ignore)


def boundary_iou(truth: Mask, answer: Mask, shape: tuple[int, int], ignore: Mask | None = None) -> float:
    """IoU of the two masks' boundaries in one slice of `shape` ``(y, x)``, 0 to 1; both without pixels: 1.

    Pixels of `ignore` are not counted, but neither do they move a boundary. (Where nothing is left to count the
    original gives NaN.)

    Raises:
        ValueError: a mask has pixels in more than one slice, or the two in different ones.
    """
    width = max(1, round(SHARE * math.hypot(*shape)))
    true_edge, edge = boundary(truth, width), boundary(answer, width)
    box = joint_box(true_edge, edge)
    if box is None:
        return 1.0
    if box[3] - box[0] != 1:
        raise ValueError(f"boundary IoU is of two masks in one slice, not in slices {box[0]} to {box[3] - 1}")
    one, other = true_edge.crop(box), edge.crop(box)
    counted = ~ignore.crop(box) if ignore is not None else np.True_
    common, union = (int(np.count_nonzero(part & counted)) for part in (one & other, one | other))
    return common / union if union else 1.0


def boundary(mask: Mask, width: int) -> Mask:
    """The pixels of `mask` from which `width` steps, also diagonal ones, lead out of it or of the image.

    As much as `width` erosions by 3 x 3 pixels would take off.
    """
    from scipy import ndimage

    if not mask.any():
        return Mask.empty()
    reach = (1, 2 * width + 1, 2 * width + 1)
    # a square fits inside where its smallest pixel is 1; outside of the box, and so of the image, all is 0
    inner = ndimage.minimum_filter(mask.array, reach, mode="constant", cval=0)
    return Mask(mask.start, mask.array & ~inner)
