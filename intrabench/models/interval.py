"""The tool that clinicians try first: all values between two handles, within what the prompts vouch for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from intrabench.mask import Bools, Floats, Ints
from intrabench.models.parts.neighbourhood import BINS, Frame, Labels, binned, normalised
from intrabench.models.parts.seeded_model import SeededModel
from intrabench.models.parts.seeds import BACKGROUND, TARGET
from intrabench.specs.values import Positive


@dataclass(eq=False)
class Interval(SeededModel):
    """Values between a lower and an upper handle, in boxes or near points: the window threshold of every editor.

    The handles are where a person would set them: they take in as much as they can of the target's seeds and as little
    as they can of the background's, the difference of both shares being largest. Each round costs two handles. Points
    and strokes of all rounds are seeds. Outside of boxes is background, and their middle is target. Without boxes the
    border of the neighbourhood is background. A correction sets the handles anew, but only for the surroundings of the
    points that contradict the answer so far. Pieces without a target seed are dropped.

    smooth_mm: the scan is smoothed so far before, by a Gaussian. margin_mm: size of the neighbourhood around boxes.
    size_mm: expected radius of a target that has one point. seed_mm: radius of a point. middle: the part of a box's
    width that is its middle. max_voxels: larger neighbourhoods are divided on a coarser grid. Nothing was tuned.
    """

    name = "interval"
    handles = 2

    smooth_mm: Positive = 0.7

    def divide(self, frame: Frame, image: Floats, seeds: Labels) -> Bools:
        """What lies between the handles."""
        from scipy import ndimage

        bins = binned(normalised(ndimage.gaussian_filter(image, np.divide(self.smooth_mm, frame.step_mm))))
        first, last = handles(bins[seeds == TARGET], bins[seeds == BACKGROUND])
        return np.asarray((bins >= first) & (bins <= last) | (seeds == TARGET))


def handles(target: Ints, background: Ints) -> tuple[int, int]:
    """The first and the last bin of the interval that holds most of the target, in share, and least background.

    target, background: the bins, from 0 to `BINS` - 1, of seeds of either; the target has some. Without background it
    is the interval of the target.
    """
    shares = [np.bincount(one, minlength=BINS) / max(len(one), 1) for one in (target, background)]
    gained = np.concatenate([[0.0], np.cumsum(shares[0] - shares[1])])
    lowest = np.minimum.accumulate(gained[:-1])  # the best place for the lower handle, for each upper one
    last = int(np.argmax(gained[1:] - lowest))
    first = int(last - np.argmin(gained[: last + 1][::-1]))  # of equally good ones the narrowest
    return first, last
