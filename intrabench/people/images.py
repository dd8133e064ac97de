"""Pages of people, each one file; and scans and masks as they take them: scans in slabs of slices, as whole numbers."""

from __future__ import annotations

import base64
import gzip
import zlib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any, Literal

import numpy as np

from intrabench.mask import Mask
from intrabench.reporting.windows import windows
from intrabench.volume import Volume

Orientation = Literal["radiological", "neurological"]
"""Whether the patient's right is on the left of the screen, as radiologists see a scan, or on the right."""
SLAB = 16
"""Slices of a slab."""
PARTS = ("head", "viewer", "note")
"""What pages have in common."""
SAMPLE = 1_000_000
"""Of so many voxels windows are made."""


class Slabs:
    """The slabs of a scan, and `about`, what a page must know of it.

    That is the `plane` in which it is read, `shape` and `spacing`, slices first, how numbers become values,
    ``slope * number + intercept``, and the windows with which the page begins.
    """

    def __init__(self, volume: Volume, targets: Sequence[Mask], window: str = "") -> None:
        """targets: that a CT's window fits, if `window` does not name another one (`ct_window`)."""
        colour = volume.is_photo and volume.array.shape[3:] == (3,)
        array = volume.array if colour or volume.array.ndim == 3 else volume.array[..., 0]
        self._stored, slope, intercept = _numbers(array, colour)
        presets, start = [{"name": "all", "low": 0.0, "high": 255.0}], 0
        if not colour:
            step = max(1, round((array.size / SAMPLE) ** (1 / 3)))  # for which a part of a large scan is enough
            _, found, start = windows(array[::step, ::step, ::step], volume, Mask.union(targets), window)
            presets = [{"name": name, "low": round(low, 4), "high": round(high, 4)} for name, low, high in found]
        self.about: Mapping[str, Any] = {
            "shape": list(volume.shape),
            "spacing": [round(float(mm), 4) for mm in volume.spacing_mm],
            "photo": volume.is_photo,
            "plane": volume.plane,
            "channels": 3 if colour else 1,
            "dtype": self._stored.dtype.name,
            "slope": slope,
            "intercept": intercept,
            "slab": SLAB,
            "presets": presets,
            "preset": start,
        }

    def __len__(self) -> int:
        return (len(self._stored) + SLAB - 1) // SLAB

    def __getitem__(self, number: int) -> bytes:
        """A slab, compressed with gzip."""
        if not 0 <= number < len(self):
            raise IndexError(number)
        return gzip.compress(self._stored[number * SLAB : (number + 1) * SLAB].tobytes(), 1, mtime=0)


def packed(mask: Mask) -> dict[str, Any]:
    """The tight box of a mask and its bits, compressed; they depend on its voxels alone, not on where it is from."""
    mask = Mask.of(mask.array, mask.start)
    return {"box": list(mask.box), "bits": base64.b64encode(zlib.compress(mask.pack().tobytes())).decode()}


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


def page(name: str, bundle: bool = False) -> str:
    """``rate``, ``annotate`` or ``click``; bundle: to be opened from a disk, with its data beside it."""
    here = files("intrabench.people.page")
    text = here.joinpath(f"{name}.html").read_text(encoding="utf-8")
    plane = files("intrabench.reporting.page").joinpath("plane.js")  # of the report's viewer
    scripts = [here.joinpath(part) for part in ("frame.js", "load.js", "planes.js", "strip.js", f"{name}.js")]
    for place, content in (
        *((part, here.joinpath(f"{part}.html").read_text(encoding="utf-8").rstrip("\n")) for part in PARTS),
        ("css", here.joinpath("people.css").read_text(encoding="utf-8")),
        ("boot", f"window.BUNDLE = {str(bundle).lower()};"),
        ("js", "\n".join(file.read_text(encoding="utf-8") for file in (plane, *scripts))),
    ):
        text = text.replace(f"{{{{ {place} }}}}", content)
    return text
