"""Folders of DICOM files: image series with the segmentations and structure sets drawn on them."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from intrabench.datasets.convert.dicom_acquisition import one_acquisition
from intrabench.datasets.convert.dicom_file import read_dataset
from intrabench.datasets.convert.dicom_references import References, drawn_at
from intrabench.datasets.convert.dicom_seg import read_seg
from intrabench.datasets.convert.dicom_series import FoundSeries, Series, find_series, read_series
from intrabench.datasets.convert.rtstruct import read_rtstruct
from intrabench.datasets.convert.segments import Segment
from intrabench.datasets.convert.upright import equal_steps
from intrabench.datasets.folder.layout import Layout, LoadedCase
from intrabench.datasets.folder.pairing import ending
from intrabench.datasets.folder.rules import Rules
from intrabench.errors import IntraBenchError, reading

_READERS: Mapping[str, Callable[[Path, Series, Rules], list[Segment]]] = {
    "SEG": lambda path, series, rules: read_seg(path, series, rules.resample),
    "RTSTRUCT": lambda path, series, rules: read_rtstruct(path, series, rules.contours),
}


@dataclass(frozen=True, eq=False, kw_only=True)
class Dicom(Layout):
    """A case is an image series together with all segmentations drawn on it.

    lost: for cases whose images or segmentations cannot be read, why.
    """

    content: Mapping[str, tuple[FoundSeries, Sequence[FoundSeries]]]
    lost: Mapping[str, str] = field(default_factory=dict)

    def patient(self, case: str) -> str:
        """The PatientID; an image without one is of its own patient."""
        return self.content[case][0].patient_id or case

    @property
    def version(self) -> str:
        """That of the data set; since version 3 cases are named by what their own series says.

        Since version 4 contours take all voxels on them.
        """
        return "4"

    def complete(self) -> tuple[str, ...]:
        """Those whose files can all be read."""
        return tuple(case for case in self.content if case not in self.lost)

    def local_files(self, case: str) -> tuple[Path, ...]:
        """The files of the slices and of their segmentations."""
        image, drawn = self.content[case]
        return *image.paths, *(path for one in drawn for path in one.paths)

    def load(self, case: str, rules: Rules) -> LoadedCase:
        """The series as a volume, and the segments of all its segmentation files in order."""
        if case in self.lost:
            raise IntraBenchError(self.lost[case])
        image, drawn = self.content[case]
        files: dict[str, tuple[Path, str]] = {}
        contents, places, copies = [], [np.empty((0, 3))], []
        for path, modality in ((path, one.modality) for one in drawn for path in one.paths):
            content = read_dataset(path)
            first, _ = files.setdefault(str(content.get("SOPInstanceUID")), (path, modality))
            copies += [f"{path} is a copy of {first}, so it does not count"] if first != path else []
            contents.append(content)
            if rules.gaps == "longest":
                with reading(path):
                    places.append(drawn_at(content))
        drawn_on = {instance for content in contents for instance in References.drawn_on(content)}
        chosen = one_acquisition(image.paths, drawn_on)
        series = read_series(chosen, rules.gaps, np.concatenate(places))
        segments = [segment for path, modality in files.values() for segment in _READERS[modality](path, series, rules)]
        lacking = {instance for content in contents for instance in _lacking(content, image)}
        all_, used = len(image.paths), len(chosen)
        notes = [f"the series has several acquisitions; {used} of {all_} images are used"] if used < all_ else []
        notes += [f"the series lacks {len(lacking)} of the images that its segmentations name"] if lacking else []
        volume = replace(series.volume, notes=(*series.volume.notes, *notes, *copies))
        return LoadedCase(*(equal_steps(volume, segments, series.levels) if series.uneven else (volume, segments)))


def dicom(path: Path, label: Path | None, channel: int) -> Dicom | None:
    """The layout of a folder that contains DICOM files at any depth; None if there are none.

    They may have any names but those of other formats. Only if there is one, all headers are read.
    """
    if label is not None or not any(map(_is_dicom, _candidates(path))):
        return None
    if channel:
        return _without_cases(f"{path} has DICOM series, which have no channels; omit channel={channel}")
    found, broken = find_series(path)
    images = [one for one in found if one.modality not in _READERS]
    drawn: dict[str, list[FoundSeries]] = {}
    strays = []
    for one in found:
        if one.modality in _READERS:
            on = _drawn_on(one, images)
            strays += [] if on else [one]
            for image in on:
                drawn.setdefault(image.uid, []).append(one)
    used = [image for image in images if image.uid in drawn]
    if not used:
        return _without_cases(
            f"{path} has {len(images)} DICOM image series and {len(strays)} SEG or RTSTRUCT, but none of these was "
            "drawn on any of the images; put images and their segmentations into this folder"
            + "".join(f" ({problem})" for problem in list(broken.values())[:1])
        )
    incomplete = _incomplete(path, found, {one.uid for one in (*images, *strays)} - drawn.keys(), broken)
    names = _names([*used, *(one for one, _ in incomplete)])
    series: dict[str, tuple[FoundSeries, Sequence[FoundSeries]]] = {
        names[image.uid]: (image, drawn[image.uid]) for image in used
    }
    series |= {names[one.uid]: (one, ()) for one, _ in incomplete}
    lost = {names[one.uid]: problem for one, problem in incomplete}
    modalities = {image.modality for image in used}
    reported = [one for one, _ in incomplete]
    notes = [
        f"{one.paths[0]} was drawn on images that are not in this folder; it is left out"
        for one in strays
        if one not in reported
    ]
    notes += [f"{problem}; it is left out" for problem in broken.values()]
    if unused := sum(image.uid not in drawn and image not in reported for image in images):
        notes.append(f"{unused} of {len(images)} image series have no segmentation; they are left out")
    return Dicom(
        kind="DICOM",
        content=dict(sorted(series.items())),
        lost=lost,
        stated={"modality": modalities.pop()} if len(modalities) == 1 else {},
        notes=tuple(notes),
    )


def _incomplete(
    root: Path, found: Sequence[FoundSeries], alone: Collection[str], broken: Mapping[Path, str]
) -> list[tuple[FoundSeries, str]]:
    """The series that are `alone` (UIDs) because what they lack may be a broken file, and a sentence on each.

    A broken file may belong to the series in its folder or, if there are none, in the next folder above that has some.
    """
    incomplete: dict[str, tuple[FoundSeries, str]] = {}
    for path, problem in broken.items():
        near: list[FoundSeries] = []
        for folder in path.parents:
            near = [one for one in found if any(folder in other.parents for other in one.paths)]
            if near or folder == root:
                break
        for one in near:
            if one.uid in alone:
                what, lacks = (
                    (one.paths[0], "images") if one.modality in _READERS else (one.paths[0].parent, "segmentation")
                )
                why = f"{what} lacks its {lacks}, which may be a file that cannot be read: {problem}"
                incomplete.setdefault(one.uid, (one, f"{why}; or move that file away if it does not belong there"))
    return list(incomplete.values())


def _without_cases(problem: str) -> Dicom:
    return Dicom(kind="DICOM", content={}, problem=problem)


def _candidates(folder: Path) -> Iterator[Path]:
    """The files at any depth that are of no other format by their name, without those of hidden folders."""
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name[0] != "."]
        yield from (path for path in (Path(place, name) for name in names) if not ending(path))


def _is_dicom(path: Path) -> bool:
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            return file.read(132).endswith(b"DICM")
    except OSError:  # it may not be read; `find_series` names it
        return True


def _lacking(content: Any, image: FoundSeries) -> frozenset[str]:
    """The images that a segmentation of this one series names and that are not there."""
    references = References.of(content)
    here = len(references.series) < 2 and not references.instances.isdisjoint(image.instances)
    return references.instances - image.instances if here else frozenset()


def _drawn_on(drawn: FoundSeries, images: Sequence[FoundSeries]) -> list[FoundSeries]:
    """The series that a file refers to; if it refers to none, the only series in its frame of reference."""
    if drawn.refers_to:
        return [image for image in images if image.uid in drawn.refers_to]
    frame = drawn.frame_of_reference
    near = [image for image in images if frame and image.frame_of_reference == frame]
    return near if len(near) == 1 else []


def _names(images: Sequence[FoundSeries]) -> dict[str, str]:
    """The case name of each series, by UID: PatientID, SeriesNumber and the end of the UID, ``P01 4 57190237``.

    It is made of what the series itself says, so it stays when others are added or removed. So the end of the UID is
    always there: a number may come twice, and the only series of a patient may get company.
    """
    names = {one.uid: _name(one, re.sub(r"(\.0)+$", "", one.uid)[-_END:]) for one in images}  # some all end in .0.0.0
    times = Counter(names.values())
    return {one.uid: _name(one, one.uid) if times[names[one.uid]] > 1 else names[one.uid] for one in images}


def _name(image: FoundSeries, uid: str) -> str:
    return " ".join(filter(None, (image.patient_id, image.number, uid)))


_END = 8
"""Digits of a UID in the name of a case."""
