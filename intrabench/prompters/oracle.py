"""The bound: a user who knows the supervoxels and clicks those that make the best answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from intrabench.errors import NotApplicable
from intrabench.mask import Mask
from intrabench.metrics.mask_pair import MaskPair
from intrabench.metrics.nsd import NormalisedSurfaceDice
from intrabench.models.parts.intensity import Intensity
from intrabench.models.supervoxels import Supervoxels
from intrabench.prompters.base import Prompter
from intrabench.prompters.user import Turns, User
from intrabench.prompts import points
from intrabench.specs.specs import Reach, switch
from intrabench.specs.values import Natural, Voxels
from intrabench.superpixels.partitions.bound import Candidates
from intrabench.superpixels.partitions.partition import Partition
from intrabench.target import Target
from intrabench.turns import Click, Turn

THRESHOLDS = tuple(share / 20 for share in range(1, 20))
"""Of the share of a supervoxel that is target: the unions among which the best surface is searched."""


@dataclass(frozen=True)
class Oracle(Prompter):
    """Clicks each supervoxel of the best union of supervoxels, for the model `supervoxels` with the same parameters.

    So it shows the most that any method answering with unions of supervoxels can reach, and with how many clicks.

    method, segments, intensity, least_voxels: those of the model. best: ``dice`` is exact; ``nsd`` takes the union with
    the best NSD at 2 mm among those of all supervoxels that are target by more than 5 %, 10 %, ... 95 %, and the one
    with the best Dice. clicks: so many are given one by one, each where it then adds most to Dice, and the others
    together in one more turn; 0: all at once. Corrections need ``--rounds``, as many as clicks.
    """

    name = "oracle"

    method: Annotated[str, Reach(room="superpixels")] = "slic"
    segments: Voxels = 5000
    best: Literal["dice", "nsd"] = "dice"
    clicks: Natural = 0
    intensity: Intensity = switch("modality")
    least_voxels: Voxels = switch(1)

    def __post_init__(self) -> None:
        object.__setattr__(self, "method", self._model.method)
        object.__setattr__(self, "version", self._model.version)

    @property
    def _model(self) -> Supervoxels:
        return Supervoxels(self.method, self.segments, self.intensity, least_voxels=self.least_voxels)

    def interact(self, user: User) -> Turns:
        """A click in each supervoxel of the best union."""
        if user.image is None:
            raise NotApplicable("the prompter oracle divides the image, so it needs a case")
        found, target = self._model.divided(user.image), user.target
        truth = target.mask.without(target.ignore) if target.ignore.any() else target.mask
        candidates = Candidates.of(found, truth, target.ignore)
        chosen = candidates.best() if self.best == "dice" else _best_surface(candidates, found, target)
        rows = [_inside(found, label, truth) for label in candidates.order(chosen)]
        singles = min(self.clicks, len(rows))
        for row in rows[:singles]:
            yield Turn(points([row]), (Click(),))
        if rows[singles:]:
            yield Turn(points(rows[singles:]), (Click(),) * (len(rows) - singles))


def _best_surface(candidates: Candidates, partition: Partition, target: Target) -> NDArray[np.bool_]:
    """The union with the best surface among those of a threshold."""
    unions: Sequence[NDArray[np.bool_]] = [candidates.best(), *(candidates.purity > share for share in THRESHOLDS)]
    scores: list[float] = []
    for union in unions:
        answer = Mask.union([partition.region(int(label)) for label in candidates.labels[union]])
        scores.append(NormalisedSurfaceDice().measure(MaskPair(target, answer)) if answer.any() else -1.0)
    return unions[int(np.argmax(scores))]


def _inside(partition: Partition, label: int, target: Mask) -> tuple[int, int, int]:
    """The voxel of a supervoxel and the target that is nearest to the middle of these."""
    region = partition.region(label)
    both = replace(region, array=region.array & target.crop(region.box))
    at = both.coordinates()
    z, y, x = at[int(((at - at.mean(axis=0)) ** 2).sum(axis=1).argmin())].tolist()
    return z, y, x
