"""Headers that announce more than their files can hold are refused; strong compression is not."""

from __future__ import annotations

import gzip
import io
import os
import resource
import struct
import subprocess
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import nibabel as nib
import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.datasets.convert.dicom_pixels import assembled
from intrabench.errors import IntraBenchError
from intrabench.fetch.archive import member_names
from intrabench.fetch.download import DownloadError
from intrabench.files import headers
from intrabench.files.headers import Arrays
from intrabench.mask import Mask, occupied
from intrabench.models.parts.checkpoints import read
from intrabench.volume import read_grid_array

FEW = bytes(1000)
HUGE = 4 * 10**9
ROOT = Path(__file__).parents[2]


def nifti(dims: tuple[int, ...], version: int = 1, extensions: int = 0, voxels: bytes = FEW) -> bytes:
    header = (nib.Nifti1Header if version == 1 else nib.Nifti2Header)()
    header["dim"][: len(dims) + 1] = (len(dims), *dims)
    header["pixdim"][1:4] = 1
    header.set_data_dtype(np.int16)
    header["magic"] = b"n+1" if version == 1 else b"n+2\0\r\n\x1a\n"
    header["sform_code"] = 1
    for axis, row in enumerate(("srow_x", "srow_y", "srow_z")):
        header[row] = np.eye(4)[axis]
    header["vox_offset"] = header.binaryblock.__len__() + 4 + extensions
    extension = struct.pack("<ii", extensions, 6) + bytes(extensions - 8) if extensions else b""
    return bytes(header.binaryblock) + bytes([extensions > 0, 0, 0, 0]) + extension + voxels


def nrrd(sizes: str, content: bytes, encoding: str = "gzip", more: str = "") -> bytes:
    return (
        "NRRD0004\n# a = comment: here\ntype: short\ndimension: 3\nspace: left-posterior-superior\n"
        f"sizes: {sizes}\nspace directions: (1,0,0) (0,1,0) (0,0,1)\nkinds: domain domain domain\nendian: little\n"
        f"encoding: {encoding}\nspace origin: (0,0,0)\nSegment0_Name:=a = b\n{more}\n"
    ).encode() + content


def mha(sizes: str, content: bytes, packed: bool = True, where: str = "LOCAL") -> bytes:
    return (
        f"ObjectType = Image\nNDims = 3\nBinaryData = True\nBinaryDataByteOrderMSB = False\nCompressedData = {packed}\n"
        f"CompressedDataSize = {len(content)}\n"
        "TransformMatrix = 1 0 0 0 1 0 0 0 1\nOffset = 0 0 0\nElementSpacing = 1 1 1\n"
        f"DimSize = {sizes}\nElementType = MET_SHORT\nElementDataFile = {where}\n"
    ).encode() + content


