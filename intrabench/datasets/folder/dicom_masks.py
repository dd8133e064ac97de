"""Folders of DICOM images with masks of other formats: a series, and NIfTI or NRRD files beside it or above it."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from intrabench.datasets.convert.dicom_series import FoundSeries, files_below, find_series
from intrabench.datasets.folder.dicom import has_dicom, is_drawn, is_scan
from intrabench.datasets.folder.pairing import VOLUMES, Pair, ending, pair_up, parted, stem
from intrabench.datasets.folder.pairs import Pairs
from intrabench.datasets.folder.rules import FILE
from intrabench.datasets.folder.templates import role, words_of
from intrabench.errors import several, some


def dicom_masks(path: Path, label: Path | None, channel: int) -> Pairs | None:
    """A case for each folder with masks and, in it or below, one DICOM image series without a SEG or RTSTRUCT.

    It is named by its folder. A single mask is a label map. If any case has several, all masks are structures, named by
    their files without the name of the folder. Without a case, `Layout.problem` says how to name those of other files.
    """
    if label is not None or channel or not path.is_dir():
        return None
    volumes = [file for file in sorted(files_below(path)) if ending(file) in VOLUMES]
    if not volumes or not has_dicom(path):
        return None
    found, broken = find_series(path)
    below = _below(found)
    slices = {file for one in found for file in one.paths}  # whatever they are called
    masks: dict[Path, list[Path]] = {}
    for file in volumes:
        if file not in slices:
            masks.setdefault(file.parent, []).append(file)
    masks = {folder: files for folder, files in masks.items() if not _has_pair(files)}
    cases = {folder: files for folder, files in masks.items() if any(map(is_scan, below.get(folder, ())))}
    if not cases:
        return None if any(map(is_drawn, found)) or not any(map(is_scan, found)) else _without_cases(path, volumes)
    parts = any(len(files) > 1 for files in cases.values())
    pairs = {folder: _pair(folder, files, below[folder], parts) for folder, files in cases.items()}
    scans = {one.uid: one for one in found if is_scan(one)}
    used = {one.uid: one for folder in cases for one in below[folder] if is_scan(one)}
    # a file that cannot be read in the folder of a case is told by that case
    notes = [f"{why}; it is left out" for file, why in broken.items() if cases.keys().isdisjoint(file.parents)]
    if len(used) < len(scans):
        notes.append(f"{len(scans) - len(used)} of {len(scans)} image series have no masks; they are left out")
    if lonely := [file for folder, files in masks.items() if folder not in cases for file in files]:
        notes.append(f"left out for lack of DICOM images beside: {several(len(lonely), 'file')}, such as {lonely[0]}")
    modalities = {one.modality for one in used.values()}
    return Pairs(
        kind="DICOM images with masks",
        content={" ".join(place.relative_to(path).parts) or path.resolve().name: one for place, one in pairs.items()},
        labels=tuple(dict.fromkeys(name for one in pairs.values() for name, _ in one.structures)),
        stated={"modality": modalities.pop()} if len(modalities) == 1 else {},
        notes=tuple(notes),
    )


def _without_cases(path: Path, files: Sequence[Path]) -> Pairs:
    """The layout of files of which nobody knows whether they are masks, and on which images."""
    problem = (
        f"{path} has DICOM images and {several(len(files), 'file')} such as {files[0].relative_to(path)}, and nothing "
        'says which of these are masks on which images; write lines such as image = "{case}/CT/" and structures = '
        f'"{{case}}/masks/{{label}}.nii.gz" into {FILE}, or put masks alone into the folder of their images or above it'
    )
    content = {path.resolve().name: Pair(None, None, problem=problem, structures=tuple(("", file) for file in files))}
    return Pairs(kind="DICOM images with masks", content=content, problem=problem)


def _below(found: Sequence[FoundSeries]) -> dict[Path, list[FoundSeries]]:
    """The series at or below each folder."""
    below: dict[Path, list[FoundSeries]] = {}
    for one in found:
        places = {path.parent for path in one.paths}
        for folder in places.union(*(place.parents for place in places)):
            below.setdefault(folder, []).append(one)
    return below


def _has_pair(files: Sequence[Path]) -> bool:
    """Whether there is an image among files, and its labels, so that these are of no DICOM series.

    Either two names say it, or the words that not all names have.
    """
    pairs = pair_up(*parted(files))
    words = [words_of(stem(one)) for one in files]
    roles = {role({word for word in one if any(word not in other for other in words)}) for one in words}
    return any(not pair.problem for pair in pairs.values()) or ("image" in roles and len(roles) > 1)


def _pair(folder: Path, masks: Sequence[Path], there: Sequence[FoundSeries], parts: bool) -> Pair:
    """The files of a case. there: the series in its folder. parts: each mask is one structure."""
    scans, names = [one for one in there if is_scan(one)], _names(folder, masks)
    if len(scans) > 1 or any(map(is_drawn, there)):
        besides = "a SEG or RTSTRUCT" if any(map(is_drawn, there)) else f"{len(scans)} DICOM image series"
        problem = (
            f"{folder} has {besides} besides {some([mask.name for mask in masks])}; put each image series with its "
            "masks into a folder of its own"
        )
        return Pair(None, None, problem=problem, structures=tuple(zip(names, masks, strict=True)))
    series = Path(os.path.commonpath([path.parent for path in scans[0].paths]))
    if parts:
        return Pair(series, None, patient=scans[0].patient_id, structures=tuple(zip(names, masks, strict=True)))
    return Pair(series, masks[0], patient=scans[0].patient_id)


def _names(folder: Path, masks: Sequence[Path]) -> list[str]:
    """The names of structures: those of files without that of their folder, if these differ."""
    begins = re.compile(rf"{re.escape(folder.resolve().name)}[-_. ]+")
    names = [begins.sub("", stem(mask), count=1) if begins.match(stem(mask)) else stem(mask) for mask in masks]
    return names if len(set(names)) == len(names) else [mask.name for mask in masks]
