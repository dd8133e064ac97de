"""The middle line of an error: its medial axis, as trees of pixels, of which the longest path is drawn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import compress, pairwise
from typing import Any

import numpy as np

from intrabench.mask import Bools, Ints

Tree = dict[int, dict[int, float]]
"""The neighbours of each pixel, by its number, and how far away they are."""

_EARLIER = ((-1, -1), (-1, 0), (-1, 1), (0, -1))
"""The neighbours of a pixel that come before it in the order of rows."""


class _Order(np.random.Generator):
    """The order in which scikit-image takes pixels that are equally deep: that of each mask alone, one after the other.

    rng: None stands for the order that scikit-image had until 0.18.
    """

    def __init__(self, rng: np.random.Generator | None, pixels: Sequence[int]) -> None:
        super().__init__(np.random.PCG64(0))
        self._rng, self._pixels = rng, pixels

    def permutation(self, x: Any, axis: int = 0) -> Any:
        """Ranks of all pixels of all masks."""
        return np.concatenate([(self._rng or np.random.RandomState(0)).permutation(count) for count in self._pixels])


def medial_axes(masks: Sequence[Bools], rng: np.random.Generator | None) -> list[Bools]:
    """The medial axis of each mask ``(y, x)``; beyond its array is background.

    They are computed in one call, one below the other, because scikit-image takes longer to get ready than for a mask.

    rng: breaks ties between equally deep pixels; None: always the same way, as scikit-image did until 0.18.
    """
    from skimage.morphology import medial_axis

    axes, filled = [np.zeros(mask.shape, bool) for mask in masks], [mask.any() for mask in masks]
    boxes = [_box(mask) for mask, any_ in zip(masks, filled, strict=True) if any_]
    into = [axis[box] for axis, box in zip(compress(axes, filled), boxes, strict=True)]
    crops = [mask[box] for mask, box in zip(compress(masks, filled), boxes, strict=True)]
    if not crops:
        return axes
    # a row of background between masks, and a border around all, so that none has anything else beside it
    rows = np.cumsum([1] + [len(crop) + 1 for crop in crops])
    sheet = np.zeros((rows[-1], max(crop.shape[1] for crop in crops) + 2), bool)
    for row, crop in zip(rows, crops, strict=False):
        sheet[row : row + len(crop), 1 : crop.shape[1] + 1] = crop
    found = medial_axis(sheet, rng=_Order(rng, [int(np.count_nonzero(crop)) for crop in crops]))
    for row, axis in zip(rows, into, strict=False):
        axis[:] = found[row : row + len(axis), 1 : axis.shape[1] + 1]
    return axes


def _box(mask: Bools) -> tuple[slice, slice]:
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    return slice(int(rows[0]), int(rows[-1]) + 1), slice(int(columns[0]), int(columns[-1]) + 1)


def trees(skeleton: Bools, least: int) -> Iterator[tuple[Ints, Tree]]:
    """The components of a skeleton with at least so many pixels, as rows ``y, x`` and trees of their numbers.

    Pixels are linked to their eight neighbours. While there is a cycle, its longest edge is removed: of the cycle that
    a search in depth finds first, from the first pixel; of equally long ones the first edge. The search takes the
    neighbours before a pixel, in the order of rows, and then those after it, the last one first.
    """
    pixels = np.argwhere(skeleton)
    number = np.full(np.add(skeleton.shape, 2), -1, np.int64)
    number[1:-1, 1:-1][skeleton] = np.arange(len(pixels))
    links: Tree = {}
    around = [*_EARLIER, *((-y, -x) for y, x in _EARLIER)]
    there = np.stack([number[pixels[:, 0] + 1 + y, pixels[:, 1] + 1 + x] for y, x in around], axis=1).tolist()
    far = [float(np.hypot(y, x)) for y, x in around]
    for pixel, neighbours in enumerate(there):
        links[pixel] = {one: mm for one, mm in zip(neighbours, far, strict=True) if one >= 0}
    left = dict.fromkeys(links)
    while left:
        component = _reached(links, next(iter(left)))
        for pixel in component:
            del left[pixel]
        if len(component) >= least:
            ordered = sorted(component)
            tree = {pixel: links[pixel] for pixel in ordered}
            _cut_cycles(tree, ordered[0])
            yield pixels, tree


def longest_path(tree: Tree) -> list[int]:
    """The pixels of the path with most edges, from one end to the other.

    It begins at the pixel that a search in breadth from the first pixel reaches last, and ends at the one that a search
    from there reaches last; that decides between equally long ones. davisinteractive leaves it to the order of sets in
    networkx, which differs between its versions.
    """
    (*_, end) = _reached(tree, next(iter(tree)))
    before = _reached(tree, end)
    (*_, pixel) = before
    path = [pixel]
    while (pixel := before[pixel]) >= 0:
        path.append(pixel)
    return path[::-1]


def _reached(links: Tree, start: int) -> dict[int, int]:
    """All pixels that are linked to one, the nearest first, and through which each was reached; -1 for the first."""
    before, queue = {start: -1}, [start]
    for pixel in queue:
        for one in links[pixel]:
            if one not in before:
                before[one] = pixel
                queue.append(one)
    return before


def _cut_cycles(links: Tree, start: int) -> None:
    """Remove the longest edge of each cycle that a search in depth closes; of equally long ones the first of the ring.

    After a cut the search goes on from where it took the removed edge: one from the beginning would come there, too.
    Pixels that it has left are in no cycle, and are not searched again.
    """
    place, path, rest, left = {start: 0}, [start], [iter([*links[start]])], set[int]()
    while path:
        for one in rest[-1]:
            if one in left or (len(path) > 1 and one == path[-2]) or one not in links[path[-1]]:
                continue
            if one not in place:
                place[one] = len(path)
                path.append(one)
                rest.append(iter([*links[one]]))
                break
            ring = list(pairwise([*path[place[one] :], one]))
            before, after = max(ring, key=lambda edge: links[edge[0]][edge[1]])
            del links[before][after], links[after][before]
            if after != one:  # it was taken before
                for pixel in path[place[after] :]:
                    del place[pixel]
                del path[place[before] + 1 :], rest[place[before] + 1 :]
                break
        else:
            left.add(path[-1])
            del place[path.pop()]
            rest.pop()
