"""The data sets that arrive inside published packages, for real: they need the package index, or INTRABENCH_DATA."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.datasets.base import Dataset
from intrabench.datasets.brain_mni import place
from intrabench.datasets.cases import store
from intrabench.datasets.cases.stored_case import StoredCase
from intrabench.errors import IntraBenchError
from intrabench.fetch.download import DownloadError
from intrabench.mask import Array
from intrabench.registry import registry
from intrabench.volume import Grid
from tests.versions import guard_case

NAMES = ("spine_ct", "spine_mr", "brain_mni", "lung_tumour", "brain_tumour", "nsclc_gtv")
EXPECTED: dict[tuple[str, str], tuple[tuple[int, int, int], tuple[float, float, float], str, dict[str, int]]] = {
    ("spine_ct", "ct-22"): (
        (47, 73, 73),
        (1.5, 1.5, 1.5),
        "int16",
        {"vertebra.21": 6567, "vertebra.22": 17698, "vertebra.23": 12083},
    ),
    ("spine_mr", "mr-6"): (
        (52, 68, 67),
        (1.5, 1.5, 1.5),
        "uint16",
        {"vertebra.5": 4449, "vertebra.6": 15754, "vertebra.7": 12443, "disc.105": 3829, "disc.106": 4768},
    ),
    ("lung_tumour", "lung1"): ((48, 512, 512), (5.0, 0.5703, 0.5703), "int16", {"tumour.1": 837}),
    ("lung_tumour", "lung2"): ((61, 512, 512), (5.0, 0.627, 0.627), "int16", {"tumour.1": 24644}),
    ("brain_tumour", "brain1"): ((25, 256, 256), (6.5, 0.7812, 0.7812), "int16", {"tumour.1": 3524, "tumour.2": 613}),
    ("nsclc_gtv", "pat_1"): ((60, 201, 204), (3.0, 0.977, 0.977), "int16", {"tumour.1": 125256}),
    ("nsclc_gtv", "pat_2"): ((41, 138, 141), (3.0, 0.977, 0.977), "int16", {"tumour.1": 2256}),
    ("nsclc_gtv", "pat_3"): ((46, 137, 136), (3.0, 0.977, 0.977), "int16", {"tumour.1": 4047}),
    ("nsclc_gtv", "pat_4"): ((56, 172, 178), (3.0, 0.9766, 0.9766), "int16", {"tumour.1": 43124}),
    ("brain_tumour", "brain2"): ((23, 256, 256), (6.5, 0.7812, 0.7812), "int16", {"tumour.1": 453}),
}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder that is shared by these tests; INTRABENCH_DATA names one to keep."""
    return Path(os.environ.get("INTRABENCH_DATA") or tmp_path_factory.mktemp("data"))


def scene(root: Path, spec: str, case: str) -> StoredCase:
    """A prepared case; skips only where no package index can be reached."""
    dataset: Dataset = registry.make("datasets", spec)
    try:
        store.prepare(dataset, case, root)
    except DownloadError as error:
        if "configured package sources has" in str(error) or "could not be downloaded" in str(error):
            pytest.skip(f"the package index cannot be reached: {error}")
        raise
    return store.open_case(dataset, case, root)


@pytest.mark.parametrize(("name", "case"), EXPECTED)
def test_what_is_inside(root: Path, name: str, case: str) -> None:
    shape, spacing, dtype, voxels = EXPECTED[name, case]
    found = scene(root, name, case)
    assert found.volume.shape == found.index.shape == shape
    assert found.volume.spacing_mm == found.index.spacing_mm == spacing
    assert found.volume.array.dtype == np.dtype(dtype)
    assert {info.id: info.voxels for info in found.index.targets} == voxels
    assert {target.id: target.mask.voxels for target in found.targets()} == voxels
    guard_case(found, registry.make("datasets", name))


def test_intensities(root: Path) -> None:
    ct, mr = (scene(root, name, case).volume.array for name, case in (("spine_ct", "ct-22"), ("spine_mr", "mr-6")))
    assert (int(ct.min()), int(ct.max())) == (-1030, 1961)
    assert (int(mr.min()), int(mr.max())) == (0, 387)


@pytest.mark.parametrize(("structures", "count"), [("all", 83), ("cortical", 68), ("subcortical", 15)])
def test_the_average_brain(root: Path, structures: str, count: int) -> None:
    found = scene(root, f"brain_mni:structures={structures}", "mni152")
    infos = found.index.targets
    assert found.volume.shape == (189, 233, 197)
    assert found.volume.spacing_mm == (1.0, 1.0, 1.0)
    assert (int(found.volume.array.min()), int(found.volume.array.max())) == (0, 255)
    assert len({info.label for info in infos}) == len(infos) == count
    assert {info.instance for info in infos} == {1}
    assert sum(info.label.startswith("left_") for info in infos) == count // 2
    sizes = {info.label: info.voxels for info in infos}
    if structures != "subcortical":
        assert min(sizes.values()) == sizes["left_frontalpole"] == 1117
        assert max(sizes.values()) == sizes["left_superiorfrontal"] == 37070
    if structures != "cortical":
        assert sizes["brainstem"] == 31021
        assert sizes["right_hippocampus"] == 6561
    guard_case(found, registry.make("datasets", f"brain_mni:structures={structures}"), pixels=False)


