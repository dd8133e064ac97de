"""Data that must be refused: each with one sentence that names the file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.datasets.cases import store
from intrabench.errors import IntraBenchError
from intrabench.mask import Array, Mask
from intrabench.prompts import Scribble
from intrabench.target import Target
from intrabench.volume import Volume
from tests.datasets.cases.made import AFFINE, given, left_over, put, some_image, some_labels
from tests.wording import without_reasons


def refused(tmp_path: Path, image: Array, labels: Array, why: str, labels_affine: Array = AFFINE) -> None:
    dataset = put(tmp_path / "mine", "p1", image, labels, labels_affine)
    with pytest.raises(IntraBenchError, match=why):
        store.prepare(dataset, "p1", tmp_path)
    assert left_over(tmp_path) == []
    assert store.index(dataset, "p1", tmp_path) is None


def test_labels_on_another_grid(tmp_path: Path) -> None:
    moved = AFFINE.copy()
    moved[0, 3] += 1.5
    refused(tmp_path, some_image(), some_labels(), "labels.nii.gz lies on a different grid", moved)
    refused(tmp_path, some_image(), some_labels()[:-1], "labels.nii.gz lies on a different grid")


def test_labels_as_floats(tmp_path: Path) -> None:
    dataset = put(tmp_path / "whole", "p1", some_image(), some_labels().astype(np.float32))
    assert [info.voxels for info in store.prepare(dataset, "p1", tmp_path).targets] == [24, 1, 12]
    refused(tmp_path, some_image(), some_labels() * np.float32(1.5), "labels.nii.gz holds values that are not whole")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_voxels_that_are_no_numbers(tmp_path: Path, value: float) -> None:
    image = some_image("float32")
    image[2, 3, 4] = image[0, 0, 0] = value
    refused(tmp_path, image, some_labels(), "image.nii.gz has 2 voxels that are NaN or infinite")


def test_float64_beyond_float32(tmp_path: Path, wording: SnapshotAssertion) -> None:
    volume = Volume.from_canonical(np.array([[[1.0, 1e300]]]))
    with pytest.raises(IntraBenchError) as caught:
        store.prepare(given(volume), "one", tmp_path)
    assert caught == wording


def test_a_constant_image(tmp_path: Path) -> None:
    refused(tmp_path, np.full((8, 9, 10), 7, dtype=np.int16), some_labels(), "image.nii.gz is constant")


def test_a_4d_file(tmp_path: Path) -> None:
    refused(tmp_path, some_image("int16", (8, 9, 10, 2)), some_labels(), r"image.nii.gz has the shape \(8, 9, 10, 2\)")


def test_truncated_and_missing_files(tmp_path: Path, wording: SnapshotAssertion) -> None:
    dataset = put(tmp_path / "mine", "p1", some_image(), some_labels())
    image, labels = dataset.local_files("p1")
    image.write_bytes(image.read_bytes()[:-300])
    with pytest.raises(IntraBenchError) as caught:
        store.prepare(dataset, "p1", tmp_path)
    assert without_reasons(str(caught.value)) == wording
    put(tmp_path / "mine", "p1", some_image(), some_labels())
    labels.unlink()
    with pytest.raises(IntraBenchError, match=r"labels\.nii\.gz does not exist"):
        store.prepare(dataset, "p1", tmp_path)


def test_targets_that_do_not_fit(tmp_path: Path) -> None:
    volume = Volume.from_canonical(some_image())
    target = Target("one", "cell", 1, Mask.of(np.ones((2, 2, 2)), (7, 0, 0)), volume.shape, volume.spacing_mm)
    empty = replace(target, mask=Mask.empty())
    inside = replace(target, mask=Mask.of(np.ones((2, 2, 2))))
    for targets, why in [
        (
            [target],
            r"^target cell\.1 reaches from \(7, 0, 0\) to \(9, 2, 2\), beyond the image",
        ),
        ([replace(inside, ignore=target.mask)], r"target cell\.1 \(its ignore mask\) reaches from \(7, 0, 0\)"),
        ([replace(inside, mask=Mask.of(np.ones((2, 2, 2)), (0, -1, 0)))], r"reaches from \(0, -1, 0\) to \(2, 1, 2\)"),
        ([replace(inside, shape=(8, 10, 9))], r"was made for an image of shape \(8, 10, 9\), but the scan has the"),
        ([replace(inside, mask=inside.mask.array)], r"target cell\.1 has ndarray as its mask, expected a Mask"),
        (
            [replace(inside, mask=Mask((0.5, 0, 0), np.ones((2, 2, 2), bool)))],
            r"cell\.1 begins at \(0.5, 0, 0\) in its",
        ),  # type: ignore[arg-type]
        ([replace(inside, mask=Mask((0, 0, 0), np.full((2, 2, 2), 0.5)))], r"^target cell\.1: a mask is true"),  # type: ignore[arg-type]
        ([empty], r"^target cell\.1 has no voxels"),
        ([replace(inside, scribbles=((Scribble([(1, 1, 90)]),),))], r"^target cell\.1 has a scribble outside of the"),
        ([replace(inside, scribbles=(((1, 1, 1),),))], r"^target cell\.1 has other scribbles than a tuple of"),  # type: ignore[arg-type]
        ([replace(inside, boxes=((0, 0, 0, 1, 1, 90),))], r"^target cell\.1 has the box .* inside the image of shape"),
        ([replace(inside, boxes=((1, 1, 1, 2, 2, 1),))], r"^target cell\.1 has the box .*, expected a half-open one"),
        ([replace(inside, boxes=((1, 1, 1),))], r"^target cell\.1 has the box"),  # type: ignore[arg-type]
        ([replace(inside, boxes=(1, 1))], r"^target cell\.1 has other boxes than a tuple of them"),  # type: ignore[arg-type]
        ([inside, inside], r"^there are two targets cell\.1"),
    ]:
        with pytest.raises(IntraBenchError, match=why):
            store.prepare(given(volume, *targets), "one", tmp_path)


@pytest.mark.parametrize("notes", ["dark", (1, 2), None])
def test_notes_that_are_no_sentences(tmp_path: Path, notes: Any, wording: SnapshotAssertion) -> None:
    volume = replace(Volume.from_canonical(some_image()), notes=notes)
    with pytest.raises(IntraBenchError) as caught:
        store.prepare(given(volume), "one", tmp_path)
    assert caught == wording
