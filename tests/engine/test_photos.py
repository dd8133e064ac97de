"""Natural images in runs: what models of grey volumes say to them, and how they are drawn."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.mask import Mask
from intrabench.reporting.pictures import Picture
from intrabench.target import Target
from intrabench.volume import Volume

PHOTO = """
from dataclasses import dataclass
import numpy as np
from intrabench.datasets.base import Dataset, DatasetCard
from intrabench.target import targets_of
from intrabench.volume import Volume


@dataclass(frozen=True)
class Photo(Dataset):
    name = "photo"
    version = "1"
    card = DatasetCard("One photo", "natural RGB")

    def cases(self):
        return ("one",)

    def load(self, case, files):
        ids = np.zeros((1, 20, 30), dtype=np.uint8)
        ids[0, 4:9, 5:15] = 1
        picture = np.stack([100 * ids, 50 * ids, 255 - 255 * ids], axis=-1).astype(np.uint8)
        volume = Volume.from_canonical(picture)
        return volume, targets_of(ids, {1: ("object", 1)}, case, volume.spacing_mm)
"""


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    path = tmp_path / "photo.py"
    path.write_text(PHOTO)
    return path


@pytest.mark.parametrize(
    ("name", "status"), [("sammed3d", "not_applicable"), ("segvol", "not_applicable"), ("box_fill", "ok")]
)
def test_models_of_grey_volumes_do_not_apply(
    data: Path, plugin: Path, name: str, status: str, wording: SnapshotAssertion
) -> None:
    rows = intrabench.run(name, "box_slice", "photo", plugin=[plugin], weights="random" if name != "box_fill" else None)
    assert rows["status"].to_list() == [status]
    if status == "not_applicable":
        assert rows["dice"].to_list() == [None]
        assert rows["error"].to_list() == wording
    else:
        assert rows["dice"].to_list() == [1.0]


@pytest.mark.parametrize("modality", ["natural RGB", "CT"])
def test_a_photo_is_drawn_as_it_is_and_a_scan_from_below(tmp_path: Path, modality: str) -> None:
    grey = np.zeros((1, 40, 60), dtype=np.uint8)
    grey[0, 10:20, 10:30] = 200  # in the upper left of a photo
    volume = Volume(grey, Volume.from_canonical(grey).grid, modality)
    target = Target("one", "object", 1, Mask.of(grey > 0), (1, 40, 60), (1.0, 1.0, 1.0))
    Picture(volume, target, ()).save(tmp_path / "drawn.png")
    drawn = np.asarray(Image.open(tmp_path / "drawn.png")).astype(int)
    rows, columns = np.nonzero((drawn == (90, 200, 90)).all(axis=2))  # the outline of the target
    rows = rows[columns < 260]
    window = drawn.shape[0] - 6, 260
    upper, left = rows.mean() - 6 < window[0] / 2, columns.mean() < window[1] / 2
    assert (upper, left) == ((True, True) if modality == "natural RGB" else (False, False))
