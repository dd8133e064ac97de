"""Segments, the common result of all label readers: named masks on the image's canonical grid, which may overlap."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from intrabench.datasets.convert.instances import Instances
from intrabench.errors import IntraBenchError
from intrabench.mask import Box, Mask
from intrabench.prompts import Scribble
from intrabench.target import Target
from intrabench.volume import Volume

Strokes = tuple[tuple[Scribble, ...], ...]
"""Of one person after the other."""


@dataclass(frozen=True, eq=False)
class Segment:
    """One structure in a file: its name and number there, and its mask.

    lost: what of it lies in slices that the series lacks, and beside: what lies outside of the scan in other ways, or
    is odd, one sentence each; empty: nothing. The mask is without both. scribbles, person, boxes: as in `Target`.
    """

    name: str
    mask: Mask
    number: int = 1
    lost: str = ""
    beside: str = ""
    scribbles: Strokes = ()
    person: str = ""
    boxes: tuple[Box, ...] | None = None


Drawn = tuple[list[Segment], tuple[str, ...]]
"""The segments of a file, and notes on what of it is none, one sentence each."""
Outside = Literal["refuse", "cut", "omit"]
"""What happens to a structure of which a part lies in slices that the series lacks."""


def kept_segments(segments: Sequence[Segment], outside: Outside) -> tuple[list[Segment], list[str]]:
    """The segments to use, and what is to be noted, each sentence once. What lies beside the scan is always cut off.

    Raises:
        IntraBenchError: a segment is `lost` in part and `outside` is ``refuse``, or nothing is left of all segments.
    """
    lost = [segment.lost for segment in segments if segment.lost]
    if lost and outside == "refuse":
        more = f" (as do parts of {len(lost) - 1} more)" if len(lost) > 1 else ""
        raise IntraBenchError(
            f"{lost[0]}{more}; provide all slices of the series that it was drawn on, or write outside = "
            '"cut" (use the rest) or "omit" (leave such structures out) in dataset.toml'
        )
    notes = [f"{sentence}; {'cut off' if outside == 'cut' else 'it is left out'}" for sentence in lost]
    notes += dict.fromkeys(segment.beside for segment in segments if segment.beside)
    kept = [segment for segment in segments if not segment.lost or outside == "cut"]
    if notes and not any(segment.mask.any() for segment in kept):
        raise IntraBenchError(f"{notes[0]}, and nothing else is left; provide the images that it was drawn on")
    return kept, notes


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
