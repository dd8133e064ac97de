"""Labels that anybody made become those of a partition: whole numbers without gaps, regions that are connected."""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np
from numpy.typing import NDArray

from intrabench.errors import IntraBenchError
from intrabench.superpixels.partitions.boundary import sides
from intrabench.superpixels.partitions.partition import Labels
from intrabench.superpixels.partitions.slabs import slabs


def relabelled(labels: NDArray[Any], shape: tuple[int, ...], what: str) -> Labels:
    """The same regions with the labels 0, 1, ... in the order of their labels; gaps are closed.

    Raises:
        IntraBenchError: `labels`, which `what` names, are no label map of an image of `shape` ``(z, y, x)``.
    """
    if labels.shape != shape:
        raise IntraBenchError(f"{what} has the shape {labels.shape}, expected {shape}, that of the image")
    if labels.dtype.kind not in "biuf":
        raise IntraBenchError(f"{what} holds {labels.dtype}, expected whole numbers, one label per voxel")
    if labels.dtype.kind == "f" and not (np.isfinite(labels).all() and (labels == np.floor(labels)).all()):
        raise IntraBenchError(f"{what} holds values that are not whole numbers, expected one label per voxel")
    low, high = labels.min(), labels.max()
    if low < 0:
        raise IntraBenchError(f"{what} has negative labels, down to {low:g}; every voxel needs a label from 0")
    if high >= labels.size:  # a table would be larger than the image
        return np.unique(labels, return_inverse=True)[1].reshape(shape).astype(np.int32)
    present = np.zeros(int(high) + 1, bool)
    whole = labels.astype(np.int64) if labels.dtype.kind in "bf" else labels
    for where in slabs((shape[0], shape[1], shape[2])):
        present[whole[where]] = True
    if present.all():
        return whole.astype(np.int32)
    return (np.cumsum(present, dtype=np.int32) - 1)[whole].astype(np.int32)


def connected(labels: Labels) -> Labels:
    """Each connected component becomes a region: of 4 neighbours in a slice, 6 in a volume; labels in raster order."""
    import cc3d

    # without a rim of zeros, cc3d 4.1 fails on some arrays with short axes
    padded = np.pad(labels.astype(np.uint32) + 1, 1)
    found = cc3d.connected_components(padded, connectivity=6)[1:-1, 1:-1, 1:-1]
    return (found.astype(np.int32) - 1).astype(np.int32)


def merged(labels: Labels, image: NDArray[Any], least: int) -> Labels:
    """No region keeps fewer than `least` voxels: the smallest first joins the neighbour with the nearest mean colour.

    This goes on until all are large enough or one is left. labels: connected, without gaps.
    """
    sizes = np.bincount(labels.ravel())
    if len(sizes) == 1 or sizes.min() >= least:
        return labels
    channels = image.reshape(labels.size, -1)
    sums = np.array([np.bincount(labels.ravel(), channel, len(sizes)) for channel in channels.T], np.float64).T.copy()
    owner = _joined(sizes, sums, _neighbours(labels), least)
    return relabelled(owner[labels], labels.shape, "labels")


def _joined(
    sizes: NDArray[np.int64], sums: NDArray[np.float64], neighbours: dict[int, set[int]], least: int
) -> NDArray[np.int32]:
    """For each region the one that it belongs to in the end."""
    owner = np.arange(len(sizes), dtype=np.int32)
    waiting = [(int(size), label) for label, size in enumerate(sizes) if size < least]
    heapq.heapify(waiting)
    while waiting:
        size, label = heapq.heappop(waiting)
        if owner[label] != label or size != sizes[label] or not neighbours[label]:
            continue  # it belongs to another one meanwhile, or has grown
        near = sorted(neighbours[label])
        colours = sums[near] / sizes[near, None]
        into = near[int(((colours - sums[label] / size) ** 2).sum(axis=1).argmin())]
        owner[label] = into
        sizes[into] += size
        sums[into] += sums[label]
        for other in neighbours.pop(label):
            neighbours[other].discard(label)
            if other != into:
                neighbours[other].add(into)
                neighbours[into].add(other)
        if sizes[into] < least:
            heapq.heappush(waiting, (int(sizes[into]), into))
    while (owner[owner] != owner).any():  # follow those that joined one that then joined another
        owner = owner[owner]
    return owner


def _neighbours(labels: Labels) -> dict[int, set[int]]:
    """The regions that share a face with each."""
    found: dict[int, set[int]] = {label: set() for label in range(int(labels.max()) + 1)}
    for axis in range(3):
        before, after = sides(labels, axis)
        differ = before != after
        pairs = np.unique(np.stack([before[differ], after[differ]], axis=1), axis=0)
        for one, other in pairs.tolist():
            found[one].add(other)
            found[other].add(one)
    return found
