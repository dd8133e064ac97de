"""Examples for raters: the reference of targets of the study, damaged to known distances, for each score and error.

Pictures show one slice: the outline of the example, and thin the one of the reference. Which Dice stands for which
score is ours, as in `guideline`, and not published.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from intrabench.mask import Bools, Mask, grow
from intrabench.people.images import Orientation
from intrabench.people.rating import guideline
from intrabench.people.rating.damage import KINDS, damaged
from intrabench.people.slices import address_of, largest_slice, seen, slice_picture, window_of
from intrabench.reporting.pictures import ANSWER, TARGET
from intrabench.target import Target
from intrabench.volume import Volume

FILE = "gallery.json"
LEAST = 40
"""Pixels of a target of which examples are made."""
SIDE = 220
"""Pixels of the longer side of a picture."""


@dataclass(frozen=True)
class Slice:
    """A target in the slice in which it is largest. picture: RGB ``(y, x, 3)``. aspect: a pixel's height by its width.

    turned: how rows and columns lie on the screen.
    """

    target: Target
    picture: NDArray[np.uint8]
    aspect: float
    turned: tuple[slice, slice]

    @classmethod
    def of(cls, target: Target, volume: Volume, window: str = "", orientation: Orientation = "radiological") -> Slice:
        """volume: in the plane in which it is read, as the target. window: as of `ct_window`."""
        z = largest_slice(target.mask)
        area = target.mask.to_array(target.shape)[z]
        flat = replace(target, mask=Mask.of(area[None], (0, 0, 0)), shape=(1, *area.shape), siblings=())
        aspect = target.spacing_mm[1] / target.spacing_mm[2]
        return cls(flat, slice_picture(volume, z, target.mask, window), aspect, seen(volume, orientation))

    @property
    def area(self) -> Bools:
        """The reference ``(y, x)``."""
        return self.target.mask.to_array(self.target.shape)[0]


def gallery(slices: Sequence[Slice], rng: np.random.Generator) -> dict[str, Any]:
    """What the page shows: a picture for each score, each kind of error, and what is none; empty without slices.

    slices: of several targets, which are taken in turn; those of very small ones, and of ones that fill the image, are
    left out, because not every error can be shown on them.
    """
    slices = [one for one in slices if LEAST <= np.count_nonzero(one.area) <= one.area.size / 2]
    if not slices:
        return {}
    number = -1

    def drawn(
        make: Callable[[Slice], Bools], text: str, staged: Callable[[Slice], Slice] = lambda one: one
    ) -> dict[str, Any]:
        nonlocal number
        number += 1
        one = slices[number % len(slices)]
        example, one = make(one), staged(one)
        dice = 2 * np.count_nonzero(example & one.area) / (np.count_nonzero(example) + np.count_nonzero(one.area))
        return {"text": text, "dice": round(float(dice), 3), "picture": address_of(picture_of(one, example))}

    def at(dice: float, kind: str) -> Callable[[Slice], Bools]:
        return lambda one: damaged(one.target, kind, dice, rng).to_array(one.target.shape)[0]

    scores = list[dict[str, Any]]()
    for place, (score, dice) in enumerate(guideline.EXAMPLES.items()):
        kind = KINDS[place % len(KINDS)]
        make = _reference if dice == 1 else _elsewhere if dice == 0 else at(dice, kind)
        scores.append({"score": score} | drawn(make, guideline.text_of(score)))
    makers: Mapping[str, Callable[[Slice], Bools]] = {
        "extra": at(0.75, "leak"),
        "missing": at(0.75, "missing"),
        "unrelated": lambda one: one.area | _elsewhere(one),
        "holes": lambda one: one.area & ~_spots(one.area, rng),
        "islands": lambda one: one.area | _spots(~one.area, rng, near=one.area),
        "edges": lambda one: _ragged(one.area, rng),
        "front": lambda one: _half_barred(one.area),
        "prompt": _elsewhere,
    }
    stages = {"front": _with_bar}
    kinds = [
        {"id": each["id"]} | drawn(makers[each["id"]], each["name"], stages.get(each["id"], lambda one: one))
        for each in guideline.ERRORS
    ]
    none = [
        {"id": each["id"]} | drawn(lambda one: _blocks(one.area) >= 0.5, each["name"], _coarse)
        for each in guideline.NO_ERRORS
    ]
    return {"scores": scores, "errors": kinds, "no_errors": none}


def _reference(one: Slice) -> Bools:
    return one.area


def _elsewhere(one: Slice) -> Bools:
    """The reference at the place of the slice where it meets itself least."""
    rows, columns = window_of(one.area)
    part = one.area[rows, columns]
    free = [one.area.shape[axis] - part.shape[axis] for axis in (0, 1)]
    y, x = (0 if first > rest - first else rest for first, rest in zip((rows.start, columns.start), free, strict=True))
    found = np.zeros_like(one.area)
    found[y : y + part.shape[0], x : x + part.shape[1]] = part
    return found


def _spots(where: Bools, rng: np.random.Generator, near: Bools | None = None) -> Bools:
    """Some discs inside of a region, close to `near`, together about a tenth of its size."""
    from scipy.ndimage import distance_transform_edt

    size = np.count_nonzero(where if near is None else near)
    radius = max(1.0, (size / 200) ** 0.5)
    room = distance_transform_edt(np.pad(where, 1))[1:-1, 1:-1] > radius + 1
    if near is not None:
        room &= distance_transform_edt(~near) < 6 * radius + 3
    places = np.argwhere(room if room.any() else where)
    centres = places[rng.integers(len(places), size=6)]
    y, x = np.indices(where.shape)
    discs = [(y - cy) ** 2 + (x - cx) ** 2 <= radius**2 for cy, cx in centres.tolist()]
    found: Bools = np.logical_or.reduce(discs) & where
    return found


def _ragged(area: Bools, rng: np.random.Generator) -> Bools:
    """The boundary moved in and out by about a tenth of the structure's radius."""
    from scipy.ndimage import distance_transform_edt, gaussian_filter

    depth = distance_transform_edt(area) - distance_transform_edt(~area)
    noise = gaussian_filter(rng.normal(size=area.shape), 1)
    found: Bools = depth > noise / noise.std() * max(1.0, depth.max() / 6)
    return found


