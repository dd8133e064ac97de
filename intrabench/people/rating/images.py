"""Scans as the page takes them: whole, in slabs of slices, as whole numbers of 8 or 16 bits."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np

from intrabench.reporting.page.views import windows
from intrabench.volume import Volume

SLAB = 16
"""Slices of a slab."""


def write_image(volume: Volume, folder: Path) -> dict[str, Any]:
    """Write ``0.gz``, ``1.gz``, ... of a scan, and return what the page must know of it.

    That is `shape` and `spacing` ``(z, y, x)``, and how numbers become values, ``slope * number + intercept``.
    """
    colour = volume.is_photo and volume.array.shape[3:] == (3,)
    array = volume.array if colour or volume.array.ndim == 3 else volume.array[..., 0]
    stored, slope, intercept = _numbers(array, colour)
    folder.mkdir(parents=True)
    for number, first in enumerate(range(0, len(stored), SLAB)):
        (folder / f"{number}.gz").write_bytes(gzip.compress(stored[first : first + SLAB].tobytes(), 1, mtime=0))
    about: dict[str, Any] = {
        "shape": list(volume.shape),
        "spacing": [round(float(mm), 4) for mm in volume.spacing_mm],
        "photo": volume.is_photo,
        "channels": 3 if colour else 1,
        "dtype": stored.dtype.name,
        "slope": slope,
        "intercept": intercept,
        "slab": SLAB,
    }
    if colour:
        return about | {"presets": [{"name": "all", "low": 0, "high": 255}], "preset": 0}
    _, presets, start = windows(array, volume.is_ct)
    named = [{"name": name, "low": round(low, 4), "high": round(high, 4)} for name, low, high in presets]
    return about | {"presets": named, "preset": start}


def _numbers(array: np.ndarray[Any, Any], colour: bool) -> tuple[np.ndarray[Any, Any], float, float]:
    """The stored numbers, and slope and intercept to get values back; floats are kept to 16 bits of their range."""
    if array.dtype == np.uint8 or colour:
        return np.ascontiguousarray(array, np.uint8), 1.0, 0.0
    low, high = float(array.min()), float(array.max())
    if array.dtype.kind in "iu" and low >= -32768 and high <= 32767:
        return np.ascontiguousarray(array, "<i2"), 1.0, 0.0
    slope = (high - low) / 65535 or 1.0
    intercept = low + 32768 * slope
    return np.rint((array.astype(np.float64) - intercept) / slope).clip(-32768, 32767).astype("<i2"), slope, intercept
