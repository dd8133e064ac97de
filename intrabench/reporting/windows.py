"""Grey-value windows: which values of a scan are black and which are white in pictures, pages and the viewer."""

from __future__ import annotations

from math import ceil, isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from intrabench.errors import IntraBenchError
from intrabench.mask import Mask, box_slices, grow
from intrabench.specs.specs import nearest
from intrabench.volume import Volume

CT_WINDOWS = {"soft tissue": (-160.0, 240.0), "lung": (-1350.0, 150.0), "bone": (-500.0, 1300.0)}
"""Hounsfield units that are black and white."""

_CT_LEVELS = np.interp(np.arange(256), [0, 56, 216, 250, 255], [-1024, -160, 240, 1300, 3000])
"""Hounsfield units of the 256 grey levels: fine steps for soft tissue, coarse steps elsewhere."""

_AROUND_MM, _AIR, _QUARTER = 5.0, -400.0, 75  # what is around a target; values below are of the lung; in percent
_MOST = 1_000_000  # voxels that are looked at


def ct_window(volume: Volume, target: Mask, name: str = "") -> str:
    """The window of a CT in which a target can be seen, of `CT_WINDOWS`; name: take this one, if it is not empty.

    Bone, if a quarter of the target would be white as soft tissue; lung, if most of the target and of what is 5 mm
    around it is as thin as air; else soft tissue.

    Raises:
        IntraBenchError: there is no window with this name.
    """
    if name:
        check_window(name)
        return name
    box = grow(target.box, [ceil(_AROUND_MM / mm) for mm in volume.spacing_mm], volume.shape)
    inside, scan = target.crop(box), volume.array[box_slices(box)]
    step = max(1, round((inside.size / _MOST) ** (1 / 3)))
    inside, scan = (array[::step, ::step, ::step] for array in (inside, scan))
    if inside.any() and np.percentile(scan[inside], _QUARTER) > CT_WINDOWS["soft tissue"][1]:
        return "bone"
    return "lung" if scan.size and np.median(scan) < _AIR else "soft tissue"


def stated(window: str) -> tuple[float, float] | None:
    """The values that are black and white in a window ``"BLACK,WHITE"``, of any scan; None: it is none."""
    try:
        low, high = map(float, window.split(","))
    except ValueError:
        return None
    return (low, high) if isfinite(low) and isfinite(high) and low < high else None


def check_window(name: str) -> None:
    """Refuse what is neither a window of CT nor `stated`; empty is the one that fits the target."""
    if name and name not in CT_WINDOWS and stated(name) is None:
        known = ", ".join(map(repr, CT_WINDOWS))
        raise IntraBenchError(
            f"--window {name!r} is no window of CT{nearest(name, CT_WINDOWS)}; choose from {known}, or give the values "
            "that are black and white, as in --window=-50,150"
        )


def windows(
    scan: NDArray[Any], volume: Volume, target: Mask, name: str = ""
) -> tuple[NDArray[np.float64], list[tuple[str, float, float]], int]:
    """The values of the 256 grey levels, the selectable windows, and the index of the initial one.

    scan: the values that are shown, or some of them. name: as of `ct_window`, or `stated`; scans that are no CT begin
    with 1 to 99 % otherwise.
    """
    if ends := stated(name):
        levels, presets, _ = windows(scan, volume, target)
        return levels, [*presets, (f"{ends[0]:g} to {ends[1]:g}", *ends)], len(presets)
    if volume.is_ct:
        names = [*CT_WINDOWS]
        start = names.index(ct_window(volume, target, name))
        return _CT_LEVELS, [(one, *ends) for one, ends in CT_WINDOWS.items()], start
    low, first, fifth, last_fifth, last, high = np.percentile(scan, (0.1, 1, 5, 95, 99, 99.9)).tolist()
    levels = np.linspace(low, max(high, low + 1e-6), 256)
    return levels, [("1 to 99 %", first, last), ("5 to 95 %", fifth, last_fifth), ("all", low, high)], 0
