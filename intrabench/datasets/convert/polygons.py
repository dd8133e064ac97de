"""Fill polygons: pixels whose centres lie inside by the even-odd rule."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from intrabench.mask import Floats

Integers = Sequence[int] | NDArray[np.intp]
Contours = Literal["inclusive", "exclusive"]
"""Whether pixels whose centres lie exactly on a contour are inside."""

_DIGITS = 4
"""Vertices and crossings are rounded to these decimals of a pixel, because many contours run through pixel centres,
where float noise must not decide."""


def filled(
    polygons: Sequence[Floats], slices: Integers, shape: tuple[int, int, int], contours: Contours = "inclusive"
) -> NDArray[np.bool_]:
    """The voxels inside closed polygons as a boolean array of `shape` ``(column, row, slice)``.

    polygons: vertices ``(n, 2)`` as (column, row), with voxel centres at whole numbers; the last vertex is connected to
    the first. slices: the slice of each polygon. All polygons of a slice are combined by the even-odd rule, so a
    polygon inside another is a hole. contours: whether the centres on edges are inside, on all sides alike, also on
    those of holes. An edge that polygons pass twice, such as the cut of a keyhole, bounds nothing and takes nothing
    away. Parts beyond `shape` are cut off.
    """
    columns, rows, depth = shape
    inside = np.zeros((columns + 1, rows, depth), dtype=bool)
    low, high, planes = _edges(polygons, slices)
    first = np.clip(np.ceil(low[:, 1]), 0, rows).astype(np.intp)
    counts = (
        np.clip(np.ceil(high[:, 1]), 0, rows).astype(np.intp) - first
    )  # number of centre lines that an edge crosses
    edge, row = _expanded(first, counts)
    along = (row - low[edge, 1]) / (high - low)[edge, 1]
    crossing = np.round(low[edge, 0] + along * (high - low)[edge, 0], _DIGITS)
    column = np.clip(np.ceil(crossing), 0, columns).astype(np.intp)
    where, times = np.unique(np.ravel_multi_index((column, row, planes[edge]), inside.shape), return_counts=True)
    inside.reshape(-1)[where[times % 2 == 1]] = True
    for left, right in pairwise(inside):  # same as `np.logical_xor.accumulate`, but twenty times faster
        np.logical_xor(left, right, out=right)
    inside = inside[:columns]
    # A crossing at a centre was counted as one to its left, which is right on one side of a polygon only.
    bounds = np.ones(len(low), dtype=bool) if contours == "inclusive" else _passed_once(low, high, planes)
    tied = bounds[edge] & (crossing == np.rint(crossing))
    on_edges = np.stack([crossing[tied], row[tied], planes[edge[tied]]], axis=1)
    centres = np.concatenate([on_edges, *_ends(low[bounds], high[bounds], planes[bounds])]).astype(np.intp)
    centres = centres[((centres >= 0) & (centres < shape)).all(axis=1)]
    inside[tuple(centres.T)] = contours == "inclusive"
    return inside


def _expanded(first: NDArray[np.intp], counts: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The whole numbers from `first`, as many as `counts`, of one edge after the other: the edge of each, and it."""
    edge = np.repeat(np.arange(len(counts)), counts)
    return edge, np.arange(len(edge)) + np.repeat(first - counts.cumsum() + counts, counts)


def _ends(low: Floats, high: Floats, planes: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """The centres ``(n, 3)`` of which no crossing tells: at upper ends of edges, and on horizontal edges."""
    whole = (high == np.rint(high)).all(axis=1)
    level = (low[:, 1] == high[:, 1]) & (low[:, 1] == np.rint(low[:, 1]))
    first = np.ceil(low[level, 0]).astype(np.intp)
    edge, column = _expanded(first, (np.floor(high[level, 0]).astype(np.intp) - first + 1).clip(0))
    return (
        np.column_stack([high[whole], planes[whole]]),
        np.column_stack([column, low[level, 1][edge], planes[level][edge]]),
    )


def _passed_once(low: Floats, high: Floats, planes: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Whether each edge is there an odd number of times."""
    _, same, times = np.unique(np.column_stack([low, high, planes]), axis=0, return_inverse=True, return_counts=True)
    return np.asarray(times[same.reshape(-1)] % 2 == 1)


def _edges(polygons: Sequence[Floats], slices: Integers) -> tuple[Floats, Floats, NDArray[np.intp]]:
    """The ends of all edges, the end in the lower row (and then column) first, and their slices.

    This order gives both polygons at a common edge exactly the same crossings.
    """
    points = np.round(np.concatenate(polygons), _DIGITS)
    sizes = np.array([len(polygon) for polygon in polygons])
    following = np.arange(1, len(points) + 1)
    following[sizes.cumsum() - 1] -= sizes
    ends = points[following]
    across, down = (ends - points).T
    falling = ((down < 0) | ((down == 0) & (across < 0)))[:, None]
    return np.where(falling, ends, points), np.where(falling, points, ends), np.repeat(slices, sizes)
