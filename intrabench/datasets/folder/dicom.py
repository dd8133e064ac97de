"""Folders of DICOM files: image series with the segmentations and structure sets drawn on them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from intrabench.datasets.convert.dicom_file import read_dataset
from intrabench.datasets.convert.dicom_references import TAGS, References, drawn_at
from intrabench.datasets.convert.dicom_seg import read_seg
from intrabench.datasets.convert.dicom_series import FoundSeries, Series, files_below, find_series, read_series
from intrabench.datasets.convert.rtstruct import read_rtstruct
from intrabench.datasets.convert.segments import Drawn
from intrabench.datasets.convert.upright import equal_steps
from intrabench.datasets.folder.layout import Layout, LoadedCase
from intrabench.datasets.folder.pairing import ending
from intrabench.datasets.folder.rules import Rules
from intrabench.errors import IntraBenchError, reading, several, some
from intrabench.volume import Volume

_READERS: Mapping[str, Callable[[Path, Series, Rules], Drawn]] = {
    "SEG": lambda path, series, rules: read_seg(path, series, rules.resample),
    "RTSTRUCT": lambda path, series, rules: read_rtstruct(path, series, rules.contours),
}
_NO_SCANS = ("KO", "PR", "REG", "RTDOSE", "RTPLAN", "RTRECORD", "SR")
"""Modalities of series that lie beside scans; nothing is drawn on them."""


_Content = dict[str, tuple[FoundSeries, Sequence[FoundSeries]]]
"""The images of each case, and what was drawn on them."""


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

    def time(self, case: str) -> str:
        """The date of the study, and the time of day if the patient has several studies of that date."""
        image, _ = self.content[case]
        alone = self._studies[image.patient_id, image.study_date] == 1
        return image.study_date if alone or not image.study_date else f"{image.study_date} {image.study_time}".strip()

    @cached_property
    def _studies(self) -> Mapping[tuple[str, str], int]:
        """How many studies a patient has of a date."""
        studies = {(one.patient_id, one.study_date, one.study) for one, _ in self.content.values()}
        return Counter((patient, date) for patient, date, _ in studies)

    def series(self, case: str) -> str:
        """Modality and SeriesDescription."""
        image, _ = self.content[case]
        return f"{image.modality} {image.description}".strip()

    @property
    def version(self) -> str:
        """That of the data set; since version 3 cases are named by what their own series says.

        Since version 4 contours take all voxels on them; since version 5 segmentations of images that are not there
        belong to the only series of their study and frame of reference; since version 6 each file of a series of
        segmentations belongs to the images that it names itself, and regions in other frames of reference, or on phases
        that are not used, to none.
        """
        return "6"

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
        contents, places, copies = dict[Path, Any](), [np.empty((0, 3))], []
        for path, modality in ((path, one.modality) for one in drawn for path in one.paths):
            content = read_dataset(path, *TAGS)  # pixels would stay in memory
            first, _ = files.setdefault(str(content.get("SOPInstanceUID")), (path, modality))
            copies += [f"{path} is a copy of {first}, so it does not count"] if first != path else []
            contents[path] = content
            if rules.gaps == "longest":
                with reading(path):
                    places.append(drawn_at(content))
        drawn_on = References.drawn_on([*contents.values()])
        series = read_series(image.paths, rules.gaps, np.concatenate(places), drawn_on, rules.phase)
        here = [one for one in files.values() if not _of_other_phase(contents[one[0]], series)]
        read = [_READERS[modality](path, series, rules) for path, modality in here]
        segments = [segment for found, _ in read for segment in found]
        lacking = {instance for content in contents.values() for instance in _lacking(content, image)}
        notes = [f"the series lacks {len(lacking)} of the images that its segmentations name"] if lacking else []
        notes += [
            f"{_asked(one)}; the only series of its study and frame of reference is taken instead"
            for one in drawn
            if one.refers and image.uid not in one.refers_to
        ]
        notes += [
            f"{one.paths[0]} is of the patient {one.patient_id}, but its images are of {image.patient_id}"
            for one in drawn
            if one.patient_id and image.patient_id not in ("", one.patient_id)
        ]
        notes += [
            f"{path} was drawn on another phase of the series, so it is left out"
            for path, modality in files.values()
            if (path, modality) not in here
        ]
        times = Counter(name for found, _ in read for name in {segment.name for segment in found if segment.name})
        if often := [name for name, count in times.items() if count > 1]:
            notes.append(f"several SEG or RTSTRUCT have a structure of one name, each an instance of it: {some(often)}")
        notes += [note for _, noted in read for note in noted]
        volume = replace(series.volume, notes=(*series.volume.notes, *notes, *copies))
        return LoadedCase(*(equal_steps(volume, segments, series.levels) if series.uneven else (volume, segments)))


def dicom(path: Path, label: Path | None, channel: int) -> Dicom | None:
    """The layout of a folder that contains DICOM files at any depth; None if there are none.

    Only if there is one that is not named like a file of another format, all headers are read.
    """
    if label is not None or not has_dicom(path):
        return None
    if channel:
        return _without_cases(f"{path} has DICOM series, which have no channels; omit channel={channel}")
    found, broken = find_series(path)
    suspects = _suspects(path, found, broken)
    images = [one for one in found if _is_image(one)]
    scans = [one for one in images if is_scan(one)]
    drawn: dict[str, list[FoundSeries]] = {}
    strays = []
    for one in found:
        if is_drawn(one):
            # Of a file that cannot be read nobody knows whether it is what the segmentation names.
            certain = one.refers and one.uid in suspects
            on = _named(one, images) or ([] if certain else _only(one, scans))
            strays += [] if on else [one]
            for image in on:
                drawn.setdefault(image.uid, []).append(one)
    used = [image for image in images if image.uid in drawn]
    alone = [one for one in (*images, *strays) if one.uid not in drawn]
    incomplete = [(one, _may_lack(one, suspects[one.uid])) for one in alone if one.uid in suspects]
    unmatched = [_unmatched(one, scans) for one in strays if one.uid not in suspects]
    if not used:
        lacking = [why for one, why in incomplete if one in strays]
        problem = f"{path} has {_unusable(images, strays, [*unmatched, *lacking, *broken.values()])}"
        return _without_cases(problem, images)
    names = _names([*used, *(one for one, _ in incomplete)])
    series: _Content = {names[image.uid]: (image, drawn[image.uid]) for image in used}
    series |= {names[one.uid]: (one, ()) for one, _ in incomplete}
    lost = {names[one.uid]: problem for one, problem in incomplete}
    modalities = {image.modality for image in used}
    notes = [f"{why}; it is left out" for why in unmatched]
    notes += [f"{problem}; it is left out" for problem in broken.values()]
    if unused := sum(image.uid not in drawn and image.uid not in suspects for image in images):
        notes.append(f"{unused} of {len(images)} image series have no segmentation; they are left out")
    return Dicom(
        kind="DICOM",
        content=dict(sorted(series.items())),
        lost=lost,
        stated={"modality": modalities.pop()} if len(modalities) == 1 else {},
        notes=tuple(notes),
    )


def has_dicom(folder: Path) -> bool:
    """Whether there are DICOM files in a folder at any depth; they may have any names but those of other formats."""
    return any(is_dicom(file) for file in files_below(folder) if not ending(file))


def read_only_series(folder: Path, rules: Rules) -> Volume:
    """The one image series in a folder, at any depth, with a note on localizers and files of other modalities.

    Uneven slices are resampled to equal steps if `Rules.gaps` says so: files that are no DICOM cannot hold others.

    Raises:
        IntraBenchError: there is none or several, a file cannot be read, or `read_series` refuses it.
    """
    found, broken = find_series(folder, listing=False)
    images = [one for one in found if is_scan(one)]
    if broken:
        raise IntraBenchError(f"{next(iter(broken.values()))}; or move that file away if it does not belong there")
    if len(images) != 1:
        there = f"{len(images)} DICOM image series: {_listed(images)}" if images else "no DICOM image series"
        raise IntraBenchError(f"{folder} has {there}; keep one in this folder")
    series = read_series(images[0].paths, rules.gaps, phase=rules.phase)
    others = sorted({"localizer" if one.localizer else one.modality for one in found if one not in images})
    notes = [f"{' and '.join(others)} files beside the images are not used"] if others else []
    volume = replace(series.volume, notes=(*series.volume.notes, *notes))
    return equal_steps(volume, [], series.levels)[0] if series.uneven else volume


def is_drawn(one: FoundSeries) -> bool:
    """Whether it is a segmentation or structure set."""
    return one.modality in _READERS


def is_scan(one: FoundSeries) -> bool:
    """Whether it is an image series that is made to be segmented, so no localizer."""
    return _is_image(one) and not one.localizer


def _is_image(one: FoundSeries) -> bool:
    return one.modality not in (*_READERS, *_NO_SCANS)


def _suspects(root: Path, found: Sequence[FoundSeries], broken: Mapping[Path, str]) -> dict[str, str]:
    """The UIDs of series that a broken file may belong to, and what is wrong with the first one.

    Those are the series in its folder or, if there are none, in the next folder above that has some.
    """
    suspects: dict[str, str] = {}
    for path, problem in broken.items():
        for folder in path.parents:
            near = [one.uid for one in found if any(folder in other.parents for other in one.paths)]
            suspects = dict.fromkeys(near, problem) | suspects
            if near or folder == root:
                break
    return suspects


def _may_lack(one: FoundSeries, problem: str) -> str:
    """A sentence on a series that is alone because what it lacks may be a broken file."""
    what, lacks = (one.paths[0], "images") if is_drawn(one) else (one.paths[0].parent, "segmentation")
    return (
        f"{what} lacks its {lacks}, which may be a file that cannot be read: {problem}; or move that file away if it "
        "does not belong there"
    )


def _without_cases(problem: str, images: Sequence[FoundSeries] = ()) -> Dicom:
    """The layout of images without segmentations; none of them is a case that can be loaded."""
    content: _Content = {name: (one, ()) for name, one in zip(_names(images).values(), images, strict=True)}
    return Dicom(kind="DICOM", content=content, lost=dict.fromkeys(content, problem), problem=problem)


def is_dicom(path: Path) -> bool:
    """Whether a file begins as DICOM files do; also if it cannot be read, for then it may be one."""
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


def _of_other_phase(content: Any, series: Series) -> bool:
    """Whether all images that a segmentation names are of phases that are not used."""
    whole, parts = References.drawn_on([content])
    named = parts or whole
    return bool(named) and named <= series.others


def _only(drawn: FoundSeries, scans: Sequence[FoundSeries]) -> list[FoundSeries]:
    """The series that a file may be of, if it is only one."""
    likely = _likely(drawn, scans)
    return likely if len(likely) == 1 else []


def _named(drawn: FoundSeries, images: Sequence[FoundSeries]) -> list[FoundSeries]:
    return [image for image in images if image.uid in drawn.refers_to]


def _likely(drawn: FoundSeries, images: Sequence[FoundSeries]) -> list[FoundSeries]:
    """The series in the frame of reference of a file; if it refers to others, only those of its study."""
    near = _in_frame(drawn, images)
    return _of_study(drawn, near) if drawn.refers else near


def _in_frame(drawn: FoundSeries, images: Sequence[FoundSeries]) -> list[FoundSeries]:
    return [one for one in images if one.frame_of_reference == drawn.frame_of_reference != ""]


def _of_study(drawn: FoundSeries, images: Sequence[FoundSeries]) -> list[FoundSeries]:
    return [one for one in images if one.study == drawn.study != ""]


def _unusable(images: Sequence[FoundSeries], strays: Sequence[FoundSeries], why: Sequence[str]) -> str:
    """What a folder has in which no segmentation belongs to any image; `why`: what is wrong."""
    scans = f"{len(images)} DICOM image series" if images else "no DICOM images"
    masks = f"{len(strays)} SEG or RTSTRUCT" if strays else "no SEG or RTSTRUCT"
    apart = ", which do not belong together" if images and strays else ""
    first = f" ({why[0]})" if why else ""
    return (
        f"{scans} and {masks}{apart}{first}; put images and the segmentations that were drawn on them into this folder"
    )


def _unmatched(drawn: FoundSeries, images: Sequence[FoundSeries]) -> str:
    """Why a file belongs to none of the series, and which those are."""
    if likely := _likely(drawn, images):
        alike = "study and frame of reference" if drawn.refers else "frame of reference"
        return f"{_asked(drawn)}, and {len(likely)} series have its {alike}: {_listed(likely)}; keep one of them"
    if study := _of_study(drawn, images):
        return f"{_asked(drawn)}; those of its study are not in its frame of reference: {_listed(study)}"
    if frame := _in_frame(drawn, images):
        return f"{_asked(drawn)}; those in its frame of reference are not of its study: {_listed(frame)}"
    return _asked(drawn) + (f"; those here are not of its study: {_listed(images)}" if images else "")


def _asked(drawn: FoundSeries) -> str:
    """What a file says that it was drawn on, which is not there."""
    if not drawn.refers:
        return f"{drawn.paths[0]} does not name the images that it was drawn on"
    count = len(drawn.refers_to) or drawn.images_named
    what = some([f"series ...{_end(uid)}" for uid in drawn.refers_to]) or several(count, "image")
    return f"{drawn.paths[0]} was drawn on {what}, which {'is' if count == 1 else 'are'} not in this folder"


def _listed(images: Sequence[FoundSeries]) -> str:
    """Series as people know them: number, description and the end of the UID."""
    texts = [
        ("series", one.number, one.description and f'"{one.description}"', f"...{_end(one.uid)}") for one in images
    ]
    return some([" ".join(filter(None, parts)) for parts in texts])


def _names(images: Sequence[FoundSeries]) -> dict[str, str]:
    """The case name of each series, by UID: PatientID, SeriesNumber and the end of the UID, ``P01 4 57190237``.

    It is made of what the series itself says, so it stays when others are added or removed. So the end of the UID is
    always there: a number may come twice, and the only series of a patient may get company.
    """
    names = {one.uid: _name(one, _end(one.uid)) for one in images}
    times = Counter(names.values())
    return {one.uid: _name(one, one.uid) if times[names[one.uid]] > 1 else names[one.uid] for one in images}


def _name(image: FoundSeries, uid: str) -> str:
    return " ".join(filter(None, (image.patient_id, image.number, uid)))


def _end(uid: str) -> str:
    """The end of a UID, without the .0.0.0 in which all those of some scanners end."""
    return re.sub(r"(\.0)+$", "", uid)[-_END:]


_END = 8
"""Digits of a UID in the name of a case, and in sentences."""
