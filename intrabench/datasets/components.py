"""Instances where a label map has none: one per connected component."""

from __future__ import annotations

import numpy as np

from intrabench.mask import Mask
from intrabench.target import Target
from intrabench.volume import Array


def component_targets(inside: Array, label: str, case: str, spacing_mm: tuple[float, float, float]) -> list[Target]:
    """The 26-connected components of a boolean array ``(z, y, x)`` as instances 1, 2, ..., the largest first.

    Components of one size keep the order of their first voxels in z, y, x order.
    """
    from scipy import ndimage

    whole = Mask.of(inside)
    if not whole.any():
        return []
    numbered, _ = ndimage.label(whole.array, structure=np.ones((3, 3, 3), dtype=bool))
    found = []
    for number, where in enumerate(ndimage.find_objects(numbered), start=1):
        start = [first + bound.start for first, bound in zip(whole.start, where, strict=True)]
        found.append(Mask.of(numbered[where] == number, start))
    found.sort(key=lambda mask: -mask.voxels)
    return [
        Target(case, label, instance, mask, (inside.shape[0], inside.shape[1], inside.shape[2]), spacing_mm)
        for instance, mask in enumerate(found, start=1)
    ]
