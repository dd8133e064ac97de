"""Check a data set before a run: what it holds and what looks wrong. Nothing is stored."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from intrabench import progress
from intrabench.datasets.base import Dataset, Files, load_case, patient_of, time_of
from intrabench.datasets.cases import store
from intrabench.datasets.cases.notes import once, remarks_of
from intrabench.datasets.cases.stored_case import image_hash
from intrabench.datasets.cases.timepoints import follow_ups, time_check
from intrabench.datasets.folder.folder import Folder
from intrabench.datasets.folder.rules import FILE
from intrabench.errors import IntraBenchError, foreign, in_words, several
from intrabench.files.grid import acquisition_plane
from intrabench.files.temporary import temporary_folder
from intrabench.mask import Array, Plane, box_slices
from intrabench.target import Target
from intrabench.volume import Volume, in_hounsfield, states_ct

TINY = 5
"""A component with fewer voxels is probably a drawing error, not anatomy."""
_DARK = 0.1
"""A target with a larger share of its voxels at the image's lowest value probably extends beyond the field of view."""
COARSE = 2.5
"""Pixels of axial slices are at least so many times as long as wide, if a warning says it."""
_ROOM, _LABELS = 16, 12
"""Lines of cases with their targets, and of labels, that leave room on a screen for what is wrong."""
_USUAL_MM = (0.01, 20.0)
"""Usual spacings of medical scans; others are probably in a different unit."""


@dataclass(frozen=True)
class TargetFound:
    """A target; `tiny` counts those of its 26-connected components that have fewer than `TINY` voxels."""

    id: str
    label: str
    voxels: int
    ml: float
    slices: int
    components: int
    tiny: int


@dataclass(frozen=True)
class CaseFound:
    """A case: `shape` and `spacing_mm` along ``(z, y, x)``, and the `orientation` of the file's axes, such as LPS.

    plane: in which it was acquired; the slices of its targets are counted there.
    warnings: sentences about what looks wrong. problem: why the case cannot be used; what its files hold is then empty.
    patient: whose it is; empty: unknown. time, prior: when its scan was made, and the case that it is a follow-up of;
    empty: unknown, none.
    """

    case: str
    shape: tuple[int, ...] = ()
    spacing_mm: tuple[float, ...] = ()
    orientation: str = ""
    plane: Plane = "axial"
    image_hash: str = ""
    targets: tuple[TargetFound, ...] = ()
    warnings: tuple[str, ...] = ()
    problem: str = ""
    patient: str = ""
    time: str = ""
    prior: str = ""


def look_at(dataset: Dataset, cases: Sequence[str]) -> Iterator[CaseFound]:
    """Load cases one after the other, one in memory at a time.

    A case that cannot be loaded, or whose patient the data set cannot tell, has a `problem`.
    """
    times, priors = {}, {}
    with suppress(IntraBenchError):  # `warnings_of` says it
        times = {case: time_of(dataset, case) for case in cases}
        priors = {one.case: one.prior for one in follow_ups(dataset, cases)}
    for number, case in enumerate(cases, start=1):
        patient = ""
        try:
            patient = patient_of(dataset, case)
            with progress.step("reading", f"reading case {number} of {len(cases)}", case), foreign():
                found = _found(dataset, case)
        except Exception as error:  # a damaged file must not stop the other cases
            found = CaseFound(case, problem=in_words(error))
        yield replace(found, patient=patient, time=times.get(case, ""), prior=priors.get(case, ""))


def warnings_of(dataset: Dataset, found: Sequence[CaseFound]) -> list[tuple[str, str]]:
    """Warnings about a data set as a whole: times, its layout, missing labels, cases with the same image.

    Each has what it is about before it, a case, a patient or nothing, as `once` takes them.
    """
    warnings = list(remarks_of(dataset))
    usable = [one for one in found if not one.problem]
    labels = {target.label for one in usable for target in one.targets}
    warnings += [f"the label {label} occurs in no case" for label in _promised(dataset) if label not in labels]
    if isinstance(dataset, Folder):
        never = "never counts; it fits no case, or an earlier line fits the same ones"
        unmatched = dataset.rules.unmatched(dataset.cases())
        warnings += [f'"{key}" under [{section}] in {FILE} {never}' for section, key in unmatched]
        keys = labels | {target.id for one in usable for target in one.targets}
        unknown = [key for key in dataset.rules.names if key not in keys]
        warnings += [f'"{key}" under [names] in {FILE} is no label and no target of any case' for key in unknown]
    by_image: dict[str, list[str]] = {}
    for one in usable:
        by_image.setdefault(one.image_hash, []).append(one.case)
    warnings += [f"cases {', '.join(same)} have the same image" for same in by_image.values() if len(same) > 1]
    for what in ("orientation", "spacing_mm"):
        kinds = sorted({getattr(one, what) for one in usable})
        if len(kinds) > 1:
            warnings.append(f"{what} differs between cases, from {_text(kinds[0])} to {_text(kinds[-1])}")
    return [*_times(dataset, found)[1], *(("", warning) for warning in warnings)]


