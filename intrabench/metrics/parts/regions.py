"""The regions of lesions: each voxel belongs to the lesion that is nearest to it, of several the first.

Squared distances are whole numbers in a common unit of the squared spacings. A key has the squared distance in its high
bits, and the number of the lesion in its low ones, so the least of some keys is that of the nearest lesion, of several
the first. Keys are found in the rows along x, then along y and along z: there each voxel with a key is a parabola, and
their lower envelope (Felzenszwalb and Huttenlocher, Theory of Computing 2012) is found for many lines at once. After x,
columns do not depend on each other, so they are looked at a few at a time. If few voxels of a large box ask, a k-d tree
is faster.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from intrabench.metrics.parts.components import Components
from intrabench.metrics.parts.transform import Spacing

Keys = NDArray[np.int64]

AT_ONCE = 2**21
"""Of so many voxels of a box keys are found at once; they take about 25 bytes each."""
BOX_PER_VOXEL = 5
"""If the box has more voxels for each one that asks, the k-d tree is faster."""
NONE = np.int64(2**62)
"""The key where nothing is near."""


def regions_of(lesions: Components, parts: Components, spacing_mm: Spacing) -> NDArray[Any]:
    """(z, y, x) of each voxel of the parts the lesion, of n > 0, in whose region it is, from 1; 0: it is in no part."""
    found = np.zeros(parts.labels.shape, np.min_scalar_type(len(lesions.sizes)))
    asked = int(parts.sizes.sum())
    if asked:
        find = _by_tree if parts.labels.size > BOX_PER_VOXEL * asked else _by_envelopes
        find(found, lesions, parts, spacing_mm)
    return found


def _by_envelopes(found: NDArray[Any], lesions: Components, parts: Components, spacing_mm: Spacing) -> None:
    labels, shape = lesions.labels, parts.labels.shape
    start = np.subtract(parts.start, lesions.start).tolist()
    stop = [first + count for first, count in zip(start, shape, strict=True)]
    extent = [max(end, count) - min(first, 0) for first, end, count in zip(start, stop, labels.shape, strict=True)]
    bits = len(lesions.sizes).bit_length()
    z, y, x = _weights(spacing_mm, extent, bits)
    step = max(AT_ONCE // (max(shape[0], labels.shape[0]) * max(shape[1], labels.shape[1])), 1)
    for first in range(0, shape[2], step):
        asking = parts.labels[:, :, first : first + step] > 0
        if asking.any():
            low = start[2] + first
            keys = _along_rows(labels, x, bits, low, low + asking.shape[2])
            keys = lower_envelope(keys.swapaxes(0, 1), y << bits, start[1], stop[1]).swapaxes(0, 1)
            keys = lower_envelope(keys, z << bits, start[0], stop[0])
            found[:, :, first : first + step][asking] = (keys[asking] & ((1 << bits) - 1)) + 1


def _weights(spacing_mm: Spacing, extent: list[int], bits: int) -> list[int]:
    """Squared spacings as whole numbers, in the unit that they have in common; rounded only if keys would overflow."""
    squares = [Fraction(repr(float(size))) ** 2 for size in spacing_mm]
    scale = math.lcm(*(one.denominator for one in squares))
    whole = [int(one * scale) for one in squares]
    common = math.gcd(*whole)
    most = sum(one // common * count**2 for one, count in zip(whole, extent, strict=True))
    spare = max(most.bit_length() + bits - 61, 0)
    return [max((one // common) >> spare, 1) for one in whole]


def _along_rows(labels: NDArray[Any], weight: int, bits: int, low: int, high: int) -> Keys:
    """(z, y, high - low) keys of the nearest lesion in each row, from x `low` to `high`, counted from the labels."""
    keys = np.full((*labels.shape[:2], high - low), NONE)
    width = labels.shape[2]
    for way in (1, -1):  # the nearest one before, and the nearest one behind
        rows, nearest = labels[..., ::way], keys[..., ::way]
        first, stop = (low, high) if way == 1 else (width - high, width - low)
        before = rows[..., : max(first, 0)][..., ::-1]
        lesion = np.zeros(labels.shape[:2], np.int64)
        steps = np.full(labels.shape[:2], first - min(first, width))
        if before.size:
            back = (before > 0).argmax(axis=2)
            lesion[:] = np.take_along_axis(before, back[..., None], axis=2)[..., 0]
            steps += back
        for x in range(first, stop):
            steps += 1
            if 0 <= x < width:
                here = rows[..., x] > 0
                lesion[here], steps[here] = rows[..., x][here], 0
            key = np.where(lesion > 0, (weight * steps * steps << bits) | (lesion - 1), NONE)
            np.minimum(nearest[..., x - first], key, out=nearest[..., x - first])
    return keys


def lower_envelope(keys: Keys, weight: int, low: int, high: int) -> Keys:
    """(high - low, ...) the least of keys[i] + weight (x - i)² over i, at x from `low` to `high`; keys: (i, ...)."""
    count, shape = len(keys), keys.shape[1:]
    flat = keys.reshape(count, -1)
    site, start, last = _parabolas(flat, weight, low, high)
    least = np.full((high - low, flat.shape[1]), NONE)
    columns = np.flatnonzero(last >= 0)
    place, last = np.zeros(len(columns), np.intp), last[columns]
    for x in range(low, high if len(columns) else low):
        following = np.minimum(place + 1, last)
        place = np.where(start[following, columns] <= x, following, place)
        at = site[place, columns].astype(np.int64)
        least[x - low, columns] = flat[at, columns] + weight * (x - at) ** 2
    return least.reshape(high - low, *shape)


def _parabolas(keys: Keys, weight: int, low: int, high: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.intp]]:
    """Those of the lower envelope, in each column from the first on.

    Returns:
        (i, column) where their sites are, (i, column) from which x on they are the lowest, and (column,) the last one;
        -1: there is none.
    """
    site, start = (np.zeros(keys.shape, np.int32) for _ in range(2))
    last = np.full(keys.shape[1], -1)
    for here in range(len(keys)):
        columns = np.flatnonzero(keys[here] < NONE)
        own = keys[here, columns] + weight * here**2
        first = np.full(len(columns), low)
        left = np.flatnonzero(last[columns] >= 0)
        while left.size:  # those that are nowhere the lowest any more go
            column = columns[left]
            there = site[last[column], column].astype(np.int64)
            above = own[left] - keys[there, column] - weight * there**2
            meets = above // (2 * weight * (here - there)) + 1
            hidden = meets <= start[last[column], column]
            first[left[~hidden]] = meets[~hidden]
            last[column[hidden]] -= 1
            left = left[hidden]
            left = left[last[columns[left]] >= 0]
        seen = first < high
        column = columns[seen]
        last[column] += 1
        site[last[column], column], start[last[column], column] = here, first[seen]
    return site, start, last


def _by_tree(found: NDArray[Any], lesions: Components, parts: Components, spacing_mm: Spacing) -> None:
    from scipy.ndimage import binary_erosion
    from scipy.spatial import cKDTree

    border = (lesions.labels > 0) & ~binary_erosion(lesions.labels > 0)
    owner = lesions.labels[border].astype(np.int64) - 1
    # a fourth coordinate, by which the square of a distance grows with the number of the lesion: by 1e-6 of that of the
    # smallest step at most
    rank = 1e-3 * min(spacing_mm) * np.sqrt(owner / len(lesions.sizes))
    points = np.column_stack([(np.argwhere(border) + lesions.start) * spacing_mm, rank])
    tree = cKDTree(points, leafsize=64, compact_nodes=False, balanced_tree=False)
    step = max(AT_ONCE // math.prod(parts.labels.shape[1:]), 1)
    for z in range(0, len(parts.labels), step):
        asking = parts.labels[z : z + step] > 0
        places = np.array(np.nonzero(asking)) + np.add(parts.start, (z, 0, 0))[:, None]
        inside = lesions.at(places)
        outside = places[:, inside < 0].T * np.array(spacing_mm)
        inside[inside < 0] = owner[tree.query(np.pad(outside, ((0, 0), (0, 1))))[1]]
        found[z : z + step][asking] = inside + 1
