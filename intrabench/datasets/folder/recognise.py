"""Recognise the layout of a path."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from intrabench.datasets.folder.annotated import annotated_photos, photos_beside_annotations
from intrabench.datasets.folder.by_pattern import by_pattern, check_found
from intrabench.datasets.folder.dicom import Dicom, dicom, is_dicom
from intrabench.datasets.folder.dicom_masks import dicom_masks
from intrabench.datasets.folder.layout import Layout, not_used, of_unknown_kind
from intrabench.datasets.folder.nnunet import nnunet, of_raw
from intrabench.datasets.folder.pairing import ending
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
from intrabench.datasets.folder.published import PUBLISHED, published
from intrabench.datasets.folder.rules import FILE
from intrabench.datasets.folder.templates import sample
from intrabench.datasets.folder.unknown import unrecognised
from intrabench.datasets.folder.videos import videos
from intrabench.errors import IntraBenchError, several
from intrabench.specs.specs import nearest

_LAYOUTS: Mapping[str, Callable[[Path, Path | None, int], Layout | None]] = {
    "nnunet": nnunet,
    "videos": videos,
    "annotated_photos": annotated_photos,
    "photos_beside_annotations": photos_beside_annotations,
    "two_folders": two_folders,
    "npz": npz,
    "images_beside_labels": images_beside_labels,
    "photos_beside_masks": photos_beside_masks,
    "case_folders": case_folders,
    "dicom_masks": dicom_masks,
    "dicom": dicom,
}
"""By what they are called as `layout`, specific ones before general ones, and after those of public data sets."""


def recognise(
    path: Path,
    label: Path | None,
    channel: int,
    name: str = "",
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
        if not name and not any(one.complete() for one in found.values()):
            _check_known(path, label, found)
        chosen = _chosen(path, found, name)
        noted = _noted(path, chosen, [one for one in found.values() if one is not chosen])
        noted = noted if noted.notes or label is not None else _with_rest(path, noted)
        told = _is_told if isinstance(chosen, Dicom) else is_dicom
        unknown = of_unknown_kind(filter(None, (path, label)), _files(noted, noted.cases()), told)
        return replace(noted, notes=(*noted.notes, *unknown))
    except OSError as error:
        raise IntraBenchError(
            f"{error.filename or path} cannot be read ({error.strerror}); check its permissions"
        ) from error


def _is_told(file: Path) -> bool:
    """Whether the layout of DICOM files tells what becomes of a file, whatever its ending."""
    return file.suffix.lower() == ".dcm" or is_dicom(file)


def _of_file(path: Path, label: Path | None, channel: int) -> Layout:
    for one in (path, label):
        if one is not None and one.is_file() and not ending(one) and is_dicom(one):
            raise IntraBenchError(
                f"{one} is a DICOM file; give the folder that has the series and what was drawn on it"
            )
    found = one_image(path, label, channel)
    if found is None and not ending(path):
        raise IntraBenchError(f"{path} is no image of a known format; convert it, or unpack it if it is an archive")
    if found is None:
        raise IntraBenchError(f"{path} is a single file without labels; give them as {path}:label=FILE")
    return found


def _by_rule(path: Path, label: Path | None, channel: int, patterns: FilePatterns) -> Layout:
    if label is not None:
        raise IntraBenchError(f"{path / FILE} says where the labels are; omit label={label}, or remove image from it")
    found = by_pattern(path, patterns, channel)
    check_found(path, patterns, channel, found)
    return found


def _found(path: Path, label: Path | None, channel: int, name: str) -> dict[str, Layout]:
    """The layouts of a folder, also those without a complete case; if one is named, another may be broken.

    Raises:
        IntraBenchError: there is no layout of this name, or the files of one contradict each other.
    """
    names = [*PUBLISHED, *_LAYOUTS]
    if name and name not in names:
        raise IntraBenchError(
            f'{path / FILE}: there is no layout "{name}"{nearest(name, names)}; choose from {", ".join(names)}'
        )
    public = {key: one.layout for key, one in published(path).items()}
    found: dict[str, Layout] = {}
    for key, understand in {**public, **_LAYOUTS}.items():
        try:
            one = understand(path, label, channel)
        except IntraBenchError as error:
            if name in ("", key):
                raise
            one = Pairs(kind=key, content={}, problem=str(error))
        if one is not None:
            found[key] = one
    return found


def _check_known(path: Path, label: Path | None, found: Mapping[str, Layout]) -> None:
    """Refuse files that are in no layout, or without a complete case in any although there is a rule that they follow.

    Raises:
        Unrecognised: the folder; the message says what is in it, and the rule.
        IntraBenchError: two paths that do not belong together.
    """
    if label is not None:
        if not found:
            raise IntraBenchError(
                f"{path} and label={label} are not images and labels; give two folders, two files, or a DICOM folder "
                "with masks in it"
            )
        return
    if not found and (data_sets := of_raw(path)):
        raise IntraBenchError(data_sets)
    first = min(found.values(), key=_is_empty, default=None)
    error = unrecognised(path, first.kind if first else "")
    if error.proposal or not found:
        raise error


def _chosen(path: Path, found: Mapping[str, Layout], name: str) -> Layout:
    """The layout that is named, else the only one of `_fitting`, else the first with cases."""
    if name and name not in found:
        there = f"those found are {', '.join(found)}; choose one of them" if found else "remove the line"
        raise IntraBenchError(f'{path} has no files in the layout "{name}" that {FILE} names; {there}')
    fitting = _fitting(found) if not name and len(found) > 1 else {}
    if len(fitting) > 1:
        kinds = [f'{several(len(one.complete()), "case")} as {one.kind} ("{key}")' for key, one in fitting.items()]
        raise IntraBenchError(
            f"{path} has {', '.join(kinds[:-1])} and {kinds[-1]}; choose with a line such as "
            f'layout = "{next(iter(fitting))}" in {FILE}, or move the others elsewhere'
        )
    chosen = found[name] if name else next(iter([*fitting.values(), *sorted(found.values(), key=_is_empty)]))
    if chosen.problem:
        raise IntraBenchError(chosen.problem)
    return chosen


def _is_empty(one: Layout) -> int:
    """0: it has cases. 1: it says why it has none. 2: it has none."""
    return 1 if one.problem else 0 if one.content else 2


def _fitting(found: Mapping[str, Layout]) -> dict[str, Layout]:
    """The layouts with complete cases, unless more specific ones are made of the same files.

    Beside a layout with several cases, a single case of files that no other layout reads is a stray.
    """
    fitting, used = dict[str, set[Path]](), set[Path]()
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
        files = _files(one, complete[one] or one.content)
        unused = sorted(files - used)
        if one.problem and len(unused) < len(files):  # others found a use for them
            continue
        if one.problem:
            notes.append(not_used(one.problem))
        elif unused and complete[one]:
            notes.append(not_used(f"{several(len(complete[one]), 'case')} as {one.kind}"))
        elif unused:
            first = unused[0].relative_to(path)
            notes.append(not_used(str(first) if len(unused) == 1 else f"{len(unused)} files, such as {first}"))
    return replace(chosen, content=content, notes=tuple(dict.fromkeys((*chosen.notes, *notes))))


def _with_rest(path: Path, layout: Layout) -> Layout:
    """A layout with a note if most files are in folders of which it uses none."""
    used = {file.parent for file in _files(layout, layout.content) | layout.left}
    found = sample(path)
    unused = [one for one in found if (path / one if one.endswith("/") else (path / one).parent) not in used]
    notes = [not_used(f"most files, such as {one}") for one in unused[:1] if 2 * len(unused) > len(found)]
    return replace(layout, notes=tuple(notes)) if notes else layout


def _files(layout: Layout, cases: Iterable[str]) -> set[Path]:
    return {file for case in cases for file in layout.local_files(case)}
