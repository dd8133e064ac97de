"""A target and an answer, with intermediate results of metrics, each computed once on demand."""

from __future__ import annotations

import math
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from threading import RLock
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from intrabench.mask import UPRIGHT, Box, Mask, Region, box_slices, frozen, joint_box
from intrabench.metrics.parts.components import Components
from intrabench.metrics.parts.lesions import Lesions
from intrabench.metrics.parts.overlap import Overlap
from intrabench.metrics.parts.transform import Spacing
from intrabench.target import Target
from intrabench.volume import Volume

if TYPE_CHECKING:
    from intrabench.metrics.parts.borders import Border, BorderDistances
    from intrabench.metrics.parts.surface import Surface, SurfaceDistances

KEPT = 8
"""For the distances to a target's surface this many times the memory of its mask is kept, until the target goes."""
_TRUTHS: WeakKeyDictionary[Target, Surface] = WeakKeyDictionary()
_BORDERS: WeakKeyDictionary[Target, Border] = WeakKeyDictionary()
_COMPONENTS: WeakKeyDictionary[Target, dict[int, Components]] = WeakKeyDictionary()
"""By connectivity."""
_RESPACED: WeakKeyDictionary[Target, dict[Spacing, Target]] = WeakKeyDictionary()
"""The same targets with voxels of other sizes, whose surfaces are kept as well."""
_UPRIGHT: WeakKeyDictionary[Target, Target] = WeakKeyDictionary()
_ONE_AT_A_TIME = RLock()
"""Pairs of one target share its surface, and may be measured in several threads."""

T = TypeVar("T")


def per_target(store: MutableMapping[Target, T], target: Target, make: Callable[[], T]) -> T:
    """What is made once of each target; store: of weak keys, so that it goes with the target."""
    with _ONE_AT_A_TIME:
        found = store.get(target)
        if found is None:
            found = store[target] = make()
        return found


