"""The door of data sets: what every scan and its targets are checked for, whoever made them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from intrabench.datasets.convert.upright import check_upright
from intrabench.errors import IntraBenchError, WrongType
from intrabench.files.names import check_utf8
from intrabench.mask import Box, Mask, intersection
from intrabench.prompts import Scribble
from intrabench.specs.values import expect, is_a
from intrabench.target import Target
from intrabench.volume import Volume


def fitted(volume: Volume, targets: Sequence[Target]) -> list[Target]:
    """The targets with tight boxes and with the spacing of their volume.

    Messages do not name the data set and the case, which all who tell them do.

    Raises:
        WrongType: a target has no `Mask`, its mask begins between voxels, or the notes of the volume are no sentences.
        IntraBenchError: the axes of the scan are not at right angles; a target is empty, on another grid or outside of
            the scan, or shares its id with another one.
    """
    check_upright(volume, "resample scan and labels to right angles")
    notes: Any = volume.notes
    if not is_a(tuple[str, ...], notes):
        raise WrongType(f"the notes of the volume are {notes!r}, expected a tuple of sentences: ('...',)")
    found: dict[str, Target] = {}
    for target in targets:
        one = _fitted(volume, target)
        if one.id in found:
            raise IntraBenchError(f"there are two targets {one.id}; number the instances of a label")
        found[one.id] = one
    return list(found.values())


def _fitted(volume: Volume, target: Target) -> Target:
    if not check_utf8(target.label, "there is a label that cannot be stored:"):
        raise IntraBenchError("there is a target with an empty label; name it")
    name = f"target {target.id}"
    mask, ignore = _inside(target.mask, "mask", name, volume), _inside(target.ignore, "ignore", name, volume)
    if not mask.any():
        raise IntraBenchError(f"{name} has no voxels; omit it in `load`")
    if not np.array_equal(target.shape, volume.shape):
        raise IntraBenchError(
            f"{name} was made for an image of shape {target.shape}, but the scan has the shape {volume.shape}; "
            "put image and targets on one grid"
        )
    _check_scribbles(target.scribbles, name, volume)
    _check_boxes(target.boxes, name, volume)
    return replace(target, mask=mask, ignore=ignore, shape=volume.shape, spacing_mm=volume.spacing_mm)


def _check_scribbles(scribbles: Any, name: str, volume: Volume) -> None:
    """Refuse first scribbles of people that are none, or lie outside of the volume."""
    if not is_a(tuple[tuple[Scribble, ...], ...], scribbles):
        raise WrongType(
            f"{name} has other scribbles than a tuple of Scribbles for each person: ((Scribble(...),), ...)"
        )
    for stroke in chain.from_iterable(scribbles):
        if not ((stroke.points >= 0) & (stroke.points < volume.shape)).all():
            raise IntraBenchError(
                f"{name} has a scribble outside of the image of shape {volume.shape}; put both on one grid"
            )


def _check_boxes(boxes: Any, name: str, volume: Volume) -> None:
    """Refuse first boxes that are none, or do not lie in the volume."""
    if boxes is not None and not is_a(tuple[tuple[int, ...], ...], boxes):
        raise WrongType(f"{name} has other boxes than a tuple of them: ((z0, y0, x0, z1, y1, x1), ...), or None")
    whole: Box = (0, 0, 0, *volume.shape)
    for box in boxes or ():
        if len(box) != 6 or intersection(box, whole) != box:
            raise IntraBenchError(
                f"{name} has the box {box}, expected a half-open one (z0, y0, x0, z1, y1, x1) inside the image "
                f"of shape {volume.shape}; put both on one grid"
            )


def _inside(mask: Any, field: str, name: str, volume: Volume) -> Mask:
    """The tight mask, which lies in the volume."""
    expect(Mask, mask, f"{name} has", "a Mask, as from Mask.of(array)", f" as its {field}")
    if not is_a(tuple[int, int, int], mask.start):
        raise WrongType(f"{name} begins at {mask.start!r} in its {field}, expected three whole numbers (z, y, x)")
    try:
        tight = Mask.of(mask.array, mask.start)
    except ValueError as error:
        raise IntraBenchError(f"{name}: {error}") from error
    whole: Box = (0, 0, 0, *volume.shape)
    if tight.any() and intersection(tight.box, whole) != tight.box:
        raise IntraBenchError(
            f"{name}{' (its ignore mask)' if field == 'ignore' else ''} reaches from {tight.box[:3]} to "
            f"{tight.box[3:]}, beyond the image of shape {volume.shape}; put image and targets on one grid"
        )
    return tight
