"""Strokes on one connected part of a slice, as the simulated user of the autoPET V challenge draws them.

They work on a boolean array ``(x, y)`` whose rim of one pixel, where it is not the edge of the slice, is background.
They give rows ``x, y`` sorted by x, then y, which are indices into it. Written from the rules of autoPET V.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Literal

import numpy as np

from intrabench.files.scribble_file import joined
from intrabench.mask import Bools, Index, Ints, Mask, grow
from intrabench.prompts import Prompts, Scribble
from intrabench.turns import Turn, drawing

Style = Literal["centerline", "random", "boundary"]
Thin = Literal["fills", "keeps"]

PUBLISHED_SEED = 42
"""Set anew for every stroke."""
LONG = 10
"""A centre line of more pixels is cut."""
CUT = (0.1, 0.9)
"""Shares of its length between which it stays."""
WALK = 0.2
"""Share of the pixels of an edge that a walk along it takes at most."""
_AROUND = tuple((x, y) for x in (-1, 0, 1) for y in (-1, 0, 1) if (x, y) != (0, 0))


def centerline(part: Bools, random: Random | None = None, thin: Thin = "fills") -> Ints:
    """The longest straight distance along the skeleton of the part, without a tenth at either end if it is long.

    thin: what a skeleton of one pixel gives, as of a small disc: fills gives all of the part, as published.
    """
    pixels = _largest_piece(_skeleton(part))
    if len(pixels) < 2:
        return pixels if thin == "keeps" and len(pixels) else np.argwhere(part)
    path = _shortest_path(pixels, *_farthest(pixels))
    if len(path) > LONG:
        path = path[int(CUT[0] * len(path)) : int(CUT[1] * len(path))]
    return _sorted(path)


def random_line(part: Bools, random: Random) -> Ints:
    """The pixels of the part on the straight line between two of them, which may be the same."""
    pixels = np.argwhere(part)
    if len(pixels) < 2:
        return pixels
    first, last = (pixels[random.randint(0, len(pixels) - 1)] for _ in range(2))
    drawn = joined(np.array([first, last]))
    return _sorted(drawn[part[tuple(drawn.T)]])


def boundary(part: Bools, random: Random) -> Ints:
    """A walk along the edge of the part, which ends where no pixel of it is left around; the slice's rim is no edge."""
    from scipy import ndimage

    edge = np.argwhere(part & ~ndimage.binary_erosion(part, border_value=1))
    if len(edge) < 2:
        return np.argwhere(part)
    left = set(map(tuple, edge.tolist()))
    here = tuple(edge[random.randint(0, len(edge) - 1)].tolist())
    walked = [here]
    for _ in range(max(2, int(WALK * len(edge)))):
        left.discard(here)
        ahead = (there for x, y in _AROUND if (there := (here[0] + x, here[1] + y)) in left)
        if (following := next(ahead, None)) is None:
            break
        walked.append(here := following)
    return _sorted(np.array(walked))


STROKES: dict[Style, Callable[[Bools, Random], Ints]] = {
    "centerline": centerline,
    "random": random_line,
    "boundary": boundary,
}


def stroke_on(part: Mask, shape: Index, style: Style, seed: int, thin: Thin = "fills") -> Ints:
    """The stroke on what lies in one slice of a scan of `shape`, rows ``z, y, x``; as published, by x, then y."""
    z, y, x, *_ = box = grow(part.box, (0, 1, 1), shape)
    pixels = part.crop(box)[0].T
    stroke = centerline(pixels, thin=thin) if style == "centerline" else STROKES[style](pixels, Random(seed))
    return np.column_stack([np.full(len(stroke), z), stroke[:, ::-1] + (y, x)])


def drawn(strokes: Sequence[Scribble]) -> Turn:
    """The turn of these strokes."""
    return Turn(Prompts(scribbles=tuple(strokes)), tuple(map(drawing, strokes)))


def _skeleton(part: Bools) -> Bools:
    from skimage.morphology import skeletonize

    return np.asarray(skeletonize(part), dtype=bool)


def _largest_piece(skeleton: Bools) -> Ints:
    """The pixels of the largest 8-connected piece, of equal ones the first."""
    from scipy import ndimage

    labels, count = ndimage.label(skeleton, np.ones((3, 3)))
    if count > 1:
        skeleton = labels == 1 + np.bincount(labels.ravel())[1:].argmax()
    return np.argwhere(skeleton)


def _farthest(pixels: Ints) -> tuple[int, int]:
    """The places of the two pixels that are farthest apart; of equal pairs the first."""
    best, found = -1, (0, 0)
    for start in range(0, len(pixels), 256):  # not all pairs at once, of which there may be millions
        squared = ((pixels[start : start + 256, None] - pixels[None]) ** 2).sum(axis=-1)
        place = int(squared.argmax())
        if (far := int(squared.flat[place])) > best:
            best, found = far, (start + place // len(pixels), place % len(pixels))
    return found


def _shortest_path(pixels: Ints, first: int, last: int) -> Ints:
    """The pixels of a shortest 8-connected path.

    Of several it is the one that a search from both ends finds, each step from the end with fewer pixels in front, and
    neighbours in the order of rows. (The published code asks networkx, which searches so.)
    """
    every = list(map(tuple, pixels.tolist()))
    ends: Any = every[first], every[last]
    inside = set(every)
    came: tuple[dict[Any, Any], dict[Any, Any]] = ({ends[0]: None}, {ends[1]: None})
    fronts: list[list[Any]] = [[ends[0]], [ends[1]]]
    while all(fronts):
        side = int(len(fronts[0]) > len(fronts[1]))
        level, fronts[side] = fronts[side], []
        for here in level:
            for x, y in _AROUND:
                there = (here[0] + x, here[1] + y)
                if there not in inside:
                    continue
                if there not in came[side]:
                    came[side][there] = here
                    fronts[side].append(there)
                if there in came[1 - side]:
                    return np.array(_chain(came[0], there)[::-1] + _chain(came[1], there)[1:])
    raise AssertionError("the two ends of a piece are connected")


def _chain(came: dict[Any, Any], pixel: Any) -> list[Any]:
    """The pixels from this one back to where the search began."""
    chain = []
    while pixel is not None:
        chain.append(pixel)
        pixel = came[pixel]
    return chain


def _sorted(pixels: Ints) -> Ints:
    return pixels[np.lexsort(pixels.T[::-1])].reshape(-1, 2)