SIZES = "2000 1000 1000"  # 4 GB
LIES = {
    "dims.nii.gz": gzip.compress(nifti((30000, 30000, 30000))),
    "dims.nii": nifti((2000, 1000, 1000)),
    "version2.nii.gz": gzip.compress(nifti((2 * 10**6, 10**6, 10**6), version=2)),
    "negative.nii.gz": gzip.compress(nifti((-5, 5, 5))),
    "4d.nii.gz": gzip.compress(nifti((1000, 1000, 1000, 2))),
    "packed.nrrd": nrrd(SIZES, gzip.compress(FEW)),
    "raw.nrrd": nrrd(SIZES, FEW, "raw"),
    "text.nrrd": nrrd(SIZES, b"0 " * 500, "text"),
    "device.nhdr": nrrd(SIZES, b"", "raw", "data file: /dev/zero\n"),
    "list.nhdr": nrrd(SIZES, b"", "raw", "data file: LIST\nnothing.raw\n"),
    "packed.mha": mha(SIZES, zlib.compress(FEW)),
    "raw.mha": mha(SIZES, FEW, packed=False),
    "device.mhd": mha(SIZES, b"", packed=False, where="/dev/zero"),
}
READING = """
import resource, sys
from pathlib import Path
import SimpleITK
from intrabench.errors import IntraBenchError
from intrabench.volume import read_grid_array
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for name in sys.argv[1:]:
    try:
        read_grid_array(Path(name))
        print(name, "was read")
    except IntraBenchError as error:
        print(error)
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.fixture
def long_extension() -> bytes:
    return gzip.compress(nifti((10, 10, 10), extensions=160 << 20))


def test_a_header_that_lies_costs_no_memory(tmp_path: Path, long_extension: bytes, wording: SnapshotAssertion) -> None:
    files = {**LIES, "extensions.nii.gz": long_extension}
    for name, content in files.items():
        Path(name).write_bytes(content)
    said = subprocess.run(
        [sys.executable, "-c", READING, *files],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    for name, sentence, megabytes in zip(files, said[::2], said[1::2], strict=True):
        assert sentence.startswith(f"{name} cannot be read: "), sentence
        assert int(megabytes) < 100, name
    told = dict(zip(files, said[::2], strict=True))
    assert f"its {len(LIES['raw.nrrd'])} bytes" in told["raw.nrrd"]
    assert told["raw.nrrd"] == wording
    assert told["device.nhdr"] == wording


@pytest.mark.parametrize("name", ["a.nii.gz", "a.nii", "a.nrrd", "raw.nrrd", "a.mha", "raw.mha", "a.nhdr", "a.mhd"])
def test_what_compresses_most_is_read(name: str) -> None:
    """An image of zeros, which deflate packs nearly as 1 to 1032, and images that are not packed."""
    voxels = bytes(2 * 200**3)
    raw = name.startswith("raw") or name.endswith(("hdr", "mhd"))
    Path("voxels.raw").write_bytes(voxels)
    if ".nii" in name:
        content = nifti((200, 200, 200), voxels=voxels)
        content = gzip.compress(content, 9) if name.endswith("gz") else content
    elif name.endswith(("nrrd", "nhdr")):
        more = "data file: voxels.raw\n" if name.endswith("nhdr") else ""
        content = nrrd(
            "200 200 200", b"" if more else voxels if raw else gzip.compress(voxels, 9), "raw" if raw else "gzip", more
        )
    else:
        where = "voxels.raw" if name.endswith("mhd") else "LOCAL"
        content = mha(
            "200 200 200", b"" if where != "LOCAL" else voxels if raw else zlib.compress(voxels, 9), not raw, where
        )
    Path(name).write_bytes(content)
    array, _ = read_grid_array(Path(name))
    assert array.shape == (200, 200, 200)
    assert not array.any()


@pytest.mark.parametrize("name", ["a.nii.gz", "a.nrrd"])
def test_a_stream_is_read_as_far_as_its_header_says(name: str) -> None:
    more = bytes(2 * 10**3 + 10**6)
    Path(name).write_bytes(
        gzip.compress(nifti((10, 10, 10), voxels=more)) if ".nii" in name else nrrd("10 10 10", gzip.compress(more))
    )
    array, _ = read_grid_array(Path(name))
    assert array.shape == (10, 10, 10)


NUMBERS = np.arange(1000, dtype="<i2")
PACKED = zlib.compress(NUMBERS.tobytes())


@pytest.mark.parametrize(
    "content",
    [
        PACKED[:100] + b"\xff" * 50 + PACKED[150:],
        PACKED[:-4],
        PACKED[:500],
        zlib.compress(NUMBERS[:999].tobytes()),
        zlib.compress(NUMBERS.tobytes() * 100),
        b"",
    ],
    ids=["damaged", "no checksum", "half", "short", "long", "empty"],
)
def test_a_metaimage_whose_voxels_are_damaged_is_refused(content: bytes, wording: SnapshotAssertion) -> None:
    """SimpleITK says so on the terminal only, and gives whatever is in memory."""
    Path("a.mha").write_bytes(mha("10 10 10", content))
    with pytest.raises(IntraBenchError) as caught:
        read_grid_array(Path("a.mha"))
    assert caught == wording


def test_a_metaimage_that_is_whole_is_read() -> None:
    Path("a.mha").write_bytes(mha("10 10 10", PACKED))
    array, _ = read_grid_array(Path("a.mha"))
    assert np.array_equal(array.ravel(order="F"), NUMBERS)


@pytest.mark.parametrize("size", ["", "CompressedDataSize = 0\n"], ids=["none", "zero"])
def test_packed_voxels_in_a_file_of_their_own_need_no_size(size: str) -> None:
    Path("voxels.zraw").write_bytes(PACKED)
    content = mha("10 10 10", b"", where="voxels.zraw").replace(b"CompressedDataSize = 0\n", size.encode())
    Path("a.mhd").write_bytes(content)
    array, _ = read_grid_array(Path("a.mhd"))
    assert np.array_equal(array.ravel(order="F"), NUMBERS)


@pytest.mark.parametrize("name", ["parts/%d.raw 0 9 1 2", "LIST"])
def test_voxels_may_be_in_several_files_of_a_folder_below(name: str) -> None:
    Path("parts").mkdir()
    for number, part in enumerate(np.split(NUMBERS, 10)):
        Path(f"parts/{number}.raw").write_bytes(part.tobytes())
    listed = "".join(f"\nparts/{number}.raw" for number in range(10)) if name == "LIST" else "\n"
    Path("a.nhdr").write_bytes(nrrd("10 10 10", b"", "raw", f"data file: {name}{listed}").rstrip(b"\n") + b"\n")
    array, _ = read_grid_array(Path("a.nhdr"))
    assert np.array_equal(array.ravel(order="F"), NUMBERS)


@pytest.mark.parametrize(
    ("name", "content", "others"),
    [
        ("a.nii.gz", b"", []),
        ("a.mha", mha("10 10 10", FEW), []),
        ("a.mhd", mha("10 10 10", b"", where="a b.zraw"), ["a b.zraw"]),
        ("a.mhd", mha("10 10 10", b"", where="%02d.raw 8 12 2"), ["08.raw", "10.raw", "12.raw"]),
        ("a.mhd", mha("10 10 10", b"", where="LIST\n1.raw\n2.raw"), ["1.raw", "2.raw"]),
        ("a.nrrd", nrrd("10 10 10", b"\ndata file: x", more="content: data file: y\n"), []),
        ("a.nhdr", nrrd("10 10 10", b"", more="datafile: ../a.raw.gz\n"), ["../a.raw.gz"]),
        ("a.nhdr", nrrd("10 10 10", b"", more="data file: %d.raw 1 -1 -1 2\n"), ["1.raw", "0.raw", "-1.raw"]),
        ("a.nhdr", nrrd("10 10 10", b"", more="data file: %999999999d.raw 1 2\n"), ["%999999999d.raw 1 2"]),
        ("a.nhdr", nrrd("10 10 10", b"", more="data file: " + "a/" * 2000 + "\n"), []),
        ("a.nhdr", nrrd("10 10 10", b"", more="data file: a\0b\n"), []),
        ("a.hdr", b"", ["a.img"]),
        ("A.HDR", b"", ["A.IMG"]),
        ("spm.hdr", b"", ["spm.img", "spm.mat"]),
    ],
)
def test_the_files_of_an_image(name: str, content: bytes, others: list[str]) -> None:
    for path in (name, "spm.mat"):
        Path(path).write_bytes(content)
    assert headers.files_of(Path(name)) == (Path(name), *map(Path, others))


def test_the_files_of_a_header_that_is_not_there() -> None:
    assert headers.files_of(Path("a.mhd")) == (Path("a.mhd"),)


def npy(shape: tuple[int, ...], numbers: bytes = FEW) -> bytes:
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"descr": "<i2", "fortran_order": False, "shape": shape})
    return head.getvalue() + numbers


def npz(content: bytes, packed: int = zipfile.ZIP_DEFLATED, size: int | None = None) -> Path:
    with zipfile.ZipFile("a.npz", "w", packed) as archive:
        archive.writestr("imgs.npy", content)
    if size is not None:  # in the directory at the end, which is what is believed
        written = bytearray(Path("a.npz").read_bytes())
        struct.pack_into("<I", written, written.rindex(b"PK\1\2") + 24, size)
        Path("a.npz").write_bytes(written)
    return Path("a.npz")


@pytest.mark.parametrize(
    "make",
    [
        lambda: npz(npy((30000, 30000, 30000))),
        lambda: npz(npy((501,))),
        lambda: npz(npy((500,)), size=HUGE),
        lambda: npz(npy((500,)), zipfile.ZIP_LZMA),
        lambda: npz(npy((500,)), zipfile.ZIP_BZIP2),
        lambda: npz(npy((-1, 500))),
        lambda: npz(b"\x93NUMPY\2\0" + struct.pack("<I", 1 << 28) + bytes(1 << 22)),
    ],
    ids=["shape", "one too many", "member", "lzma", "bzip2", "negative", "header"],
)
def test_arrays_that_lie(make: Callable[[], Path], wording: SnapshotAssertion) -> None:
    with Arrays(make()) as arrays, pytest.raises((IntraBenchError, ValueError)) as caught:
        arrays["imgs"]
    assert caught == wording


def test_arrays_that_are_true() -> None:
    zeros, mixed = np.zeros((200, 200, 200), np.int16), np.asfortranarray(np.arange(24, dtype=">f4").reshape(2, 3, 4))
    np.savez_compressed("a.npz", zeros=zeros, mixed=mixed, empty=np.zeros((0, 3)), one=np.float64(3))
    with Arrays(Path("a.npz")) as arrays:
        assert list(arrays) == ["zeros", "mixed", "empty", "one"]
        assert all(
            np.array_equal(arrays[name], expected) and arrays[name].dtype == expected.dtype
            for name, expected in np.load("a.npz").items()
        )


def test_what_an_array_is_without_reading_it(tmp_path: Path) -> None:
    """The shape and the type come from the header, and to ask for a name reads nothing."""
    np.savez(tmp_path / "a.npz", segs=np.zeros((2, 10**6), np.uint16))
    content = bytearray((tmp_path / "a.npz").read_bytes())
    content[3 * 10**6] ^= 1  # a damaged number
    (tmp_path / "a.npz").write_bytes(content)
    with Arrays(tmp_path / "a.npz") as arrays:
        assert "segs" in arrays
        assert "other" not in arrays
        assert arrays.announced("segs") == ((2, 10**6), np.dtype(np.uint16))
        with pytest.raises(zipfile.BadZipFile):
            arrays["segs"]


def test_the_size_of_an_image_without_reading_it(tmp_path: Path) -> None:
    (tmp_path / "a.nii").write_bytes(nifti((3, 4, 5), voxels=bytes(120)))
    (tmp_path / "a.mha").write_bytes(mha("3 4 5", bytes(120), packed=False))
    (tmp_path / "b.mha").write_bytes(mha("3 4 5", b"", packed=False, where="b.raw"))
    (tmp_path / "b.raw").write_bytes(bytes(120))
    assert headers.image_shape(tmp_path / "a.nii") == headers.image_shape(tmp_path / "a.mha") == (3, 4, 5)
    with pytest.raises(IntraBenchError, match=r"names another file, b'b\.raw'"):
        headers.image_shape(tmp_path / "b.mha")


@pytest.mark.parametrize("shape", [(0, 3, 4), (2, 3, 4)])
def test_the_box_of_what_is_not_zero(shape: tuple[int, int, int]) -> None:
    array = np.zeros(shape, np.int32)
    assert occupied(array) is None
    if array.size:
        array[1, 2, 0:2] = array[0, 1, 3] = -5
        assert occupied(array) == (slice(0, 2), slice(1, 3), slice(0, 4))


@pytest.mark.parametrize("shape", [(10**4, 10**4, 10**3), (2, 2, 2), (-2, -2, 2), (0, 2, 2)])
def test_a_mask_has_the_bits_of_its_box(shape: tuple[int, int, int], wording: SnapshotAssertion) -> None:
    with pytest.raises(ValueError) as caught:
        Mask.unpack((0, 0, 0), shape, np.zeros(2, np.uint8))
    assert caught == wording


def test_names_in_a_tar_file_are_short(tmp_path: Path) -> None:
    note = tarfile.TarInfo("note")
    note.type, note.size = tarfile.GNUTYPE_LONGNAME, 200 << 20
    with gzip.open("a.tar.gz", "wb") as file:
        file.write(note.tobuf(tarfile.GNU_FORMAT))
        for _ in range(200):
            file.write(bytes(1 << 20))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(DownloadError, match=r"a\.tar\.gz is damaged"):
        member_names(Path("a.tar.gz"))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 << 10


def test_a_checkpoint_that_unpacks_is_refused(wording: SnapshotAssertion) -> None:
    torch = pytest.importorskip("torch")
    torch.save({"a": torch.zeros(10**6)}, "whole.pt")
    with zipfile.ZipFile("whole.pt") as whole, zipfile.ZipFile("packed.pt", "w", zipfile.ZIP_DEFLATED) as packed:
        for info in whole.infolist():
            packed.writestr(info.filename, whole.read(info))
    assert read(Path("whole.pt"))["a"].shape == (10**6,)
    with pytest.raises(IntraBenchError) as caught:
        read(Path("packed.pt"))
    assert str(caught.value).replace(str(Path("packed.pt").stat().st_size), "SIZE") == wording


def test_what_the_machine_has_no_memory_for_is_told(
    monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    monkeypatch.setattr(os, "sysconf", lambda _: 1000)  # a megabyte
    headers.believe(Path("a"), 500_000, 500_000, packed=False)
    with pytest.raises(IntraBenchError) as caught:
        headers.believe(Path("a"), 500_001, 500_001, packed=False)
    assert str(caught.value) == wording
    with pytest.raises(IntraBenchError) as caught:
        assembled([lambda: np.zeros((1, 1))] * 300, (65535, 65535))
    assert caught == wording
