"""Centreline Dice of thin structures, and the share of their length that was found."""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from intrabench.mask import Mask
from intrabench.metrics.base import Metric
from intrabench.metrics.mask_pair import MaskPair, per_target
from intrabench.metrics.parts.overlap import Overlap
from intrabench.target import Target

CLDICE = "S. Shit et al., clDice, CVPR 2021, arXiv 2003.07311"

_CENTRELINES: WeakKeyDictionary[Target, Mask] = WeakKeyDictionary()


@dataclass(frozen=True)
class CentrelineDice(Metric):
    """clDice: the harmonic mean of how much of each mask's centreline lies in the other. Both empty: 1; one empty: 0.

    Centrelines are the skeletons of scikit-image, of volumes by the method of Lee et al. 1994: voxels count, whatever
    their size.
    """

    name = "cldice"
    version = "2"
    title = "clDice"
    bounds = (0.0, 1.0)
    source = CLDICE

    def measure(self, pair: MaskPair) -> float:
        """2 P S / (P + S): P is the share of the answer's centreline in the target, S of the target's in the answer."""
        pair = pair.upright
        if not pair.truth.any() or not pair.answer.any():
            return float(pair.truth.any() == pair.answer.any())
        right, found = inside(centreline(pair.answer), pair.truth), length_found(pair)
        return 2 * right * found / (right + found) if right + found else 0.0


@dataclass(frozen=True)
class LengthFound(Metric):
    """Length found: the share of the target's centreline that lies in the answer. A target without voxels has no value.

    It is the topological sensitivity of clDice, and counts voxels of the skeleton, whatever their size. No answer: 0.
    """

    name = "length_found"
    version = "2"
    title = "Length found"
    bounds = (0.0, 1.0)
    source = CLDICE

    def measure(self, pair: MaskPair) -> float | None:
        """The share, 0 to 1; None without a target."""
        return length_found(pair) if pair.truth.any() else None


def length_found(pair: MaskPair) -> float:
    """The share of the target's centreline in the answer; the target, which is not empty, is thinned once."""
    pair = pair.upright
    return inside(per_target(_CENTRELINES, pair.target, lambda: centreline(pair.truth)), pair.answer)


def centreline(mask: Mask) -> Mask:
    """The skeleton of a mask that is not empty, in its plane if it is one slice; of a turned array it is another one.

    Of a few shapes, such as a cube of 2 x 2 x 2 voxels, scikit-image leaves nothing; then all of the mask counts.
    """
    from skimage.morphology import skeletonize

    flat = tuple(axis for axis, size in enumerate(mask.array.shape) if size == 1)[:1]
    thin = np.expand_dims(skeletonize(mask.array.squeeze(flat).copy()), flat)  # it takes none that are read-only
    return Mask.of(thin, mask.start) if thin.any() else mask


def inside(line: Mask, mask: Mask) -> float:
    """The share of the voxels of a line that lie in a mask."""
    found = Overlap.of(line, mask)
    return found.common / found.truth
