"""Natural images: a picture is a volume of one slice, and its mask is a label map on the same pixels.

The picture is used as the canonical slice: y = 0 is the top row, x = 0 the left column. Superior, Anterior and Right
have no meaning here. A pixel counts as 1 mm, so distances in mm are distances in pixels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from intrabench.datasets.convert.label_map import segments_of
from intrabench.datasets.convert.photo_size import resize_ids, resize_photo, within
from intrabench.datasets.convert.segments import Segment
from intrabench.errors import IntraBenchError
from intrabench.files.label_values import WHOLE, LabelValues, check_hard, whole_numbers
from intrabench.files.mask_pictures import check_colours, check_exact, colour_name, numbers_of
from intrabench.files.pictures import TURNED, notes_on, open_picture
from intrabench.mask import Array, Mask
from intrabench.target import Target, targets_of
from intrabench.volume import Volume

if TYPE_CHECKING:
    from PIL.Image import Image

Coding = Literal["any", "channel0", "packed", "palette"]
"""How the pixels of a mask encode objects. any: 1 if any channel is above 0. channel0: blue channel, 1 above 128,
ignored at 128. packed: the number is red + 256 green + 65536 blue. palette: the number is the palette index or the
grey value. Source of the first three: the loaders of RClicks, where OpenCV reads blue first."""

IGNORED = -1
"""The label of ignored pixels."""
VOID = 255
"""The number of ignored pixels in masks of DAVIS and PASCAL VOC."""
VOID_NOTE = f"{VOID} in masks is void, and is ignored"
_MOST = 256
"""Colours in a mask."""
_COLOURS = (
    'name them under [labels] in dataset.toml, such as "#ff0000" = "liver", or write coding = "packed" (each is an '
    'object) or "any" (all are one object)'
)
"""What to do with colours."""
_VOID_COLOUR = (224, 224, 192)
"""Its colour in their palette."""


def read_photo(path: Path) -> Volume:
    """A picture as 8-bit RGB ``(1, y, x, 3)``; 16- or 32-bit grey keeps its type as ``(1, y, x)``.

    Grey and palette pictures become RGB, transparent pixels get a white background, and the camera's orientation tag is
    applied. Colour profiles are not.

    Raises:
        IntraBenchError: the file is missing, truncated, not a picture, or holds several.
    """
    picture = open_picture(path)
    return replace(Volume.from_canonical(_colours(picture)[None]), notes=notes_on(picture))


def as_photo(array: Array) -> Volume:
    """An array ``(y, x)`` or ``(y, x, 3)`` as `read_photo` gives it: 8-bit grey becomes RGB."""
    if array.ndim == 2 and array.dtype == np.uint8:
        array = np.repeat(array[..., None], 3, axis=2)
    return replace(Volume.from_canonical(array[None]), modality="natural RGB")


@dataclass(frozen=True)
class Pixels:
    """How the pixels of masks become objects.

    coding: how they encode them. values: which numbers of the coding ``palette`` are labels. void: 255 is void where
    `has_void` says so. colours: instead of `coding`, each colour but black is an object, called as `colour_name` does.
    """

    coding: Coding = "palette"
    values: LabelValues = WHOLE
    void: bool = True
    colours: bool = False


PIXELS = Pixels()
"""With a number each."""


def read_objects(
    masks: Mapping[Path, Path], size: tuple[int, ...], pixels: Pixels
) -> tuple[list[Segment], Mask, tuple[str, ...]]:
    """The objects in masks, ``(mask, y, x)``, the pixels that are ignored, and notes.

    masks: each with its picture, for messages. size: of all, ``(y, x)``.

    Raises:
        IntraBenchError: a mask cannot be read or has another size, or its pixels do not say what is an object.
    """
    read, notes = [], []
    by_number = pixels.coding == "palette" and not pixels.colours
    cut = by_number and isinstance(pixels.values.threshold, float)
    for path, photo in masks.items():
        picture = open_picture(path)
        if by_number:
            read.append(numbers_of(picture, path, cut, _COLOURS))
        else:
            check_exact(picture, path)
            check_colours(picture, path)
            read.append(_CODINGS["packed" if pixels.colours else pixels.coding](picture))
        check_size(path, read[-1].shape, photo, size)
        notes += ["a mask is turned upright, as its own tag says"] if picture.info.get(TURNED) else []
    ids, name = np.stack(read), str(path if len(masks) == 1 else path.parent)
    if by_number:
        ids = pixels.values.labels(ids, name).astype(np.int32)
        if pixels.void and not cut and has_void(picture, ids):
            ids[ids == VOID] = IGNORED
            notes.append(VOID_NOTE)
    elif pixels.values.threshold == "refuse":
        ranks = np.unique(ids, return_inverse=True)[1].reshape(ids.shape)
        check_hard(ranks, name, 'save it without smooth borders, or write threshold = "none" in dataset.toml')
    found = segments_of(ids.clip(0), "object")
    if pixels.colours:
        if len(found) > _MOST:
            raise IntraBenchError(f"{name} has {len(found)} colours, more than a mask has; check that it is one")
        found = [replace(one, name=colour_name(*one.number.to_bytes(3, "little"))) for one in found]
    return found, Mask.of(ids == IGNORED), tuple(dict.fromkeys(notes))


def read_ids(path: Path, coding: Coding, void: int | None = None) -> Array:
    """The numbers of the objects in a mask, ``(y, x)``: 0 is background and -1 ignored.

    void: the number of ignored pixels, for codings that do not define it.

    Raises:
        IntraBenchError: the file is missing, truncated or not a picture, or ``palette`` finds no exact numbers.
    """
    if coding not in _CODINGS:
        raise IntraBenchError(f"there is no mask coding {coding!r}; choose from {', '.join(_CODINGS)}")
    picture = open_picture(path)
    if coding == "palette":
        ids = whole_numbers(numbers_of(picture, path), str(path)).astype(np.int32)
    else:
        ids = _CODINGS[coding](picture)
    if void is not None:
        ids[ids == void] = IGNORED
    return ids


def check_size(mask: Path, size: tuple[int, ...], picture: Path, expected: tuple[int, ...]) -> None:
    """Refuse a mask whose size ``(y, x)`` is not that of its picture.

    Raises:
        IntraBenchError: it is not.
    """
    if size != expected:
        sideways = ", so one of them lies on its side" if size == expected[::-1] else ""
        raise IntraBenchError(
            f"{mask} has {size[0]} x {size[1]} pixels, but its picture {picture.name} has {expected[0]} x "
            f"{expected[1]}{sideways}; export both in the same size"
        )


def has_void(mask: Image, ids: Array) -> bool:
    """Whether 255 in masks of the coding ``palette`` is void, as in DAVIS and PASCAL VOC, and not an object.

    It is where the palette is theirs, or where it stands beside objects that are numbered from 1. A lone 255 is the
    white of a mask in black and white.
    """
    numbers = set(np.unique(ids).tolist())
    if VOID not in numbers:
        return False
    palette = mask.getpalette() or []
    coloured = tuple(palette[3 * VOID : 3 * VOID + 3]) == _VOID_COLOUR
    return coloured or (1 in numbers and VOID - 1 not in numbers)


def photo_targets(ids: Array, case: str, volume: Volume, label: str = "object") -> list[Target]:
    """One target per number above 0 in `ids` ``(y, x)``; the number is its instance; -1 is ignored by all."""
    values = np.unique(ids[ids > 0])
    ranks = np.searchsorted(values, ids, side="right")  # the search for boxes takes memory for all numbers
    names = {rank: (label, value) for rank, value in enumerate(values.tolist(), start=1)}
    ignore = Mask.of(ids[None] == IGNORED)
    found = targets_of(ranks[None], names, case, volume.spacing_mm)
    return [replace(target, ignore=ignore) for target in found]


def photo_case(
    case: str,
    image: Path,
    mask: Path,
    coding: Coding,
    *,
    void: int | None = None,
    label: str = "object",
    longest: int | None = None,
) -> tuple[Volume, list[Target]]:
    """A picture and the objects in its mask, both reduced if a side is longer than `longest` pixels.

    Raises:
        IntraBenchError: a file cannot be read, the sizes differ, or there is no object.
    """
    photo, ids = read_photo(image), read_ids(mask, coding, void)
    picture = photo.array[0]
    check_size(mask, ids.shape, image, picture.shape[:2])
    shape = within(ids.shape, longest)
    if shape != ids.shape:
        picture, ids = resize_photo(picture, shape), resize_ids(ids, shape)
    volume = replace(Volume.from_canonical(picture[None]), notes=photo.notes)
    targets = photo_targets(ids, case, volume, label)
    if not targets:
        raise IntraBenchError(
            f"{mask} contains no object, so case {case} has no target; leave out the picture and its mask"
        )
    return volume, targets


def _colours(picture: Image) -> Array:
    from PIL import Image

    if picture.mode[0] in "IF":  # one channel of more than 8 bits
        return np.array(picture)
    if picture.has_transparency_data:
        white = Image.new("RGBA", picture.size, "white")
        picture = Image.alpha_composite(white, picture.convert("RGBA"))
    return np.array(picture.convert("RGB"))


def _any(picture: Image) -> Array:
    return (np.asarray(picture.convert("RGB")).max(axis=2) > 0).astype(np.int32)


def _channel0(picture: Image) -> Array:
    blue = np.asarray(picture.convert("RGB"))[..., 2]
    return np.select([blue == 128, blue > 128], [IGNORED, 1], 0).astype(np.int32)


def _packed(picture: Image) -> Array:
    red, green, blue = (np.asarray(channel, dtype=np.int32) for channel in picture.convert("RGB").split())
    return red | green << 8 | blue << 16


_CODINGS: dict[Coding, Callable[[Image], Array]] = {
    "any": _any,
    "channel0": _channel0,
    "packed": _packed,
    "palette": np.array,
}
