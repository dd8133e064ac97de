"""Frames that say something else than their files are refused before a decoder gives other pixels, or crashes."""

from __future__ import annotations

import io
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pydicom
import pytest
from PIL import Image
from pydicom.encaps import encapsulate
from pydicom.uid import JPEG2000Lossless, JPEGBaseline8Bit, JPEGLSLossless, RLELossless
from syrupy.assertion import SnapshotAssertion

from intrabench.datasets.convert.dicom_frame import check_frame
from intrabench.datasets.convert.dicom_series import read_series
from intrabench.errors import IntraBenchError
from tests.datasets.convert.dicom_files import change, write_ct
from tests.datasets.convert.test_dicom_series import write_enhanced
from tests.wording import without_reasons

STORED = np.random.default_rng(0).integers(0, 200, (3, 16, 12)).astype(np.uint16)
EIGHT_BITS = {"BitsAllocated": 8, "BitsStored": 8, "HighBit": 7}


def packed(plane: np.ndarray, kind: str) -> bytes:
    file = io.BytesIO()
    options = {"no_jp2": True} if kind == "JPEG2000" else {"quality": 100}
    Image.fromarray(plane).save(file, kind, **options)
    return file.getvalue()


def written(folder: Path, kind: str) -> list[Path]:
    """STORED as a series, compressed, as good as it gets."""
    if kind == "JPEG-LS":
        return write_ct(folder, STORED, syntax=JPEGLSLossless)
    planes = STORED.astype(np.uint8) if kind == "JPEG" else STORED
    paths = write_ct(folder, planes)
    for path in paths:
        dataset = pydicom.dcmread(path)
        frame = packed(dataset.pixel_array, kind)
        dataset.file_meta.TransferSyntaxUID = JPEGBaseline8Bit if kind == "JPEG" else JPEG2000Lossless
        dataset.PixelData = encapsulate([frame])
        dataset["PixelData"].is_undefined_length = True
        dataset.save_as(path, enforce_file_format=True)
    return paths


@pytest.mark.parametrize("kind", ["JPEG", "JPEG-LS", "JPEG2000"])
def test_frames_that_say_what_their_files_say_are_read(tmp_path: Path, kind: str) -> None:
    plain = read_series(write_ct(tmp_path / "plain", STORED)).volume.array
    array = read_series(written(tmp_path / "packed", kind)).volume.array
    assert abs(array.astype(int) - plain).max() <= (2 if kind == "JPEG" else 0)


@pytest.mark.parametrize("kind", ["JPEG", "JPEG-LS", "JPEG2000"])
@pytest.mark.parametrize("size", [(12, 16), (8, 6), (20000, 20000)], ids=["swapped", "less", "more"])
def test_frames_of_another_size_are_refused(tmp_path: Path, kind: str, size: tuple[int, int]) -> None:
    """GDCM scrambles those of JPEG-LS, and takes the memory for what the file announces."""
    paths = [change(path, Rows=size[0], Columns=size[1]) for path in written(tmp_path, kind)]
    said = (
        rf"/\d{{3}} holds a frame of 16 x 12 pixels of \d+ bits, but its header says {size[0]} x {size[1]} of at most"
    )
    with pytest.raises(IntraBenchError, match=said):
        read_series(paths)


def test_frames_of_more_bits_are_refused(tmp_path: Path, wording: SnapshotAssertion) -> None:
    """GDCM clips them."""
    paths = written(tmp_path, "JPEG-LS")
    with pytest.raises(IntraBenchError) as caught:
        read_series([change(path, **EIGHT_BITS) for path in paths])
    assert caught == wording


def test_frames_of_a_multi_frame_file_too(tmp_path: Path, wording: SnapshotAssertion) -> None:
    path = write_enhanced(tmp_path / "enhanced", [0, 1, 2, 3, 4, 5])
    dataset = pydicom.dcmread(path)
    dataset.compress(JPEGLSLossless)
    dataset.save_as(path, enforce_file_format=True)
    assert read_series([path]).volume.array.shape == (6, 13, 11)
    with pytest.raises(IntraBenchError) as caught:
        read_series([change(path, Rows=11, Columns=13)])
    assert caught == wording


@pytest.mark.parametrize(
    "frame",
    [
        # tables before the size, and fill bytes
        b"\xff\xd8\xff\xc4\0\x09" + bytes([1] * 7) + b"\xff\xff\xc3\0\x0b\x0c" + struct.pack(">HH", 16, 12),
        # an image that begins at (5, 3) of its grid, in a file of its own
        b"\0\0\0\x0cjP  \xff\x4f\xff\x51\0\x29\0\0" + struct.pack(">8I", 17, 19, 5, 3, 17, 19, 0, 0) + b"\0\1\x8b\1\1",
    ],
    ids=["JPEG", "JPEG 2000"],
)
def test_where_the_size_is(frame: bytes, wording: SnapshotAssertion) -> None:
    header = pydicom.Dataset()
    header.Rows, header.Columns, header.BitsAllocated = 16, 12, 16
    check_frame(frame, header, Path("a.dcm"))
    header.Rows = 17
    with pytest.raises(IntraBenchError) as caught:
        check_frame(frame, header, Path("a.dcm"))
    assert caught == wording


@pytest.mark.parametrize(
    "frame",
    [b"", b"\xff\xd8", b"\xff\xd8\xff\xe0\xff\xff", b"\xff\xd8" + b"\xff" * 50, b"\xff\x4f\xff\x51\0\0", bytes(1000)],
)
def test_frames_without_a_size_are_refused(frame: bytes, wording: SnapshotAssertion) -> None:
    header = pydicom.Dataset()
    header.Rows, header.Columns, header.BitsAllocated = 16, 12, 16
    with pytest.raises(IntraBenchError) as caught:
        check_frame(frame, header, Path("a.dcm"))
    assert caught == wording


@pytest.mark.parametrize(
    ("frame", "tags"),
    [
        (bytes(1000), {"Rows": 20000, "Columns": 20000}),
        (bytes(1000), {}),
        (b"\2\0\0\0\x40\0\0\0\xff\xff\xff\xff" + bytes(52) + b"\x81\0" * 100, {}),
        (b"\x0f" + bytes(63), {}),
    ],
    ids=["huge", "no segments", "offsets outside", "segments of nothing"],
)
def test_a_frame_of_bad_runs_is_refused(
    tmp_path: Path, frame: bytes, tags: dict[str, Any], wording: SnapshotAssertion
) -> None:
    """GDCM divides by their number, which ends the process."""
    paths = write_ct(tmp_path, STORED, syntax=RLELossless)
    damaged = {"PixelData": encapsulate([frame]), **tags}
    with pytest.raises(IntraBenchError) as caught:
        read_series([change(path, **damaged) for path in paths])
    assert without_reasons(str(caught.value)) == wording
