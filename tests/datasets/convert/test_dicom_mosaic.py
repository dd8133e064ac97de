"""Mosaics of Siemens become volumes, as nibabel reads them, and one clear sentence where they do not say how."""

from __future__ import annotations

import gzip
import io
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import nibabel
import numpy as np
import pydicom
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.datasets.convert.dicom_series import Series, read_series
from intrabench.errors import IntraBenchError
from tests.datasets.convert.dicom_files import OBLIQUE, change, save, uid, write_ct

SLICES = np.random.default_rng(0).integers(0, 3000, (7, 4, 6)).astype(np.uint16)
TO_LPS = np.diag([-1.0, -1.0, 1.0, 1.0])


def private(values: Mapping[str, Sequence[object]]) -> bytes:
    """Siemens' CSA header of the second version: tags with texts."""
    content = b"SV10\4\3\2\1" + struct.pack("<II", len(values), 77)
    for name, items in values.items():
        content += struct.pack("<64si4siii", name.encode(), len(items), b"FD", 0, len(items), 77)
        for item in items:
            text = str(item).encode()
            content += struct.pack("<4i", len(text), len(text), 77, 0) + text + bytes(-len(text) % 4)
    return content


def mosaic(path: Path, normal: Sequence[float] | None = None, count: int = 7, **tags: Any) -> Path:
    """A mosaic of the first slices, 3 x 3 tiles of 4 x 6 pixels at (10, 20, 30), 2.5 mm apart, oblique."""
    tiles = np.zeros((9, 4, 6), np.uint16)
    tiles[:7] = SLICES
    array = tiles.reshape(3, 3, 4, 6).transpose(0, 2, 1, 3).reshape(12, 18)
    corner = np.array([10, 20, 30]) - np.array(OBLIQUE[:3]) * 0.9 * 6 - np.array(OBLIQUE[3:]) * 0.7 * 4
    (made,) = write_ct(path, array[None], (2.5, 0.7, 0.9), corner, OBLIQUE)
    dataset = pydicom.dcmread(made)
    across = np.cross(OBLIQUE[:3], OBLIQUE[3:])
    header = {"NumberOfImagesInMosaic": [count], "SliceNormalVector": across if normal is None else normal}
    dataset.private_block(0x29, "SIEMENS CSA HEADER", create=True).add_new(0x10, "OB", private(header))
    return save(
        made, dataset, **{"ImageType": ["ORIGINAL", "PRIMARY", "M", "MOSAIC"], "SpacingBetweenSlices": 2.5, **tags}
    )


def in_file_order(series: Series) -> np.ndarray:
    """``(slice, row, column)``"""
    return series.volume.grid.from_canonical(series.volume.array).transpose(2, 1, 0)


@pytest.mark.parametrize("along", [1, -1])
def test_tiles_are_slices(tmp_path: Path, along: int) -> None:
    normal = np.cross(OBLIQUE[:3], OBLIQUE[3:]) * along
    series = read_series([mosaic(tmp_path / "a", normal)])
    assert np.array_equal(in_file_order(series), SLICES[::along].astype(int) - 1000)
    first = TO_LPS @ series.volume.grid.affine @ (0, 0, 0 if along == 1 else 6, 1)
    assert first[:3] == pytest.approx((10, 20, 30), abs=1e-4)
    last = TO_LPS @ series.volume.grid.affine @ (5, 3, 6 if along == 1 else 0, 1)
    expected = np.array([10, 20, 30]) + normal * 15 + np.array(OBLIQUE[:3]) * 4.5 + np.array(OBLIQUE[3:]) * 2.1
    assert last[:3] == pytest.approx(expected, abs=1e-4)


def test_a_real_mosaic_is_where_nibabel_finds_it(tmp_path: Path) -> None:
    from nibabel.nicom.dicomwrappers import wrapper_from_data

    packed = Path(nibabel.__file__).parent / "nicom" / "tests" / "data" / "siemens_dwi_1000.dcm.gz"
    dataset = pydicom.dcmread(io.BytesIO(gzip.decompress(packed.read_bytes())))
    pixels = np.random.default_rng(0).integers(0, 4000, (dataset.Rows, dataset.Columns))  # those of the file are 0
    path = save(tmp_path / "a", dataset, PixelData=pixels.astype(np.uint16).tobytes())
    expected, series = wrapper_from_data(pydicom.dcmread(path)), read_series([path])
    assert np.array_equal(in_file_order(series), expected.get_data().transpose(2, 0, 1))
    turned = expected.affine[:, [1, 0, 2, 3]]  # rows come first in nibabel
    assert TO_LPS @ series.volume.grid.affine == pytest.approx(turned, abs=1e-4)


@pytest.mark.parametrize(
    "tags",
    [
        {"count": 20},
        {"normal": [1, 0, 0]},
        {"count": 0},
        {"SpacingBetweenSlices": None},
    ],
)
def test_mosaics_that_do_not_say_how(tmp_path: Path, tags: Mapping[str, Any], wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        read_series([mosaic(tmp_path, **tags)])
    assert caught == wording


def test_a_mosaic_without_its_private_tags(tmp_path: Path, wording: SnapshotAssertion) -> None:
    path = mosaic(tmp_path)
    dataset = pydicom.dcmread(path)
    dataset.remove_private_tags()
    with pytest.raises(IntraBenchError) as caught:
        read_series([save(path, dataset)])
    assert caught == wording


def test_two_mosaics_are_two_volumes(tmp_path: Path, wording: SnapshotAssertion) -> None:
    other = change(mosaic(tmp_path / "b"), SeriesInstanceUID=uid("one"), SOPInstanceUID=uid("other"))
    first = change(mosaic(tmp_path / "a"), SeriesInstanceUID=uid("one"))
    with pytest.raises(IntraBenchError) as refused:
        read_series([first, other])
    assert refused == wording
    change(other, AcquisitionNumber=2, RescaleIntercept=1000)
    first_values, other_values = (
        in_file_order(read_series([change(first, AcquisitionNumber=1), other], phase=number)) for number in (1, 2)
    )
    assert np.array_equal(other_values, first_values + 2000)
