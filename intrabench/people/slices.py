"""A slice of a scan as a picture that people see."""

from __future__ import annotations

import base64
import io
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from intrabench.mask import Bools, Mask
from intrabench.people.images import Orientation
from intrabench.reporting.windows import windows
from intrabench.volume import Volume


def slice_picture(volume: Volume, z: int, target: Mask, window: str = "") -> NDArray[np.uint8]:
    """RGB ``(y, x, 3)``; photographs as they are, of others the first channel in a window of grey values.

    volume: in the plane in which it is read. target: that the window of a CT fits, unless `window` names one.
    """
    layer = volume.array[z]
    if not volume.is_photo:
        layer = layer[..., 0] if layer.ndim == 3 else layer
        _, presets, start = windows(layer, volume, target, window)
        _, low, high = presets[start]
        layer = np.rint(np.clip((layer - low) / max(high - low, 1e-6), 0, 1) * 255)
    colours: NDArray[Any] = layer if layer.ndim == 3 else np.repeat(layer[..., None], 3, axis=2)
    return np.ascontiguousarray(colours[..., :3].astype(np.uint8))


def seen(volume: Volume, orientation: Orientation = "radiological") -> tuple[slice, slice]:
    """How rows and columns of a slice lie on the screen: of scans backwards, so that anterior and the patient's right
    are at the top and on the left; in neurological orientation the right is on the right.
    """
    forwards, backwards = slice(None), slice(None, None, -1)
    if volume.is_photo:
        return forwards, forwards
    return backwards, forwards if orientation == "neurological" and volume.plane != "sagittal" else backwards


def largest_slice(mask: Mask) -> int:
    """The slice in which a mask that is not empty has most voxels."""
    return mask.start[0] + int(mask.array.sum(axis=(1, 2)).argmax())


def window_of(area: Bools) -> tuple[slice, slice]:
    """The rows and columns of the box around an area ``(y, x)`` that is not empty."""
    rows, columns = (np.flatnonzero(area.any(axis=1 - axis)) for axis in (0, 1))
    return slice(int(rows[0]), int(rows[-1]) + 1), slice(int(columns[0]), int(columns[-1]) + 1)


def address_of(picture: Image.Image) -> str:
    """A picture as a PNG in an address of the kind data, as pages show it."""
    file = io.BytesIO()
    picture.save(file, "PNG", compress_level=1)
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()