def _times(dataset: Dataset, found: Sequence[CaseFound]) -> tuple[str, list[tuple[str, str]]]:
    """What `time_check` says of the cases whose patients are known."""
    try:
        return time_check(dataset, [one.case for one in found if one.patient])
    except IntraBenchError as error:
        return "", [("", in_words(error))]


def opening(dataset: Dataset) -> str:
    """One line that describes a data set."""
    kind = f"{dataset.path}: {dataset.layout.kind}" if isinstance(dataset, Folder) else dataset.short_spec
    card = dataset.card
    return f"{kind}, {card.title}, modality {card.modality or 'not stated'}, licence {card.licence}"


def _promised(dataset: Dataset) -> Sequence[str]:
    return dataset.promised() if isinstance(dataset, Folder) else ()


def listing(found: Iterable[CaseFound], every: bool = False) -> Iterator[str]:
    """The lines of the cases that can be used, as they come; of many only the first ones, unless `every`."""
    room, left_out = sys.maxsize if every else _ROOM, 0
    for one in found:
        lines = [] if one.problem else lines_of(one)
        if left_out or len(lines) > room < _ROOM:  # of the first case there is a part in any case
            left_out += bool(lines)
            continue
        yield from lines[:room]
        if len(lines) > room:
            yield f"  and {several(len(lines) - room, 'more target')}; --all shows them"
        room -= len(lines)
    if left_out:
        yield f"and {several(left_out, 'more case')} that can be used; --all shows them"


def lines_of(one: CaseFound) -> list[str]:
    """A case that can be used as lines of text: a line about the case, then one line per target."""
    picture = one.shape[0] == 1 and set(one.spacing_mm) == {1.0}  # has neither mm nor sides of a patient
    acquired = "" if one.plane == "axial" else f", acquired in {one.plane} slices"
    size = f"{_text(one.shape)} voxels of {_text(one.spacing_mm)} mm (z, y, x){acquired}, file in {one.orientation}"
    lines = [f"{one.case}: {f'{_text(one.shape[1:])} pixels (y, x)' if picture else size}"]
    width = max((len(target.id) for target in one.targets), default=0)
    for target in one.targets:
        more = "pixels" if picture else f"voxels  {target.ml:>10.3f} ml  {target.slices:>4} slices"
        parts = f"{target.components:>3} component{'s'[: target.components != 1]}"
        lines.append(f"  {target.id:<{width}}  {target.voxels:>9} {more}  {parts}")
    return lines


def closing(dataset: Dataset, found: Sequence[CaseFound], every: bool = False) -> list[str]:
    """Lines with the numbers of cases and targets, then problems and warnings with the cases that they concern.

    Each stands once, and the first one for all that are alike, unless `every` (`once`).
    """
    sizes: dict[str, list[int]] = {}
    for target in (target for one in found for target in one.targets):
        sizes.setdefault(target.label, []).append(target.voxels)
    lost = sum(bool(one.problem) for one in found)
    unusable = f", {lost} of them cannot be used" if lost else ""
    patients = len({one.patient for one in found if one.patient})
    lines = [
        f"cases: {len(found)} of {several(patients, 'patient')}{unusable}; targets: {sum(map(len, sizes.values()))}"
    ]
    lines += filter(None, [_times(dataset, found)[0]])
    shown = sorted(sizes.items())[: None if every else _LABELS]
    lines += [f"  {label}: {len(all_)}, {min(all_)} to {max(all_)} voxels" for label, all_ in shown]
    if more := len(sizes) - len(shown):
        lines.append(f"  and {several(more, 'more label')}; --all shows them")
    labels = {*sizes, *_promised(dataset)}
    problems = [(one.case, f"CANNOT BE USED: {one.problem}") for one in found if one.problem]
    warnings = [(one.case, warning) for one in found for warning in one.warnings]
    warnings += warnings_of(dataset, found)
    lines += once(problems, labels, every)
    return lines + [f"warning: {line}" for line in once(warnings, labels, every)]


