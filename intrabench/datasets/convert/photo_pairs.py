"""Pictures and their masks, paired by file name."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath

SUFFIXES = frozenset({".bmp", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp"})


def paired(images: Iterable[str], masks: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Picture and mask by case, which is the picture's name without its suffix, sorted by the picture's name.

    The mask has the same name except for the suffix or, as in RClicks, the picture's name up to its first dot.
    Hidden files and files other than pictures are ignored.

    Raises:
        ValueError: a picture or a mask has no partner, or two files have the same name; the message names them.
    """
    pictures, left = _by_stem(images), _by_stem(masks)
    pairs = {}
    for case, image in sorted(pictures.items(), key=lambda item: item[1]):
        mask = left.pop(case, None) or left.pop(case.partition(".")[0], None)
        if mask is None:
            raise ValueError(f"the picture {image} has no mask of the same name")
        pairs[case] = image, mask
    for mask in left.values():
        raise ValueError(f"the mask {mask} has no picture of the same name")
    return pairs


def _by_stem(names: Iterable[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in names:
        path = PurePosixPath(name)
        if path.suffix.lower() in SUFFIXES and not path.name.startswith("."):
            if path.stem in found:
                raise ValueError(f"{name} and {found[path.stem]} have the same name")
            found[path.stem] = name
    return found
