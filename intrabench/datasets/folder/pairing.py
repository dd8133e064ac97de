"""Images and their labels, paired by file name."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from intrabench.datasets.convert.dicom_series import files_below
from intrabench.files.headers import files_of
from intrabench.files.label_names import table_beside
from intrabench.files.names import check_utf8, one_line
from intrabench.files.pictures import SUFFIXES as PICTURES

VOLUMES = (".nii", ".nii.gz", ".mgz", ".mgh", ".hdr", ".nrrd", ".nhdr", ".mha", ".mhd")
NPZ = ".npz"
DRAWN = "_human_segmentations"
"""How a file beside a photograph ends, if it holds what several people drew."""
_ENDINGS = sorted((*VOLUMES, NPZ, *PICTURES), key=len, reverse=True)
_SEG = r"seg|segmentation|label|labels|labelmap|mask|gt"
_LABEL = re.compile(rf"[-_. ]({_SEG})$", re.IGNORECASE)
_NAMELESS = re.compile(rf"({_SEG})(_\d+)?", re.IGNORECASE)
"""What is left of the names of labels that do not say whose they are, as 3D Slicer's Segmentation_1.seg.nrrd."""
_ADDED = re.compile(rf"([-_. ](img|image|scan|ct|mr|0000|{_SEG}))+$", re.IGNORECASE)


@dataclass(frozen=True)
class Pair:
    """The files of a case. channel: the image's channel to use. problem: one sentence if the case cannot be used.

    image: a file, or a folder with one DICOM series. label: a file with all labels. structures: files of one structure
    each, with its name. patient: whose image it is, if it is not named as the case. time, series: as in `Layout`.
    """

    image: Path | None
    label: Path | None
    channel: int = 0
    problem: str = ""
    patient: str = ""
    structures: tuple[tuple[str, Path], ...] = ()
    time: str = ""
    series: str = ""

    @property
    def labels(self) -> tuple[tuple[str, Path], ...]:
        """The files of what was drawn, each with the name of its structure, empty for a file with all labels."""
        return (*([("", self.label)] if self.label else []), *self.structures)

    @cached_property
    def files(self) -> tuple[Path, ...]:
        """All files, each once, also those with voxels of a header or names of values; of a folder `files_below`."""
        image = [self.image] if self.image else []
        if self.image and self.image.is_dir():
            image = sorted(files_below(self.image))
        named = (*image, *(path for _, path in self.labels))
        table = table_beside(self.label) if self.label and ending(self.label) in VOLUMES else None
        return tuple(dict.fromkeys((*(file for path in named for file in files_of(path)), *([table] if table else []))))


def files_in(folder: Path, endings: Iterable[str] = _ENDINGS) -> list[Path]:
    """The files in a folder with one of these endings, by default of all known formats, sorted, without hidden ones."""
    wanted = tuple(endings)
    found = (path for path in folder.iterdir() if path.name.lower().endswith(wanted) and path.name[0] != ".")
    return sorted(path for path in found if not path.is_dir())


def is_folder(entry: os.DirEntry[str]) -> bool:
    """Whether an entry is a folder or a link to one; a link to nothing is a file whose content was not fetched."""
    return os.path.isdir(entry) if entry.is_symlink() else entry.is_dir()


def ending(path: Path) -> str:
    """The file's suffix if this program can read it, such as ``.nii.gz``; else an empty string."""
    return next((suffix for suffix in _ENDINGS if path.name.lower().endswith(suffix)), "")


def stem(path: Path) -> str:
    """The name of a file without its suffix; bytes that are not UTF-8, which no result can hold, as Python writes them.

    `check_name` refuses those once their case is loaded, so that the other cases remain.
    """
    return path.name[: len(path.name) - len(ending(path))].encode(errors="backslashreplace").decode()


def labelled(path: Path, label: Path) -> list[str]:
    """What tells labels apart that were given with images, as several people may have drawn some: folder and name.

    The folder only if it is not that of the images.
    """
    path, label = (Path(os.path.abspath(one)) for one in (path, label))
    return [*([label.parent.name] if label.parent != path.parent else []), stem(label)]


def check_name(path: Path) -> None:
    """Refuse a file whose name is not UTF-8.

    Raises:
        IntraBenchError: it is not.
    """
    check_utf8(path.name, f"{one_line(str(path.parent))} has a file whose name cannot be stored:")


def is_label(path: Path) -> bool:
    """Whether the name of a file says that it holds labels."""
    return bool(_LABEL.search(stem(path))) or is_nameless(path)


def parted(files: Iterable[Path]) -> tuple[list[Path], list[Path]]:
    """Images, and the files whose names say that they hold labels."""
    images, labels = list[Path](), list[Path]()
    for path in files:
        (labels if is_label(path) else images).append(path)
    return images, labels


def is_nameless(path: Path) -> bool:
    """Whether the name of a file says that it holds labels, but not whose."""
    return bool(_NAMELESS.fullmatch(case_of(path)))


def case_of(path: Path) -> str:
    """The name of a file without endings such as _img and _seg."""
    return _ADDED.sub("", stem(path)) or stem(path)


def pair_up(images: Iterable[Path], labels: Iterable[Path], channel: int = 0) -> dict[str, Pair]:
    """Pairs by case, sorted. Names must be equal, or equal without endings such as _img and _seg if only one fits.

    A file without a partner becomes a case with a `problem`.
    """
    grouped: dict[str, tuple[list[Path], list[Path]]] = {}
    for number, files in enumerate((images, labels)):
        for path in files:
            grouped.setdefault(case_of(path), ([], []))[number].append(path)
    pairs = {}
    for case, group in grouped.items():
        pairs.update(_pairs(case, *group, channel))
    return dict(sorted(pairs.items()))


def _pairs(case: str, images: list[Path], labels: list[Path], channel: int) -> dict[str, Pair]:
    by_stem = {stem(label): label for label in labels}
    if sorted(map(stem, images)) == sorted(map(stem, labels)) and len(by_stem) == len(labels):
        return {stem(image): Pair(image, by_stem[stem(image)], channel) for image in images}
    if len(images) == len(labels) == 1:
        return {case: Pair(images[0], labels[0], channel)}
    if len(images) + len(labels) > 1:
        names = ", ".join(str(path) for path in (*images, *labels))
        problem = f"{names} could all belong to case {case}; keep one image and one label with the same name"
    elif images:
        problem = f"{images[0]} has no label of the same name; add one, or remove the image"
    else:
        problem = f"{labels[0]} has no image of the same name; add one, or remove the label"
    image, label = (files[0] if files else None for files in (images, labels))
    return {case: Pair(image, label, channel, problem)}
