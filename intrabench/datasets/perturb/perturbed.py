"""A data set whose images are perturbed when they are read; nothing of that is stored."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from intrabench.datasets.base import Dataset, DatasetCard, Files
from intrabench.datasets.perturb.base import Perturbation
from intrabench.datasets.perturb.geometry import GEOMETRIES
from intrabench.datasets.perturb.kinds import INTENSITIES
from intrabench.errors import IntraBenchError
from intrabench.fetch.source import Source
from intrabench.randomness import stream
from intrabench.specs import build, nearest, parse, short_spec_of
from intrabench.target import Target
from intrabench.versions import version_of
from intrabench.volume import Volume

PERTURBATIONS = {one.name: one for one in (*INTENSITIES, *GEOMETRIES)}
NONE = "none"


@dataclass(frozen=True)
class Perturbed(Dataset):
    """``base+noise:sigma=0.1``: the cases and targets of a data set, with changed images.

    Prompters see the same targets, which may be moved, with the same random numbers, so differences are the model's.
    """

    base: Dataset
    change: Perturbation

    @property
    def name(self) -> str:  # type: ignore[override]
        """That of the data set."""
        return self.base.name

    @property
    def version(self) -> str:  # type: ignore[override]
        """That of the data set, and of the perturbation."""
        return f"{version_of(self.base)}/{self.change.version}"

    @property
    def card(self) -> DatasetCard:  # type: ignore[override]
        """That of the data set, without numbers that only it has."""
        return replace(self.base.card, caveats=(*self.base.card.caveats, f"images are perturbed: {self.change.spec}"))

    @cached_property
    def spec(self) -> str:
        """The spec of the data set, and that of the perturbation with every parameter."""
        return f"{self.base.spec}+{self.change.spec}"

    @cached_property
    def short_spec(self) -> str:
        """The same without parameters that have their defaults."""
        return f"{self.base.short_spec}+{short_spec_of(self.change)}"

    @property
    def argument(self) -> str:
        """The argument for the command line."""
        return f"{self.base.argument}+{short_spec_of(self.change)}"

    @property
    def stored_as(self) -> Dataset:
        """The data set, of which nothing is stored twice."""
        return self.base.stored_as

    def seen(self, volume: Volume) -> Volume:
        """The perturbed image."""
        return perturbed(self.base.seen(volume), self.change, self.base.short_spec)

    def moved(self, target: Target) -> Target:
        """Where the target is in the perturbed image; it may have left it."""
        return self.change.moved(self.base.moved(target))

    def cases(self) -> tuple[str, ...]:
        """Those of the data set."""
        return self.base.cases()

    def load(self, case: str, files: Files) -> tuple[Volume, Sequence[Target]]:
        """As the data set loads it."""
        return self.base.load(case, files)

    def sources(self) -> tuple[Source, ...]:
        """Those of the data set."""
        return self.base.sources()

    def case_sources(self, case: str) -> tuple[Source, ...]:
        """Those of the data set."""
        return self.base.case_sources(case)

    def local_files(self, case: str) -> tuple[Path, ...]:
        """Those of the data set."""
        return self.base.local_files(case)

    def patient(self, case: str) -> str:
        """That of the data set."""
        return self.base.patient(case)

    def remarks(self) -> Sequence[str]:
        """Those of the data set."""
        return self.base.remarks()

    def subsets(self) -> Mapping[str, Sequence[str]]:
        """Those of the data set."""
        return self.base.subsets()

    def megabytes(self) -> float:
        """As of the data set."""
        return self.base.megabytes()


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


def parted(spec: str) -> tuple[str, list[str]]:
    """The spec or path of a data set, and those of the perturbations behind it, ``spine_ct+noise:sigma=0.1+blur``."""
    changes: list[str] = []
    while not os.path.exists(spec):
        base, plus, last = spec.rpartition("+")
        if not plus or last.partition(":")[0].strip() not in PERTURBATIONS:
            break
        spec, changes = base, [last, *changes]
    return spec, changes


def with_changes(dataset: Dataset, changes: Sequence[str]) -> Dataset:
    """The data set with perturbed images, one after the other; ``none`` changes nothing."""
    for spec in changes:
        if spec.strip() != NONE:
            dataset = Perturbed(dataset, perturbation(spec))
    return dataset
