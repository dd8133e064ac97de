"""What the pixels of a mask in a picture file say: a number each, or a colour."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from intrabench.errors import IntraBenchError, several, some
from intrabench.files.pictures import DEEP
from intrabench.mask import Array

if TYPE_CHECKING:
    from PIL.Image import Image

_GREY = 8
"""Channels that differ by no more, as after compression, are grey."""


def numbers_of(picture: Image, path: Path, cut: bool = False, remedy: str = "save one number per pixel") -> Array:
    """The number of each pixel of an open mask, ``(y, x)``: the index of its palette, or its grey level.

    Colours that are all grey are grey levels. cut: a threshold follows, so only what is light or dark counts, also in a
    palette, and compression does no harm. remedy: what to do with colours, for the message.

    Raises:
        IntraBenchError: pixels have no such number.
    """
    if not cut:
        check_exact(picture, path)
    if len(picture.getbands()) == 1 and not (cut and picture.mode == "P"):
        _check_palette(picture, path)
        return np.array(picture)
    check_colours(picture, path)
    colours = np.array(picture.convert("RGB"), dtype=np.int16)
    if np.ptp(colours, axis=2).max(initial=0) <= (_GREY if cut else 0):
        return colours[..., 0].astype(np.uint8)
    if cut:
        remedy = "threshold in dataset.toml does not say which is inside: save it in greyscale"
    found = [colour_name(*one) for one in np.unique(colours.reshape(-1, 3), axis=0).tolist() if any(one)]
    raise IntraBenchError(
        f"{path} has no number per pixel, but {several(len(found), 'colour')} besides black ({some(found)}); {remedy}"
    )


def check_exact(picture: Image, path: Path) -> None:
    """Refuse an open mask that was compressed as a photograph.

    Raises:
        IntraBenchError: it was.
    """
    if picture.format in ("JPEG", "MPO") or picture.info.get("compression") == "jpeg":
        raise IntraBenchError(
            f"{path} is compressed as JPEG, which changes the numbers and colours of a mask; save it as PNG, or write "
            "threshold = 0.5 in dataset.toml if it is black and white"
        )


def check_colours(picture: Image, path: Path) -> None:
    """Refuse an open mask whose colours are cut to 8 bits, or whose transparency shows something else than they do.

    Raises:
        IntraBenchError: it is one.
    """
    if picture.info.get(DEEP):
        raise IntraBenchError(f"{path} has 16 bits per colour, expected 8; save 8 bits per colour, or 16 bits of grey")
    if not picture.has_transparency_data:
        return
    pixels = np.asarray(picture.convert("RGBA"))
    shown = pixels[..., 3] > 0
    differs = not shown.all() and not np.array_equal(shown, pixels[..., :3].any(axis=2))
    if differs or len(np.unique(pixels[..., 3])) > 2:
        raise IntraBenchError(
            f"{path} has transparent pixels that are not its black ones, so what is an object is not clear; save it "
            "without transparency"
        )


def _check_palette(picture: Image, path: Path) -> None:
    """Refuse a palette in which black, the background, is not 0, as programs make it that count colours."""
    palette = (picture.getpalette() or []) if picture.mode == "P" else []
    if not any(palette[:3]):
        return
    black = [one for one in np.unique(np.asarray(picture)).tolist() if not any(palette[3 * one : 3 * one + 3])]
    if black:
        raise IntraBenchError(
            f"{path} has a palette in which 0 is {colour_name(*palette[:3])} and {black[0]} is black, so which of them "
            'is background is not clear; name its colours under [labels] in dataset.toml, such as "#ff0000" = "liver"'
        )


def colour_name(red: int, green: int, blue: int) -> str:
    """A colour of 8 bits per channel as ``#ff0000``."""
    return f"#{red:02x}{green:02x}{blue:02x}"
