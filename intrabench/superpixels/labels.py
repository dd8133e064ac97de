"""Superpixels that any other program made: label maps in a folder."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from numpy.typing import NDArray

from intrabench.errors import IntraBenchError
from intrabench.files.label_files import READERS, read_label_file
from intrabench.specs.specs import Reach
from intrabench.superpixels.base import Picture, Superpixels
from intrabench.volume import read_labels


@dataclass(frozen=True)
class Labels(Superpixels):
    """Label maps of a folder, one file per case: CASE.png, CASE.csv, CASE.npz, CASE.npy, CASE.nii.gz or another scan.

    With a folder for each number of segments, such as 400/CASE.png, that number chooses it. NIfTI and other scans lie
    on the grid of the image; in the other files an array is ``(y, x)``, for volumes ``(z, y, x)`` with z upwards, y to
    the front and x to the right, as in masks that IntraBench exports.
    """

    name = "labels"

    folder: Annotated[Path, Reach("read")]

    def segment(self, picture: Picture, segments: int) -> NDArray[Any]:
        """The labels of the case."""
        case = picture.volume.case
        if not case:
            raise IntraBenchError(
                f"{self.name} needs an image of a data set, whose case names the file in {self.folder}"
            )
        within = self.folder / str(segments)
        path = _file_of(case, within if within.is_dir() else self.folder)
        if path.suffix.lower() not in READERS:
            return read_labels(path, picture.volume.grid)
        found = read_label_file(path)
        return found[None] if found.ndim == 2 else found


def _file_of(case: str, folder: Path) -> Path:
    """The one file of a case."""
    if not folder.is_dir():
        raise IntraBenchError(f"labels:folder={folder} is no folder; give one with a label map for each case")
    name = re.sub(r"[^\w.-]", "_", case)
    found = sorted({path for stem in (case, name) for path in folder.glob(f"{_literal(stem)}.*") if path.is_file()})
    if len(found) == 1:
        return found[0]
    several = f"{len(found)} files, {', '.join(path.name for path in found)}" if found else "no file"
    raise IntraBenchError(f"{folder} has {several} for case {case}; expected one label map, such as {name}.png")


def _literal(text: str) -> str:
    return re.sub(r"([*?\[])", r"[\1]", text)
