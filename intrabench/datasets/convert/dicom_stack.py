"""Stack planes into one volume: their order, their affine and their places on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NoReturn

import numpy as np
from numpy.typing import NDArray

from intrabench.datasets.convert.dicom_plane import Plane, Vectors
from intrabench.errors import IntraBenchError
from intrabench.files.grid import NOTED, SAME

SAME_MM = 1e-3
"""Planes closer than this have the same position."""
Gaps = Literal["refuse", "longest", "resample"]
"""What happens to slices at uneven distances: refused, reduced to the best stretch with equal ones, or resampled."""


_ELSE = (
    'write gaps = "longest" (use the best stretch without a gap) or "resample" (interpolate slices at equal steps) in '
    "dataset.toml"
)


@dataclass(frozen=True, eq=False)
class Stack:
    """Indices of the planes in use, ordered along the normal, the affine ``(column, row, slice)`` to RAS mm, notes.

    levels: the place of each plane on the third axis of the affine. They are 0, 1, 2, ... to a tenth of a step, unless
    the stack is to be resampled. all_levels: the same of all planes, also of those that are not in use.
    """

    order: list[int]
    affine: Vectors
    levels: Vectors
    all_levels: Vectors
    notes: tuple[str, ...]


def stack(planes: Sequence[Plane], name: str, gaps: Gaps = "refuse", drawn: Vectors | None = None) -> Stack:
    """Sort parallel planes by position. If slices do not follow the normal (gantry tilt), the affine is sheared.

    Steps are equal if every plane is at most a tenth of a step off the best grid of equal steps.

    name: the series, for messages. gaps: what happens if they are not; a note says it. ``longest`` uses the longest
    of the stretches with equal steps that have the most of the places in `drawn` ``(n, 3)``, in RAS mm. ``resample``
    leaves all planes as they are, with `Stack.levels`.

    Raises:
        IntraBenchError: sizes, spacings or orientations differ, two planes have the same position, planes are missing
            or steps are uneven (unless `gaps` allows it), planes are shifted sideways by more than a tenth of a pixel,
            or a single plane has no thickness.
    """
    check_alike(planes, name)
    normal = planes[0].normal
    positions = np.stack([plane.position for plane in planes])
    order = np.argsort(positions @ normal, kind="stable")
    places = np.empty(0) if drawn is None else drawn @ normal
    used, notes = _longest(positions[order] @ normal, places) if gaps == "longest" else (slice(None), ())
    every, order = order, order[used]
    if len(order) == 1:
        origin, step, levels = positions[order[0]], normal * _thickness(planes[0]), np.zeros(1)
        notes = (*notes, "there is only one slice; its thickness is used as the spacing")
    else:
        along = positions[order] @ normal
        _check_apart([planes[index] for index in order], along, name)
        levels, said = _levels(along, gaps, name)
        notes = (*notes, *said)
        origin, step = _line(positions[order], levels)
        _check_straight(positions[order] - origin - levels[:, None] * step, planes[0], name)
        notes = (*notes, *_tilt(step, normal))
    affine = np.eye(4)
    affine[:3, :2], affine[:3, 2], affine[:3, 3] = planes[0].axes, step, origin
    all_levels = (positions[every] - origin) @ normal / (step @ normal)
    return Stack([int(index) for index in order], affine, levels, all_levels, notes)


def _levels(along: Vectors, gaps: Gaps, name: str) -> tuple[Vectors, tuple[str, ...]]:
    """The places of slices on a grid of equal steps, and a note if they are not its own; `along`: ascending, in mm."""
    equal = np.arange(len(along), dtype=np.float64)
    # Most series are even but for the last digits of numbers, and keep the line through their ends.
    step = (along[-1] - along[0]) / equal[-1]
    if np.abs(along - along[0] - step * equal).max() <= NOTED * step:
        return equal, ()
    off, step = _off(along)
    steps = np.diff(along)
    if off <= SAME * step:
        return equal + _residuals(along) / step, (
            f"slices are up to {off:.2g} mm off equal steps of {step:.4g} mm, which are used",
        )
    if gaps != "resample":
        _refuse(along, off / step, name)
    count = round(float((along[-1] - along[0]) / np.median(steps)))
    step = float((along[-1] - along[0]) / count)
    return (along - along[0]) / step, (
        f"steps between slices are from {steps.min():.3f} to {steps.max():.3f} mm; scan and labels are resampled from "
        f"{len(along)} slices to {count + 1} at equal steps of {step:.3f} mm",
    )


def _line(positions: Vectors, levels: Vectors) -> tuple[Vectors, Vectors]:
    """The origin and the step of the straight line on which planes lie at `levels`."""
    if np.array_equal(levels, np.arange(len(levels))):
        return positions[0], (positions[-1] - positions[0]) / levels[-1]
    centred = levels - levels.mean()
    step = centred @ positions / (centred @ centred)
    return positions.mean(axis=0) - step * levels.mean(), step


def _residuals(along: Vectors) -> Vectors:
    """How far slices are beyond their places on the best grid of equal steps, by least squares, in mm."""
    centred = np.arange(len(along)) - (len(along) - 1) / 2
    return along - along.mean() - centred * (centred @ along) / (centred @ centred)


def _off(along: Vectors) -> tuple[float, float]:
    """The largest distance from the best grid of equal steps, and its step, in mm."""
    residuals = _residuals(along)
    grid = along - residuals
    return float(np.abs(residuals).max()), float(grid[-1] - grid[0]) / (len(along) - 1)


def _longest(along: Vectors, drawn: Vectors) -> tuple[slice, tuple[str, ...]]:
    """The best of the longest stretches with equal steps, and a note if that is not all.

    along: ascending positions on the normal, in mm; drawn: those of what was drawn.
    """
    runs, last = [], 0
    usual = _usual(np.diff(along)) if len(along) > 1 else 0.0
    for first in range(max(len(along) - 1, 1)):
        last = max(last, first)
        while last + 1 < len(along) and _even(along[first : last + 2]):
            last += 1
        # two slices are always even, also those on both sides of a gap
        across = last == first + 1 and abs(along[last] - along[first] - usual) > SAME * usual
        if last == first or (_even(along[first : last + 1]) and not across):
            runs.append(slice(first, last + 1))
    half = usual / 2

    def value(run: slice) -> tuple[int, int]:
        low, high = along[run.start] - half, along[run.stop - 1] + half
        return int(np.count_nonzero((drawn >= low) & (drawn < high))), run.stop - run.start

    best = max(runs, key=value)
    if best.stop - best.start == len(along):
        return best, ()
    return best, (
        f"slices are at uneven distances; of {len(along)}, only the {best.stop - best.start} from "
        f"{along[best.start]:.2f} to {along[best.stop - 1]:.2f} mm along the normal are used, the longest stretch with "
        f"equal steps{' that has most of what was drawn' if len(drawn) else ''}",
    )


def _usual(steps: Vectors) -> float:
    """The step of most slices, in mm; it is robust, as missing slices only make steps larger."""
    return float(np.percentile(steps, 50, method="lower"))


def _even(along: Vectors) -> bool:
    off, step = _off(along)
    return off <= SAME * step


def _thickness(plane: Plane) -> float:
    if not plane.thickness:
        raise IntraBenchError(
            f"{plane.name} is the only slice of its series and has neither SliceThickness nor SpacingBetweenSlices, so "
            "its voxels have no volume; provide the other slices of the series"
        )
    return plane.thickness


def check_alike(planes: Sequence[Plane], name: str) -> None:
    """Refuse planes of several sizes, pixel spacings (beyond 0.1 %) or orientations."""
    first = planes[0]
    for plane in planes:
        turned = plane.axes / plane.spacing_mm - first.axes / first.spacing_mm
        if plane.shape != first.shape:
            found = " and ".join("x".join(map(str, shape)) for shape in (first.shape, plane.shape))
            what, advice = f"matrix sizes {found}", "provide slices of one size"
        elif np.abs(plane.spacing_mm / first.spacing_mm - 1).max() > 1e-3:
            what, advice = "pixel spacings", "provide slices of one spacing"
        elif np.abs(turned).max() > 1e-3:
            what, advice = "orientations", "provide slices of one orientation, without localizers"
        else:
            continue
        raise IntraBenchError(f"{name} mixes {what} ({first.name} and {plane.name}); {advice}")


def _check_apart(planes: Sequence[Plane], along: Vectors, name: str) -> None:
    steps = np.diff(along)
    if steps.min() < SAME_MM:
        twice = int(steps.argmin())
        raise IntraBenchError(
            f"{name} has two slices at the same position ({planes[twice].name} and {planes[twice + 1].name}); "
            "provide one phase, echo or time point only"
        )


def _refuse(along: Vectors, off: float, name: str) -> NoReturn:
    """Refuse uneven steps; `along`: ascending positions on the normal, in mm, `off`: in steps."""
    steps = np.diff(along)
    step = _usual(steps)
    multiples = np.rint(steps / step)
    gaps = np.flatnonzero(multiples > 1)
    if len(gaps) and multiples.all() and (np.abs(steps - multiples * step) <= SAME * step).all():
        first = gaps[0]
        raise IntraBenchError(
            f"{name} lacks {int(multiples.sum()) - len(steps)} of its slices, the first one between "
            f"{along[first]:.2f} and {along[first + 1]:.2f} mm along the normal, where the "
            f"step is {step:.2f} mm; download the missing files, or {_ELSE}"
        )
    raise IntraBenchError(
        f"{name} has steps between slices from {steps.min():.3f} to {steps.max():.3f} mm, so slices are up to "
        f"{off:.2g} steps off a grid of equal ones, expected {SAME} at most; {_ELSE}"
    )


def _check_straight(beside: Vectors, plane: Plane, name: str) -> None:
    """Refuse slices that are shifted sideways; `beside`: how far each is from a straight stack, in mm."""
    # the axes are as long as a pixel, so a product with them is in pixels once it is divided by the squared spacing
    sideways = np.abs(beside @ plane.axes) / plane.spacing_mm**2  # in pixels
    if sideways.max() > 0.1:
        raise IntraBenchError(
            f"{name} has slices that are shifted sideways by up to {sideways.max():.2f} pixels from a straight stack; "
            "resample it to a regular grid or leave it out"
        )


def _tilt(step: Vectors, normal: NDArray[np.float64]) -> tuple[str, ...]:
    degrees = float(np.degrees(np.arctan2(np.linalg.norm(np.cross(step, normal)), step @ normal)))
    if degrees < 0.05:
        return ()
    return (f"slices are shifted against each other (gantry tilt) by {degrees:.1f} degrees",)
