"""Label maps in files that are no scans: pictures, tables and arrays."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from intrabench.errors import IntraBenchError
from intrabench.files.mask_pictures import numbers_of
from intrabench.files.pictures import open_picture
from intrabench.mask import Array


def read_label_file(path: Path) -> Array:
    """The numbers in a PNG, CSV, npy or npz file: ``(y, x)``, or whatever axes an array has. Pickles are refused.

    Raises:
        IntraBenchError: the file is of another kind, or cannot be read.
    """
    read = READERS.get(path.suffix.lower())
    if read is None:
        raise IntraBenchError(f"{path} is no label map that is understood; expected {', '.join(READERS)}")
    try:
        found = read(path)
    except IntraBenchError:
        raise
    except Exception as error:  # each reader raises other exceptions for damaged files
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise IntraBenchError(f"{path} cannot be read ({reason}); write it again") from error
    if found.dtype.kind not in "biuf" or not found.size:
        raise IntraBenchError(f"{path} holds {found.dtype} {found.shape}, expected one whole number per pixel")
    return found


def _picture(path: Path) -> Array:
    return numbers_of(open_picture(path), path).astype(np.int64)


def _table(path: Path) -> Array:
    lines = path.read_text(encoding="utf-8").replace(";", ",").strip().splitlines()
    return np.array([[float(part) for part in line.strip().strip(",").split(",")] for line in lines])


def _array(path: Path) -> Array:
    return np.asarray(np.load(path, allow_pickle=False))


def _arrays(path: Path) -> Array:
    with np.load(path, allow_pickle=False) as found:
        if len(found.files) != 1:
            raise IntraBenchError(f"{path} has {len(found.files)} arrays, expected one, the label map")
        return np.asarray(found[found.files[0]])


READERS: dict[str, Callable[[Path], Array]] = {".png": _picture, ".csv": _table, ".npy": _array, ".npz": _arrays}
