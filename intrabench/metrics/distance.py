"""The base of distances between the surfaces of two masks, with the value of a miss, which has no distance."""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated, Literal

from intrabench.metrics.base import Metric
from intrabench.metrics.mask_pair import MaskPair
from intrabench.metrics.parts.surface import BothWays, Directed
from intrabench.specs.specs import Reach, switch, written
from intrabench.target import Target

Definition = Literal["surface_distance", "medpy", "monai"]

SURFACE = "S. Nikolov et al., arXiv 1809.04430"
"""The definition of surfaces and their elements, and of surface Dice."""
MEDPY = "O. Maier et al., MedPy, doi:10.5281/zenodo.2565940"
MONAI = "M. J. Cardoso et al., MONAI: An open-source framework for deep learning in healthcare, arXiv 2211.02701"
SOURCES = {"surface_distance": SURFACE, "medpy": MEDPY, "monai": MONAI}

SURFACES = {
    "surface_distance": "Surface elements count by their areas.",
    "medpy": "Voxels with a face to the outside count once each, as in MedPy.",
    "monai": "Voxels with a face to the outside count once each, as in MONAI.",
}
"""What counts as surface, in words."""

_LENGTH = re.compile(r"(\d{1,6}(?:\.\d{1,3})?)(mm|voxels)")
_GIVE = "give inf, diagonal, shape, or a length such as 374mm"


@dataclass(frozen=True)
class Distance(Metric):
    """Base of the distances between two surfaces; a subclass writes `between`.

    Both empty: 0. One empty: a miss. spacing: voxel takes voxels as cubes of length 1. miss: what it counts: inf;
    diagonal, that of the scan; shape, that of its shape in voxels, whatever the unit; or a length (374mm, 374voxels).
    Failed sessions count the same.
    """

    best = "low"
    bounds = (0.0, math.inf)
    needs = frozenset({"surface"})

    spacing: Literal["mm", "voxel"] = switch("mm")
    miss: Annotated[str, Reach()] = switch("inf")

    def __post_init__(self) -> None:
        length = _LENGTH.fullmatch(self.miss)
        if length and length[2] != self.unit:
            raise ValueError(
                f"miss={self.miss} is not in {self.unit}, as this distance is; write {length[1]}{self.unit}"
            )
        if length and not float(length[1]):
            raise ValueError(f"miss={self.miss} is the best value, so a miss would count as perfect; {_GIVE}")
        if not length and self.miss not in ("inf", "diagonal", "shape"):
            raise ValueError(f"miss={self.miss} is no value of a miss; {_GIVE}")
        if length:  # however it is spelled, it is one column
            object.__setattr__(self, "miss", f"{written(float(length[1]))}{length[2]}")

    @abstractmethod
    def between(self, pair: MaskPair) -> float:
        """The distance of two masks, neither of which is empty, in mm; pair: with cubes of 1 mm for voxels."""

    def measure(self, pair: MaskPair) -> float:
        """The distance, or that of a miss."""
        truth, answer = pair.truth.any(), pair.answer.any()
        if truth and answer:
            return self.between(pair if self.spacing == "mm" else pair.in_voxels)
        return self.of_miss(pair.target) if truth or answer else 0.0

    def of_miss(self, target: Target) -> float:
        """The value of a miss."""
        column = self._column_of_miss
        return float(getattr(target, column)) if column else self._length

    @property
    def _length(self) -> float:
        length = _LENGTH.fullmatch(self.miss)
        return float(length[1]) if length else math.inf

    @property
    def _column_of_miss(self) -> str:
        """The column of rows that has the value of a miss; empty: the scan does not decide it."""
        if self.miss not in ("diagonal", "shape"):
            return ""
        return "diagonal_voxels" if self.miss == "shape" or self.spacing == "voxel" else "diagonal_mm"

    @property
    def unit(self) -> str:  # type: ignore[override]
        """Of the distance."""
        return {"voxel": "voxels", "mm": "mm"}[self.spacing]

    @property
    def worst(self) -> float:  # type: ignore[override]
        """The value of a miss; infinite where the scan decides it."""
        return self._length

    @property
    def worst_column(self) -> str:
        """Where the scan decides what a miss counts, so it does what a failed session counts."""
        return self._column_of_miss

    @property
    def miss_words(self) -> str:
        """What a miss counts, in words."""
        diagonal = "the diagonal of the scan"
        words = {"inf": "infinite", "diagonal": diagonal, "shape": f"{diagonal} in voxels"}
        return words.get(self.miss) or f"{self._length:g} {self.unit}"

    @property
    def head(self) -> str:
        """What tables call it."""
        miss = f" (miss: {self.miss})" if self.miss != type(self).miss else ""
        return f"{self.full_title}{miss}, {self.unit}"

    @property
    def full_title(self) -> str:
        """Its title, with the parameters of the subclass in words."""
        return self.title


@dataclass(frozen=True)
class SurfaceDistance(Distance):
    """Base of those that can be taken as three programs take them.

    definition: surface_distance counts surface elements by their areas; medpy and monai count border voxels once each.
    """

    definition: Definition = switch("surface_distance")

    @property
    def full_title(self) -> str:
        """Its title with the parameters of the subclass, in words, and whose it is."""
        return f"{self.title}{whose(self.definition)}"

    @property
    def description(self) -> str:
        """What it measures, what counts as surface, and what empty masks count."""
        return f"{self.summary} {SURFACES[self.definition]} Both empty: 0; one empty: {self.miss_words}."

    @property
    def summary(self) -> str:
        """What it measures, in a sentence: the first paragraph of the docstring."""
        return super().description

    @property
    def source(self) -> str:  # type: ignore[override]
        """Of the definition."""
        return SOURCES[self.definition]


def distances_as(definition: Definition, pair: MaskPair) -> BothWays[Directed]:
    """The distances between surface elements, or between border voxels if another program's definition is asked for."""
    return pair.surface_distances if definition == "surface_distance" else pair.border_distances


def whose(definition: Definition) -> str:
    """The end of a title: the program whose definition it has, if that is not surface-distance."""
    return {"medpy": " as MedPy", "monai": " as MONAI"}.get(definition, "")
