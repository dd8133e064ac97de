"""One image and its labels, from files of any supported format."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from intrabench.datasets.convert.label_map import segments_of, whole
from intrabench.datasets.convert.photo import IGNORED, VOID, has_void, read_ids, read_photo
from intrabench.datasets.convert.photo import SUFFIXES as PICTURES
from intrabench.datasets.convert.segment_nrrd import FileSegment, cut_out, drawn_in, has_segments
from intrabench.datasets.convert.segments import Segment
from intrabench.datasets.folder.layout import LoadedCase
from intrabench.datasets.folder.npz import read_npz
from intrabench.datasets.folder.pairing import NPZ, ending
from intrabench.datasets.folder.rules import IGNORE, Rules
from intrabench.errors import IntraBenchError, reading, several
from intrabench.files.grid import Grid, on_same_grid
from intrabench.files.headers import nifti
from intrabench.mask import Mask
from intrabench.volume import Volume, check_intensities, disagreements, read_grid_array, read_image, read_labels_on

_REMEDY = (
    "resample the labels to the image, or write resample = true in dataset.toml to resample them by nearest neighbour"
)


def read_pair(image: Path, label: Path, channel: int, rules: Rules) -> LoadedCase:
    """An image and its labels: volumes, pictures, or ``.npz`` of the CVPR 2025 challenge.

    channel: the channel to use if the image has several.

    Raises:
        IntraBenchError: a file cannot be read or has the wrong content, or the labels are on a different grid.
    """
    if channel and (ending(image) == NPZ or ending(image) in PICTURES):
        raise IntraBenchError(f"{image} has only one channel; omit channel={channel}")
    if ending(image) == NPZ:
        return read_npz(image, label)
    if ending(image) in PICTURES:
        return _read_picture(image, label, rules)
    volume = _read_channel(image, channel)
    return _read_labels(label, volume, image, rules.resample)


def _read_picture(image: Path, label: Path, rules: Rules) -> LoadedCase:
    volume = read_photo(image)
    ids = read_ids(label, rules.coding)[None]
    if ids.shape != volume.shape:
        raise IntraBenchError(
            f"{label} has {ids.shape[1]} x {ids.shape[2]} pixels, but its picture {image.name} has "
            f"{volume.shape[1]} x {volume.shape[2]}; export both in the same size"
        )
    if rules.coding == "palette" and str(VOID) not in rules.labels and has_void(label, ids):
        ids[ids == VOID] = IGNORED
        volume = replace(volume, notes=(*volume.notes, f"{VOID} in masks is void, and is ignored"))
    ignored = [Segment(IGNORE, Mask.of(ids == IGNORED), 0)] if (ids == IGNORED).any() else []
    return LoadedCase(volume, [*segments_of(ids.clip(0), "object"), *ignored])


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
    return replace(Volume.from_file_order(array, image.affine), notes=(note, *disagreements(path)))


def _channels(path: Path) -> int:
    if ending(path) not in (".nii", ".nii.gz"):
        return 1
    try:
        image: Any = nifti(path)
        return image.shape[3] if len(image.shape) == 4 else 1
    except Exception:  # the reader reports what is wrong with the file
        return 1


def _read_labels(path: Path, volume: Volume, image: Path, resample: bool) -> LoadedCase:
    """Segments on the grid of their image. Files that name segments may cover a part of it; others need `resample`."""
    grid, notes, segments = volume.grid, list[str](), list[Segment]()
    if has_segments(path):
        for segment in drawn_in(path):
            own = Grid(segment.array.shape, segment.affine)
            notes += on_same_grid(str(path), own, grid, _REMEDY, resample=resample, part=True)
            segments.append(_placed(path, segment, grid))
    elif resample:
        array, affine = read_grid_array(path)
        notes += on_same_grid(str(path), Grid(array.shape, affine), grid, _REMEDY, resample=True)
        segments = [_placed(path, segment, grid) for segment in cut_out(whole(array, str(path)), affine)]
    else:
        labels, told = read_labels_on(path, grid, image, _REMEDY)
        notes += told
        segments = segments_of(whole(labels, str(path)))
    return LoadedCase(replace(volume, notes=(*volume.notes, *dict.fromkeys(notes))), segments)


def _placed(path: Path, segment: FileSegment, grid: Grid) -> Segment:
    beyond, name = segment.beyond(grid), segment.name or f"value {segment.number}"
    beside = f"{path.name}: {name} is cut off at the image, by {several(beyond, 'voxel')}" if beyond else ""
    return replace(segment.onto(grid), beside=beside)
