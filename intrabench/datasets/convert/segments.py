"""Segments, the common result of all label readers: named masks on the image's canonical grid, which may overlap."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from intrabench.datasets.convert.instances import Instances
from intrabench.mask import Mask
from intrabench.target import Target
from intrabench.volume import Volume


@dataclass(frozen=True, eq=False)
class Segment:
    """One structure in a file: its name and number there, and its mask."""

    name: str
    mask: Mask
    number: int = 1


def targets_from(
    segments: Iterable[tuple[str, Mask]], case: str, volume: Volume, rule: Instances | None = None
) -> list[Target]:
    """Targets of labelled masks ``(label, mask)``. The masks of a label become its instances 1, 2, ... in this order.

    rule: splits every mask into instances first; None: each mask is one instance. Empty masks give no target.
    """
    counted: dict[str, int] = {}
    targets = []
    for label, mask in segments:
        for part in [mask] if rule is None else rule.split(mask):
            if part.any():
                counted[label] = number = counted.get(label, 0) + 1
                targets.append(Target(case, label, number, part, volume.shape, volume.spacing_mm))
    return targets
