"""Small scans and label maps, in the layouts that people have."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np

from intrabench.datasets.base import Files
from intrabench.datasets.cases import store
from intrabench.registry import registry

AFFINE = np.array([[-1.0, 0, 0, 40], [0, -1.0, 0, 12], [0, 0, 2.5, -9], [0, 0, 0, 1]])
"""Of a file in LPS, spacing 1 x 1 x 2.5 mm."""
SHAPE = (20, 18, 10)
NO_FILES = Files(Path("none"), Path("none"))
"""For `Dataset.load` of folders, which download nothing."""


def image(seed: int = 0) -> np.ndarray:
    """Noise, ``(x, y, z)``."""
    return np.random.default_rng(seed).integers(-1000, 500, SHAPE).astype(np.int16)


def labels() -> np.ndarray:
    """1: a block of 144 voxels; 2: a block of 48, and one voxel apart; 5: a block of 8."""
    drawn = np.zeros(SHAPE, dtype=np.uint8)
    drawn[2:8, 3:9, 1:5], drawn[10:14, 10:14, 4:7], drawn[16, 16, 8], drawn[15:17, 2:4, 2:4] = 1, 2, 2, 5
    return drawn


def save(path: Path, array: np.ndarray, affine: np.ndarray = AFFINE) -> Path:
    """Write NIfTI, with its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    nib.save(nib.Nifti1Image(array, affine), path)
    return path


def pair(root: Path, case: str = "c1", seed: int = 0, drawn: np.ndarray | None = None) -> Path:
    """A case of a folder with images/ and labels/."""
    save(root / "images" / f"{case}.nii.gz", image(seed))
    save(root / "labels" / f"{case}.nii.gz", labels() if drawn is None else drawn)
    return root


def nnunet(root: Path, told: Mapping[str, Any] | None = None, cases: int = 2) -> Path:
    """An nnU-Net folder with one channel per case."""
    for number in range(cases):
        save(root / "imagesTr" / f"case_{number:03d}_0000.nii.gz", image(number))
        save(root / "labelsTr" / f"case_{number:03d}.nii.gz", labels())
    root.mkdir(exist_ok=True)
    given = {"channel_names": {"0": "CT"}, "labels": {"background": 0, "liver": 1, "tumour": 2, "cyst": 5}}
    (root / "dataset.json").write_text(json.dumps(given if told is None else told))
    return root


def found(spec: str | Path, case: str, affine: np.ndarray = AFFINE) -> dict[str, np.ndarray]:
    """The targets of a case after conversion, as masks in the order of the file, by id."""
    dataset = registry.make("datasets", str(spec))
    store.prepare(dataset, case)
    scene = store.open_case(dataset, case)
    np.testing.assert_allclose(scene.volume.grid.affine, affine, atol=1e-4)
    return {t.id: scene.volume.grid.from_canonical(t.mask.to_array(t.shape)) for t in scene.targets()}


def same(targets: Mapping[str, np.ndarray], expected: Mapping[str, np.ndarray]) -> bool:
    """Whether targets have these ids, in this order, and these voxels."""
    return list(targets) == list(expected) and all(np.array_equal(targets[key], expected[key]) for key in expected)


def load(spec: str | Path, case: str) -> None:
    """Read a case without converting it."""
    registry.make("datasets", str(spec)).load(case, NO_FILES)
