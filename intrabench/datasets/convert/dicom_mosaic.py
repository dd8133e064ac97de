"""Mosaics of Siemens: all slices of a volume as tiles of one image, which is larger than the patient's slice."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from math import ceil, sqrt
from pathlib import Path
from typing import Any

import numpy as np

from intrabench.datasets.convert.dicom_file import read_dataset, required
from intrabench.datasets.convert.dicom_pixels import read_file
from intrabench.datasets.convert.dicom_plane import Plane, Vectors
from intrabench.errors import IntraBenchError
from intrabench.mask import Array

TAGS = ("ImageType",)
"""The tags that `is_mosaic` reads."""


def is_mosaic(header: Any) -> bool:
    """Whether the type of an image says that it is one."""
    return "MOSAIC" in (header.get("ImageType") or ())


def tiles(path: Path) -> list[tuple[Plane, Callable[[], Array]]]:
    """The planes of a mosaic, and a function that reads the values of each.

    Tiles follow each other along rows. ImagePositionPatient is where the corner would be if the centre of the first
    slice were that of the whole image. How many tiles there are, and which way slices go, is in private tags only.

    Raises:
        IntraBenchError: these tags are missing, as after anonymisation, or tags do not fit together.
    """
    dataset = read_dataset(path)
    count, normal = _private(dataset, path)
    whole, side = Plane.of_file(dataset, path), ceil(sqrt(count))
    rows, columns = (length // side for length in whole.shape)
    # one vector is that of the image, so only its direction counts
    along = float(np.sign(normal @ whole.normal)) if abs(normal @ whole.normal) > 0.99 else 0.0
    step = whole.normal * along * float(required(dataset, "SpacingBetweenSlices", path))
    if (rows * side, columns * side) != whole.shape or not step.any():
        raise IntraBenchError(
            f"{path} is a mosaic of {count} slices, but its {whole.shape[0]} x {whole.shape[1]} pixels or its normal "
            f"{normal.round(3).tolist()} do not fit that; export its slices one by one"
        )
    first = whole.position + whole.axes @ [(whole.shape[1] - columns) / 2, (whole.shape[0] - rows) / 2]
    compressed = required(dataset.file_meta, "TransferSyntaxUID", path).is_encapsulated

    @lru_cache(maxsize=1)
    def pixels() -> Array:
        return read_file(path, whole.shape, compressed)

    def tile(number: int) -> Array:
        down, across = number // side * rows, number % side * columns
        return pixels()[down : down + rows, across : across + columns]

    return [
        (
            replace(whole, name=f"{path} (tile {number + 1})", shape=(rows, columns), position=first + number * step),
            lambda number=number: tile(number),  # type: ignore[misc]
        )
        for number in range(count)
    ]


def _private(dataset: Any, path: Path) -> tuple[int, Vectors]:
    """The number of slices, and the normal (3,) along which they follow each other, in RAS."""
    with warnings.catch_warnings():  # nibabel says that its readers of DICOM are experimental
        warnings.simplefilter("ignore")
        from nibabel.nicom import csareader
    try:
        header = csareader.get_csa_header(dataset, "image")
        count, normal = int(csareader.get_n_mosaic(header)), csareader.get_slice_normal(header)
        if count < 1:
            raise ValueError("there are no slices")
        return count, np.asarray(normal, dtype=np.float64) * (-1, -1, 1)  # from LPS
    except Exception as error:  # missing tags and damaged headers raise various exceptions
        raise IntraBenchError(
            f"{path} is a mosaic of slices, but its private tags (0029,1010), which say how many there are and in "
            "which order, are missing or damaged; export it with them, or its slices one by one"
        ) from error
