"""Headers of files are believed only as far as the file can hold what they announce, and the machine can hold it."""

from __future__ import annotations

import gzip
import io
import math
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from intrabench.errors import IntraBenchError
from intrabench.files.machine import memory_bytes

DEFLATE = 1032
"""The most that deflate expands a byte to."""
ZSTANDARD = 1 << 15
"""The most that zstandard expands a byte to: a block of 128 KiB in which all bytes are equal takes 4 bytes."""
LONGEST_HEADER = 1 << 20
_NAMED = re.compile(rb"(?im)^[ \t]*(?:elementdatafile|data ?file)[ \t]*[:=]+[ \t]*(.*?)\s*$")
"""Where headers of NRRD and MetaImage name the file with the voxels."""
_DATA_FILE = re.compile(rb"(?i)(?:elementdatafile|data ?file)[ \t]*[:=]+[ \t]*(.*)")
"""A line of such a header."""
_NUMBERED = re.compile(rb"[^%]*%(?:0?\d)?d[^%]*?(?: -?\d{1,9}){2,4}")
"""Several files, ``slice%03d.raw 1 20``."""
_MOST_LINES = 1 << 16
LARGEST_EXTENSIONS = 64 << 20
"""Bytes of what is between the header and the voxels of a NIfTI file."""


def files_of(path: Path) -> tuple[Path, ...]:
    """The files of an image: its own, and those with its voxels, also where they are missing.

    The header of a NRRD or MetaImage file may name them. ``NAME.hdr`` of NIfTI or Analyze has them in ``NAME.img``, and
    may have its axes in ``NAME.mat``. A header that cannot be read names none.
    """
    if path.suffix.lower() == ".hdr":
        voxels, axes = (path.with_suffix(one.upper() if path.suffix.isupper() else one) for one in (".img", ".mat"))
        return path, voxels, *([axes] if axes.is_file() else [])
    if path.suffix.lower() not in (".nrrd", ".nhdr", ".mha", ".mhd"):
        return (path,)
    names = []
    with suppress(OSError):
        names = [one for one in _data_files(path) if len(one) < 1024 and max(map(len, one.split(b"/"))) < 256]
    return path, *(path.parent / os.fsdecode(one) for one in names if b"\0" not in one)


def _data_files(path: Path) -> list[bytes]:
    """What the header of a NRRD or MetaImage file calls the files with its voxels; nothing if they are in itself."""
    with path.open("rb") as file:
        lines = islice(iter(lambda: file.readline(4096).strip(), b""), _MOST_LINES)
        found = next((one for line in lines if (one := _DATA_FILE.fullmatch(line))), None)
        if found is None or found[1].upper() in (b"", b"LOCAL"):
            return []
        pattern, *numbers = found[1].split()
        if pattern == b"LIST":
            return [one.strip() for one in file.read(LONGEST_HEADER).splitlines() if one.strip()]
    # slice%03d.raw 1 20 1: the first and the last number, and the step
    if len(numbers) > 1 and _NUMBERED.fullmatch(b" ".join([pattern, *numbers])):
        first, last, step = map(int, [*numbers, b"1"][:3])
        return [pattern % number for number in range(first, last + (1 if step > 0 else -1), step or 1)[:_MOST_LINES]]
    return [found[1]]


def _voxel_files(path: Path) -> list[Path]:
    """The files with the voxels of an image.

    Raises:
        IntraBenchError: one of them is missing.
    """
    _, *others = files_of(path)
    if lost := [one for one in others if not one.is_file()]:
        raise IntraBenchError(
            f"{path} cannot be read: its voxels are in {lost[0]}, which is no file; copy it, too, or export both again"
        )
    return others or [path]


def believe(path: Path, announced: int, stored: int, packed: bool, ratio: int = DEFLATE) -> None:
    """Refuse a header that announces more bytes than its file has room for, before any memory is asked for.

    stored: bytes that the content takes in the file. packed: whether it is compressed; ratio: by how much at most.

    Raises:
        IntraBenchError: so many bytes cannot be in there, or the machine has no memory for them.
    """
    if announced < 0 or announced > stored * (ratio if packed else 1):
        raise IntraBenchError(
            f"{path} cannot be read: its header announces {_size(announced)}, which its {stored} bytes cannot hold; "
            "it is truncated or damaged: fetch or export it again"
        )
    check_memory(str(path), 2 * announced)  # as it is read, and in the order of our axes


