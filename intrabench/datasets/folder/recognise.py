"""Recognise the layout of a path."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from intrabench.datasets.convert.photo import SUFFIXES as PICTURES
from intrabench.datasets.folder.annotated import annotated_photos, photos_beside_annotations
from intrabench.datasets.folder.by_pattern import by_pattern, check_found
from intrabench.datasets.folder.dicom import dicom
from intrabench.datasets.folder.layout import Layout, not_used
from intrabench.datasets.folder.nnunet import nnunet, of_raw
from intrabench.datasets.folder.pairing import ending, files_in
from intrabench.datasets.folder.pairs import (
    Pairs,
    case_folders,
    images_beside_labels,
    npz,
    one_image,
    photos_beside_masks,
    two_folders,
)
from intrabench.datasets.folder.pattern import FilePatterns
from intrabench.datasets.folder.published import PUBLISHED
from intrabench.datasets.folder.rules import FILE, LayoutName
from intrabench.datasets.folder.videos import videos
from intrabench.errors import IntraBenchError, several

UNDERSTOOD = (
    "an nnU-Net folder, images/ with labels/ or masks/, img/ with gt/, images beside labels whose names end in _seg, "
    "_label or _mask, photographs NAME.jpg beside masks NAME.png, IMAGE:label=LABEL of two files or folders, videos as "
    "DAVIS has them, images/ with annotations/ of several people, or "
    "NAME_human_segmentations.npz beside NAME.jpg, DICOM images with SEG or RTSTRUCT, .npz of CVPR challenges"
)

_LAYOUTS: Mapping[LayoutName, Callable[[Path, Path | None, int], Layout | None]] = {
    **{name: one.layout for name, one in PUBLISHED.items()},
    "nnunet": nnunet,
    "videos": videos,
    "annotated_photos": annotated_photos,
    "photos_beside_annotations": photos_beside_annotations,
    "two_folders": two_folders,
    "npz": npz,
    "images_beside_labels": images_beside_labels,
    "photos_beside_masks": photos_beside_masks,
    "case_folders": case_folders,
    "dicom": dicom,
}
"""Specific layouts before general ones."""


def recognise(
    path: Path,
    label: Path | None,
    channel: int,
    name: LayoutName | None = None,
    patterns: FilePatterns | None = None,
) -> Layout:
    """The layout of a folder or file, with a note on each file of another layout that it does not use.

    A layout without a complete case counts only if no other has one, and one with a single case only if no other has
    several. name: the one to use if a folder has several.
    patterns: the rule of the files in a folder, instead of a layout.

    Raises:
        IntraBenchError: the path does not exist, no layout is recognised, or several are and none is named.
    """
    for place in (path, label):
        if place is not None and not place.exists():
            raise IntraBenchError(f"{place} does not exist; check the path, or mount the drive")
    try:
        if path.is_file():
            return _of_file(path, label, channel)
        if patterns is not None:
            return _by_rule(path, label, channel, patterns)
        found = _found(path, label, channel, name)
        chosen = _chosen(path, found, name)
        return _noted(path, chosen, [one for one in found.values() if one is not chosen])
    except OSError as error:
        raise IntraBenchError(
            f"{error.filename or path} cannot be read ({error.strerror}); check its permissions"
        ) from error


def _of_file(path: Path, label: Path | None, channel: int) -> Layout:
    found = one_image(path, label, channel)
    if found is None:
        raise IntraBenchError(f"{path} is a single file without labels; give them as {path}:label=FILE")
    return found


def _by_rule(path: Path, label: Path | None, channel: int, patterns: FilePatterns) -> Layout:
    if label is not None:
        raise IntraBenchError(f"{path / FILE} says where the labels are; omit label={label}, or remove image from it")
    found = by_pattern(path, patterns, channel)
    check_found(path, patterns, channel, found)
    return found


def _found(path: Path, label: Path | None, channel: int, name: LayoutName | None) -> dict[LayoutName, Layout]:
    """The layouts of a folder, also those without a complete case; if one is named, another may be broken."""
    found: dict[LayoutName, Layout] = {}
    for key, understand in _LAYOUTS.items():
        try:
            one = understand(path, label, channel)
        except IntraBenchError as error:
            if name in (None, key):
                raise
            one = Pairs(kind=key, content={}, problem=str(error))
        if one is not None:
            found[key] = one
    return found


def _chosen(path: Path, found: Mapping[LayoutName, Layout], name: LayoutName | None) -> Layout:
    """The layout that is named, else the only one of `_fitting`, else the first with cases."""
    if name is not None and name not in found:
        there = f"those found are {', '.join(found)}; choose one of them" if found else "remove the line"
        raise IntraBenchError(f'{path} has no files in the layout "{name}" that {FILE} names; {there}')
    fitting = _fitting(found) if name is None and len(found) > 1 else {}
    if len(fitting) > 1:
        kinds = [f'{several(len(one.complete()), "case")} as {one.kind} ("{key}")' for key, one in fitting.items()]
        raise IntraBenchError(
            f"{path} has {', '.join(kinds[:-1])} and {kinds[-1]}; choose with a line such as "
            f'layout = "{next(iter(fitting))}" in {FILE}, or move the others elsewhere'
        )
    if not found:
        raise IntraBenchError(_unknown(path))
    chosen = found[name] if name else next(iter([*fitting.values(), *sorted(found.values(), key=_is_empty)]))
    if chosen.problem:
        raise IntraBenchError(chosen.problem)
    return chosen


def _is_empty(one: Layout) -> int:
    """0: it has cases. 1: it says why it has none. 2: it has none."""
    return 0 if one.content else 1 if one.problem else 2


def _fitting(found: Mapping[LayoutName, Layout]) -> dict[LayoutName, Layout]:
    """The layouts with complete cases, unless more specific ones are made of the same files.

    Beside a layout with several cases, a single case of files that no other layout reads is a stray.
    """
    fitting, used = dict[LayoutName, set[Path]](), set[Path]()
    for name, one in found.items():
        files = _files(one, one.complete())
        if not files <= used:
            fitting[name] = files
        used |= files | one.left
    single = {name for name in fitting if len(found[name].complete()) == 1}
    strays = {
        name
        for name in single
        if len(single) < len(fitting)
        and all(fitting[name].isdisjoint(files) for other, files in fitting.items() if other != name)
    }
    return {name: found[name] for name in fitting if name not in strays}


def _noted(path: Path, chosen: Layout, others: Sequence[Layout]) -> Layout:
    """A layout with notes on what is of others, and without incomplete cases that are complete ones of others."""
    if not others:
        return chosen
    complete = {one: one.complete() for one in (chosen, *others)}
    taken = {file for one in others for file in _files(one, complete[one])}
    content = {
        case: files
        for case, files in chosen.content.items()
        if case in complete[chosen] or not taken.issuperset(chosen.local_files(case))
    }
    used, notes = _files(chosen, content) | chosen.left, []
    for one in others:
        unused = sorted(_files(one, complete[one] or one.content) - used)
        if one.problem:
            notes.append(not_used(one.problem))
        elif unused and complete[one]:
            notes.append(not_used(f"{several(len(complete[one]), 'case')} as {one.kind}"))
        elif unused:
            first = unused[0].relative_to(path)
            notes.append(not_used(str(first) if len(unused) == 1 else f"{len(unused)} files, such as {first}"))
    return replace(chosen, content=content, notes=tuple(dict.fromkeys((*chosen.notes, *notes))))


def _files(layout: Layout, cases: Iterable[str]) -> set[Path]:
    return {file for case in cases for file in layout.local_files(case)}


def _unknown(path: Path) -> str:
    if several_sets := of_raw(path):
        return several_sets
    pictures = [one for one in files_in(path) if ending(one) in PICTURES]
    if pictures:
        return (
            f"{path} has {several(len(pictures), 'picture')}, such as {pictures[0].name}, but no masks that are "
            "recognised; expected NAME.png beside NAME.jpg, NAME_mask.png beside NAME.png, images/ with masks/, or "
            "NAME_human_segmentations.npz beside NAME.jpg"
        )
    return f"{path} has no layout that is recognised; expected {UNDERSTOOD}"
