"""One case in the store: ``image.nii.zst``, ``targets.npz`` and its index ``case.json``."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from intrabench import progress
from intrabench.datasets.cases.image_file import IMAGE, read_image_file, write_image_file
from intrabench.datasets.convert.upright import on_files
from intrabench.errors import IntraBenchError
from intrabench.files.documents import read_json
from intrabench.files.grid import Original
from intrabench.files.headers import Arrays
from intrabench.mask import Array, Box, Mask
from intrabench.prompts import Scribble
from intrabench.specs.specs import nearest
from intrabench.specs.values import is_a
from intrabench.target import Target, TargetInfo
from intrabench.volume import Grid, Volume, check_intensities, write_nifti

if TYPE_CHECKING:
    from intrabench.datasets.base import Dataset

FORMAT = 3
"""Of stored cases; one of another format is converted again."""
TARGETS, INDEX = "targets.npz", "case.json"


@dataclass(frozen=True)
class CaseIndex:
    """What is known about a case without opening its image.

    shape and spacing_mm are canonical, ``(z, y, x)``; file_shape and affine (to RAS mm) are those of the grid of the
    image in the order of the file. original: where the voxels of the files lie, if that is not the same.
    sizes holds the bytes of the stored files, inputs the size and time of the user's files that they were made from.
    version: `version_of` the data set that made it. modality: that of the data set's card, else of the file.
    notes: what is unusual, one sentence each.
    """

    case: str
    shape: tuple[int, int, int]
    spacing_mm: tuple[float, float, float]
    file_shape: tuple[int, int, int]
    affine: tuple[tuple[float, ...], ...]
    image_hash: str
    targets: tuple[TargetInfo, ...]
    sizes: Mapping[str, int]
    inputs: Mapping[str, Sequence[int]]
    version: str = ""
    modality: str = ""
    notes: tuple[str, ...] = ()
    original: Original | None = None

    @property
    def grid(self) -> Grid:
        """The grid of the image, as `Volume.grid`."""
        return Grid(self.file_shape, np.array(self.affine, dtype=np.float64))

    def gathered(self, dataset: Dataset) -> CaseIndex:
        """The same with the targets that the data set makes of the stored ones."""
        targets = dataset.gathered(self.targets)
        return self if targets is None else replace(self, targets=tuple(info for info, _ in targets))


@dataclass(frozen=True, eq=False)
class StoredCase:
    """A prepared case: its index, and its image and targets, which are read on demand.

    seen, moved: what becomes of the stored image, and of a target, before anybody sees it. parts: of each target in
    the index, the stored ones that it consists of: numbers with boxes; None: targets are as stored. names: what people
    call a target.
    """

    folder: Path
    index: CaseIndex
    remedy: str
    seen: Callable[[Volume], Volume] = lambda volume: volume
    moved: Callable[[Target], Target] = lambda target: target
    parts: Sequence[Mapping[int, Box]] | None = None
    names: Callable[[TargetInfo], tuple[str, ...]] = lambda info: ()

    @cached_property
    def volume(self) -> Volume:
        """The canonical scan with its original grid; it is read once.

        Raises:
            IntraBenchError: the stored image is missing or damaged.
        """
        path, grid = self.folder / IMAGE, self.index.grid
        try:
            if path.stat().st_size != self.index.sizes[path.name]:
                raise ValueError(f"{path} was cut")  # maybe in its checksum only
            array = read_image_file(path, grid)
            stored = Volume(array, grid, self.index.modality, case=self.index.case, original=self.index.original)
        except Exception as error:  # damage shows in the header or in zstandard
            raise damaged(path, self.remedy) from error
        return self.seen(stored)

    def write_mask(self, path: Path, mask: Mask, what: str = "a mask") -> None:
        """Write a mask on the scan as NIfTI on the grid of the scan's own files (`on_files`); `what` is the step."""
        with progress.step("writing", f"writing {what}", self.index.case):
            write_nifti(path, *on_files(mask, self.volume))

    def targets(self, ids: Iterable[str] | None = None) -> list[Target]:
        """The targets with these `ids` (``label.instance``; None: all) in the index's order; only these are unpacked.

        Raises:
            IntraBenchError: the case has no target with one of the ids, or a file is damaged.
        """
        infos = self.index.targets
        names = [info.id for info in infos]
        wanted = set(names if ids is None else ids)
        for unknown in sorted(wanted - set(names)):
            raise IntraBenchError(
                f"case {self.index.case} has no target {unknown!r}{nearest(unknown, names)}; it has {', '.join(names)}"
            )
        path = self.folder / TARGETS
        try:
            with Arrays(path) as bits:
                found = [self._target(bits, number) for number, info in enumerate(infos) if info.id in wanted]
        except Exception as error:  # zip, zlib and numpy raise different exceptions for damaged files
            raise damaged(path, self.remedy) from error
        return [self.moved(target) for target in found]

    def _target(self, bits: Mapping[str, Array], number: int) -> Target:
        infos = self.index.targets
        info = infos[number]
        parts = {number: info.box} if self.parts is None else self.parts[number]
        ignored = [f"{place}.ignore" for place in parts if f"{place}.ignore" in bits]
        drawn = "".join(f"{place}.scribbles" for place in parts)  # strokes for one of several are not for all
        boxes = "".join(f"{place}.boxes" for place in parts)  # nor are boxes
        return Target(
            self.index.case,
            info.label,
            info.instance,
            _together([_unpack(box, bits[str(place)]) for place, box in parts.items()]),
            self.index.shape,
            self.index.spacing_mm,
            _together([_unpack(bits[f"{one}.box"].tolist(), bits[one]) for one in ignored]),
            Siblings(infos, number),
            _scribbles(bits[drawn], int(bits[f"{drawn}.people"])) if drawn in bits else (),
            info.person,
            tuple(_box(row) for row in bits[boxes]) if boxes in bits else None,
            self.names(info),
        )

    def problems(self) -> list[str]:
        """One sentence for each stored file that has changed; reads everything."""
        found = []
        if image_hash(self.volume) != self.index.image_hash:
            found.append(str(damaged(self.folder / IMAGE, self.remedy)))
        if tuple(target.info() for target in self.targets()) != self.index.targets:
            found.append(str(damaged(self.folder / TARGETS, self.remedy)))
        return found


