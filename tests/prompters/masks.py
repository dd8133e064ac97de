"""Masks of every kind that could trip a prompter, for hypothesis."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

SHAPE = (6, 9, 10)


def masks(draw: st.DrawFn) -> np.ndarray:
    """Empty, full, one voxel, one slice, with gaps in z, many pieces, or a block that may touch every border."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(["empty", "full", "voxel", "slice", "gaps", "pieces", "block"]))
    mask = np.zeros(SHAPE, dtype=bool)
    if kind == "full":
        mask[:] = True
    elif kind == "voxel":
        mask[tuple(rng.integers(SHAPE))] = True
    elif kind == "slice":
        mask[rng.integers(SHAPE[0])] = rng.random(SHAPE[1:]) > 0.4
    elif kind == "gaps":
        mask[::2] = rng.random((3, *SHAPE[1:])) > 0.5
    elif kind == "pieces":
        mask = rng.random(SHAPE) > 0.8
    elif kind == "block":
        low, high = np.sort(rng.integers(0, np.array(SHAPE) + 1, (2, 3)), axis=0)
        mask[tuple(slice(a, b) for a, b in zip(low, high, strict=True))] = True
    return mask


pairs = st.composite(lambda draw: (masks(draw), masks(draw)))()
targets = st.composite(masks)().filter(lambda mask: mask.any())
