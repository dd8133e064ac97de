"""What a compressed DICOM frame says of itself, which must be what the header of its file says.

Some decoders believe the frame and some the file, and then give other pixels, or damage the process.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

from intrabench.errors import IntraBenchError

_SIZES = {*range(0xC0, 0xD0), 0xF7} - {0xC4, 0xC8, 0xCC}
"""The markers of JPEG (ITU-T T.81, table B.1) and JPEG-LS (T.87) that precede the size of an image."""
_CODESTREAM = b"\xff\x4f\xff\x51"


def check_frame(frame: bytes, header: Any, path: Path) -> None:
    """Refuse a frame of JPEG, JPEG-LS or JPEG 2000 that has another size or more bits than `header` announces.

    Raises:
        IntraBenchError: it does, or it does not begin like such a frame.
    """
    rows, columns, bits = int(header.Rows), int(header.Columns), int(header.BitsAllocated)
    try:
        found = _jpeg(frame) if frame.startswith(b"\xff\xd8") else _jpeg2000(frame)
    except (struct.error, IndexError, ValueError):
        raise IntraBenchError(f"{path} holds a frame that is truncated or damaged; fetch or export it again") from None
    if found[:2] != (rows, columns) or found[2] > bits:
        raise IntraBenchError(
            f"{path} holds a frame of {found[0]} x {found[1]} pixels of {found[2]} bits, but its header says "
            f"{rows} x {columns} of at most {bits}; export it again"
        )


def _jpeg(frame: bytes) -> tuple[int, int, int]:
    """Rows, columns and bits of JPEG and JPEG-LS."""
    at = 2
    while True:
        while frame[at] == 0xFF:  # any number of them precedes a marker
            at += 1
        marker, (length,) = frame[at], struct.unpack_from(">H", frame, at + 1)
        if marker in _SIZES:
            bits, rows, columns = struct.unpack_from(">BHH", frame, at + 3)
            return rows, columns, bits
        at += 1 + length


def _jpeg2000(frame: bytes) -> tuple[int, int, int]:
    """Rows, columns and bits of JPEG 2000 (ITU-T T.800, A.5.1), also in a file of its own within the frame."""
    at = frame.index(_CODESTREAM) + 8
    right, bottom, left, top = struct.unpack_from(">4I", frame, at)
    return bottom - top, right - left, (frame[at + 34] & 0x7F) + 1
