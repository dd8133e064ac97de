"""A data set whose targets are whole labels: all instances of a label in a case are one target."""

from __future__ import annotations

from dataclasses import dataclass, replace

from intrabench.datasets.base import Dataset, DatasetCard, Gathered
from intrabench.datasets.views.view import View
from intrabench.specs.specs import build, parse, switch
from intrabench.target import TargetInfo, union_info

ALL = 0
"""The instance number of all of them together."""


@dataclass(frozen=True)
class WholeLabels:
    """``+whole``: all instances of each label of a case are one target, ``lesion.0``.

    label: only this label, or several as in ``"left,right"``, in this order, and also in cases that have none of it,
    where the target has no voxels.
    """

    name = "whole"
    version = "1"
    label: str = switch("")

    @property
    def labels(self) -> tuple[str, ...]:
        """Those that `label` names."""
        return tuple(filter(None, map(str.strip, self.label.split(","))))


@dataclass(frozen=True)
class Whole(View):
    """``base+whole``: the scans of a data set, with `WholeLabels`."""

    change: WholeLabels

    @property
    def caveat(self) -> str:
        """What is different."""
        return "all instances of a label in a case are one target"

    @property
    def card(self) -> DatasetCard:  # type: ignore[override]
        """That of the data set, without the number of its targets."""
        return replace(super().card, instances="all of a label in a case together", targets=None)

    def gathered(self, infos: tuple[TargetInfo, ...]) -> Gathered:
        """The stored targets of each label, by their places."""
        before = self.base.gathered(infos)
        labels = self.change.labels
        found: dict[tuple[str, str], list[int]] = {("", label): [] for label in labels}
        for info, places in before if before is not None else [(info, [n]) for n, info in enumerate(infos)]:
            if not labels or info.label in labels:
                found.setdefault((info.person, info.label), []).extend(places)
        return [
            (union_info([infos[place] for place in places], label, ALL, person), places)
            for (person, label), places in found.items()
            if places or not any(name == label and others for (_, name), others in found.items())
        ]


def whole_labels(spec: str) -> WholeLabels:
    """What ``whole:label=lesion`` means.

    Raises:
        IntraBenchError: a parameter is unknown.
    """
    return build(WholeLabels, parse(spec)[1], spec)


def of_whole_labels(dataset: Dataset) -> Dataset:
    """The data set with whole labels as targets, unless it has them already."""
    inner = dataset
    while isinstance(inner, View):
        if isinstance(inner, Whole):
            return dataset
        inner = inner.base
    return Whole(dataset, WholeLabels())