def _bar(area: Bools) -> tuple[slice, slice]:
    """Where a bar lies before the structure, all across it."""
    rows, columns = window_of(area)
    half, middle = max(1, (rows.stop - rows.start) // 12), (rows.start + rows.stop) // 2
    return slice(middle - half, middle + half + 1), columns


def _with_bar(one: Slice) -> Slice:
    """A bright bar lies before the structure."""
    picture = one.picture.copy()
    picture[_bar(one.area)] = 235
    return replace(one, picture=picture)


def _half_barred(area: Bools) -> Bools:
    """The structure with the bar before it left out on one side, and not on the other."""
    rows, columns = _bar(area)
    found = area.copy()
    found[rows, columns.start : (columns.start + columns.stop) // 2] = False
    return found


def _coarse(one: Slice) -> Slice:
    """An image as coarse as the blocks of the example."""
    layers = [_blocks(one.picture[..., channel], one.area) for channel in range(3)]
    return replace(one, picture=np.rint(np.stack(layers, axis=-1)).astype(np.uint8))


def _blocks(image: NDArray[Any], area: Bools | None = None) -> NDArray[np.float64]:
    """Means over blocks, about eight across the structure. area: of the structure, if the image is not its own."""
    rows, columns = window_of(image if area is None else area)
    block = max(2, min(rows.stop - rows.start, columns.stop - columns.start) // 8)
    padded = np.pad(image, [(0, -side % block) for side in image.shape], mode="edge")
    coarse = padded.reshape(padded.shape[0] // block, block, -1, block).mean(axis=(1, 3))
    found: NDArray[np.float64] = coarse.repeat(block, 0).repeat(block, 1)[: image.shape[0], : image.shape[1]]
    return found


def picture_of(one: Slice, example: Bools) -> Image.Image:
    """The neighbourhood of target and example, enlarged, with both outlines, as people see slices."""
    both = one.area | example
    rows, columns = window_of(both)
    y0, x0, y1, x1 = rows.start, columns.start, rows.stop, columns.stop
    margin = max(3, round(0.15 * max(y1 - y0, x1 - x0)))
    _, y0, x0, _, y1, x1 = grow((0, y0, x0, 1, y1, x1), (0, margin, margin), (1, *both.shape))
    cut = [each[y0:y1, x0:x1] for each in (one.picture, one.area, example)]
    tall, wide = (y1 - y0) * one.aspect, float(x1 - x0)
    size = round(SIDE * wide / max(tall, wide)), round(SIDE * tall / max(tall, wide))
    picture, *areas = (each[one.turned] for each in cut)
    drawn = np.array(Image.fromarray(np.ascontiguousarray(picture)).resize(size, Image.Resampling.BILINEAR))
    for area, colour, thick in zip(areas, (TARGET, ANSWER), (1, 2), strict=True):
        large = np.array(Image.fromarray(np.ascontiguousarray(area)).resize(size, Image.Resampling.NEAREST))
        drawn[_edge(large, thick)] = colour
    return Image.fromarray(drawn)


def _edge(area: Bools, thick: int) -> Bools:
    from scipy.ndimage import binary_erosion

    found: Bools = area & ~binary_erosion(area, iterations=thick)
    return found
