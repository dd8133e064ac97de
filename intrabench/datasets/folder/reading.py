"""One image and its labels, from files of any supported format."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from intrabench.datasets.convert.label_map import segments_of
from intrabench.datasets.convert.photo import check_size, read_objects, read_photo
from intrabench.datasets.convert.segment_nrrd import FileSegment, cut_out, drawn_in, has_segments
from intrabench.datasets.convert.segments import Drawn, Segment
from intrabench.datasets.convert.upright import from_files
from intrabench.datasets.folder.dicom import read_only_series
from intrabench.datasets.folder.layout import LoadedCase
from intrabench.datasets.folder.npz import read_npz
from intrabench.datasets.folder.pairing import NPZ, ending
from intrabench.datasets.folder.rules import IGNORE, Rules
from intrabench.errors import IntraBenchError, reading, several
from intrabench.files.geometry import geometry_notes
from intrabench.files.grid import Grid, on_same_grid
from intrabench.files.headers import nifti
from intrabench.files.label_names import label_names
from intrabench.files.pictures import SUFFIXES as PICTURES
from intrabench.files.pictures import pages, read_stack
from intrabench.mask import Array
from intrabench.volume import Volume, check_intensities, read_grid, read_grid_array, read_image, read_labels_on

_REMEDY = (
    "resample the labels to the image, or write resample = true in dataset.toml to resample them by nearest neighbour"
)
Read = Callable[[Path], Drawn]
"""What reads the segments in a file onto a scan."""


def read_pair(image: Path, labels: Sequence[tuple[str, Path]], channel: int, rules: Rules) -> LoadedCase:
    """An image and what was drawn on it: volumes, pictures, or ``.npz`` of the CVPR challenges.

    image: a file, or a folder with one DICOM series. labels: files with the name of the structure that each holds, or
    an empty one if it holds several. In that of a structure, each value or segment is one more instance of it. They
    are read one after the other, for the memory. channel: the channel to use if the image has several.

    Raises:
        IntraBenchError: a file cannot be read or has the wrong content, or labels are on a different grid.
    """
    if channel and (ending(image) == NPZ or ending(image) in PICTURES):
        raise IntraBenchError(f"{image} has only one channel; omit channel={channel}")
    if ending(image) == NPZ:
        if [name for name, _ in labels] != [""]:
            raise IntraBenchError(f"{image} takes its labels from one file with gts; name it by label, not structures")
        return read_npz(image, labels[0][1], rules.values)
    volume, read = _read_image(image, channel, rules)
    segments, notes = list[Segment](), list(volume.notes)
    for name, path in labels:
        found, told = read(path)
        if name:
            ignored = [one for one in found if one.name == IGNORE and not one.number]
            objects = [replace(one, name=name, number=0) for one in found if one not in ignored]
            if len(objects) > 1:
                notes.append(f"{path.name} holds {len(objects)} values or segments; each is an instance of {name}")
            found = [*objects, *ignored]
        segments += found
        notes += told
    return LoadedCase(replace(volume, notes=tuple(dict.fromkeys(notes))), segments)


def _read_image(image: Path, channel: int, rules: Rules) -> tuple[Volume, Read]:
    """The scan, and what reads its labels."""
    if image.is_dir():
        volume = read_only_series(image, rules)
        return volume, lambda path: _read_labels(path, volume, None, rules)
    if pages(image) > 1:
        return _read_pages(image, rules)
    if ending(image) in PICTURES:
        photo = read_photo(image)
        check_intensities(photo.array, str(image))
        return photo, lambda path: _read_mask(path, photo, image, rules)
    scan = _read_channel(image, channel)
    return scan, lambda path: _read_labels(path, scan, image, rules)


def _read_mask(label: Path, volume: Volume, image: Path, rules: Rules) -> Drawn:
    """The objects in a picture that is a mask, and what is ignored."""
    segments, ignored, told = read_objects({label: image}, volume.shape[1:], rules.pixels)
    return [*segments, *([Segment(IGNORE, ignored, 0)] if ignored.any() else [])], told


def _read_pages(image: Path, rules: Rules) -> tuple[Volume, Read]:
    """A stack of pages, whose labels are stacks of as many; pictures have no sides of a patient, and stacks neither."""
    scan = read_stack(image)
    depth = len(scan.array)
    spacing = rules.spacing or scan.spacing_mm
    if spacing is None:
        raise IntraBenchError(
            f"{image} is a stack of {depth} pages and does not state their spacing; write that along z, y and x in mm "
            "into dataset.toml, spacing = [2.0, 1.0, 1.0]"
        )
    check_intensities(scan.array, str(image))

    def other(what: str, stated: tuple[float, float, float] | None) -> tuple[str, ...]:
        if stated is None or np.allclose(stated, spacing, rtol=0.01):
            return ()
        lengths = " x ".join(f"{length:g}" for length in stated)
        return (f"the {what} another spacing, {lengths} mm, which does not count",)

    def read(label: Path) -> Drawn:
        if ending(label) not in (".tif", ".tiff"):
            raise IntraBenchError(f"{label} is no stack of pages, but {image.name} is; export both as TIFF files")
        if pages(label) != depth:
            raise IntraBenchError(
                f"{label} has {several(pages(label), 'page')}, but {image.name} has {depth}; export both as stacks of "
                "one size"
            )
        drawn = read_stack(label)
        check_size(label, drawn.array.shape[1:], image, scan.array.shape[1:])
        return segments_of(rules.values.labels(drawn.array, str(label))), other("labels state", drawn.spacing_mm)

    note = f"the {depth} pages are slices along z; the file states no orientation"
    notes = (note, *other("file states", scan.spacing_mm))
    return replace(Volume.from_canonical(scan.array, spacing), notes=notes), read


def _read_channel(path: Path, channel: int) -> Volume:
    """A scan, or one channel of a NIfTI file with four axes."""
    channels = _channels(path)
    if channel >= channels:
        raise IntraBenchError(
            f"{path} has {several(channels, 'channel')}, counted from 0, so there is no channel {channel}"
        )
    if channels == 1:
        return read_image(path)
    with reading(path):
        image: Any = nifti(path)
        image = image.slicer[..., channel]
        array = np.asarray(image.dataobj)
    array = array.astype(np.float32) if array.dtype == np.float64 else array
    check_intensities(array, str(path))
    note = f"the file has {channels} channels or time points, of which number {channel} (counted from 0) is used"
    return replace(Volume.from_file_order(array, image.affine), notes=(note, *geometry_notes(path)))


def _channels(path: Path) -> int:
    if ending(path) not in (".nii", ".nii.gz"):
        return 1
    try:
        image: Any = nifti(path)
        return image.shape[3] if len(image.shape) == 4 else 1
    except Exception:  # the reader reports what is wrong with the file
        return 1


def _read_labels(path: Path, volume: Volume, image: Path | None, rules: Rules) -> Drawn:
    """Segments on the grid of their image. Files that name segments may cover a part of it; others need `resample`.

    image: its file; None: a DICOM series, on which labels may have any order of axes, as converters choose their own,
    and lie where others read the series, if its steps are uneven.
    """
    grid, notes, segments = volume.grid, list[str](), list[Segment]()

    def to_labels(values: Array, name: str) -> Array:
        if image is None and np.array_equal(values, volume.array):  # converters write it beside the series
            raise IntraBenchError(f"{name} holds the images of the DICOM series and no labels; move it elsewhere")
        return rules.values.labels(values, name)

    if has_segments(path):
        for segment in drawn_in(path, rules.values):
            own = Grid(segment.array.shape, segment.affine)
            notes += on_same_grid(str(path), own, grid, _REMEDY, resample=rules.resample, part=True)
            segments.append(_placed(path, segment, grid))
    elif image is None and volume.original and read_grid(path).canonical.same_as(volume.original.grid.canonical):
        drawn, _ = read_labels_on(path, volume.original.grid, None, _REMEDY, to_labels, reorder=True)
        labels = from_files(drawn, volume)
        if rules.gaps == "longest" and (cut := np.count_nonzero(drawn) - np.count_nonzero(labels)):
            notes.append(f"{path.name} has {several(int(cut), 'voxel')} on slices that are not used, which are cut off")
        segments = segments_of(labels)
    elif rules.resample:
        array, affine = read_grid_array(path)
        own, like = Grid(array.shape, affine), grid
        if image is None:
            own, like = own.canonical, grid.canonical
        notes += on_same_grid(str(path), own, like, _REMEDY, resample=True)
        labels = rules.values.labels(array, str(path))
        segments = [_placed(path, segment, grid) for segment in cut_out(labels, affine)]
    else:
        labels, told = read_labels_on(path, grid, image, _REMEDY, to_labels, reorder=image is None)
        notes += told
        segments = segments_of(labels)
    names = label_names(path)
    return [replace(one, name=one.name or names.get(one.number, "")) for one in segments], tuple(notes)


def _placed(path: Path, segment: FileSegment, grid: Grid) -> Segment:
    beyond, name = segment.beyond(grid), segment.name or f"value {segment.number}"
    beside = f"{path.name}: {name} is cut off at the image, by {several(beyond, 'voxel')}" if beyond else ""
    return replace(segment.onto(grid), beside=beside)
