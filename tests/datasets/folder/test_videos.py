"""Folders of videos: frames and masks in the layout of DAVIS, or as images and masks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scipy import ndimage
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.datasets.cases import store
from intrabench.datasets.convert.photo import VOID_NOTE
from intrabench.errors import IntraBenchError
from tests.datasets.folder.made import NO_FILES

LABELS = np.zeros((3, 16, 20), np.uint8)
LABELS[0:2, 2:7, 3:9] = 1
LABELS[1:3, 9:14, 10:18] = 2
LABELS[2, 0:2, 0:3] = 255


def videos(root: Path, frames: str = "JPEGImages/480p", masks: str = "Annotations/480p") -> Path:
    for number, labels in enumerate(LABELS):
        for place, picture in (
            (root / frames / "cars" / f"{number:05}.jpg", Image.fromarray(np.stack([labels] * 3, axis=-1) * 40)),
            (root / masks / "cars" / f"{number:05}.png", Image.fromarray(labels)),
        ):
            place.parent.mkdir(parents=True, exist_ok=True)
            picture.save(place)
    return root


@pytest.mark.parametrize("places", [("JPEGImages/480p", "Annotations/480p"), ("images", "masks"), ("images", "labels")])
def test_a_video_is_a_volume_whose_z_is_time(places: tuple[str, str], tmp_path: Path) -> None:
    dataset = intrabench.dataset(str(videos(tmp_path / "set", *places)))
    assert (dataset.cases(), dataset.version) == (("cars",), "3")
    store.prepare(dataset, "cars")
    scene = store.open_case(dataset, "cars")
    assert scene.volume.array.shape == (3, 16, 20, 3)
    assert scene.volume.spacing_mm == (1.0, 1.0, 1.0)
    targets = sorted(scene.targets(), key=lambda target: target.instance)
    assert len(targets) == 2
    assert dataset.load("cars", NO_FILES)[0].notes == (VOID_NOTE,)
    for target, value in zip(targets, (1, 2), strict=True):
        whole = target.mask.crop((0, 0, 0, *LABELS.shape))
        assert np.array_equal(whole, value == LABELS)


def test_soft_masks_of_frames_are_refused_or_cut(tmp_path: Path) -> None:
    root = videos(tmp_path / "set")
    soft = [ndimage.gaussian_filter(np.where(labels == 2, 255.0, 0), 1.0) for labels in LABELS]
    for number, mask in enumerate(soft):
        Image.fromarray(mask.round().astype(np.uint8)).save(root / f"Annotations/480p/cars/{number:05}.png")
    with pytest.raises(IntraBenchError, match="lie only on borders"):
        intrabench.dataset(str(root)).load("cars", NO_FILES)
    (root / "dataset.toml").write_text("threshold = 0.5\n")
    (one,) = intrabench.dataset(str(root)).load("cars", NO_FILES)[1]
    assert np.array_equal(one.mask.to_array(one.shape), np.round(soft) >= 127.5)


def test_what_is_missing_is_named(tmp_path: Path, wording: SnapshotAssertion) -> None:
    root = videos(tmp_path / "set")
    (root / "Annotations" / "480p" / "cars" / "00001.png").unlink()
    with pytest.raises(IntraBenchError) as caught:
        intrabench.dataset(str(root)).load("cars", NO_FILES)
    assert caught == wording
    root = videos(tmp_path / "other")
    (root / "JPEGImages" / "480p" / "cars" / "00002.jpg").unlink()
    with pytest.raises(IntraBenchError) as caught:
        intrabench.dataset(str(root)).load("cars", NO_FILES)
    assert caught == wording
    root = videos(tmp_path / "sizes")
    Image.fromarray(LABELS[1, :8]).save(root / "Annotations" / "480p" / "cars" / "00001.png")
    with pytest.raises(IntraBenchError) as caught:
        intrabench.dataset(str(root)).load("cars", NO_FILES)
    assert caught == wording
