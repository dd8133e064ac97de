"""A data set whose images are perturbed when they are read; nothing of that is stored."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from intrabench.datasets.base import Dataset
from intrabench.datasets.perturb.base import Perturbation
from intrabench.datasets.perturb.geometry import GEOMETRIES
from intrabench.datasets.perturb.kinds import INTENSITIES
from intrabench.datasets.views.view import View
from intrabench.datasets.views.whole import Whole, WholeLabels, whole_labels
from intrabench.errors import IntraBenchError
from intrabench.randomness import stream
from intrabench.specs.specs import build, nearest, parse
from intrabench.target import Target
from intrabench.volume import Volume

PERTURBATIONS = {one.name: one for one in (*INTENSITIES, *GEOMETRIES)}
NONE = "none"

MOST_CHANGES = 20
"""Of a data set: each is a view of the one before."""


@dataclass(frozen=True)
class Perturbed(View):
    """``base+noise:sigma=0.1``: the cases and targets of a data set, with changed images.

    Prompters see the same targets, which may be moved, with the same random numbers, so differences are the model's.
    """

    change: Perturbation

    @property
    def caveat(self) -> str:
        """What is different."""
        return f"images are perturbed: {self.change.spec}"

    def seen(self, volume: Volume) -> Volume:
        """The perturbed image."""
        return perturbed(self.base.seen(volume), self.change, self.base.short_spec)

    def moved(self, target: Target) -> Target:
        """Where the target is in the perturbed image; it may have left it."""
        return self.change.moved(self.base.moved(target))


def perturbed(volume: Volume, change: Perturbation, dataset: str) -> Volume:
    """A changed image of the same type: whole numbers are rounded and kept in their range, pictures in 0 to 255."""
    array = volume.array
    found = change.apply(volume, stream("perturb", change.spec, dataset, volume.case))
    if array.dtype.kind in "iu":
        ends = np.iinfo(array.dtype)
        found = np.clip(np.rint(found), ends.min, ends.max)
    return replace(volume, array=np.ascontiguousarray(found, dtype=array.dtype))


def perturbation(spec: str) -> Perturbation:
    """The perturbation of a spec, ``noise:sigma=0.1``.

    Raises:
        IntraBenchError: the name or a parameter is unknown.
    """
    name, arguments = parse(spec)
    if name not in PERTURBATIONS:
        raise IntraBenchError(
            f"there is no perturbation {name!r}{nearest(name, PERTURBATIONS)}; choose from {', '.join(PERTURBATIONS)}"
        )
    return build(PERTURBATIONS[name], arguments, spec)


def parted(spec: str, there: bool = False) -> tuple[str, list[str]]:
    """The spec or path of a data set, and those of the changes behind it, ``spine_ct+whole+noise:sigma=0.1``.

    there: look whether there is a folder that is called so, with the changes; only at what a person named.
    """
    changes: list[str] = []
    while not (there and os.path.exists(spec)):
        base, plus, last = spec.rpartition("+")
        if not plus or last.partition(":")[0].strip() not in (*PERTURBATIONS, WholeLabels.name):
            break
        spec, changes = base, [last, *changes]
    return spec, changes


def with_changes(dataset: Dataset, changes: Sequence[str]) -> Dataset:
    """The data set with perturbed images or whole labels, one change after the other; ``none`` changes nothing.

    Raises:
        IntraBenchError: a change is unknown, or there are more than `MOST_CHANGES`.
    """
    if len(changes) > MOST_CHANGES:
        raise IntraBenchError(f"{dataset.short_spec} has {len(changes)} changes, expected {MOST_CHANGES} at most")
    for spec in changes:
        if is_whole(spec):
            dataset = Whole(dataset, whole_labels(spec))
        elif spec.strip() != NONE:
            dataset = Perturbed(dataset, perturbation(spec))
    return dataset


def is_whole(spec: str) -> bool:
    """Whether a change of a data set makes whole labels its targets, and no other images."""
    return parse(spec)[0] == WholeLabels.name
