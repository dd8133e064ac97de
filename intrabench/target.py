"""One instance to be segmented, and its entry in the target index of a case."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from intrabench.mask import TURNED, UPRIGHT, Box, Index, Mask, Plane, grow, reordered, reordered_box
from intrabench.prompts import Scribble

WHOLE_CASE = "*"
"""Target id of rows for a case that could not be prepared. Once it is repaired, a row without failure records that."""


@dataclass(frozen=True)
class TargetInfo:
    """The entry of one target in the target index, without its voxels; person: as of `Target`."""

    label: str
    instance: int
    box: Box
    voxels: int
    slices: int
    content_hash: str
    person: str = ""

    @property
    def id(self) -> str:
        """``label.instance``, unique within a case."""
        return f"{self.label}.{self.instance}"


@dataclass(frozen=True, eq=False)
class Target:
    """One instance of one case: its mask, cropped to its box, in a volume of `shape` ``(z, y, x)``.

    `ignore` marks voxels that metrics do not count; `siblings` are the other targets of the case. scribbles: strokes
    with which people began to segment it, of one person after the other, where the data set has them. person: who drew
    it, where each of several people drew the whole image. boxes: the 3D boxes with which its segmentation is to begin,
    where the data set says that; empty: with none. names: what people call it, with synonyms, as the data set's card
    says; empty: only the label says. plane: in which the scan is read, so that the arrays are as of `turned`.
    """

    case: str
    label: str
    instance: int
    mask: Mask
    shape: tuple[int, int, int]
    spacing_mm: tuple[float, float, float]
    ignore: Mask = field(default_factory=Mask.empty)
    siblings: Sequence[TargetInfo] = ()
    scribbles: tuple[tuple[Scribble, ...], ...] = ()
    person: str = ""
    boxes: tuple[Box, ...] | None = None
    names: tuple[str, ...] = ()
    plane: Plane = "axial"

    @property
    def id(self) -> str:
        """``label.instance``, unique within a case."""
        return f"{self.label}.{self.instance}"

    @property
    def volume_ml(self) -> float:
        """Volume of the target in millilitres."""
        return self.mask.voxels * float(np.prod(self.spacing_mm)) / 1000

    @property
    def diagonal_mm(self) -> float:
        """The diagonal of the volume in mm."""
        return math.hypot(*(count * size for count, size in zip(self.shape, self.spacing_mm, strict=True)))

    @property
    def diagonal_voxels(self) -> float:
        """The diagonal of the volume in voxels, as if they were cubes."""
        return math.hypot(*self.shape)

    def crop(self, margin: int = 0) -> tuple[NDArray[np.bool_], Box]:
        """The dense mask in its box plus `margin` voxels (clipped to the volume), and that box."""
        box = grow(self.mask.box, (margin,) * 3, self.shape)
        return self.mask.crop(box), box

    def turned(self, plane: Plane) -> Target:
        """The target on `Volume.turned`; itself if the plane is axial."""
        return self if plane == self.plane else self._reordered(TURNED[plane], plane)

    @property
    def upright(self) -> Target:
        """The target as it was before it was `turned`; itself if it was not."""
        return self if self.plane == "axial" else self._reordered(UPRIGHT[self.plane], "axial")

    def _reordered(self, axes: Index, plane: Plane) -> Target:
        siblings = tuple(replace(info, box=reordered_box(info.box, axes)) for info in self.siblings)
        people = [[Scribble(one.points[:, axes], one.label) for one in strokes] for strokes in self.scribbles]
        return replace(
            self,
            mask=self.mask.reordered(axes),
            shape=reordered(self.shape, axes),
            spacing_mm=reordered(self.spacing_mm, axes),
            ignore=self.ignore.reordered(axes),
            siblings=siblings,
            scribbles=tuple(map(tuple, people)),
            boxes=None if self.boxes is None else tuple(reordered_box(box, axes) for box in self.boxes),
            plane=plane,
        )

    def info(self) -> TargetInfo:
        """The entry for the target index."""
        content = hashlib.sha256(repr(self.spacing_mm).encode())
        for mask in (self.mask, self.ignore) if self.ignore.any() else (self.mask,):
            content.update(repr(mask.box).encode() + mask.pack().tobytes())
        for person, strokes in enumerate(self.scribbles):
            for stroke in strokes:
                content.update(repr((person, stroke.label, stroke.points.tolist())).encode())
        if self.boxes is not None:
            content.update(repr(("boxes", *self.boxes)).encode())
        return TargetInfo(
            self.label,
            self.instance,
            self.mask.box,
            self.mask.voxels,
            len(self.mask.occupied_slices),
            content.hexdigest()[:16],
            self.person,
        )


ANNOTATION = "annotation"
"""The label of all targets of a person together; where people have names, it is the name."""


def by_person(infos: Iterable[TargetInfo]) -> list[tuple[TargetInfo, ...]]:
    """The targets of each person, which are together an annotation of the image, in the order of their first ones."""
    found: dict[str, list[TargetInfo]] = {}
    for info in infos:
        found.setdefault(info.person, []).append(info)
    return [tuple(each) for each in found.values()]


def annotation_info(infos: Sequence[TargetInfo]) -> TargetInfo:
    """The entry of an annotation: of all targets of a person together."""
    person = infos[0].person
    return union_info(infos, person or ANNOTATION, 0, person)


def union_info(infos: Sequence[TargetInfo], label: str, instance: int, person: str = "") -> TargetInfo:
    """The entry of several targets together, which have no voxels in common; its slices are those from end to end."""
    corners = np.array([info.box for info in infos], int).reshape(-1, 6)
    (z0, y0, x0), (z1, y1, x1) = [
        ends.tolist() if len(infos) else [0, 0, 0]
        for ends in (corners[:, :3].min(axis=0, initial=2**62), corners[:, 3:].max(axis=0, initial=0))
    ]
    content = hashlib.sha256(repr([info.content_hash for info in infos]).encode())
    voxels = sum(info.voxels for info in infos)
    return TargetInfo(label, instance, (z0, y0, x0, z1, y1, x1), voxels, z1 - z0, content.hexdigest()[:16], person)


def targets_of(
    labels: NDArray[np.integer],
    names: Mapping[int, tuple[str, int]],
    case: str,
    spacing_mm: tuple[float, float, float],
) -> list[Target]:
    """The targets of a canonical label map ``(z, y, x)``.

    `names` maps a value to ``(label, instance)``. Values without a name are left out, and a named value that does not
    occur gives no target. One pass finds all boxes, then each target is cut out of its own box.
    """
    from scipy import ndimage

    shape = (labels.shape[0], labels.shape[1], labels.shape[2])
    top = max(names, default=0)
    if top < 1:
        return []
    boxes = ndimage.find_objects(labels, max_label=top)  # entry i belongs to the value i + 1
    targets = []
    for value in sorted(names):
        where = boxes[value - 1] if value > 0 else None
        if where is None:
            continue
        start = tuple(bound.start for bound in where)
        label, instance = names[value]
        targets.append(Target(case, label, instance, Mask.of(labels[where] == value, start), shape, spacing_mm))
    return targets
