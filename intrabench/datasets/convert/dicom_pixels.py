"""Grey values of DICOM images, decompressed and rescaled, one plane at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from intrabench.datasets.convert.dicom_file import highdicom_for, read_dataset
from intrabench.datasets.convert.dicom_frame import check_frame
from intrabench.errors import IntraBenchError, reading, several
from intrabench.files.headers import check_memory
from intrabench.mask import Array

TAGS = ("SamplesPerPixel", "PhotometricInterpretation", "ModalityLUTSequence")
"""The tags that `check_grey` reads."""

_INT16 = np.iinfo(np.int16)


def check_grey(dataset: Any, name: Path | str) -> None:
    """Refuse colour images, grey values that do not mean brightness, and those that mean something by a table."""
    kind = dataset.get("PhotometricInterpretation", "MONOCHROME2")
    if dataset.get("SamplesPerPixel", 1) != 1 or kind != "MONOCHROME2":
        raise IntraBenchError(
            f"{name} holds {kind} pixels, expected grey values (MONOCHROME2); give the original series of the scanner"
        )
    if dataset.get("ModalityLUTSequence"):
        raise IntraBenchError(
            f"{name} has a table of values (ModalityLUTSequence), expected RescaleSlope and RescaleIntercept; export "
            "it with the table applied"
        )


def assembled(readers: Sequence[Callable[[], Array]], shape: tuple[int, int]) -> Array:
    """Combine planes of `shape` ``(rows, columns)``, one per reader, into an array ``(column, row, slice)``.

    The type is int16 if all values are whole numbers in its range, else float32.
    """
    rows, columns = shape
    what = f"a series of {several(len(readers), 'slice')} of {rows} x {columns} pixels"
    check_memory(what, 4 * len(readers) * rows * columns)
    array: Array = np.empty((len(readers), *shape), dtype=np.int16)
    for index, read in enumerate(readers):
        plane = read()
        if array.dtype == np.int16 and not _fits_int16(plane):
            array = array.astype(np.float32)
        array[index] = plane
    return array.transpose(2, 1, 0)


def _fits_int16(plane: Array) -> bool:
    whole = plane.dtype.kind in "iu" or np.array_equal(plane, np.rint(plane))
    return bool(whole and plane.min() >= _INT16.min and plane.max() <= _INT16.max)


def read_file(path: Path, shape: tuple[int, int], compressed: bool) -> Array:
    """The rescaled values of a file with one frame of `shape` ``(rows, columns)``.

    Raises:
        IntraBenchError: the pixels are truncated, or their compression cannot be decoded.
    """
    with reading(path):
        dataset = read_dataset(path)
        values = _decompressed(path, dataset) if compressed else _rescaled(dataset)
    if values.shape != shape:
        raise IntraBenchError(f"{path} holds {values.shape} pixels, but its header says {shape}; export it again")
    return values


def open_frames(path: Path) -> Any:
    """A file with several frames as a `highdicom.Image`."""
    hd = highdicom_for(path)
    with reading(path):
        return hd.imread(path, lazy_frame_retrieval=True)


def read_frame(opened: Callable[[Path], Any], index: int, path: Path) -> Array:
    """The rescaled values ``(rows, columns)`` of one frame, counted from 0, of a file; raises as above.

    opened: opens the file, as `open_frames`; it may keep it open.
    """
    image = opened(path)
    with reading(path):
        if image.file_meta.TransferSyntaxUID in _with_header():
            check_frame(image.get_raw_frame(index, as_index=True), image, path)
        return image.get_frame(
            index,
            as_index=True,
            apply_real_world_transform=False,
            apply_voi_transform=False,
            apply_presentation_lut=False,
        )


def _rescaled(dataset: Any) -> Array:
    stored = dataset.pixel_array
    stated = dataset.get("RescaleSlope")
    slope = 1.0 if stated is None or stated == "" else float(stated)  # 0 is stated, too
    intercept = float(dataset.get("RescaleIntercept", 0) or 0)
    if slope.is_integer() and intercept.is_integer():
        return stored.astype(np.int64) * int(slope) + int(intercept)
    return stored * slope + intercept


def _decompressed(path: Path, dataset: Any) -> Array:
    """The values of a file with one frame, decoded by GDCM, which also rescales; a damaged RLE would end it."""
    import SimpleITK as sitk
    from pydicom.encaps import get_frame
    from pydicom.uid import RLETransferSyntaxes

    syntax = dataset.file_meta.TransferSyntaxUID
    if syntax in RLETransferSyntaxes:
        return _rescaled(dataset)
    if syntax in _with_header():
        check_frame(get_frame(dataset.PixelData, 0, number_of_frames=1), dataset, path)
    return sitk.GetArrayFromImage(sitk.ReadImage(str(path), imageIO="GDCMImageIO"))[0]


def _with_header() -> list[str]:
    """The compressions whose frames say their size."""
    from pydicom.uid import JPEG2000TransferSyntaxes, JPEGLSTransferSyntaxes, JPEGTransferSyntaxes

    return [*JPEGTransferSyntaxes, *JPEGLSTransferSyntaxes, *JPEG2000TransferSyntaxes]
