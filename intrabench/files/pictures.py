"""Picture files: how many pictures one holds, and what is noted of them.

The pages of a TIFF file are the slices of a stack, if they are alike and have one number per pixel. Of a photograph
with more pictures behind it (MPO: thumbnails, depth, a second eye), the first is the photograph. Smaller versions that
a TIFF file marks as such do not count. Everything else, such as an animation, is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from intrabench.errors import IntraBenchError, reading, several
from intrabench.files.headers import check_memory

if TYPE_CHECKING:
    from PIL.Image import Image

SUFFIXES = frozenset({".bmp", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp"})
_DESCRIPTION, _SUBFILE, _ACROSS, _DOWN = 270, 254, 282, 283
"""Tags of TIFF: text, kind of the page, pixels per unit along x and along y."""
TURNED, DEEP = "turned", "deep"
"""The entries of `Image.info` that say whether `open_picture` turned it, and whether it took 8 of its 16 bits."""
_MM = {
    **dict.fromkeys(("nm", "nanometer", "nanometre"), 1e-6),
    **dict.fromkeys(("um", "µm", "\u03bcm", r"\u00b5m", "micron", "microns", "micrometer", "micrometre"), 1e-3),
    **dict.fromkeys(("mm", "millimeter", "millimetre"), 1.0),
    **dict.fromkeys(("cm", "centimeter", "centimetre"), 10.0),
    **dict.fromkeys(("inch", "in"), 25.4),
}


@dataclass(frozen=True, eq=False)
class Stack:
    """Pages ``(page, y, x)``, and the spacing along the same axes in mm if the file states all three."""

    array: NDArray[Any]
    spacing_mm: tuple[float, float, float] | None


def open_picture(path: Path) -> Image:
    """The one picture of a file, decoded and upright.

    Raises:
        IntraBenchError: the file is missing, truncated, not a picture, or holds several.
    """
    from PIL import Image, ImageOps
    from PIL.ExifTags import Base

    if not path.exists():
        raise IntraBenchError(f"{path} does not exist; check the path or fetch the data set again")
    with reading(path, "not a picture"), Image.open(path) as picture:
        check_single(picture, path)
        # before it is decoded, when Pillow forgets how colours are stored
        picture.info[DEEP] = picture.mode[0] not in "IF" and any(";16" in str(tile) for tile in picture.tile)
        picture.info[TURNED] = picture.getexif().get(Base.Orientation, 1) != 1
        ImageOps.exif_transpose(picture, in_place=True)
    return picture


def check_single(picture: Image, path: Path) -> None:
    """Refuse a file of several pictures; of an MPO file, the first is the photograph.

    Raises:
        IntraBenchError: it holds several.
    """
    count = _count(picture)
    if count == 1 or picture.format == "MPO":
        return
    what = "pages" if picture.format == "TIFF" else f"pictures ({picture.format}, an animation)"
    raise IntraBenchError(f"{path} has {count} {what}, expected one picture; save each as a file of its own")


def notes_on(picture: Image) -> tuple[str, ...]:
    """What was left out of the file of an open picture, or changed."""
    notes = []
    count = int(getattr(picture, "n_frames", 1)) if picture.format == "MPO" else 1
    if count > 1:
        notes.append(f"the file holds {count} pictures, of which the first is used")
    if picture.info.get(TURNED):
        notes.append("the picture is turned upright, as the tag of its camera says; masks have to be upright, too")
    if picture.has_transparency_data and np.asarray(picture.convert("RGBA"))[..., 3].min() < 255:
        notes.append("the picture has transparent pixels; what is behind them is white")
    if picture.info.get(DEEP):
        notes.append("the picture has 16 bits per colour, of which the upper 8 are used")
    if picture.mode in ("CMYK", "LAB"):
        notes.append(f"the colours of the picture ({picture.mode}) are converted to RGB")
    profile = picture.info.get("icc_profile") or b""
    if profile and b"srgb" not in profile.replace(b"\0", b"").lower():  # the name may be in UTF-16
        notes.append("the picture has a colour profile other than sRGB, which is not applied")
    return tuple(notes)


def pages(path: Path) -> int:
    """The number of pages of a TIFF file; 1 of all other files, and of those that cannot be read."""
    from PIL import Image

    if path.suffix.lower() not in (".tif", ".tiff"):
        return 1
    try:
        with Image.open(path) as picture:
            return _count(picture)
    except Exception:  # whoever reads the file reports what is wrong with it
        return 1


def read_stack(path: Path) -> Stack:
    """The pages of a TIFF file, with the spacing that ImageJ or OME wrote into it.

    Raises:
        IntraBenchError: the pages differ in size or kind, have colours, or are channels or time points.
    """
    from PIL import Image

    with reading(path, "not a picture"), Image.open(path) as picture:
        told = _told(picture)
        if more := [f"{told[key]} {key}" for key in ("channels", "frames") if int(told.get(key, 1)) > 1]:
            raise IntraBenchError(f"{path} has {' and '.join(more)}, expected one stack of slices; save one of them")
        numbers = _pages(picture)
        if int(told.get("images", len(numbers))) != len(numbers):
            raise IntraBenchError(
                f"{path} has {several(len(numbers), 'page')}, but its description says {told['images']}; export it "
                "again"
            )
        picture.seek(numbers[0])
        size, mode = picture.size, picture.mode
        if len(picture.getbands()) > 1:
            raise IntraBenchError(
                f"{path} has {len(numbers)} pages in colour ({mode}), expected one number per pixel; save grey values"
            )
        first = np.asarray(picture)
        check_memory(str(path), 2 * len(numbers) * first.nbytes)
        array = np.empty((len(numbers), *first.shape), dtype=first.dtype.newbyteorder("="))
        for index, number in enumerate(numbers):
            picture.seek(number)
            if (picture.size, picture.mode) != (size, mode):
                raise IntraBenchError(
                    f"{path} has {len(numbers)} pages, of which page 1 has {size[0]} x {size[1]} pixels ({mode}) and "
                    f"page {index + 1} has {picture.size[0]} x {picture.size[1]} ({picture.mode}); expected slices of "
                    "one size; save one picture per file, or one stack"
                )
            array[index] = np.asarray(picture)
        picture.seek(numbers[0])
        return Stack(array, _spacing(picture, told))


def _count(picture: Image) -> int:
    if picture.format == "TIFF":
        told = _told(picture).get("images", "1")  # ImageJ describes the first page only, if there is more than 4 GB
        return max(len(_pages(picture)), int(told) if told.isdecimal() else 1)
    return int(getattr(picture, "n_frames", 1))


def _pages(picture: Any) -> list[int]:
    """The pages of a TIFF file that are no smaller version of another one."""
    found = []
    for number in range(getattr(picture, "n_frames", 1)):
        picture.seek(number)
        if number == 0 or not int(picture.tag_v2.get(_SUBFILE, 0)) & 1:
            found.append(number)
    picture.seek(0)
    return found


def _told(picture: Any) -> Mapping[str, str]:
    """What ImageJ or OME wrote about a TIFF file, under the names of ImageJ; lengths of OME in mm."""
    text = str(getattr(picture, "tag_v2", {}).get(_DESCRIPTION, ""))
    if text.startswith("ImageJ="):
        return dict(line.strip().split("=", 1) for line in text.splitlines() if "=" in line)
    if "<OME" not in text or "<Pixels" not in text:
        return {}
    with suppress(UnicodeError):  # Pillow takes the text for Latin-1, and OME writes UTF-8
        text = text.encode("latin-1").decode("utf-8")
    found = dict(re.findall(r'\b((?:PhysicalSize|Size)[A-Z](?:Unit)?)="([^"]*)"', text[text.index("<Pixels") :]))
    told = {name: found[key] for name, key in {"channels": "SizeC", "frames": "SizeT"}.items() if key in found}
    for name, axis in {"spacing": "Z", "spacing_y": "Y", "spacing_x": "X"}.items():
        with suppress(KeyError, ValueError):
            mm = _MM[found.get(f"PhysicalSize{axis}Unit", "µm").lower()]
            told[name] = str(float(found[f"PhysicalSize{axis}"]) * mm)
    return {**told, "unit": "mm"}


def _spacing(picture: Any, told: Mapping[str, str]) -> tuple[float, float, float] | None:
    """The spacing along ``(z, y, x)`` in mm, if it is stated with a unit of length."""
    try:
        mm, z = _MM[told["unit"].strip().lower()], abs(float(told["spacing"]))
        if "ImageJ" in told:
            y, x = (1 / float(picture.tag_v2[tag]) for tag in (_DOWN, _ACROSS))
        else:
            y, x = float(told["spacing_y"]), float(told["spacing_x"])
    except (KeyError, ValueError, ZeroDivisionError):
        return None
    lengths = (z * mm, y * mm, x * mm)
    return lengths if all(0 < length < np.inf for length in lengths) else None
