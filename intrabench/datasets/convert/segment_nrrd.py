"""Files with several segments: NRRD as written by 3D Slicer, and NIfTI with one channel per segment."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from intrabench.datasets.convert.label_map import Box, boxes_of
from intrabench.datasets.convert.resample import onto_grid, outside
from intrabench.datasets.convert.segments import Segment
from intrabench.errors import IntraBenchError, reading, several
from intrabench.files.grid import Grid
from intrabench.files.headers import nifti, sitk_reader
from intrabench.files.label_values import WHOLE, LabelValues, from_zero
from intrabench.mask import Array
from intrabench.volume import sitk_affine

Affine = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FileSegment:
    """A segment on its own grid: booleans in file order and their affine to RAS mm."""

    name: str
    number: int
    array: NDArray[np.bool_]
    affine: Affine

    def onto(self, grid: Grid) -> Segment:
        """The segment resampled to an image's grid by nearest neighbour; parts beyond the grid are cut off."""
        return Segment(self.name, onto_grid(self.array, self.affine, grid), self.number)

    def beyond(self, grid: Grid) -> int:
        """The number of voxels whose centres lie outside of a grid."""
        return len(outside(self.array, self.affine, grid)[0])


def has_segments(path: Path) -> bool:
    """Whether a file holds several segments, named in its header or stored as channels.

    Raises:
        IntraBenchError: the header cannot be read.
    """
    with reading(path):
        if _is_nifti(path):
            image: Any = nifti(path)
            return len(image.shape) == 4 and image.shape[3] > 1
        return path.suffix.lower() in (".nrrd", ".nhdr") and bool(_indices(_header(path)))


def drawn_in(path: Path, values: LabelValues = WHOLE) -> Iterator[FileSegment]:
    """The segments of a file, each cropped to its box; segments without voxels are left out.

    NRRD: ``Segment{i}_Name`` is the name of segment i. Its voxels are those where layer ``Segment{i}_Layer`` has the
    value ``Segment{i}_LabelValue``; without these entries, those where layer i, or the only layer, is 1. Values that no
    segment has are segments without a name. A file of one voxel has none: Slicer writes it if nothing was drawn.
    NIfTI: the voxels of segment i are those where channel i is 1. If channel 0 is exactly the rest, it is the
    background; else channels are numbered from 1. values: how those of NIfTI become labels.

    Raises:
        IntraBenchError: the file is truncated, or its values do not fit the header.
    """
    with reading(path):
        yield from _one_hot(path, values) if _is_nifti(path) else _slicer(path)


def cut_out(labels: Array, affine: Affine) -> Iterator[FileSegment]:
    """The values of a label map in file order, each cropped to its box."""
    for number, where in boxes_of(labels):
        yield _drawn("", number, labels, where, affine)


def _slicer(path: Path) -> Iterator[FileSegment]:
    import SimpleITK as sitk

    image = sitk_reader(path).Execute()
    if image.GetNumberOfPixels() == 1:
        return
    array = from_zero(sitk.GetArrayViewFromImage(image), str(path)).T  # x, y, z, and before them the layers
    layers = [array] if image.GetNumberOfComponentsPerPixel() == 1 else list(array)
    boxes = [dict(boxes_of(layer)) for layer in layers]
    header, affine = _header(path), sitk_affine(image)
    drawn: dict[tuple[int, int], str] = {}
    for index in _indices(header):
        layer = int(header.get(f"Segment{index}_Layer", min(index, len(layers) - 1)))
        number = int(header.get(f"Segment{index}_LabelValue", 1))
        name = header.get(f"Segment{index}_Name", "")
        if layer >= len(layers):
            raise IntraBenchError(
                f"{path} puts {name or f'segment {index}'} into layer {layer} (from 0), but has "
                f"{several(len(layers), 'layer')}; save it again"
            )
        if first := drawn.get((layer, number)):
            raise IntraBenchError(
                f"{path} gives the value {number} of layer {layer} two names, {first!r} and {name!r}; save it again"
            )
        drawn[layer, number] = name or f"segment {index}"
        if number in boxes[layer]:
            yield _drawn(name, number, layers[layer], boxes[layer][number], affine)
    for layer, found in enumerate(boxes):
        for number in found:
            if (layer, number) not in drawn:
                yield _drawn("", number, layers[layer], found[number], affine)


def _one_hot(path: Path, values: LabelValues) -> Iterator[FileSegment]:
    image: Any = nifti(path)
    array = values.labels(np.asarray(image.dataobj), str(path))
    if array.max(initial=0) > 1:
        raise IntraBenchError(
            f"{path} has {array.shape[3]} channels with values up to {array.max()}, expected 0 and 1 in each; save a "
            "label map with three axes, or one channel per label"
        )
    background = np.array_equal(array[..., 0] == 0, array[..., 1:].any(axis=3))
    for channel in range(int(background), array.shape[3]):
        for _, where in boxes_of(array[..., channel]):
            yield _drawn("", channel + (not background), array[..., channel], where, image.affine, value=1)


def _drawn(name: str, number: int, labels: Array, where: Box, affine: Affine, value: int | None = None) -> FileSegment:
    moved = affine.copy()
    moved[:3, 3] += affine[:3, :3] @ [bound.start for bound in where]
    return FileSegment(name, number, labels[where] == (number if value is None else value), moved)


def _is_nifti(path: Path) -> bool:
    return path.name.lower().endswith((".nii", ".nii.gz"))


def _header(path: Path) -> dict[str, str]:
    reader = sitk_reader(path)
    return {key: reader.GetMetaData(key) for key in reader.GetMetaDataKeys()}


def _indices(header: dict[str, str]) -> list[int]:
    """The numbers of the segments in a header."""
    return sorted({int(found[1]) for key in header if (found := re.match(r"Segment(\d+)_", key))})
