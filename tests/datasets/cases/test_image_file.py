"""The image of a stored case: what goes in comes out, other tools read it, and no lie in it costs memory."""

from __future__ import annotations

import gzip
import io
import itertools
import json
import tempfile
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from nibabel.spatialimages import HeaderDataError
from nibabel.wrapstruct import WrapStructError
from syrupy.assertion import SnapshotAssertion

from intrabench.datasets.cases import image_file, store
from intrabench.datasets.cases.image_file import HEADER, IMAGE, read_image_file, write_image_file
from intrabench.datasets.cases.stored_case import FORMAT
from intrabench.datasets.phantom import Phantom
from intrabench.errors import IntraBenchError
from intrabench.mask import Array
from intrabench.volume import Grid, Volume

CODES = ["".join(codes) for axes in itertools.permutations(["LR", "PA", "IS"]) for codes in itertools.product(*axes)]
TYPES = ["uint8", "int8", "int16", "uint16", "int32", "uint32", "float32"]


def affine_of(codes: str) -> Array:
    """An oblique affine with voxels of 1.5 x 0.7 x 3 mm whose axes grow towards `codes`."""
    turned = nib.orientations.inv_ornt_aff(nib.orientations.axcodes2ornt(codes), (1, 1, 1))
    affine: Array = np.linalg.inv(turned) @ np.diag([1.5, 0.7, 3, 1])
    affine[:3, :3] = [[1, 0.02, 0], [-0.02, 1, 0], [0, 0, 1]] @ affine[:3, :3]
    affine[:3, 3] = 7, -11, 13
    return affine


def unpacked(path: Path) -> Any:
    """The image as other tools see it."""
    content = zstandard.ZstdDecompressor().decompressobj().decompress(path.read_bytes())
    return nib.Nifti1Image.from_bytes(content)


@settings(deadline=None)
@given(st.data(), st.sampled_from(TYPES), st.sampled_from(CODES))
def test_what_goes_in_comes_out(data: st.DataObject, dtype: str, codes: str) -> None:
    shape = data.draw(arrays.array_shapes(min_dims=3, max_dims=4, max_side=7))
    array = data.draw(arrays.arrays(dtype, shape))
    volume = Volume.from_file_order(array, affine_of(codes))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, IMAGE)
        write_image_file(path, volume)
        found, seen = read_image_file(path, volume.grid), unpacked(path)
        again = path.read_bytes()
        write_image_file(path, volume)
        assert path.read_bytes() == again
    assert (found.dtype, found.shape, found.flags.c_contiguous) == (array.dtype, volume.array.shape, True)
    assert found.tobytes() == volume.array.tobytes()  # of NaN, too
    assert "".join(nib.aff2axcodes(seen.affine)) == "RAS"
    expected = nib.as_closest_canonical(nib.Nifti1Image(array, affine_of(codes), dtype=array.dtype))
    assert np.asarray(seen.dataobj.get_unscaled()).tobytes() == np.asarray(expected.dataobj).tobytes()
    np.testing.assert_allclose(seen.affine, expected.affine, atol=1e-4)


def test_it_is_read_and_written_without_a_copy(tmp_path: Path) -> None:
    volume = Volume.from_canonical(np.random.default_rng(0).integers(-1000, 1000, (40, 256, 256), dtype=np.int16))
    tracemalloc.start()
    write_image_file(tmp_path / IMAGE, volume)
    _, writing = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    array = read_image_file(tmp_path / IMAGE, volume.grid)
    _, reading = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert writing < 0.6 * array.nbytes
    assert reading < 1.6 * array.nbytes


SHAPE = (6, 12, 14)
GRID = Grid(SHAPE[::-1], np.eye(4))


def header(shape: tuple[int, ...] = SHAPE, dtype: Any = np.int16, begin: int = HEADER) -> bytes:
    made = nib.Nifti1Header()
    made.set_data_dtype(dtype)
    made.set_data_shape(shape[::-1])
    made["vox_offset"] = begin
    return made.binaryblock + bytes(4)


def packed(content: bytes) -> bytes:
    return zstandard.ZstdCompressor(write_checksum=True).compress(content)


def endless() -> bytes:
    """Some KB that unpack to 1 GB."""
    file = io.BytesIO()
    with zstandard.ZstdCompressor().stream_writer(file, closefd=False) as writer:
        writer.write(header())
        for _ in range(1000):
            writer.write(bytes(1 << 20))
    return file.getvalue()


REFUSED = (IntraBenchError, ValueError, zstandard.ZstdError, HeaderDataError, WrapStructError)
VOXELS = np.arange(np.prod(SHAPE), dtype="<i2").tobytes()
GOOD = packed(header() + VOXELS)
LIES = {
    "empty": b"",
    "no zstandard": gzip.compress(header() + VOXELS),
    "header cut": packed(header()[:300]),
    "no header": packed(VOXELS),
    "voxels cut": packed(header() + VOXELS[:-1]),
    "one byte too many": packed(header() + VOXELS + b"\0"),
    "two frames": GOOD + GOOD,
    "rubbish at the end": GOOD + b"rubbish",
    "checksum": GOOD[:-1] + bytes([GOOD[-1] ^ 1]),
    "endless": endless(),
    "axes of the file": packed(header(SHAPE[::-1]) + VOXELS),
    "larger": packed(header((30000, 30000, 30000)) + VOXELS),
    "many channels": packed(header((30000, *SHAPE), np.int16) + VOXELS),
    "five axes": packed(header((2, 2, *SHAPE), np.int16) + 4 * VOXELS),
    "complex": packed(header(dtype=np.complex64) + 4 * VOXELS),
    "colours": packed(header(dtype=np.dtype([(c, "u1") for c in "RGB"])) + 2 * VOXELS),
    "voxels later": packed(header(begin=1 << 30) + VOXELS),
}


