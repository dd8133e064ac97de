"""Pictures and their masks in two folders, paired by the names of the files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from intrabench.errors import IntraBenchError

SUFFIXES = frozenset({".bmp", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp"})


def photo_folder_cases(images: Path, masks: Path) -> list[tuple[str, Path, Path]]:
    """``(case, picture, mask)`` of each picture in `images`, sorted; `masks` holds one of the same name for each.

    Raises:
        IntraBenchError: a folder is missing, there is no picture, or names that do not pair.
    """
    for folder in (images, masks):
        if not folder.is_dir():
            raise IntraBenchError(f"{folder} is no folder; give one folder with pictures and one with their masks")
    try:
        pairs = paired(*([path.as_posix() for path in folder.iterdir()] for folder in (images, masks)))
    except ValueError as error:
        raise IntraBenchError(f"{error}; add or rename the file that fits, or take this one away") from error
    if not pairs:
        raise IntraBenchError(f"{images} has no pictures ({', '.join(sorted(SUFFIXES))}); put them there")
    return [(case, Path(image), Path(mask)) for case, (image, mask) in pairs.items()]


def paired(images: Iterable[str], masks: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Picture and mask by case, which is the picture's name without its suffix, sorted by the picture's name.

    The mask has the same name but for the suffix; or, as RClicks pairs them, the picture's name up to its first dot.
    Hidden files and files that are no pictures do not count.

    Raises:
        ValueError: one without the other, or two of the same name, in words that name them.
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