@dataclass(frozen=True)
class Siblings(Sequence[TargetInfo]):
    """All targets of a case but one. Lists of their own would be as long for each target as there are targets."""

    every: tuple[TargetInfo, ...]
    but: int

    def __len__(self) -> int:
        return len(self.every) - 1

    @overload
    def __getitem__(self, number: int) -> TargetInfo: ...
    @overload
    def __getitem__(self, number: slice) -> tuple[TargetInfo, ...]: ...
    def __getitem__(self, number: int | slice) -> TargetInfo | tuple[TargetInfo, ...]:
        if isinstance(number, slice):
            return tuple(self)[number]
        found = range(len(self))[number]
        return self.every[found + (found >= self.but)]


def write_case(
    folder: Path,
    case: str,
    volume: Volume,
    targets: Sequence[Target],
    inputs: Mapping[str, Sequence[int]],
    version: str = "",
) -> CaseIndex:
    """Write a case into `folder`, the index last. targets: as `load_case` gives them. inputs, version: as in the index.

    Raises:
        IntraBenchError: no model can be measured on the image.
    """
    volume = replace(volume, array=_storable(volume.array))
    check_intensities(volume.array, f"the image of case {case}")
    write_image_file(folder / IMAGE, volume)
    np.savez_compressed(folder / TARGETS, **_bits(targets))
    index = CaseIndex(
        case,
        volume.shape,
        volume.spacing_mm,
        volume.grid.shape,
        tuple(tuple(row) for row in volume.grid.affine.tolist()),
        image_hash(volume),
        tuple(target.info() for target in targets),
        {name: (folder / name).stat().st_size for name in (IMAGE, TARGETS)},
        inputs,
        version,
        volume.modality,
        volume.notes,
        volume.original,
    )
    (folder / INDEX).write_text(json.dumps({"format": FORMAT, **asdict(index)}, indent=1), encoding="utf-8")
    return index


def read_index(folder: Path, remedy: str) -> CaseIndex | None:
    """The index of the case in `folder`; None if there is no case or its format has a different version.

    Raises:
        IntraBenchError: the index cannot be read.
    """
    path = folder / INDEX
    try:
        stored = read_json(path, _TYPES)
        if stored.pop("format") != FORMAT:
            return None
        infos = _target_infos(stored.pop("targets"))
        for name in ("shape", "spacing_mm", "file_shape", "notes"):
            stored[name] = tuple(stored[name])
        stored["original"] = _original(**stored["original"]) if stored["original"] else None
        index = CaseIndex(**{**stored, "affine": tuple(tuple(row) for row in stored["affine"]), "targets": infos})
        if [len(index.shape), len(index.spacing_mm)] == [3, 3] and np.isfinite(index.spacing_mm).all() and index.grid:
            return index
        raise ValueError("its shape or spacing is not as it was written")
    except FileNotFoundError:
        return None
    except (OSError, IntraBenchError, ValueError, KeyError, TypeError, OverflowError) as error:
        raise damaged(path, remedy) from error


_TYPES: dict[str, Any] = {
    **{"format": int, "case": str, "image_hash": str, "version": str, "modality": str},
    **{"shape": list[int], "file_shape": list[int], "spacing_mm": list[float], "affine": list[list[float]]},
    **{"targets": list[Any], "sizes": dict[str, int], "inputs": dict[str, list[int]], "notes": list[str]},
    **{"original": dict[str, Any] | None},
}
"""The keys of ``case.json``, which may be damaged in any way."""
_TYPES_OF_TARGETS: dict[str, Any] = {
    **{"label": list[str], "content_hash": list[str], "box": list[list[int]]},
    **dict.fromkeys(("instance", "voxels", "slices"), list[int]),
}
"""Those of what all targets of a case have, which are tested together, as there may be a million."""