@pytest.mark.parametrize("order", ["<", ">"])
def test_channels_lie_one_after_the_other_in_the_file(tmp_path: Path, order: str) -> None:
    values = np.arange(3 * np.prod(SHAPE)).reshape(3, *SHAPE)
    made = nib.Nifti1Image(values.T, np.eye(4), nib.Nifti1Header(endianness=order), dtype=np.dtype("i2"))
    made.header.set_data_offset(HEADER)
    written = made.header.binaryblock + bytes(4) + values.astype(order + "i2").tobytes()
    (tmp_path / IMAGE).write_bytes(packed(written))
    found = read_image_file(tmp_path / IMAGE, GRID)
    assert found.shape == (*SHAPE, 3)
    assert [np.array_equal(found[..., channel], values[channel]) for channel in range(3)] == [True] * 3
    write_image_file(tmp_path / "again", replace(Volume.from_canonical(found), grid=GRID))
    assert np.array_equal(read_image_file(tmp_path / "again", GRID), found)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("kind", image_file.TYPES.values())
def test_headers_are_read_as_nibabel_reads_them(tmp_path: Path, kind: str, order: str) -> None:
    values = np.arange(np.prod(SHAPE)).reshape(SHAPE) % 100
    made = nib.Nifti1Image(values.T, np.eye(4), nib.Nifti1Header(endianness=order), dtype=np.dtype(kind))
    made.header.set_data_offset(HEADER)
    written = made.header.binaryblock + bytes(4) + values.astype(order + kind).tobytes()
    (tmp_path / IMAGE).write_bytes(packed(written))
    found = read_image_file(tmp_path / IMAGE, GRID)
    assert found.dtype == made.get_data_dtype().newbyteorder("=")
    assert np.array_equal(found, values)


def test_the_sound_file_among_the_lies(tmp_path: Path) -> None:
    (tmp_path / IMAGE).write_bytes(GOOD)
    assert read_image_file(tmp_path / IMAGE, GRID).tobytes() == VOXELS


@pytest.mark.parametrize("lie", LIES)
def test_lies_are_refused_and_cost_no_memory(tmp_path: Path, lie: str) -> None:
    path = tmp_path / IMAGE
    path.write_bytes(LIES[lie])
    tracemalloc.start()
    with pytest.raises(REFUSED):
        read_image_file(path, GRID)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 << 20


@given(st.integers(0, len(GOOD) - 1), st.integers(1, 255), st.booleans())
def test_a_file_that_is_cut_or_changed_is_refused_or_has_the_same_voxels(place: int, change: int, cut: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, IMAGE)
        path.write_bytes(GOOD[:place] if cut else GOOD[:place] + bytes([GOOD[place] ^ change]) + GOOD[place + 1 :])
        with suppress(*REFUSED):
            assert read_image_file(path, GRID).tobytes() == VOXELS  # what is cut may be of the checksum only


def case(root: Path, **options: Any) -> tuple[Phantom, Path]:
    phantom = Phantom(SHAPE, **options)
    store.prepare(phantom, "case-1", root)
    (folder,) = root.glob("cases/*/case-1")
    return phantom, folder


@pytest.mark.parametrize(
    "harm", [lambda content: content[:-1], lambda content: content + b"\0", lambda content: GOOD, lambda content: b""]
)
def test_a_damaged_image_of_a_case_is_named(
    tmp_path: Path, harm: Callable[[bytes], bytes], wording: SnapshotAssertion
) -> None:
    phantom, folder = case(tmp_path)
    path = folder / IMAGE
    path.write_bytes(harm(path.read_bytes()))
    with pytest.raises(IntraBenchError) as caught:
        _ = store.open_case(phantom, "case-1", tmp_path).volume
    assert caught == wording


def test_an_image_of_the_same_length_with_other_voxels_is_damaged(tmp_path: Path) -> None:
    phantom, folder = case(tmp_path)
    content = bytearray((folder / IMAGE).read_bytes())
    content[len(content) // 2] ^= 1
    (folder / IMAGE).write_bytes(content)
    with pytest.raises(IntraBenchError, match=r"image.nii.zst is damaged"):
        _ = store.open_case(phantom, "case-1", tmp_path).volume


def test_a_case_of_another_format_is_converted_again(tmp_path: Path) -> None:
    phantom, folder = case(tmp_path)
    new, index = store.open_case(phantom, "case-1", tmp_path).index, folder / "case.json"
    index.write_text(json.dumps({**json.loads(index.read_text()), "format": FORMAT - 1}))
    assert store.index(phantom, "case-1", tmp_path) is None
    assert store.prepare(phantom, "case-1", tmp_path) == new
    assert json.loads(index.read_text())["format"] == FORMAT
