"""Natural images: a picture is a volume of one slice, its mask a map of numbers on the same pixels.

The picture is the canonical slice as it is: y = 0 is the row on top, x = 0 the column on the left. There is no patient
whose Superior, Anterior and Right these could be. A pixel counts as 1 mm, so that distances in mm are in pixels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from intrabench.datasets.convert.photo_size import resize_ids, resize_photo, within
from intrabench.errors import IntraBenchError
from intrabench.mask import Mask
from intrabench.target import Target, targets_of
from intrabench.volume import Array, Volume

if TYPE_CHECKING:
    from PIL.Image import Image

Coding = Literal["any", "channel0", "packed", "palette"]
"""How the pixels of a mask tell objects. any: 1 where any channel is above 0. channel0: by the blue channel, 1 above
128, ignored at 128. packed: the number is red + 256 green + 65536 blue. palette: the number is the entry in the
palette, or the grey value. Source of the first three: the loaders of RClicks, where OpenCV reads blue first."""

IGNORED = -1
"""The number of pixels that no metric counts."""


def read_photo(path: Path) -> Volume:
    """A picture as ``(1, y, x, 3)``, RGB of 8 bits; of 16 or 32 bits of grey, as ``(1, y, x)`` in these.

    Greys and palettes become RGB, what is transparent lies on white, and the orientation that a camera noted is
    applied; colour profiles are not.

    Raises:
        IntraBenchError: missing, truncated or no picture.
    """
    return Volume.from_canonical(_colours(_opened(path))[None])


def read_ids(path: Path, coding: Coding, void: int | None = None) -> Array:
    """The numbers of the objects in a mask, ``(y, x)``: 0 is background and -1 ignored.

    void: the number that means ignored, for codings that do not say it themselves.

    Raises:
        IntraBenchError: missing, truncated, no picture, or for ``palette`` not one exact number per pixel.
    """
    if coding not in _CODINGS:
        raise IntraBenchError(f"there is no coding {coding!r} of masks; choose from {', '.join(_CODINGS)}")
    picture = _opened(path)
    if coding == "palette" and (picture.format == "JPEG" or len(picture.getbands()) > 1 or picture.mode == "F"):
        raise IntraBenchError(
            f"{path} has not one exact number per pixel ({picture.format}, {picture.mode}); save the mask as a PNG "
            "with a palette or in grey"
        )
    ids = _CODINGS[coding](picture)
    if void is not None:
        ids[ids == void] = IGNORED
    return ids


def photo_targets(ids: Array, case: str, volume: Volume, label: str = "object") -> list[Target]:
    """One target for each number above 0 in `ids` ``(y, x)``, which is its instance; -1 is ignored around all."""
    values = np.unique(ids[ids > 0])
    ranks = np.searchsorted(values, ids, side="right")  # for boxes are sought of all numbers up to the largest
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
    """A picture and the objects in its mask, both made smaller where a side is longer than `longest` pixels.

    Raises:
        IntraBenchError: either cannot be read, they differ in size, or there is no object.
    """
    picture, ids = _colours(_opened(image)), read_ids(mask, coding, void)
    if ids.shape != picture.shape[:2]:
        raise IntraBenchError(
            f"{mask} has {ids.shape[0]} x {ids.shape[1]} pixels where its picture {image.name} has "
            f"{picture.shape[0]} x {picture.shape[1]}; export both in one size"
        )
    shape = within(ids.shape, longest)
    if shape != ids.shape:
        picture, ids = resize_photo(picture, shape), resize_ids(ids, shape)
    volume = Volume.from_canonical(picture[None])
    targets = photo_targets(ids, case, volume, label)
    if not targets:
        raise IntraBenchError(
            f"{mask} shows no object, so case {case} has no target; leave out the picture and its mask"
        )
    return volume, targets


def _opened(path: Path) -> Image:
    """A decoded picture, upright."""
    from PIL import Image, ImageOps

    if not path.exists():
        raise IntraBenchError(f"{path} does not exist; check the path or fetch the data set again")
    try:
        with Image.open(path) as picture:
            ImageOps.exif_transpose(picture, in_place=True)
        return picture
    except Exception as error:  # every decoder has its own exceptions for broken files
        raise IntraBenchError(
            f"{path} cannot be read: it is truncated or not a picture ({error}); fetch or export it again"
        ) from error


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
