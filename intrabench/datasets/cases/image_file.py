"""The image of a stored case, ``image.nii.zst``: NIfTI with the axes R, A, S, packed by zstandard with a checksum.

Its voxels lie in the file as they lie in memory, so they are unpacked into the array itself, and no axis is turned.
``zstd -d image.nii.zst`` makes a file of it that every viewer opens.
"""

from __future__ import annotations

import math
import struct
from pathlib import Path

import numpy as np

from intrabench.files.headers import ZSTANDARD, believe
from intrabench.mask import Array
from intrabench.volume import Grid, Volume

IMAGE = "image.nii.zst"
LEVEL = 1
"""Of compression. Level 3 makes files of CT a tenth smaller, but takes two to nine times as long to write."""
HEADER = 352
"""Bytes before the voxels of a NIfTI-1 file without extensions."""
SIZE = 348
"""Bytes of the header that is at the beginning of these, as it says itself."""
TYPES = {2: "u1", 4: "i2", 8: "i4", 16: "f4", 64: "f8", 256: "i1", 512: "u2", 768: "u4", 1024: "i8", 1280: "u8"}
"""The types of voxels by their codes in such a header."""
AT_ONCE = 1 << 20


def write_image_file(path: Path, volume: Volume) -> None:
    """Write the voxels of a volume, in native order of bytes and of a type that NIfTI has."""
    import nibabel as nib
    import zstandard

    array = np.ascontiguousarray(np.moveaxis(volume.array, 3, 0) if volume.array.ndim == 4 else volume.array)
    image = nib.Nifti1Image(array.T, volume.affine[:, [2, 1, 0, 3]], dtype=array.dtype)
    image.header.set_data_offset(HEADER)
    image.header.set_slope_inter(1, 0)
    packer = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True)
    with path.open("wb") as file, packer.stream_writer(file, size=HEADER + array.nbytes) as packed:
        packed.write(image.header.binaryblock + bytes(HEADER - len(image.header.binaryblock)))
        packed.write(array.data.cast("B"))


def read_image_file(path: Path, grid: Grid) -> Array:
    """The voxels ``(z, y, x)`` or ``(z, y, x, channel)`` of the image at `path`, which is of a scan on `grid`.

    Raises:
        Exception: of zstandard, nibabel or ours, if the file is not as it was written.
    """
    import zstandard

    with path.open("rb") as file, zstandard.ZstdDecompressor().stream_reader(file, AT_ONCE) as packed:
        array = _announced(path, packed.read(HEADER), grid)
        voxels = array.reshape(-1).view(np.uint8).data
        filled = 0
        while filled < len(voxels):
            step = packed.readinto(voxels[filled:])
            if not step:
                raise ValueError(f"{path} ends too early")
            filled += step
        if packed.read(1):  # this also compares the checksum
            raise ValueError(f"{path} ends too late")
    turned = np.moveaxis(array, 0, 3) if array.ndim == 4 else array
    return np.ascontiguousarray(turned, dtype=array.dtype.newbyteorder("="))


def _announced(path: Path, head: bytes, grid: Grid) -> Array:
    """An array for what a header announces, as it lies in the file: ``(z, y, x)`` or ``(channel, z, y, x)``.

    The system gives it memory only where something is written. The header is read here, because nibabel takes longer to
    import than a small scan to be segmented.
    """
    if len(head) < HEADER:
        raise ValueError(f"{path} ends too early")
    order = "<" if int.from_bytes(head[:4], "little") == SIZE else ">"
    size, axes, *extents, code, begin = struct.unpack_from(f"{order}i 36x 8h 14x h 36x f", head)
    if size != SIZE or axes not in (3, 4) or code not in TYPES:
        raise ValueError(f"{path} has another header than an image of a case")
    shape, dtype = tuple(extents[:axes][::-1]), np.dtype(order + TYPES[code])
    if shape[-3:] != grid.canonical_shape or begin != HEADER:
        raise ValueError(f"{path} has another header than the index of its case says")
    believe(path, math.prod(shape) * dtype.itemsize, path.stat().st_size, packed=True, ratio=ZSTANDARD)
    return np.empty(shape, dtype)
