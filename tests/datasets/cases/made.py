"""Data sets for tests of the store: a folder of a user, and scans as a test hands them over."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import nibabel as nib
import numpy as np

from intrabench.datasets.base import Dataset, DatasetCard, Files
from intrabench.mask import Array
from intrabench.target import Target, targets_of
from intrabench.volume import Volume, read_image, read_labels

AFFINE = np.array([[0, 0.04, -1.2, 40], [-0.5, 0, 0, 12.3], [0, 0.6, 0.08, -9], [0, 0, 0, 1.0]])


@dataclass(frozen=True)
class Folder(Dataset):
    """A user's data set of his own: a folder per case."""

    name = "folder"
    version = "1"
    card = DatasetCard("Two labels in a folder", "CT")
    root: Path = Path("data")

    def cases(self) -> tuple[str, ...]:
        return tuple(sorted(path.name for path in self.root.iterdir()))

    def local_files(self, case: str) -> tuple[Path, ...]:
        return self.root / case / "image.nii.gz", self.root / case / "labels.nii.gz"

    def load(self, case: str, files: Files) -> tuple[Volume, list[Target]]:
        image, labels = self.local_files(case)
        volume = read_image(image)
        names = {1: ("liver", 1), 3: ("tumour", 1), 7: ("tumour", 2)}  # with holes in the numbering
        return volume, targets_of(read_labels(labels, volume.grid), names, case, volume.spacing_mm)


class Given(Dataset):
    """A data set without parameters around what a test hands it; it counts how often it is loaded."""

    name = "given"
    version = "1"
    card = DatasetCard("As given", "none")
    loads = 0
    make: Callable[[], tuple[Volume, Sequence[Target]]]

    def cases(self) -> tuple[str, ...]:
        return "one", "a/b", "..", ".hidden", "scan 2"

    def load(self, case: str, files: Files) -> tuple[Volume, Sequence[Target]]:
        type(self).loads += 1
        return type(self).make()


def given(volume: Volume, *targets: Target) -> Given:
    kind = type("Given", (Given,), {"make": staticmethod(lambda: (volume, targets)), "loads": 0})
    return kind()


def some_image(dtype: str = "int16", shape: tuple[int, ...] = (8, 9, 10)) -> Array:
    return np.random.default_rng(0).integers(0, 100, shape).astype(dtype)


def some_labels() -> Array:
    labels = np.zeros((8, 9, 10), dtype=np.uint8)
    labels[1:3, 2:5, 3:7], labels[5, 6, 7], labels[6:8, 0:2, 0:3], labels[0, 0, 0] = 1, 3, 7, 5
    return labels


def put(root: Path, case: str, image: Array, labels: Array, labels_affine: Array = AFFINE) -> Folder:
    (root / case).mkdir(parents=True, exist_ok=True)
    nib.save(nib.Nifti1Image(image, AFFINE), root / case / "image.nii.gz")
    nib.save(nib.Nifti1Image(labels, labels_affine), root / case / "labels.nii.gz")
    return Folder(root)


def times(folder: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in folder.rglob("*")}


def left_over(root: Path) -> list[str]:
    """Everything in the store but archives and the cases themselves."""
    return [path.name for path in root.glob("cases/*/*") if path.name.startswith(".")]