def most(stored: int) -> int:
    """The most bytes that `stored` compressed ones are believed to hold."""
    there = memory_bytes()
    return min(stored * DEFLATE, there // 2) if there else stored * DEFLATE


def check_memory(name: str, needed: int) -> None:
    """Refuse what needs more bytes than the machine has.

    Raises:
        IntraBenchError: the sentence.
    """
    there = memory_bytes()
    if there and needed > there:
        raise IntraBenchError(
            f"{name} needs {_size(needed)} of memory, and this machine has {_size(there)}: crop it, or use a larger one"
        )


def nifti(path: Path) -> Any:
    """The `nibabel` image of a file, whose voxels are not read yet.

    Raises:
        IntraBenchError: its header announces what it cannot hold.
    """
    import nibabel  # takes a fifth of a second, and most processes open no file

    _check_extensions(path)
    _voxel_files(path)
    image: Any = nibabel.load(path)
    files = getattr(image, "file_map", {})
    name = files["image"].filename if "image" in files else None
    content = Path(name) if name else path
    if image.shape:
        announced = math.prod(map(int, image.shape)) * image.get_data_dtype().itemsize
        believe(content, announced, content.stat().st_size, content.name.lower().endswith((".gz", ".mgz")))
    return image


def image_shape(path: Path) -> tuple[int, ...]:
    """The size of an image ``(x, y, z)`` from its header, whose voxels must lie in the same file.

    Raises:
        IntraBenchError: its header announces what it cannot hold, or names another file, which may be anybody's.
        Exception: of the readers, for damaged files.
    """
    if path.name.lower().endswith((".nii", ".nii.gz")):
        return tuple(map(int, nifti(path).shape))
    with path.open("rb") as file:
        named = [name for name in _NAMED.findall(file.read(LONGEST_HEADER)) if name.upper() != b"LOCAL"]
    if named:
        raise IntraBenchError(f"{path} names another file, {named[0][:80]!r}, expected its voxels in itself")
    return tuple(map(int, sitk_reader(path).GetSize()))


def extensions(path: Path) -> bytes:
    """What is between the header and the voxels of a NIfTI file; nothing of other files.

    Raises:
        Exception: of gzip, for damaged files.
    """
    name = path.name.lower()
    if not name.endswith((".nii", ".nii.gz")):
        return b""
    with gzip.open(path) if name.endswith(".gz") else path.open("rb") as file:
        head = file.read(544)
        end, begin = _bounds(head)
        # a flag behind the header says whether there are any
        if end == 0 or head[end : end + 1] in (b"", b"\0") or not end < begin <= LARGEST_EXTENSIONS:
            return b""
        return (head + file.read(max(int(begin) - len(head), 0)))[end + 4 : int(begin)]


def _check_extensions(path: Path) -> None:
    """Refuse a NIfTI file that unpacks to a lot before its voxels."""
    if not path.name.lower().endswith(".nii.gz"):
        return
    with gzip.open(path) as file:
        begin = _bounds(file.read(544))[1]
    if not begin <= LARGEST_EXTENSIONS:
        raise IntraBenchError(f"{path} cannot be read: its voxels begin too late; it is damaged, export it again")


def _bounds(head: bytes) -> tuple[int, float]:
    """Where the header of a NIfTI file ends, and where its voxels begin; zeros of other files."""
    # NIfTI-1 and NIfTI-2 are told apart by the size of the header, in either byte order; `vox_offset`, where the voxels
    # begin, is a float at 108 in the one, and an integer at 168 in the other
    for order in "<>" if len(head) >= 348 else "":
        (size,) = struct.unpack_from(f"{order}i", head)
        kind, place = {348: ("f", 108), 540: ("q", 168)}.get(size, ("", 0))
        if kind:
            return size, struct.unpack_from(order + kind, head, place)[0]
    return 0, 0


def sitk_reader(path: Path) -> Any:
    """A `SimpleITK.ImageFileReader` of a file that has read its header only.

    Raises:
        IntraBenchError: the header announces what the file, or the one that it names, cannot hold.
    """
    import SimpleITK as sitk

    stored = sum(one.stat().st_size for one in _voxel_files(path))
    reader = sitk.ImageFileReader()
    reader.SetFileName(str(path))
    reader.ReadImageInformation()
    bytes_each = sitk.Image([1, 1], reader.GetPixelID()).GetSizeOfPixelComponent()
    fields = fields_of(path)
    raw = fields.get("encoding") == "raw" or (
        fields.get("compresseddata", "").lower() == "false" and fields.get("binarydata", "").lower() == "true"
    )
    announced = math.prod(map(int, reader.GetSize())) * reader.GetNumberOfComponents() * bytes_each
    believe(path, announced, stored, not raw)
    if fields.get("compresseddata", "").lower() == "true":
        _check_whole(path, fields, announced)
    return reader


def _check_whole(path: Path, fields: Mapping[str, str], announced: int) -> None:
    """Refuse a MetaImage whose packed voxels are damaged, of which SimpleITK would give whatever is in memory."""
    content, *others = _voxel_files(path)
    if others:
        return
    local = content == path
    size = fields.get("compresseddatasize", "")  # SimpleITK needs it within one file only
    left = (int(size) if size.isdecimal() else 0) or (0 if local else content.stat().st_size)
    # 47 is 32 + 15: a stream of zlib or gzip. It is unpacked piece by piece and no further than was announced, so that
    # it takes neither memory nor time if it would unpack to much more.
    found, unpacker = 0, zlib.decompressobj(wbits=47)
    with content.open("rb") as file, suppress(zlib.error):
        while local and not file.readline().lower().startswith(b"elementdatafile"):
            pass
        while left > 0 and found <= announced and (packed := file.read(min(left, LONGEST_HEADER))):
            left -= len(packed)
            while packed and found <= announced:
                found += len(unpacker.decompress(packed, LONGEST_HEADER))
                packed = unpacker.unconsumed_tail
    if not unpacker.eof or found != announced:
        raise IntraBenchError(
            f"{path} cannot be read: its {_size(announced)} of voxels are truncated or damaged; export it again"
        )


def fields_of(path: Path) -> dict[str, str]:
    """The fields of the header of a NRRD or MetaImage file; none of other files."""
    if not path.name.lower().endswith((".nrrd", ".nhdr", ".mha", ".mhd")):
        return {}
    fields: dict[str, str] = {}
    with path.open("rb") as file:
        for line in io.BytesIO(file.read(LONGEST_HEADER)):
            text = line.decode("utf-8", errors="replace").strip()
            if not text:
                break
            key, _, value = re.split(r"\s*(:=?|=)\s*", text, maxsplit=1) if re.search("[:=]", text) else (text, "", "")
            fields.setdefault(key.lower(), value)
            if key.lower() == "elementdatafile":
                break
    return fields


class Arrays(Mapping[str, NDArray[Any]]):
    """The arrays of an ``.npz`` file, each read when it is asked for; a context manager.

    Raises:
        IntraBenchError: an array announces what the file cannot hold.
        Exception: of zip, zlib and numpy, for damaged files.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._zip = path, zipfile.ZipFile(path)
        self._members = {info.filename.removesuffix(".npy"): info for info in self._zip.infolist()}

    def __enter__(self) -> Arrays:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)

    def __contains__(self, name: object) -> bool:
        return name in self._members  # as a mapping does it, the array would be read

    def announced(self, name: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
        """The shape and the type of an array, from its header; the array itself is not read."""
        _, shape, dtype = self._header(self._members[name])
        return shape, dtype

    def __getitem__(self, name: str) -> NDArray[Any]:
        info = self._members[name]
        begin, shape, dtype = self._header(info)
        self._check_packed(info)
        believe(self._path, math.prod(shape) * dtype.itemsize, info.file_size - begin, packed=False)
        with self._zip.open(info) as stream:
            array: NDArray[Any] = np.lib.format.read_array(stream, allow_pickle=False)
        return array

    def stored(self, name: str) -> bytes:
        """An array as it is stored, an ``.npy`` file, for whoever reads one of objects."""
        info = self._members[name]
        self._check_packed(info)
        return self._zip.read(info)

    def _check_packed(self, info: zipfile.ZipInfo) -> None:
        self._check_kind(info)
        stored = min(info.compress_size, self._path.stat().st_size)
        believe(self._path, info.file_size, stored, info.compress_type == zipfile.ZIP_DEFLATED)

    def _header(self, info: zipfile.ZipInfo) -> tuple[int, tuple[int, ...], np.dtype[Any]]:
        self._check_kind(info)
        with self._zip.open(info) as stream:
            return _described(stream.read(LONGEST_HEADER))

    def _check_kind(self, info: zipfile.ZipInfo) -> None:
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError(f"{info.filename} is packed in another way than numpy packs")


def npy(path: Path) -> NDArray[Any]:
    """The array of an ``.npy`` file.

    Raises:
        IntraBenchError: it announces what the file cannot hold.
        ValueError, EOFError, OSError: of numpy, for damaged files.
    """
    with path.open("rb") as file:
        begin, shape, dtype = _described(file.read(1 << 16))
    believe(path, math.prod(shape) * dtype.itemsize, path.stat().st_size - begin, packed=False)
    array: NDArray[Any] = np.load(path, allow_pickle=False)
    return array


def _described(head: bytes) -> tuple[int, tuple[int, ...], np.dtype[Any]]:
    """Where the numbers of an ``.npy`` file begin, their shape and their type."""
    file = io.BytesIO(head)
    version = np.lib.format.read_magic(file)
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if version not in readers:
        raise ValueError(f"numpy writes no arrays of version {version}")
    shape, _, dtype = readers[version](file)
    if any(extent < 0 for extent in shape):
        raise ValueError(f"the shape {shape} is none")
    return file.tell(), tuple(int(extent) for extent in shape), dtype


def _size(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e8 else f"{count / 1e6:.3g} MB"