def test_left_is_left(root: Path) -> None:
    found = scene(root, "brain_mni:structures=subcortical", "mni152")
    for target in found.targets():
        centre = found.volume.affine @ [*target.mask.coordinates().mean(axis=0), 1]  # RAS millimetres
        side = target.label.partition("_")[0]
        assert (
            (-40 < centre[0] < -5)
            if side == "left"
            else (5 < centre[0] < 40)
            if side == "right"
            else abs(centre[0]) < 2
        )


@pytest.mark.parametrize(
    ("spec", "case", "steps"),
    [  # how far the labels are moved along z, y and x; smooth images and thick slices tell little apart
        ("spine_ct", "ct-22", (1, 1, 1)),
        ("brain_mni", "mni152", (2, 2, 2)),
        ("brain_mni:structures=subcortical", "mni152", (2, 2, 2)),
        ("lung_tumour", "lung1", (1, 1, 1)),
        ("lung_tumour", "lung2", (1, 2, 2)),
        ("brain_tumour", "brain1", (1, 2, 2)),
        ("nsclc_gtv", "pat_2", (1, 3, 3)),
    ],
)
def test_labels_lie_on_what_they_name(root: Path, spec: str, case: str, steps: tuple[int, int, int]) -> None:
    """The labels explain the intensities best where they are."""
    found = scene(root, spec, case)
    labels = np.zeros(found.volume.shape, dtype=np.int64)
    for number, target in enumerate(found.targets(), start=1):
        labels[target.mask.to_array(labels.shape)] = number
    occupied = np.argwhere(labels)
    around = tuple(
        slice(max(0, low - 4), high + 5) for low, high in zip(occupied.min(axis=0), occupied.max(axis=0), strict=True)
    )
    image, labels = found.volume.array[around].astype(np.float64), labels[around]
    here = explained(image, labels)
    for axis, step in enumerate(steps):
        for move in (-step, step):
            assert explained(image, np.roll(labels, move, axis)) < here, (axis, move)


def explained(image: Array, labels: Array) -> float:
    """The share of the variance that lies between labels, two voxels off the borders, where rolling wraps."""
    inner = (slice(2, -2),) * 3
    x, group = image[inner].ravel(), labels[inner].ravel()
    count, total = np.bincount(group), np.bincount(group, x)
    means = total / np.maximum(count, 1)
    return float((count * (means - x.mean()) ** 2).sum() / count.sum() / x.var())


@pytest.mark.parametrize("name", NAMES)
def test_sources_and_cards(root: Path, name: str) -> None:
    dataset: Dataset = registry.make("datasets", name)
    for case in dataset.cases():
        scene(root, name, case)
    for source in dataset.sources():
        assert (root / "downloads" / source.filename).stat().st_size == source.size
    assert store.verify(dataset, root) == []
    card: dict[str, Any] = asdict(dataset.card)
    assert card.pop("part_of") == ()  # nobody knows
    assert card.pop("paper") == ""
    assert all(card.values())
    if name != "nsclc_gtv":
        assert "not stated" in card["licence"] or "unknown" in card["licence"]  # as the packages leave it


def test_the_atlas_moves_by_whole_voxels_or_not_at_all(wording: SnapshotAssertion) -> None:
    labels = np.arange(8, dtype=np.uint8).reshape(2, 2, 2)
    grid = Grid((5, 5, 5), np.diag([2.0, 2.0, 2.0, 1.0]))
    affine = np.diag([2.0, 2.0, 2.0, 1.0])
    affine[:3, 3] = (2, 6, 0)
    placed = place(labels, affine, grid)
    np.testing.assert_array_equal(placed[1:3, 3:5, 0:2], labels)
    assert placed.sum() == labels.sum()
    for harm in ((0, 3, 2.2), (0, 3, -2.0), (0, 3, 8.0), (0, 0, 2.1), (0, 1, 0.1), (2, 2, -2.0)):
        wrong = affine.copy()
        wrong[harm[0], harm[1]] = harm[2]
        with pytest.raises(IntraBenchError) as caught:
            place(labels, wrong, grid)
        assert caught == wording


def test_the_shift_of_the_atlas(root: Path) -> None:
    grid = scene(root, "brain_mni", "mni152").index.grid
    atlas = np.eye(4)
    atlas[:3, 3] = (-73, -107, -72)  # as published
    placed = place(np.ones((146, 182, 155), dtype=np.uint8), atlas, grid)
    assert [int(rows.min()) for rows in np.nonzero(placed)] == [25, 27, 0]


def test_unknown_structures() -> None:
    with pytest.raises(IntraBenchError, match="structures=cerebellar"):
        registry.make("datasets", "brain_mni:structures=cerebellar")