@dataclass(frozen=True, eq=False)
class MaskPair:
    """What a metric is given. Arrays ``(z, y, x)`` are cut to the joint box of both masks, and are read-only.

    target, given: the original inputs, including the target's ignored voxels; all else excludes those. image: None
    unless a metric needs it. given_before: the answer of the round before; None in round 0, and unless a metric needs
    it. prompted: the slices that the hand has prompted so far, ascending, along the first axis of what the session
    sees. No metric can change anything here for the others.
    """

    target: Target
    given: Mask
    image: Volume | None = None
    given_before: Mask | None = None
    prompted: tuple[int, ...] = ()

    @cached_property
    def truth(self) -> Mask:
        """The target's mask."""
        return self.target.mask.without(self.target.ignore) if self.target.ignore.any() else self.target.mask

    @cached_property
    def answer(self) -> Mask:
        """The answer's mask."""
        return self.given.without(self.target.ignore) if self.target.ignore.any() else self.given

    @cached_property
    def before(self) -> Mask | None:
        """The mask of the answer of the round before; see `given_before`."""
        return None if self.given_before is None else self.given_before.without(self.target.ignore)

    @property
    def spacing_mm(self) -> tuple[float, float, float]:
        """Size of a voxel ``(z, y, x)`` in mm."""
        return self.target.spacing_mm

    def ml(self, voxels: int) -> float:
        """The volume of so many voxels in ml."""
        return int(voxels) * math.prod(self.spacing_mm) / 1000

    @cached_property
    def box(self) -> Box:
        """The joint box of both masks, half-open; of two empty masks a single voxel."""
        return joint_box(self.truth, self.answer) or (0, 0, 0, 1, 1, 1)

    @cached_property
    def truth_array(self) -> NDArray[np.bool_]:
        """The target in the joint box."""
        return frozen(self.truth.crop(self.box))

    @cached_property
    def answer_array(self) -> NDArray[np.bool_]:
        """The answer in the joint box."""
        return frozen(self.answer.crop(self.box))

    @cached_property
    def overlap(self) -> Overlap:
        """Voxels of the target, of the answer and of both."""
        return Overlap.of(self.truth, self.answer)

    def overlap_on(self, slices: Sequence[int]) -> Overlap:
        """The same on some slices only."""
        return Overlap.of(*(Mask.empty().overwrite(mask, Region(tuple(slices))) for mask in (self.truth, self.answer)))

    def lesions(self, connectivity: int) -> Lesions:
        """The connected components of both `upright` masks, and which of them overlap."""
        if self.upright is not self:
            return self.upright.lesions(connectivity)
        if connectivity not in self._lesions:
            with _ONE_AT_A_TIME:
                kept = per_target(_COMPONENTS, self.target, dict[int, Components])
                if connectivity not in kept:
                    kept[connectivity] = Components.of(self.truth, connectivity)
            parts = Components.of(self.answer, connectivity)
            self._lesions[connectivity] = Lesions.between(kept[connectivity], parts)
        return self._lesions[connectivity]

    @cached_property
    def _lesions(self) -> dict[int, Lesions]:
        return {}

    @cached_property
    def surface_distances(self) -> SurfaceDistances:
        """The distances between the two surfaces, in mm, with the areas of their elements."""
        from intrabench.metrics.parts.surface import Surface, surface_distances

        with _ONE_AT_A_TIME:
            truth = per_target(_TRUTHS, self.target, lambda: Surface(self.truth, self.spacing_mm, self._bytes))
            return surface_distances(truth, Surface(self.answer, self.spacing_mm))

    @cached_property
    def border_distances(self) -> BorderDistances:
        """The distances between the border voxels of both masks, in mm."""
        from intrabench.metrics.parts.borders import Border, border_distances

        with _ONE_AT_A_TIME:
            truth = per_target(_BORDERS, self.target, lambda: Border(self.truth, self.spacing_mm, self._bytes))
            return border_distances(truth, Border(self.answer, self.spacing_mm))

    @property
    def _bytes(self) -> int:
        return KEPT * self.target.mask.array.nbytes

    @cached_property
    def upright(self) -> MaskPair:
        """The same masks with axes z, y, x, for what their order decides; itself if slices are axial."""
        if self.target.plane == "axial":
            return self
        target = per_target(_UPRIGHT, self.target, lambda: self.target.upright)
        return MaskPair(target, self.given.reordered(UPRIGHT[self.target.plane]))

    @property
    def swapped(self) -> MaskPair:
        """The same masks in a scan in which z has the spacing of x, and x that of z."""
        z, y, x = self.spacing_mm
        return self._respaced((x, y, z))

    @property
    def in_voxels(self) -> MaskPair:
        """The same masks in a scan whose voxels are cubes of 1 mm, so that its distances are numbers of voxels."""
        return self._respaced((1.0, 1.0, 1.0))

    def _respaced(self, spacing_mm: Spacing) -> MaskPair:
        if spacing_mm == self.spacing_mm:
            return self
        if spacing_mm not in self._pairs:
            with _ONE_AT_A_TIME:
                targets = _RESPACED.setdefault(self.target, {})
                if spacing_mm not in targets:
                    targets[spacing_mm] = replace(self.target, spacing_mm=spacing_mm)
            other = MaskPair(targets[spacing_mm], self.given, self.image, self.given_before, self.prompted)
            self._pairs[spacing_mm] = other
        return self._pairs[spacing_mm]

    @cached_property
    def _pairs(self) -> dict[Spacing, MaskPair]:
        return {}

    @cached_property
    def image_array(self) -> NDArray[Any]:
        """The image in the joint box, ``(z, y, x)`` or ``(z, y, x, channel)``.

        Raises:
            ValueError: there is no image; the class of the metric must say so in `needs`.
        """
        if self.image is None:
            raise ValueError('there is no image; a metric that uses it must have needs = frozenset({"image", ...})')
        return self.image.array[box_slices(self.box)]
