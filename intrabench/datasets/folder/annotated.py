"""Folders of photographs that several people annotated, each a partition of the picture."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from intrabench.datasets.convert.annotations import FORMATS, annotated, read_annotations, segments_of
from intrabench.datasets.convert.photo import read_photo
from intrabench.datasets.folder.layout import Layout, LoadedCase, first_of
from intrabench.datasets.folder.pairing import DRAWN, files_in
from intrabench.datasets.folder.rules import Rules
from intrabench.errors import IntraBenchError
from intrabench.files.pictures import SUFFIXES as PICTURES
from intrabench.volume import check_intensities

PLACES = ("annotations", "groundTruth")


@dataclass(frozen=True, eq=False, kw_only=True)
class Annotated(Layout):
    """A folder of pictures, and another one with the annotations of each by its name.

    content: the picture of each case, and the files of its annotations. twice: another picture of the same name, of
    cases that have one.
    """

    content: Mapping[str, tuple[Path, Sequence[Path]]]
    twice: Mapping[str, Path] = field(default_factory=dict)

    @property
    def version(self) -> str:
        """That of the data set; since version 3 people are numbered as their own files are."""
        return "3"

    def complete(self) -> tuple[str, ...]:
        """The pictures with annotations."""
        return tuple(case for case, (_, drawn) in self.content.items() if drawn and case not in self.twice)

    def local_files(self, case: str) -> tuple[Path, ...]:
        """The picture and its annotations."""
        picture, annotations = self.content[case]
        return picture, *annotations

    def load(self, case: str, rules: Rules) -> LoadedCase:
        """The picture, and the segments of all people."""
        picture, annotations = self.content[case]
        if case in self.twice:
            raise IntraBenchError(f"{picture} and {self.twice[case]} are both case {case}; keep one of them")
        if not annotations:
            raise IntraBenchError(
                f"{picture} has no annotation; write one as {case}.png or {case}-1.png, or leave it out"
            )
        volume = read_photo(picture)
        check_intensities(volume.array, str(picture))
        maps = read_annotations({one: _first_person(one, case) for one in annotations}, volume.shape[1:])
        return LoadedCase(volume, segments_of(annotated(maps, case, volume)))


def annotated_photos(path: Path, label: Path | None, channel: int) -> Annotated | None:
    """A folder with ``images`` and ``annotations``: NAME.png, NAME-1.png, ..., or csv, npz, npy, or mat of BSDS500."""
    places = [label] if label else [path / name for name in PLACES]
    images = path / "images" if (path / "images").is_dir() else path
    where = [place for place in places if place.is_dir() and place.name in PLACES]
    pictures, kind = files_in(images, PICTURES), "annotated photographs"
    found: dict[tuple[Path, ...], Annotated] = {
        (place,): one for place in where if (one := _annotated(kind, pictures, files_in(place, {*FORMATS, *PICTURES})))
    }
    return first_of(path, found)


def photos_beside_annotations(path: Path, label: Path | None, channel: int) -> Annotated | None:
    """A folder with NAME.jpg beside NAME_human_segmentations.npz, or beside NAME.mat of BSDS500."""
    if label is not None or not path.is_dir():
        return None
    pictures, arrays = files_in(path, PICTURES), files_in(path, (".npy", ".npz"))
    named = [one for one in arrays if one.stem.endswith(DRAWN)]
    files = [*named, *files_in(path, (".mat",))]
    kind = "photographs beside annotations"
    found = _annotated(kind, pictures, files)
    if found is not None and any(drawn for _, drawn in found.content.values()):
        return found
    if not named:
        return None
    photo = named[0].stem.removesuffix(DRAWN)
    problem = f"{named[0]} has no photograph beside it; expected {photo}.jpg or {photo}.png"
    return Annotated(kind=kind, content={}, problem=problem)


def _annotated(kind: str, pictures: Sequence[Path], files: Sequence[Path]) -> Annotated | None:
    if not pictures or not files:
        return None
    names = [one.stem for one in pictures]
    found: dict[str, tuple[Path, Sequence[Path]]] = {
        one.stem: (one, [file for file in files if _is_of(file.stem, one.stem, names)]) for one in reversed(pictures)
    }
    twice = {one.stem: one for one in pictures if found[one.stem][0] != one}
    used = {file for _, drawn in found.values() for file in drawn}
    notes = tuple(f"{file} is of no picture; it is left out" for file in files if file not in used)
    stated = {"modality": "natural RGB"}
    return Annotated(kind=kind, content=dict(sorted(found.items())), twice=twice, stated=stated, notes=notes)


def _first_person(annotation: Path, name: str) -> int:
    """The number of the first person in an annotation: 1 in ``NAME``, and 1 more than its number in ``NAME-3``."""
    found = re.fullmatch(re.escape(name) + r"-(\d+)", annotation.stem)
    return 1 + int(found[1]) if found else 1


def _is_of(annotation: str, name: str, names: Sequence[str]) -> bool:
    """Whether an annotation is of a picture: ``NAME``, ``NAME_human_segmentations``, or ``NAME-3`` if no picture is."""
    if annotation in (name, f"{name}{DRAWN}"):
        return True
    return annotation not in names and re.fullmatch(re.escape(name) + r"-\d+", annotation) is not None
