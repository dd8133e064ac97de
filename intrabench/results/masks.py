"""The stored masks of a results folder: one file for each session, ``masks/SESSION.npz``."""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from intrabench.errors import IntraBenchError
from intrabench.files.documents import Unreadable, regular
from intrabench.files.headers import Arrays
from intrabench.files.names import file_name
from intrabench.mask import Mask
from intrabench.results.damage import left_out


def read_masks(root: Path, session: str) -> list[Mask]:
    """The stored masks of a session, one per round; none without ``--save-masks``.

    Raises:
        IntraBenchError: the file cannot be read.
    """
    path = masks_file(root, session)
    try:
        with Arrays(regular(path)) as arrays:
            boxes: list[Any] = [arrays[f"box{number}"] for number in range(len(arrays) // 2)]
            return [Mask.unpack(box[:3], box[3:] - box[:3], arrays[f"round{n}"]) for n, box in enumerate(boxes)]
    except FileNotFoundError:
        return []
    except Exception as error:  # zip, zlib and numpy raise different exceptions for damaged files
        raise IntraBenchError(left_out(path)) from error


def write_masks(path: Path, masks: Sequence[Mask]) -> None:
    """Write masks, one per round, cropped and bit-packed."""
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    for number, mask in enumerate(masks):
        arrays[f"round{number}"] = mask.pack()
        arrays[f"box{number}"] = np.array(mask.box)
    with path.open("wb") as file:
        np.savez_compressed(file, **arrays)  # type: ignore[arg-type]


def damaged_masks(root: Path) -> list[str]:
    """A sentence for each file of masks that was cut short; it counts as missing."""
    return [left_out(path) for path in cut_masks(root)]


def cut_masks(root: Path) -> list[Path]:
    """The files of masks that were cut short."""
    return [path for path in sorted((root / "masks").glob("*.npz")) if not is_whole(path)]


def masks_file(root: Path, session: str) -> Path:
    """The file of the masks of a session."""
    return root / "masks" / f"{file_name(session)}.npz"  # rows of somebody else may name any session


def is_whole(path: Path) -> bool:
    """Whether a zip ends as it says itself: with a record of 22 bytes, right behind its directory."""
    try:
        with regular(path).open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - 22, 0))
            end = file.read()
    except (OSError, Unreadable):
        return False
    return end.startswith(b"PK\5\6") and size == 22 + sum(struct.unpack_from("<II", end, 12))
