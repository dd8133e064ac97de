"""Natural images: a picture is a volume of one slice, and its mask is a label map on the same pixels.

The picture is used as the canonical slice: y = 0 is the top row, x = 0 the left column. Superior, Anterior and Right
have no meaning here. A pixel counts as 1 mm, so distances in mm are distances in pixels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from intrabench.datasets.convert.photo_size import resize_ids, resize_photo, within
from intrabench.errors import IntraBenchError
from intrabench.files.pictures import notes_on, open_picture
from intrabench.mask import Array, Mask
from intrabench.target import Target, targets_of
from intrabench.volume import Volume

if TYPE_CHECKING:
    from PIL.Image import Image

Coding = Literal["any", "channel0", "packed", "palette"]
"""How the pixels of a mask encode objects. any: 1 if any channel is above 0. channel0: blue channel, 1 above 128,
ignored at 128. packed: the number is red + 256 green + 65536 blue. palette: the number is the palette index or the
grey value. Source of the first three: the loaders of RClicks, where OpenCV reads blue first."""

SUFFIXES = frozenset({".bmp", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp"})
IGNORED = -1
"""The label of ignored pixels."""
VOID = 255
"""The number of ignored pixels in masks of DAVIS and PASCAL VOC."""
VOID_NOTE = f"{VOID} in masks is void, and is ignored"
_GREY = 8
"""Channels that differ by no more, as after compression, are grey."""
_VOID_COLOUR = (224, 224, 192)
"""Its colour in their palette."""


def read_photo(path: Path) -> Volume:
    """A picture as 8-bit RGB ``(1, y, x, 3)``; 16- or 32-bit grey keeps its type as ``(1, y, x)``.

    Grey and palette pictures become RGB, transparent pixels get a white background, and the camera's orientation tag is
    applied. Colour profiles are ignored.

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


def read_ids(path: Path, coding: Coding, void: int | None = None) -> Array:
    """The numbers of the objects in a mask, ``(y, x)``: 0 is background and -1 ignored.

    void: the number of ignored pixels, for codings that do not define it.

    Raises:
        IntraBenchError: the file is missing, truncated or not a picture, or ``palette`` finds no exact numbers.
    """
    if coding not in _CODINGS:
        raise IntraBenchError(f"there is no mask coding {coding!r}; choose from {', '.join(_CODINGS)}")
    picture = open_picture(path)
    if coding == "palette" and (
        picture.format in ("JPEG", "MPO") or len(picture.getbands()) > 1 or picture.mode == "F"
    ):
        raise IntraBenchError(
            f"{path} does not have one exact number per pixel ({picture.format}, {picture.mode}); save it as a PNG "
            "with a palette or in greyscale, or write threshold = 0.5 in dataset.toml if it is black and white"
        )
    ids = _CODINGS[coding](picture)
    if void is not None:
        ids[ids == void] = IGNORED
    return ids


def read_grey(path: Path) -> Array:
    """The grey levels ``(y, x)`` of a mask, which may be stored in colours that are all grey.

    Raises:
        IntraBenchError: the file is missing, truncated or not a picture, or has colours or transparent pixels.
    """
    picture = open_picture(path)
    if picture.mode in ("1", "L") or picture.mode[0] in "IF":
        return np.array(picture)
    colours = np.array(picture.convert("RGB"), dtype=np.int16)
    if picture.has_transparency_data or np.ptp(colours, axis=2).max(initial=0) > _GREY:
        raise IntraBenchError(
            f"{path} has colours or transparent pixels ({picture.mode}), so threshold in dataset.toml does not say "
            "what is inside; save it in greyscale"
        )
    return colours[..., 0].astype(np.uint8)


def has_void(path: Path, ids: Array) -> bool:
    """Whether 255 in a mask of the coding ``palette`` is void, as in DAVIS and PASCAL VOC, and not an object.

    It is where the palette is theirs, or where it stands beside objects that are numbered from 1. A lone 255 is the
    white of a mask in black and white.
    """
    numbers = set(np.unique(ids).tolist())
    if VOID not in numbers:
        return False
    palette = open_picture(path).getpalette() or []
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
    if ids.shape != picture.shape[:2]:
        raise IntraBenchError(
            f"{mask} has {ids.shape[0]} x {ids.shape[1]} pixels, but its picture {image.name} has "
            f"{picture.shape[0]} x {picture.shape[1]}; export both in the same size"
        )
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


def _palette(picture: Image) -> Array:
    return np.array(picture, dtype=np.int32)


_CODINGS: dict[Coding, Callable[[Image], Array]] = {
    "any": _any,
    "channel0": _channel0,
    "packed": _packed,
    "palette": _palette,
}
