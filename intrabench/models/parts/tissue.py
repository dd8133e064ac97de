"""What intensities say about target and background: histograms of both."""

from __future__ import annotations

import numpy as np

from intrabench.mask import Bools, Floats

BINS = 64


def normalised(image: Floats) -> Floats:
    """Intensities from the 1st to the 99th percentile as 0 to 1, so that CT and MR mean the same; constant: 0."""
    low, high = np.percentile(image, [1, 99])
    if high <= low:
        low, high = image.min(), image.max()
    return ((image - low) / (high - low)).clip(0, 1) if high > low else np.zeros_like(image)


def log_ratio(image: Floats, chance: Floats, known: Bools | None = None) -> Floats:
    """For each cell of a normalised image, how much more frequent its intensity is in the target, as a logarithm.

    chance: the weights with which cells count as target; the rest is background. known: only these cells count.
    """
    from scipy import ndimage

    bins = np.minimum((image * BINS).astype(np.intp), BINS - 1)
    counted, weights = (bins.ravel(), chance.ravel()) if known is None else (bins[known], chance[known])
    total = np.bincount(counted, minlength=BINS)
    target = np.bincount(counted, weights, BINS)
    ratio = []
    for counts in (target, total - target):
        smooth = ndimage.gaussian_filter1d(counts, 1.5, mode="nearest")
        ratio.append(np.log(smooth / max(smooth.sum(), 1e-9) + 0.01 / BINS))  # 1 % of voxels may have any intensity
    return np.asarray((ratio[0] - ratio[1])[bins], dtype=np.float64)
