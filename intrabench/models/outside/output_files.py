"""Files that a program left: found without leaving their folder, and believed only as far as they can be true."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from intrabench.errors import IntraBenchError, in_words, legible
from intrabench.files.grid import Grid, OtherGrid, on_same_grid
from intrabench.files.headers import Arrays, image_shape
from intrabench.mask import Index
from intrabench.volume import read_grid, read_labels

T = TypeVar("T")
Labels = NDArray[Any]
IMAGES = (".mha", ".nii.gz", ".nii", ".nrrd")
"""Endings of images whose voxels lie in the same file."""


class WrongAnswer(IntraBenchError):
    """What a program left cannot be an answer."""


def inside(folder: Path, path: Path) -> Path:
    """The path of a regular file in a folder of a program.

    Raises:
        WrongAnswer: it is not there, or is a link, which may lead anywhere, or no file.
    """
    shown = path.relative_to(folder)
    for part in [*reversed(shown.parents), shown][1:]:
        try:
            mode = (folder / part).lstat().st_mode
        except OSError:
            raise WrongAnswer(f"it wrote no {shown}{_instead(folder)}") from None
        expected = stat.S_ISREG(mode) if part == shown else stat.S_ISDIR(mode)
        if not expected:
            what = "a link" if stat.S_ISLNK(mode) else "a folder" if stat.S_ISDIR(mode) else "no file"
            raise WrongAnswer(f"{part} that it wrote is {what}, expected a file in its own folder")
    return path


def read_segs(folder: Path, name: str, shape: Index) -> Labels:
    """The array ``segs`` ``(z, y, x)`` of an npz file in a folder; never a pickle.

    Raises:
        WrongAnswer: there is none, of another shape or of something else than whole numbers.
    """
    path = inside(folder, folder / name)
    return _read(name, lambda: segs_of(path, name, shape))


def segs_of(path: Path, name: str, shape: Index) -> Labels:
    """The array ``segs`` of a file; name: as messages call it."""
    with Arrays(path) as arrays:
        if "segs" not in arrays:
            raise WrongAnswer(f"{name} has no array segs, only {legible(', '.join(sorted(arrays)))[:200] or 'nothing'}")
        found, dtype = arrays.announced("segs")
        if found != shape:
            raise OtherGrid(f"segs in {name} have the shape {found}, expected {shape} as of the image")
        if dtype.kind not in "biu":
            raise WrongAnswer(f"segs in {name} hold {dtype}, expected whole numbers such as uint8")
        segs = arrays["segs"]
    return segs.view(np.uint8) if segs.dtype == bool else segs


def read_one_image(folder: Path, below: str, grid: Grid) -> Labels:
    """The one image in a folder below that of the program, as a canonical label map ``(z, y, x)`` on `grid`.

    Raises:
        WrongAnswer: there is none or several, on another grid, or with values that are not whole numbers.
    """
    place = folder
    for part in Path(below).parts:
        place = place / part
        if place.is_symlink():
            raise WrongAnswer(f"{place.relative_to(folder)} that it wrote is a link, expected a folder")
    names = sorted(os.listdir(place)) if place.is_dir() else []
    images = [name for name in names if name.lower().endswith(IMAGES)]
    if len(images) != 1:
        wrote = f"{len(images)} images into {below}, expected one" if images else f"no image into {below}"
        raise WrongAnswer(f"it wrote {wrote}{_instead(folder) if not images else ''}")
    path = inside(folder, place / images[0])
    name = f"{below}/{images[0]}"
    return _read(name, lambda: image_on(path, grid, f"{name} that it wrote"))


def image_on(path: Path, grid: Grid, name: str = "") -> Labels:
    """An image as a canonical label map; its grid is looked at before it is read. name: as messages call it.

    Raises:
        OtherGrid: it does not lie on the grid of the scan.
        IntraBenchError: it names other files, or has values that are not whole numbers.
    """
    check_on(path, grid, name)
    return read_labels(path, grid)


def check_on(path: Path, grid: Grid, name: str = "") -> tuple[str, ...]:
    """Refuse an image that does not lie on a grid, by its header, as `image_on`; a note if it is a little off."""
    shape = image_shape(path)
    if shape != grid.shape:
        raise OtherGrid(f"{name or path} has the size {shape} (x, y, z), expected {grid.shape} as of the scan")
    return on_same_grid(name or str(path), read_grid(path), grid, "resample it to the scan by nearest neighbour")


def in_range(labels: Labels, most: int, name: str) -> Labels:
    """A label map with the labels 0 to `most`.

    Raises:
        WrongAnswer: it has others.
    """
    low, high = (int(labels.min()), int(labels.max())) if labels.size else (0, 0)
    if low < 0 or high > most:
        wrong = low if low < 0 else high
        raise WrongAnswer(f"{name} has the label {wrong}, expected 0 to {most}")
    return labels


def _read(name: str, read: Callable[[], T]) -> T:
    try:
        return read()
    except WrongAnswer:
        raise
    except OtherGrid as error:
        raise WrongAnswer(str(error)) from error
    except Exception as error:  # zip, zlib, numpy and readers of images raise different exceptions
        raise WrongAnswer(f"{name} that it wrote cannot be read ({in_words(error)[:300]})") from error


def _instead(folder: Path) -> str:
    """What else there is, for messages."""
    found = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if not path.name.startswith("."))
    return f", only {legible(', '.join(found[:3]))[:200]}" if found else ""
