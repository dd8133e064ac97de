"""Prompts on the median slice and, slice by slice outwards, prompts derived from the answer on the previous slice."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass

from intrabench.mask import Mask
from intrabench.prompters.base import Prompter
from intrabench.prompters.slices import component_centre, median_slice, tight_box
from intrabench.prompters.user import Turns, User
from intrabench.prompts import Prompts, boxes, points
from intrabench.specs.values import Count
from intrabench.turns import Click, DrawBox2D, MarkExtent, Turn


class Propagation(Prompter):
    """Base: `first` prompts the median slice, `derived` the next slices. The hand also marks first and last slice.

    Both directions go on together, one slice a turn, and a direction ends where the answer is empty. As the paper says
    it: RadioActive reuses the first box on the neighbours of the median slice instead of the box of the answer there.
    """

    propagates = True
    corrects = False

    @abstractmethod
    def first(self, user: User, z: int) -> Turn:
        """The prompts that the hand gives on the median slice z."""

    @abstractmethod
    def derived(self, mask: Mask, fronts: Iterable[tuple[int, int]]) -> Prompts:
        """Prompts from pairs ``(slice, previous slice)``; the answer on each previous slice is not empty."""

    def interact(self, user: User) -> Turns:
        """The first turn by hand, then free turns."""
        start, _, _, stop, _, _ = user.target.mask.box
        z = median_slice(user.target.mask)
        turn = self.first(user, z)
        mask = yield Turn(turn.prompts, (MarkExtent(), MarkExtent(), *turn.actions))
        fronts = {z + 1: z, z - 1: z}
        while fronts := {n: p for n, p in fronts.items() if start <= n < stop and mask.slice(p).any()}:
            mask = yield Turn(self.derived(mask, fronts.items()))
            fronts = {2 * n - p: n for n, p in fronts.items()}


@dataclass(frozen=True)
class PointProp(Propagation):
    """Random points on the median slice, then one per slice: the centre of the answer on the slice before ("5P Prop").

    It is the pixel of the answer's largest component that is nearest to the centre of its bounding box.

    Source: IntRaBench paper and its code, RadioActive.
    """

    name = "point_prop"
    points: Count = 5

    def first(self, user: User, z: int) -> Turn:
        """`points` random pixels of the target, or all if there are fewer."""
        pixels = user.target.mask.slice(z).coordinates()
        drawn = user.rng("points").choice(len(pixels), min(self.points, len(pixels)), replace=False)
        return Turn(points(pixels[drawn]), (Click(),) * len(drawn))

    def derived(self, mask: Mask, fronts: Iterable[tuple[int, int]]) -> Prompts:
        """A point at the centre of the answer."""
        return points([(n, *component_centre(mask, p)) for n, p in fronts], clicked=[False for _ in fronts])


@dataclass(frozen=True)
class BoxProp(Propagation):
    """A tight box on the median slice, then on each slice the box of the answer on the slice before ("B Prop").

    Source: IntRaBench paper and its code, RadioActive.
    """

    name = "box_prop"

    def first(self, user: User, z: int) -> Turn:
        """The tight box of the target."""
        return Turn(boxes({z: tight_box(user.target.mask.slice(z))}), (DrawBox2D(),))

    def derived(self, mask: Mask, fronts: Iterable[tuple[int, int]]) -> Prompts:
        """The tight box of the answer."""
        return boxes({n: tight_box(mask.slice(p)) for n, p in fronts}, drawn=())
