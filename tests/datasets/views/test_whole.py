"""Whole labels as targets: the union of all instances, of any data set, with names and keys of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench import Dataset, DatasetCard, Mask, Volume
from intrabench.datasets.cases import store
from intrabench.datasets.views.whole import Whole, of_whole_labels
from intrabench.errors import IntraBenchError
from intrabench.models.base import Answer, Request, VolumeModel
from intrabench.prompts import Scribble
from intrabench.registry import registry
from intrabench.results.origin import dataset_of
from intrabench.results.parts import read_rows
from intrabench.statistics.sweeps import sweeps
from intrabench.target import Target
from tests.conftest import Said

SHAPE = (6, 12, 14)


def block(z: int, y: int, x: int) -> Mask:
    array = np.zeros(SHAPE, bool)
    array[z : z + 2, y : y + 3, x : x + 3] = True
    return Mask.of(array)


STROKE = ((Scribble(np.array([[1, 1, 1], [1, 1, 2]])),),)


@dataclass(frozen=True)
class Lesions(Dataset):
    """Two lesions and an organ; one lesion; an organ alone; nothing."""

    name = "lesions"
    version = "1"
    card = DatasetCard("Lesions", "MR", targets=5)

    def cases(self) -> tuple[str, ...]:
        return ("many", "none", "one", "organ")

    def load(self, case: str, files: Any) -> tuple[Volume, Sequence[Target]]:
        volume = Volume.from_canonical(np.random.default_rng(0).normal(size=SHAPE).astype("float32"), (3.0, 2.0, 1.0))
        placed = {
            "many": [("lesion", block(0, 1, 1)), ("organ", block(1, 1, 8)), ("lesion", block(3, 6, 6))],
            "one": [("lesion", block(0, 1, 1))],
            "organ": [("organ", block(1, 1, 8))],
            "none": [],
        }[case]
        return volume, [
            Target(case, label, n, mask, SHAPE, volume.spacing_mm, ignore=block(4, 9, 9 + n % 2), scribbles=STROKE)
            for n, (label, mask) in enumerate(placed, 1)
        ]


def targets(dataset: Dataset, case: str) -> dict[str, Target]:
    store.prepare(dataset, case)
    return {target.id: target for target in store.open_case(dataset, case).targets()}


def test_targets_are_unions_of_labels(data: Path) -> None:
    plain, whole = Lesions(), intrabench.dataset(Lesions(), "whole")
    alone, together = targets(plain, "many"), targets(whole, "many")
    assert list(together) == ["lesion.0", "organ.0"]
    lesion = together["lesion.0"]
    union = alone["lesion.1"].mask.to_array(SHAPE) | alone["lesion.3"].mask.to_array(SHAPE)
    assert np.array_equal(lesion.mask.to_array(SHAPE), union)
    assert lesion.ignore.voxels == 2 * 3 * 3
    assert lesion.scribbles == ()
    assert len(together["organ.0"].scribbles) == 1
    assert [info.id for info in lesion.siblings] == ["organ.0"]
    assert lesion.volume_ml == pytest.approx(36 * 6 / 1000)


def test_the_index_says_the_same_without_reading_masks(data: Path) -> None:
    whole = intrabench.dataset(Lesions(), "whole")
    index = store.prepare(whole, "many")
    assert store.index(whole, "many") == store.look(whole, "many")[0] == index
    for info, target in zip(index.targets, targets(whole, "many").values(), strict=True):
        assert (info.id, info.box, info.voxels) == (target.id, target.mask.box, target.mask.voxels)
    assert index.targets[0].slices == 5
    hashes = {info.content_hash for info in (*index.targets, *store.prepare(Lesions(), "many").targets)}
    assert len(hashes) == 5


def test_a_named_label_is_also_in_cases_that_have_none_of_it(data: Path) -> None:
    whole = intrabench.dataset(Lesions(), "whole:label=lesion")
    assert all(list(targets(whole, case)) == ["lesion.0"] for case in whole.cases())
    assert {case: targets(whole, case)["lesion.0"].mask.voxels for case in whole.cases()} == {
        "many": 36,
        "none": 0,
        "one": 18,
        "organ": 0,
    }
    assert list(targets(intrabench.dataset(Lesions(), "whole"), "none")) == []


def test_nothing_is_stored_twice_and_names_differ(data: Path, wording: SnapshotAssertion) -> None:
    plain, whole = Lesions(), intrabench.dataset(Lesions(), "whole")
    store.prepare(whole, "one")
    assert store.stored_cases(plain) == store.stored_cases(whole) == 1
    assert store.verify(whole) == store.verify(plain) == []
    assert whole.short_spec == "lesions+whole"
    assert whole.version == "1/1" or whole.version.endswith("/1")
    assert whole.card.targets is None
    assert whole.card.caveats[-1] == wording
    assert of_whole_labels(whole) is whole
    noisy = intrabench.dataset(Lesions(), "whole", "noise:sigma=0.2")
    assert of_whole_labels(noisy) is noisy
    assert noisy.short_spec == "lesions+whole+noise:sigma=0.2"
    assert list(targets(noisy, "many")) == ["lesion.0", "organ.0"]
    moved = targets(intrabench.dataset(Lesions(), "translation:x=2", "whole"), "many")["lesion.0"]
    assert moved.mask.start == (0, 1, 3)


def test_rows_name_it_and_lead_back_to_it(say: Callable[..., Said], tmp_path: Path) -> None:
    words = ("run", "-d", "phantom:shape=24x48x48+whole", "-m", "box_fill", "-p", "box_volume", "--cases", "first:1")
    said = say(*words, "--out", str(tmp_path / "out"))
    assert said.code == 0, said.err
    (row, *_) = read_rows(tmp_path / "out").to_dicts()
    assert row["dataset"].endswith("+whole")
    assert row["instance"] == 0
    assert row["target"] == f"{row['label']}.0"
    found = dataset_of(tmp_path / "out", row)
    assert isinstance(found, Whole)
    assert found.short_spec == row["dataset"]


def test_a_protocol_of_whole_labels_finds_the_folder_again(say: Callable[..., Said], tmp_path: Path) -> None:
    import nibabel as nib

    folder = tmp_path / "clinic"
    (folder / "images").mkdir(parents=True)
    (folder / "labels").mkdir()
    labels = np.zeros((14, 12, 6), np.uint8)
    labels[1:4, 1:4, 0:2] = labels[6:9, 6:9, 3:5] = 1
    image = np.random.default_rng(0).normal(size=labels.shape).astype(np.float32)
    nib.save(nib.Nifti1Image(image, np.eye(4)), folder / "images" / "a.nii.gz")
    nib.save(nib.Nifti1Image(labels, np.eye(4)), folder / "labels" / "a.nii.gz")
    said = say(
        *("run", "-d", str(folder), "-m", "box_fill", "-p", "box_volume", "--protocol", "autopet5@1"),
        *("--out", str(tmp_path / "out")),
    )
    assert said.code == 0, said.err
    (row,) = read_rows(tmp_path / "out").to_dicts()
    assert (row["dataset"], row["instance"], row["target_voxels"]) == ("clinic+whole", 0, 36)
    assert (row["dmm"], row["fpv"], row["fnv"]) == (0.0, 0.0, 0.0)  # the box touches both lesions, at an IoU below 0.1
    assert dataset_of(tmp_path / "out", row).argument == f"{folder}+whole"


@dataclass(eq=False)
class InAnOrgan(VolumeModel):
    """Without prompts eight voxels in a corner, if there is an organ and no lesion; else nothing."""

    name = "in_an_organ"
    accepts = frozenset({"point"})
    unprompted = True

    def segment_one(self, volume: Volume, request: Request) -> Answer:
        return Answer(Mask.of(np.ones((2, 2, 2), bool)) if volume.case == "organ" else Mask.empty())


def test_wrong_volumes_count_where_there_is_nothing_to_find(data: Path, tmp_path: Path) -> None:
    """FPV is a mean over all four cases, one of 48 mm³; what asks for lesions has a value in the two that have some."""
    whole = intrabench.dataset(Lesions(), "whole:label=lesion")
    specs = ("lesion_recall", "region_dice", "largest_missed", "pq", "lesion_precision")
    made: dict[str, Any] = {"protocol": "autopet5@1", "metric": specs, "out": tmp_path, "progress": False}
    rows = intrabench.run([InAnOrgan], ["nothing"], whole, **made)
    assert rows["status"].to_list() == ["empty", "empty", "empty", "ok"]
    values = {name: rows[name].to_list() for name in ("case", "fpv", "fnv", "dmm", *specs)}
    assert values == {
        "case": ["many", "none", "one", "organ"],
        "fpv": [0, 0, 0, 0.048],
        "fnv": [0.216, None, 0.108, None],
        "dmm": [0, None, 0, None],
        "lesion_recall": [0, None, 0, None],
        "region_dice": [0, None, 0, None],
        "largest_missed": [0.108, None, 0.108, None],
        "pq": [0, None, 0, 0],
        "lesion_precision": [0, None, 0, 0],
    }
    means = {name: intrabench.table(tmp_path, metric=name)["average"].item() for name in ("fpv", "fnv")}
    assert means == pytest.approx({"fpv": 0.048 / 4, "fnv": (0.216 + 0.108) / 2})


def test_sweeps_know_whole_labels() -> None:
    values = pl.DataFrame(
        {"dataset": ["a+whole", "a+whole+noise:sigma=0.1", "a+whole+noise:sigma=0.3"], "value": [3, 2, 1]}
    )
    found = sweeps(values)
    assert found["dataset"].unique().to_list() == ["a+whole"]
    assert found["strength"].to_list() == [0.0, 0.1, 0.3]


def test_a_wrong_parameter_is_told() -> None:
    with pytest.raises(IntraBenchError, match="labels"):
        registry.make("datasets", "spine_ct+whole:labels=lesion")
