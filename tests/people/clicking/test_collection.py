"""First clicks on disk: kept through a kill, counted once, of pictures of scans and of photographs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from syrupy.assertion import SnapshotAssertion

from intrabench.clickability.clicks_csv import read_clicks
from intrabench.datasets.cases import store
from intrabench.errors import IntraBenchError
from intrabench.people.clicking.collection import Collection
from intrabench.people.clicking.displays import displayed
from intrabench.people.clicking.scenes import Scenes
from intrabench.play.validate import Refused
from intrabench.registry import registry
from intrabench.results.merged_clicks import FILE, SLICES

SCAN = "phantom:shape=6x40x44,instances=2,spacing=3x2x1"
GREY = (128, 128, 128)


@pytest.fixture
def collection(data: Path, tmp_path: Path) -> Collection:
    return Collection(tmp_path / "clicks", scenes(tmp_path), "cutout")


def scenes(tmp_path: Path, spec: str = SCAN) -> Scenes:
    return Scenes([registry.make("datasets", spec)], ["first:1"], [], tmp_path / "clicks")


def test_displays() -> None:
    picture = np.random.default_rng(0).integers(0, 100, (40, 60, 3), np.uint8)
    mask = np.zeros((40, 60), bool)
    mask[4:12, 6:20] = True
    chance = np.random.default_rng(1)
    assert displayed(picture, mask, "text", chance, "liver") == "liver"
    cut, shifted, white, outlined = (
        np.asarray(displayed(picture, mask, name, chance)) for name in ("cutout", "shifted", "silhouette", "outline")
    )
    assert (cut[mask] == picture[mask]).all()
    assert (cut[~mask] == GREY).all()
    moved = (shifted != GREY).any(axis=2)
    assert sorted(map(tuple, shifted[moved].tolist())) == sorted(map(tuple, picture[mask].tolist()))
    assert not np.array_equal(moved, mask)
    assert np.array_equal(white == 255, np.repeat(mask[..., None], 3, axis=2))
    changed = (outlined != picture).any(axis=2)
    assert changed.any()
    assert not (changed & mask).any()  # nothing of the target is hidden
    full = np.ones((40, 60), bool)
    assert np.array_equal(displayed(picture, full, "shifted", chance), picture)  # there is no other place


def test_a_slice_is_the_largest_and_stored_as_people_see_it(collection: Collection, tmp_path: Path) -> None:
    dataset = registry.make("datasets", SCAN)
    with collection:
        for scene, target in zip(
            collection.scenes.all, store.open_case(dataset, dataset.cases()[0]).targets(), strict=True
        ):
            picture, _ = collection.shown(scene.code, "r1")
            (mask,) = (tmp_path / "clicks" / SLICES / "masks").glob(f"{scene.stem}.png")
            areas = target.mask.to_array(target.shape)
            expected = areas[areas.sum(axis=(1, 2)).argmax()][::-1, ::-1]
            assert np.array_equal(np.array(Image.open(mask)) > 0, expected)
            assert np.array_equal(np.array(Image.open(mask.parents[1] / "images" / mask.name)), picture)
            assert scene.aspect == 2


def test_a_click_counts_once_and_outlasts_the_process(collection: Collection, tmp_path: Path) -> None:
    one, other = collection.scenes.all
    with collection:
        collection.click(one.code, "r1", "change-1", (3.9, 5.2), 1.25, "mobile")
        collection.click(one.code, "r1", "change-1", (9, 9), 1.25, "mobile")  # arrived again
        with pytest.raises(Refused):
            collection.click(one.code, "r1", "change-2", (3, 5), 1.0, "mobile")
        for at, device in (((-1, 0), "pc"), ((0, 44), "pc"), ((0, 0), "pen")):
            with pytest.raises(Refused):
                collection.click(other.code, "r1", "change-3", at, 1.0, device)
        assert collection.done("r1") == {one.code}
        assert collection.done("r2") == set()
        with pytest.raises(IntraBenchError, match="already"):
            Collection(tmp_path / "clicks", collection.scenes, "cutout")
    file = tmp_path / "clicks" / FILE
    file.write_bytes(file.read_bytes() + b"slices,half")
    with Collection(tmp_path / "clicks", collection.scenes, "outline") as again:
        assert again.done("r1") == set()  # in another display
        again.click(one.code, "r1", "change-4", (20, 22), 1.0, "pc")
    found = read_clicks(file)
    assert [entry.clicks.tolist() for entry in found] == [[[3, 5], [20, 22]]]


def test_clicks_on_photographs_are_of_their_data_set(data: Path, tmp_path: Path) -> None:
    folder = tmp_path / "photos"
    for kind in ("images", "masks"):
        (folder / kind).mkdir(parents=True)
    picture = np.random.default_rng(0).integers(0, 255, (20, 30, 3), np.uint8)
    Image.fromarray(picture).save(folder / "images" / "a.png")
    mask = np.zeros((20, 30), np.uint8)
    mask[5:9, 5:9] = 255
    Image.fromarray(mask).save(folder / "masks" / "a.png")
    found = scenes(tmp_path, str(folder))
    with Collection(tmp_path / "clicks", found, "silhouette") as people:
        (scene,) = found.all
        people.click(scene.code, "r1", "change-1", (6, 7), 1.0, "pc")
    (entry,) = read_clicks(tmp_path / "clicks" / FILE)
    assert (entry.dataset, entry.image_stem, entry.object_stem) == ("photos", "a", "")
    assert not (tmp_path / "clicks" / SLICES).exists()


def test_a_file_of_something_else_is_refused(data: Path, tmp_path: Path, wording: SnapshotAssertion) -> None:
    (tmp_path / "clicks").mkdir()
    (tmp_path / "clicks" / FILE).write_text("a,b\n1,2\n")
    with pytest.raises(IntraBenchError) as error:
        Collection(tmp_path / "clicks", scenes(tmp_path), "cutout")
    assert str(error.value).replace(str(tmp_path), "FOLDER") == wording
