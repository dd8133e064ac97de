"""DICOM segmentations: one mask per segment on the grid of a series."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from intrabench.datasets.convert.dicom_file import highdicom_for, read_dataset, required
from intrabench.datasets.convert.dicom_plane import Plane, Vectors, frame_group
from intrabench.datasets.convert.dicom_references import References, beside_named
from intrabench.datasets.convert.dicom_series import Series
from intrabench.datasets.convert.dicom_stack import check_alike
from intrabench.datasets.convert.resample import onto_grid, outside
from intrabench.datasets.convert.segments import Drawn, Segment
from intrabench.errors import IntraBenchError, reading, several, some
from intrabench.files.grid import SAME, Grid, on_same_grid
from intrabench.files.headers import check_memory
from intrabench.mask import Array, Index

_REMEDY = "resample it to the images, or write resample = true in dataset.toml to resample it by nearest neighbour"


def read_seg(path: Path, series: Series, resample: bool = False) -> Drawn:
    """The segments of a DICOM SEG as masks on the grid of its series, in the order of the file; they may overlap.

    Reads binary and fractional segmentations (threshold: half of the maximum) and label maps, in which
    PixelPaddingValue is the background, as is 0 if it is not described, and other values that are not described are
    segments without a name. Empty frames may be missing. Frames on a different grid than the images are resampled by
    nearest neighbour if `resample` allows it. Names and numbers are SegmentLabel and SegmentNumber; segments without a
    voxel are left out, as a note says. Voxels outside of the images are cut off, which the segment says
    (`Segment.lost`, `Segment.beside`). One segment is in memory at a time.

    Raises:
        OtherGrid: the frames do not lie on the grid of the images, and `resample` is false.
        IntraBenchError: the file is not a SEG, truncated, refused by highdicom, without segments, drawn on other
            images, or its frames do not form a regular grid.
    """
    seg, grid = _opened(path), series.volume.grid
    References.of(seg).check(path, series.uid, series.frame_of_reference, series.instances)
    planes = [Plane.of_frame(seg, index, path) for index in range(seg.number_of_frames)]
    check_alike(planes, str(path))
    planes = _on_slices(planes, series, path)
    affine = _affine(seg, planes, grid, path)
    slices = _slices(affine, planes, path)
    sources = [References.of_frame(frame) for frame in seg.PerFrameFunctionalGroupsSequence]
    numbered, unknown = _frames_of_segments(seg, path), _unknown(seg, sources, series)
    others = {index for index, images in enumerate(sources) if series.has_not(images)}
    segments, empty = [], []
    for number, name in _names(seg, numbered, path).items():
        every, title = numbered.get(number, []), name or f"value {number}"
        frames = np.array([index for index in every if index not in others], dtype=np.intp)
        if len(every) and not len(frames):
            continue
        inside, cut = _stacked(seg, number, frames, slices, path)
        if not inside.any():
            empty.append(title)
            continue
        start = affine.copy()
        start[:3, 3] += affine[:3, 2] * slices[frames].min()
        hidden = slices[frames[np.isin(frames, unknown)]] - slices[frames].min()
        own = _compared(inside.shape, start, hidden, grid)
        notes = on_same_grid(str(path), own, grid, _REMEDY, resample=resample, part=True) if own else ()
        lost, beside = _outside(inside, start, hidden, series, f"{path}: {title}")
        fractions = f"{path}: {title} {cut}" if cut else ""
        beside = "; also: ".join(filter(None, (beside, fractions, *notes)))
        segments.append(Segment(name, onto_grid(inside, start, grid), number, lost, beside))
    told = [f"{path} describes {several(len(empty), 'segment')} without a voxel: {some(empty)}"] if empty else []
    if others:
        many = several(len(others), "frame")
        told.append(f"{path} has {many} that were drawn on another phase of the series, left out")
    if count := beside_named(sources, _places(planes, grid), series.instances):
        many = several(count, "frame")
        told.append(f"{path} has {many} on other slices than the images that they name; their own positions count")
    return segments, tuple(told)


def _on_slices(planes: list[Plane], series: Series, path: Path) -> list[Plane]:
    """The planes where the grid of the series has its slices, if they lie in slices."""
    grid = series.volume.grid
    places = _places(planes, grid)
    shifts = np.outer(series.slices_at(places) - places, grid.affine[:3, 2])
    moved = [replace(plane, position=plane.position + by) for plane, by in zip(planes, shifts, strict=True)]
    if _in_slices(moved, grid):
        return moved
    if series.uneven:
        raise IntraBenchError(
            f"{path} has frames between the slices of the series {series.uid}, whose steps are uneven; {series.remedy}"
        )
    return planes


def _places(planes: Sequence[Plane], grid: Grid) -> Vectors:
    """The slices of the images in which planes lie, as fractions."""
    along = np.linalg.inv(grid.affine)[2]
    return np.asarray(np.stack([plane.position for plane in planes]) @ along[:3] + along[3])


def _unknown(seg: Any, sources: Sequence[frozenset[str]], series: Series) -> list[int]:
    """The frames that were drawn on images of the series that are not there; sources: the images that each names."""
    if References.of(seg).instances.isdisjoint(series.instances):
        return []
    return [index for index, source in enumerate(sources) if source and source.isdisjoint(series.instances)]


def _compared(shape: Index, affine: Vectors, hidden: NDArray[np.intp], grid: Grid) -> Grid | None:
    """The grid of a segment, as far as it was drawn on images that are there: with `hidden` slices, one of the others.

    One slice alone has no step, and slices on images that are not there make it a fraction of that of the images.
    """
    here = np.setdiff1d(np.arange(shape[2]), hidden)
    if shape[2] > 1 and not len(hidden):
        return Grid(shape, affine)
    if not len(here):
        return None
    one = affine.copy()
    one[:3, 3] += affine[:3, 2] * here[0]
    one[:3, 2] = grid.affine[:3, 2]
    return Grid((*shape[:2], 1), one)


def _outside(inside: Array, affine: Vectors, hidden: NDArray[np.intp], series: Series, name: str) -> tuple[str, str]:
    """What of a segment lies in slices that the series lacks, and what lies beside the images, in words.

    hidden: the slices of `inside` that were drawn on images that are not there.
    """
    grid = series.volume.grid
    indices, axes = outside(inside, affine, grid)
    # The third row of the inverse gives the slice of the images in which a hidden frame lies, as a fraction.
    along = np.linalg.inv(grid.affine)[2]
    places = (np.outer(hidden, affine[:3, 2]) + affine[:3, 3]) @ along[:3] + along[3]
    between = hidden[np.abs(places - np.rint(places)) > SAME]  # another acquisition may have an image at one place
    drawn = np.flatnonzero(inside.any(axis=(0, 1)))
    missing = np.union1d(indices[axes[:, 2], 2], np.intersect1d(between, drawn))
    voxels, cut = int(inside[:, :, missing].sum()), int(np.count_nonzero(~axes[:, 2]))
    lost = (
        f"{name} was drawn on {several(len(drawn), 'slice')}, of which the series {series.uid} lacks {len(missing)} "
        f"({voxels} of {int(inside.sum())} voxels)"
    )
    return lost if len(missing) else "", f"{name} has {cut} voxels beside the images, which are cut off" if cut else ""


def _opened(path: Path) -> Any:
    """The `highdicom.seg.Segmentation`."""
    dataset = read_dataset(path)
    if dataset.get("Modality") != "SEG":
        raise IntraBenchError(f"{path} is a {dataset.get('Modality')} file, expected a SEG; give the segmentation")
    if not required(dataset, "SegmentSequence", path):
        raise IntraBenchError(f"{path} describes no segments; export it again")
    for keyword in ("SegmentationType", "PixelData"):
        required(dataset, keyword, path)
    if dataset.get("PerFrameFunctionalGroupsSequence"):
        _check_complete(dataset, path)
    hd = highdicom_for(path)
    with reading(path):
        return hd.seg.Segmentation.from_dataset(dataset, copy=False)


def _check_complete(seg: Any, path: Path) -> None:
    """Refuse pixels that are not as many as the header says: frames would be read from wrong places."""
    count, described = int(required(seg, "NumberOfFrames", path)), len(seg.PerFrameFunctionalGroupsSequence)
    if count != described:
        raise IntraBenchError(f"{path} has {count} frames, but describes {described}; export it again")
    if seg.SegmentationType == "FRACTIONAL" and not required(seg, "MaximumFractionalValue", path) > 0:
        raise IntraBenchError(f"{path} has the MaximumFractionalValue 0, so no fraction is defined; export it again")
    # bits of all frames follow each other without gaps and end with a whole byte; DICOM makes their number even
    needed = -(-count * seg.Rows * seg.Columns * int(required(seg, "BitsAllocated", path)) // 8)
    packed = required(seg.file_meta, "TransferSyntaxUID", path).is_encapsulated
    if not packed and not needed <= len(seg.PixelData) <= needed + 1:
        raise IntraBenchError(
            f"{path} has {len(seg.PixelData)} bytes of pixels, but its header describes {needed}; export it again"
        )


def _frames_of_segments(seg: Any, path: Path) -> dict[int, list[int]]:
    """The frames of each segment, counted from 0, by its number; the frames of a label map have several."""
    found: dict[int, list[int]] = {}
    for index in range(seg.number_of_frames):
        if _is_label_map(seg):
            numbers = np.unique(_stored(seg, index, path)).tolist()
        else:
            numbers = [_number(seg, index, f"{path} (frame {index + 1})")]
        for number in numbers:
            found.setdefault(number, []).append(index)
    return found


def _is_label_map(seg: Any) -> bool:
    return bool(seg.SegmentationType == "LABELMAP")


def _stored(seg: Any, index: int, path: Path) -> Array:
    with reading(path):
        return seg.get_stored_frame(int(index), as_index=True)


def _names(seg: Any, found: Collection[int], path: Path) -> dict[int, str]:
    """The names of segments by number, in order; found: the numbers that frames have."""
    described = [int(item.SegmentNumber) for item in seg.SegmentSequence]
    if len(set(described)) < len(described):
        raise IntraBenchError(f"{path} describes two segments under one number ({described}); export it again")
    names = {int(item.SegmentNumber): str(item.SegmentLabel) for item in seg.SegmentSequence}
    unknown = sorted(set(found) - names.keys())
    if _is_label_map(seg):
        background = {0} - names.keys() | {int(seg.get("PixelPaddingValue") or 0)}
        return {
            number: name for number, name in (names | dict.fromkeys(unknown, "")).items() if number not in background
        }
    if unknown:
        raise IntraBenchError(
            f"{path} has frames of the segment {unknown[0]}, which it does not describe; export it again"
        )
    return names


def _number(seg: Any, index: int, name: str) -> int:
    """The number of the segment that a frame belongs to."""
    group = frame_group(seg, index, "SegmentIdentificationSequence", name)
    return int(required(group, "ReferencedSegmentNumber", name))


def _affine(seg: Any, planes: Sequence[Plane], grid: Grid, path: Path) -> Vectors:
    """Indices ``(column, row, slice)`` to RAS mm; the slice of the first frame is 0."""
    affine = np.eye(4)
    affine[:3, :2], affine[:3, 2], affine[:3, 3] = planes[0].axes, _step(seg, planes, grid, path), planes[0].position
    return affine


def _step(seg: Any, planes: Sequence[Plane], grid: Grid, path: Path) -> Vectors:
    """The step between slices: that of the images if the frames lie in their slices, unless the file states another.

    The frames alone do not determine it because empty frames may be missing.
    """
    step = grid.affine[:3, 2]
    shared = _in_slices(planes, grid)
    stated = frame_group(seg, 0, "PixelMeasuresSequence", str(path)).get("SpacingBetweenSlices")
    if shared and (not stated or np.isclose(abs(stated), np.linalg.norm(step), rtol=0.01)):
        return step
    with reading(path):
        geometry = seg.get_volume_geometry()
    if geometry is not None:
        return geometry.affine[:3, 0] * (-1, -1, 1)  # DICOM points to Left and Posterior
    if shared:
        return step
    raise IntraBenchError(f"{path} has frames at uneven distances, expected a regular grid; export it again")


def _in_slices(planes: Sequence[Plane], grid: Grid) -> bool:
    """Whether every frame, with all its corners, lies in a slice of the images."""
    to_slice = np.linalg.inv(grid.affine)[2]
    rows, columns = planes[0].shape
    corners = np.array([[0, 0], [columns - 1, 0], [0, rows - 1]]) @ planes[0].axes.T
    points = np.stack([plane.position for plane in planes])[:, None] + corners
    slices = points @ to_slice[:3] + to_slice[3]
    return bool(np.abs(slices - np.rint(slices[:, :1])).max() < SAME)


def _slices(affine: Vectors, planes: Sequence[Plane], path: Path) -> NDArray[np.intp]:
    """The index of each frame along the third axis."""
    found = (np.stack([plane.position for plane in planes]) - affine[:3, 3]) @ np.linalg.inv(affine[:3, :3]).T
    slices = np.rint(found[:, 2])
    if max(np.abs(found[:, :2]).max(), np.abs(found[:, 2] - slices).max()) > SAME:
        raise IntraBenchError(f"{path} has frames that are not on a regular grid; resample it to the images")
    return slices.astype(np.intp)


def _stacked(
    seg: Any, number: int, frames: NDArray[np.intp], slices: NDArray[np.intp], path: Path
) -> tuple[Array, str]:
    """The frames of one segment as a boolean array ``(column, row, slice)`` from its first to its last slice.

    Without frames, nothing. Also what is inside, in words, if the segment has fractions.

    Raises:
        IntraBenchError: two frames at one position differ, as of two time points.
    """
    if not len(frames):
        return np.zeros((0, 0, 0), dtype=bool), ""
    first, last = slices[frames].min(), slices[frames].max()
    check_memory(str(path), 2 * int(last - first + 1) * seg.Rows * seg.Columns)
    inside = np.zeros((last - first + 1, seg.Rows, seg.Columns), dtype=bool)
    full = seg.MaximumFractionalValue if seg.SegmentationType == "FRACTIONAL" else 1
    soft, seen = False, set[int]()
    for index in frames:
        place = int(slices[index] - first)
        frame = _stored(seg, index, path)
        frame = (frame == number).astype(np.uint8) if _is_label_map(seg) else frame
        drawn = 2 * frame.astype(np.int64) >= full
        if place in seen and not np.array_equal(inside[place], drawn):
            raise IntraBenchError(
                f"{path} has two different frames of the segment {number} at one position; keep one time point"
            )
        seen.add(place)
        inside[place], soft = drawn, soft or bool(((frame > 0) & (frame < full)).any())
    return inside.transpose(2, 1, 0), "has fractions, of which a half and more is inside" if soft else ""