def _original(shape: Sequence[int], affine: Sequence[Sequence[float]], levels: Sequence[float]) -> Original:
    places = np.array(levels, dtype=np.float64)
    if [*places.shape] != [*shape[2:]] or not places.size or not np.isfinite(places).all():
        raise ValueError("the places of its slices are not as they were written")
    return Original.of(Grid((shape[0], shape[1], shape[2]), np.array(affine, dtype=np.float64)), places)


def _target_infos(entries: Sequence[Mapping[str, Any]]) -> tuple[TargetInfo, ...]:
    sound = all(is_a(kind, [entry[name] for entry in entries]) for name, kind in _TYPES_OF_TARGETS.items())
    if not sound or any(len(entry["box"]) != 6 for entry in entries):
        raise ValueError("a target is not as it was written")
    return tuple(TargetInfo(**{**entry, "box": tuple(entry["box"])}) for entry in entries)


def damaged(path: Path, remedy: str) -> IntraBenchError:
    """The error for a stored file that is not as it was written."""
    return IntraBenchError(f"{path} is damaged; delete the folder {path.parent} and {remedy}")


def image_hash(volume: Volume) -> str:
    """A hash of the canonical voxels, their type and spacing; the order of axes in the file does not matter."""
    array = np.ascontiguousarray(volume.array)
    content = hashlib.sha256(repr((array.dtype.str, array.shape, volume.spacing_mm)).encode())
    content.update(array.data.cast("B"))
    return content.hexdigest()[:16]


def _storable(array: Array) -> Array:
    """The same intensities in a type that NIfTI supports; floats become float32."""
    kind, dtype = array.dtype.kind, array.dtype.newbyteorder("=")
    if kind not in "biuf":
        raise IntraBenchError(f"the image has voxels of type {array.dtype}, expected numbers; convert it")
    if kind == "b":
        dtype = np.dtype(np.uint8)
    elif kind == "f":
        dtype = np.dtype(np.float32)
    elif dtype.itemsize == 8:
        fits = array.size == 0 or (array.min() >= -(2**31) and array.max() < 2**31)
        dtype = np.dtype(np.int32 if fits else np.float32)
    with np.errstate(over="ignore"):  # values beyond float32 become infinite and are refused below
        return np.ascontiguousarray(array, dtype=dtype)


def _bits(targets: Sequence[Target]) -> dict[str, Any]:
    """The content of ``targets.npz`` under the number of each target: its packed mask, and what else it has."""
    bits: dict[str, Any] = {}
    for number, target in enumerate(targets):
        bits[str(number)] = target.mask.pack()
        if target.ignore.any():
            bits[f"{number}.ignore"] = target.ignore.pack()
            bits[f"{number}.ignore.box"] = np.array(target.ignore.box)
        if target.scribbles:
            bits[f"{number}.scribbles"] = np.vstack([np.zeros((0, 6), np.int64), *_rows(target)])
            bits[f"{number}.scribbles.people"] = np.array(len(target.scribbles))
        if target.boxes is not None:
            bits[f"{number}.boxes"] = np.array(target.boxes, dtype=np.int64).reshape(-1, 6)
    return bits


def _rows(target: Target) -> Iterator[Array]:
    """The points of each stroke, rows ``person, stroke, label, z, y, x``."""
    for person, strokes in enumerate(target.scribbles):
        for place, stroke in enumerate(strokes):
            yield np.insert(stroke.points, [0], (person, place, stroke.label), axis=1)


def _scribbles(rows: Array, people: int) -> tuple[tuple[Scribble, ...], ...]:
    """The strokes of each person, from such rows."""
    found: list[list[Scribble]] = [[] for _ in range(people)]
    # a stroke begins with the first row, and where the person or the number of the stroke differs from the row before
    begins = np.flatnonzero((np.diff(rows[:, :2], axis=0, prepend=-1) != 0).any(axis=1))
    for stroke in np.split(rows, begins)[1:]:
        found[stroke[0, 0]].append(Scribble(stroke[:, 3:], int(stroke[0, 2])))
    return tuple(map(tuple, found))


def _together(masks: Sequence[Mask]) -> Mask:
    return masks[0] if len(masks) == 1 else Mask.union(masks)


def _box(row: Array) -> Box:
    z0, y0, x0, z1, y1, x1 = (int(edge) for edge in row)
    return z0, y0, x0, z1, y1, x1


def _unpack(box: Sequence[int], bits: Array) -> Mask:
    return Mask.unpack(box[:3], [box[axis + 3] - box[axis] for axis in range(3)], bits)
