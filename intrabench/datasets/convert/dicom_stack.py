"""Stack planes into one volume: their order and affine; irregular stacks are refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from intrabench.datasets.convert.dicom_plane import Plane, Vectors
from intrabench.errors import IntraBenchError

SAME_MM = 1e-3
"""Planes closer than this have the same position."""
Gaps = Literal["refuse", "longest"]
"""What happens to slices at uneven distances: refused, or reduced to the longest stretch with equal ones."""


_ELSE = 'or write gaps = "longest" in dataset.toml to use the longest stretch without a gap'


@dataclass(frozen=True, eq=False)
class Stack:
    """Indices of the planes in use, ordered along the normal, the affine ``(column, row, slice)`` to RAS mm, notes."""

    order: list[int]
    affine: Vectors
    notes: tuple[str, ...]


def stack(planes: Sequence[Plane], name: str, gaps: Gaps = "refuse") -> Stack:
    """Sort parallel planes by position. If slices do not follow the normal (gantry tilt), the affine is sheared.

    name: the series, for messages. gaps: ``longest`` uses the longest stretch of planes with equal steps, and says so.

    Raises:
        IntraBenchError: sizes, spacings or orientations differ, two planes have the same position, planes are missing
            or steps are uneven (by more than 1 % and 0.02 mm; unless `gaps` allows it), planes are shifted sideways by
            more than a tenth of a pixel, or a single plane has no thickness.
    """
    check_alike(planes, name)
    normal = planes[0].normal
    positions = np.stack([plane.position for plane in planes])
    order = np.argsort(positions @ normal, kind="stable")
    notes: tuple[str, ...]
    used, reduced = _longest(positions[order] @ normal) if gaps == "longest" else (slice(None), ())
    order = order[used]
    if len(order) == 1:
        step, notes = normal * _thickness(planes[0]), ("there is only one slice; its thickness is used as the spacing",)
    else:
        _check_steps([planes[index] for index in order], positions[order] @ normal, name)
        step = (positions[order[-1]] - positions[order[0]]) / (len(order) - 1)
        _check_straight(positions[order], step, planes[0], name)
        notes = _tilt(step, normal)
    affine = np.eye(4)
    affine[:3, :2], affine[:3, 2], affine[:3, 3] = planes[0].axes, step, positions[order[0]]
    return Stack([int(index) for index in order], affine, (*reduced, *notes))


def _tolerance(step: float) -> float:
    return max(0.01 * step, 0.02)


def _longest(along: Vectors) -> tuple[slice, tuple[str, ...]]:
    """The first of the longest stretches with equal steps, and a note if that is not all; `along`: ascending, in mm."""
    steps = np.diff(along)
    best, first = slice(0, len(along)), 0
    runs = []
    while first < len(steps):
        other = np.flatnonzero(np.abs(steps[first:] - steps[first]) > _tolerance(steps[first]))
        last = first + int(other[0]) if len(other) else len(steps)
        runs.append(slice(first, last + 1))
        first = last
    best = max(runs, key=lambda run: run.stop - run.start, default=best)
    if best.stop - best.start == len(along):
        return best, ()
    return best, (
        f"slices are at uneven distances; of {len(along)}, only the {best.stop - best.start} from "
        f"{along[best.start]:.2f} to {along[best.stop - 1]:.2f} mm along the normal are used, the longest stretch with "
        "equal steps",
    )


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


def _check_steps(planes: Sequence[Plane], along: Vectors, name: str) -> None:
    """Refuse uneven steps; `along`: ascending positions on the normal, in mm."""
    steps = np.diff(along)
    if steps.min() < SAME_MM:
        twice = int(steps.argmin())
        raise IntraBenchError(
            f"{name} has two slices at the same position ({planes[twice].name} and {planes[twice + 1].name}); "
            "provide one phase, echo or time point only"
        )
    step = float(np.percentile(steps, 50, method="lower"))  # robust: missing slices only make steps larger
    tolerance = _tolerance(step)
    if np.abs(steps - step).max() <= tolerance:
        return
    multiples = np.rint(steps / step)
    gaps = np.flatnonzero(multiples > 1)
    if len(gaps) and (np.abs(steps - multiples * step) <= tolerance * multiples).all():
        first = gaps[0]
        raise IntraBenchError(
            f"{name} lacks {int(multiples.sum()) - len(steps)} of its slices, the first one between "
            f"{along[first]:.2f} and {along[first + 1]:.2f} mm along the normal, where the "
            f"step is {step:.2f} mm; download the missing files, {_ELSE}"
        )
    raise IntraBenchError(
        f"{name} has steps between slices from {steps.min():.3f} to {steps.max():.3f} mm, expected one spacing; "
        f"resample it to equal steps, {_ELSE}"
    )


def _check_straight(positions: Vectors, step: Vectors, plane: Plane, name: str) -> None:
    line = positions[0] + np.arange(len(positions))[:, None] * step
    # the axes are as long as a pixel, so a product with them is in pixels once it is divided by the squared spacing
    sideways = np.abs((positions - line) @ plane.axes) / plane.spacing_mm**2  # in pixels
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