def _found(dataset: Dataset, case: str) -> CaseFound:
    from nibabel.orientations import aff2axcodes

    with temporary_folder() as folder:
        volume, targets = load_case(dataset, case, Files(store.downloads_of(), folder / "unpacked"))
    plane = acquisition_plane(volume.shape, volume.spacing_mm)
    counted = tuple(_counted(target, plane) for target in targets)
    place = FILE if isinstance(dataset, Folder) else "its card"
    warnings = [*volume.notes, *_about_image(volume, plane)]
    warnings += _about_modality(volume.array, dataset.card.modality or volume.modality, place)
    warnings += [] if targets else ["the case has no target, so nothing can be segmented"]
    lowest = volume.array.min()
    for target, count in zip(targets, counted, strict=True):
        warnings += _about_target(volume.array, lowest, target, count)
    return CaseFound(
        case,
        volume.shape,
        volume.spacing_mm,
        "".join(aff2axcodes(volume.grid.affine)),
        plane,
        image_hash(volume),
        counted,
        tuple(warnings),
    )


def _counted(target: Target, plane: Plane) -> TargetFound:
    from scipy import ndimage

    numbered, components = ndimage.label(target.mask.array, np.ones((3, 3, 3)))
    sizes = np.bincount(numbered.ravel())[1:]
    slices = len(target.turned(plane).mask.occupied_slices)
    tiny = int(np.count_nonzero(sizes < TINY))
    return TargetFound(
        target.id, target.label, target.mask.voxels, round(target.volume_ml, 3), slices, components, tiny
    )


def _about_image(volume: Volume, plane: Plane) -> list[str]:
    warnings = []
    if not all(_USUAL_MM[0] <= length <= _USUAL_MM[1] for length in volume.spacing_mm):
        warnings.append(f"a spacing of {_text(volume.spacing_mm)} mm is unusual; is it in millimetres?")
    _, middle, largest = sorted(volume.spacing_mm)
    if plane != "axial" and largest >= COARSE * middle:
        warnings.append(
            f"it was acquired in {plane} slices, so the pixels of axial ones are {largest / middle:.1f} times as long "
            "as wide; protocols that read axial slices, such as basic@1, show users what nobody reads"
        )
    return warnings


def _about_modality(array: Array, modality: str, place: str) -> list[str]:
    """What is missing in the stated modality, and what contradicts it; `place` is where the user can state it."""
    stated, looks = states_ct(modality), in_hounsfield(array)
    if array.dtype == np.uint8:  # models take 8-bit images as they are, unless they are said to be no CT
        return []
    if stated and looks is False:
        what = f"the modality is {modality}, but the values cannot be Hounsfield units"
        return [f"{what}, which models expect of CT; convert them, or correct the modality in {place}"]
    if looks and stated is False:
        what = f"the modality is {modality}, but the values look like Hounsfield units"
        return [f'{what}; if this is CT, write modality = "CT" in {place}']
    if stated is not None:
        return []
    what = f"the modality {modality} does not say whether this is CT" if modality else "no modality is stated"
    if looks:
        return [f'{what}, and the values look like Hounsfield units; write modality = "CT" in {place}']
    return [f'{what}; some models treat CT in another way, so write modality = "CT", "MR" or another in {place}']


def _about_target(image: Array, lowest: float, target: Target, found: TargetFound) -> list[str]:
    warnings = []
    if found.tiny:
        warnings.append(f"{target.id}: {found.tiny} of {found.components} components have fewer than {TINY} voxels")
    if image.ndim == 3:
        inside = image[box_slices(target.mask.box)][target.mask.array]
        dark = np.count_nonzero(inside == lowest) / inside.size
        if dark > _DARK:
            warnings.append(f"{target.id}: {dark:.0%} of the voxels have the image's lowest value, as if outside of it")
    return warnings


def _text(value: str | Sequence[float]) -> str:
    return value if isinstance(value, str) else " x ".join(f"{number:g}" for number in value)
