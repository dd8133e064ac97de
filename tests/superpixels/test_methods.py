"""All methods on a picture and on a volume, and label maps that other programs made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image
from syrupy.assertion import SnapshotAssertion

from intrabench import Picture, Superpixels, Volume
from intrabench.errors import IntraBenchError
from intrabench.models.supervoxels import picture_of
from intrabench.registry import registry
from intrabench.superpixels.base import partition, steered
from intrabench.superpixels.baselines import grid_cells, grid_points
from intrabench.superpixels.partitions.pair import PartitionPair
from intrabench.superpixels.partitions.partition import Partition
from intrabench.superpixels.partitions.relabel import connected
from intrabench.volume import write_nifti
from tests.conftest import Said
from tests.own_classes import in_workspace
from tests.wording import without_reasons

METHODS = [
    name for name, entry in registry.entries("superpixels").items() if entry.origin == "intrabench" and name != "labels"
]
STEERED = {"felzenszwalb", "quickshift"}


def discs(colour: bool) -> tuple[Volume, np.ndarray]:
    """A bright and a dark disc on grey, in noise; in a volume they are cylinders."""
    depth = 1 if colour else 6
    _, y, x = np.ogrid[:depth, :48, :60]
    truth = np.zeros((depth, 48, 60), int)
    truth[np.broadcast_to((y - 22) ** 2 + (x - 20) ** 2 < 150, truth.shape)] = 1
    truth[np.broadcast_to((y - 24) ** 2 + (x - 44) ** 2 < 90, truth.shape)] = 2
    grey = np.array([120, 220, 20])[truth] + np.random.default_rng(0).normal(0, 6, truth.shape)
    array = grey.clip(0, 255).round().astype(np.uint8)
    if colour:
        array = np.stack([array, array // 2, 255 - array], axis=-1)
    return Volume.from_canonical(array, (1.0, 1.0, 1.0) if colour else (2.0, 1.0, 1.0)), truth


@pytest.mark.parametrize("colour", [True, False], ids=["picture", "volume"])
@pytest.mark.parametrize("name", METHODS)
def test_superpixels_follow_what_is_in_the_image(name: str, colour: bool) -> None:
    volume, truth = discs(colour)
    picture, asked = picture_of(volume, "none" if not colour else "modality"), 60 if colour else 120
    found = partition(registry.make("superpixels", name), picture, asked)
    again = partition(registry.make("superpixels", name), picture, asked)
    assert np.array_equal(found.labels, again.labels)
    assert found.labels.shape == truth.shape
    assert connected(found.labels).max() == found.count - 1
    assert asked / 3 <= found.count <= asked * 3
    assert found.cpu_s >= 0
    pair = PartitionPair(found, Partition(truth.astype(np.int32)))
    asa: Any = registry.make("metrics", "asa")
    if name not in ("grid", "random"):
        floor = partition(registry.make("superpixels", "grid"), picture, asked)
        assert asa.compare(pair) > asa.compare(PartitionPair(floor, pair.annotation)), name
        assert asa.compare(pair) > 0.96


@pytest.mark.parametrize("name", [name for name in METHODS if name not in STEERED])
def test_more_are_made_where_more_are_asked_for(name: str) -> None:
    picture = picture_of(discs(colour=True)[0], "modality")
    few, many = (partition(registry.make("superpixels", name), picture, asked).count for asked in (20, 200))
    assert many > 2 * few


def test_a_grid_is_even_in_millimetres() -> None:
    picture = picture_of(Volume.from_canonical(np.zeros((10, 40, 40)), (4.0, 1.0, 1.0)), "none")
    assert picture.cells(64) == (4, 4, 4)
    found = partition(registry.make("superpixels", "grid"), picture, 64)
    assert (found.count, found.extra) == (64, 0)
    assert set(found.sizes) == {200, 300}
    assert picture.cells(10**9) == (10, 40, 40)
    assert picture.cells(1) == (1, 1, 1)
    assert np.unique(grid_cells((3, 5), (2, 2)), return_counts=True)[1].tolist() == [6, 4, 3, 2]
    assert (grid_points((3, 5), (2, 2)) > 0).sum() == 4


def test_a_slice_is_divided_as_a_picture_however_thick_it_is() -> None:
    thick = Volume.from_canonical(np.zeros((1, 4, 8), np.uint8), (100.0, 1.0, 1.0))
    assert picture_of(thick, "none").cells(8) == (1, 2, 4)
    two = Volume.from_canonical(np.arange(2 * 20 * 20, dtype=np.uint8).reshape(2, 20, 20), (5.0, 1.0, 1.0))
    assert registry.make("superpixels", "sitk_slic").segment(picture_of(two, "none"), 8).shape == (2, 20, 20)


def test_k_means_of_opencv_begin_with_squares_of_an_even_share() -> None:
    pytest.importorskip("cv2")
    from intrabench.superpixels.opencv import _clustered

    edges: list[int] = []

    def noted(image: np.ndarray, edge: int) -> Any:
        edges.append(edge)
        return SimpleNamespace(iterate=int, enforceLabelConnectivity=int, getLabels=lambda: np.zeros(image.shape[:2]))

    for segments in (25, 10**6):
        _clustered(noted, np.zeros((40, 90, 3), np.float32), segments, 1)
    assert edges == [12, 2]


def test_random_cells_belong_to_the_nearest_point() -> None:
    volume = Volume.from_canonical(np.zeros((4, 6, 7)), (3.0, 1.0, 1.0))
    labels = registry.make("superpixels", "random:seed=3").segment(picture_of(volume, "none"), 5)
    chosen = np.sort(np.random.default_rng(3).choice(168, 5, replace=False))
    at = np.stack(np.unravel_index(chosen, (4, 6, 7)), axis=1) * (3.0, 1.0, 1.0)
    voxels = np.indices((4, 6, 7)).reshape(3, -1).T * (3.0, 1.0, 1.0)
    distances = np.linalg.norm(voxels[:, None] - at[None], axis=2)
    assert np.allclose(distances[np.arange(168), labels.ravel()], distances.min(axis=1))
    assert len(np.unique(registry.make("superpixels", "random").segment(picture_of(volume, "none"), 10**6))) == 168


def test_a_parameter_is_searched_for_the_number() -> None:
    asked: list[float] = []

    def run(scale: float) -> np.ndarray:
        asked.append(scale)
        return np.arange(100).reshape(1, 10, 10) // max(1, int(scale))

    found = steered(run, 20, 0.1, 1000)
    assert abs(connected(run(found).astype(np.int32)).max() + 1 - 20) <= 5
    assert len(asked) <= 11
    asked.clear()
    assert 0.1 < steered(lambda scale: np.zeros((1, 3, 3), int) if not asked.append(scale) else None, 20, 0.1, 10) < 10
    assert len(asked) == 10


@pytest.mark.parametrize(("segments", "least"), [(10, 30), (5, 50), (400, 1)])
def test_the_smallest_segment_has_at_most_a_quarter_of_the_mean_size(
    segments: int, least: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = []

    def noted(image: np.ndarray, **options: Any) -> np.ndarray:
        given.append(options["min_size"])
        return np.zeros(image.shape[:2], int)

    monkeypatch.setattr("skimage.segmentation.felzenszwalb", noted)
    made = registry.make("superpixels", "felzenszwalb:scale=1,min_size=50")
    made.segment(picture_of(Volume.from_canonical(np.zeros((1, 40, 30, 3), np.uint8)), "none"), segments)
    assert given == [least]


def test_the_time_of_a_search_is_not_the_methods(picture: Picture, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]

    @dataclass(frozen=True)
    class Slow(Superpixels):
        name = "slow"
        parameter: float = 0.0

        def fitted(self, picture: Picture, segments: int) -> Superpixels:
            clock[0] += 100.0
            return replace(self, parameter=2.0)

        def segment(self, picture: Picture, segments: int) -> np.ndarray:
            assert self.parameter == 2
            clock[0] += 1.5
            return np.zeros(picture.array.shape[:3], int)

    monkeypatch.setattr("intrabench.superpixels.base.time.process_time", lambda: clock[0])
    assert partition(Slow(), picture, 5).cpu_s == 1.5
    for name, parameter in (("felzenszwalb", "scale"), ("quickshift", "max_dist")):
        method = registry.make("superpixels", name)
        found = method.fitted(picture, 40)
        assert getattr(found, parameter) > 0
        assert found.fitted(picture, 7) is found
        labels = partition(method, picture, 40).labels
        assert np.array_equal(labels, partition(found, picture, 40).labels)


@pytest.fixture
def picture() -> Picture:
    volume = Volume(discs(colour=True)[0].array, discs(colour=True)[0].grid, case="photo 1")
    return picture_of(volume, "modality")


LABELS = np.arange(48 * 60).reshape(48, 60) // 240


@pytest.mark.parametrize("kind", ["png", "csv", "npy", "npz", "nii.gz"])
def test_label_maps_of_other_programs(picture: Picture, tmp_path: Path, kind: str, wording: SnapshotAssertion) -> None:
    path = tmp_path / f"photo_1.{kind}"
    if kind == "png":
        Image.fromarray(LABELS.astype(np.uint8)).save(path)
    elif kind == "csv":
        np.savetxt(path, LABELS, "%d", ",")
    elif kind == "nii.gz":
        write_nifti(path, LABELS[None].astype(np.int16), picture.volume.grid)
    else:
        (np.save if kind == "npy" else np.savez)(path, LABELS)
    method = registry.make("superpixels", f"labels:folder={tmp_path}")
    assert np.array_equal(partition(method, picture, 12).labels[0], LABELS)
    (tmp_path / "400").mkdir()
    path.rename(tmp_path / "400" / path.name)
    assert partition(method, picture, 400).count == 12
    with pytest.raises(IntraBenchError) as caught:
        partition(method, picture, 12)
    assert caught == wording


@pytest.mark.parametrize(
    "content",
    [
        np.zeros((3, 4)),
        LABELS - 5,
        LABELS / 7,
        np.full((48, 60), np.nan),
        np.zeros((48, 60), complex),
    ],
)
def test_what_is_no_label_map(
    picture: Picture, tmp_path: Path, content: np.ndarray, wording: SnapshotAssertion
) -> None:
    np.save(tmp_path / "photo_1.npy", content)
    with pytest.raises(IntraBenchError) as caught:
        partition(registry.make("superpixels", f"labels:folder={tmp_path}"), picture, 12)
    assert caught == wording


def test_files_of_labels_that_cannot_be_read(picture: Picture, tmp_path: Path, wording: SnapshotAssertion) -> None:
    method = registry.make("superpixels", f"labels:folder={tmp_path / 'none'}")
    with pytest.raises(IntraBenchError) as caught:
        partition(method, picture, 12)
    assert without_reasons(str(caught.value)) == wording
    method = registry.make("superpixels", f"labels:folder={tmp_path}")
    (tmp_path / "photo_1.png").write_bytes(b"no picture")
    with pytest.raises(IntraBenchError) as caught:
        partition(method, picture, 12)
    assert without_reasons(str(caught.value)) == wording
    (tmp_path / "photo_1.csv").write_text("1,2\n3\n")
    with pytest.raises(IntraBenchError) as caught:
        partition(method, picture, 12)
    assert without_reasons(str(caught.value)) == wording
    nowhere = picture_of(discs(colour=True)[0], "modality")
    with pytest.raises(IntraBenchError) as caught:
        partition(method, nowhere, 12)
    assert without_reasons(str(caught.value)) == wording


@dataclass(frozen=True)
class Bad(Superpixels):
    """Returns whatever it is told."""

    name = "bad"

    def segment(self, picture: Picture, segments: int) -> Any:
        if segments == 1:
            raise ValueError("out of luck")
        return "labels" if segments == 2 else np.zeros((1, 2, 2), int)


@pytest.mark.parametrize(
    "segments",
    [
        1,
        2,
        3,
    ],
)
def test_a_method_that_fails(picture: Picture, segments: int, wording: SnapshotAssertion) -> None:
    with pytest.raises(Exception) as caught:
        partition(Bad(), picture, segments)
    assert caught == wording


@pytest.mark.parametrize(
    "spec",
    ["slic:compactness=0", "slic:iterations=0", "slico:sigma=-1", "sitk_slic:proximity=0", "watershed:sigma=-1",
     "compact_watershed:compactness=0", "felzenszwalb:scale=-1", "quickshift:ratio=2", "seeds:prior=9", "lsc:ratio=0",
     "mslic:ruler=0"],
)  # fmt: skip
def test_parameters_that_mean_nothing(spec: str) -> None:
    with pytest.raises(IntraBenchError, match="does not fit"):
        registry.make("superpixels", spec)


MADE = """
import numpy as np
from intrabench.superpixels import base


@base.slice_superpixels(name="halves", version="1")
def halves(self, image, segments):
    \"\"\"The upper and the lower half of a slice.\"\"\"
    labels = np.zeros(image.shape[:2], int)
    labels[len(labels) // 2 :] = 1
    return labels
"""


def test_a_method_of_a_workspace_may_be_a_function(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    file = in_workspace("superpixels", MADE)
    assert "halves" in say("list", "superpixels").out
    assert "upper and the lower" in say("info", "halves").out
    file.write_text(MADE.replace("halves", "two halves", 1))
    assert say("list", "superpixels").err == wording
