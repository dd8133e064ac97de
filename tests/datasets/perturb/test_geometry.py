"""Rotation, shear and translation: images and targets move together, by the numbers that are given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from intrabench.datasets.perturb.geometry import Geometry
from intrabench.datasets.perturb.perturbed import perturbation, perturbed
from intrabench.mask import Mask
from intrabench.prompts import Scribble
from intrabench.results.parts import read_rows
from intrabench.target import Target
from intrabench.volume import Volume
from tests.conftest import Said

SMALL = "phantom:shape=8x32x40,noise=0"
SPACING = (3.0, 0.5, 1.0)


def moved(spec: str, array: np.ndarray, spacing: tuple[float, float, float] = (1, 1, 1)) -> np.ndarray:
    return perturbed(Volume.from_canonical(array, spacing), perturbation(spec), "d").array


def target(array: np.ndarray, spacing: tuple[float, float, float] = (1, 1, 1), **more: object) -> Target:
    return Target("a", "x", 1, Mask.of(array), array.shape, spacing, **more)  # type: ignore[arg-type]


def then(spec: str, array: np.ndarray, spacing: tuple[float, float, float] = (1, 1, 1)) -> np.ndarray:
    return perturbation(spec).moved(target(array, spacing)).mask.to_array(array.shape)


@pytest.mark.parametrize("dtype", [np.int16, np.float32, np.uint8])
def test_a_translation_moves_voxels_and_brings_in_the_darkest_one(dtype: type) -> None:
    array = np.random.default_rng(0).integers(5, 200, (3, 9, 12)).astype(dtype)
    found = moved("translation:y=2,x=-3", array)
    assert np.array_equal(found[:, 2:, :-3], array[:, :-2, 3:])
    assert (found[:, :2] == array.min()).all()
    assert (found[:, :, -3:] == array.min()).all()
    assert found.dtype == dtype


def test_a_quarter_turn_is_numpys() -> None:
    array = np.random.default_rng(0).integers(0, 200, (3, 16, 16)).astype(np.int16)
    mask = array > 150
    assert np.array_equal(moved("rotation:degrees=90", array), np.rot90(array, -1, (2, 1)))
    assert np.array_equal(then("rotation:degrees=90", mask), np.rot90(mask, -1, (2, 1)))
    photo = np.random.default_rng(0).integers(0, 255, (1, 16, 16, 3)).astype(np.uint8)
    assert np.array_equal(moved("rotation:degrees=180", photo), photo[:, ::-1, ::-1])


def test_a_turn_is_one_in_millimetres() -> None:
    z, y, x = np.ogrid[:3, :80, :40]
    ball = (((y - 39.5) * 0.5 - 6) ** 2 + (x - 19.5) ** 2 < 25) & (z == 1)  # 6 mm anterior of the centre
    found = then("rotation:degrees=90", ball, SPACING)
    _, *centre = np.argwhere(found).mean(axis=0)
    assert centre == pytest.approx([39.5, 19.5 + 6], abs=0.3)
    assert np.ptp(np.argwhere(found)[:, 1]) * 0.5 == pytest.approx(np.ptp(np.argwhere(found)[:, 2]), abs=1)
    assert found.sum() == pytest.approx(ball.sum(), rel=0.03)


def test_a_shear_moves_rows_by_their_distance_from_the_middle() -> None:
    array = np.zeros((1, 21, 41), bool)
    array[0, :, 20] = True
    found = then("shear:share=0.5", array)
    (_, rows, columns) = np.nonzero(found)
    assert columns == pytest.approx(20 + 0.5 * (rows - 10), abs=0.5)
    image = moved("shear:share=0.5", array.astype(np.float32))
    assert (image * np.arange(41)).sum(axis=2)[0] == pytest.approx(20 + 0.5 * (np.arange(21) - 10), abs=1e-4)


SPECS = ("rotation:degrees=33", "rotation:degrees=-160", "shear:share=0.7", "shear:share=-0.2", "translation:y=-4,x=9")


@given(spec=st.sampled_from(SPECS), seed=st.integers(0, 2**31), spacing=st.sampled_from([(1, 1, 1), SPACING]))
def test_targets_move_as_a_label_map_does(spec: str, seed: int, spacing: tuple[float, float, float]) -> None:
    rng = np.random.default_rng(seed)
    array = np.zeros((4, 23, 31), bool)
    y, x = rng.integers(0, 15, 2)
    array[1:3, y : y + 8, x : x + 9] = rng.random((2, 8, 9)) < 0.6
    change = perturbation(spec)
    assert isinstance(change, Geometry)
    size, centre = np.array(spacing[1:]), np.array([11.0, 15.0])
    linear, shift = change.affine()
    matrix = np.linalg.inv(linear) * size / size[:, None]
    offset = centre - matrix @ (centre + shift)
    grid = np.moveaxis(np.mgrid[:23, :31], 0, -1) @ matrix.T + offset
    before = np.floor(np.round(grid, 9) + 0.5).astype(int)
    inside = ((before >= 0) & (before < (23, 31))).all(axis=-1)
    expected = np.zeros_like(array)
    expected[:, inside] = array[:, before[inside][:, 0], before[inside][:, 1]]
    found = change.moved(target(array, spacing)).mask
    assert np.array_equal(found.to_array(array.shape), expected)
    assert found.box == Mask.of(expected).box


def test_what_is_ignored_and_strokes_move_along() -> None:
    array = np.zeros((2, 10, 10), bool)
    array[:, 2:5, 2:5] = True
    strokes = (Scribble(np.array([(0, 2, 2), (0, 2, 8), (1, 3, 3)]), 0), Scribble(np.array([(0, 0, 9)])))
    one = target(array, ignore=Mask.of(np.roll(array, 3, 1)), scribbles=(strokes, ()), boxes=((0, 2, 2, 2, 5, 5),))
    found = perturbation("translation:y=1,x=2").moved(one)
    assert found.mask.box == (0, 3, 4, 2, 6, 7)
    assert found.ignore.box == (0, 6, 4, 2, 9, 7)
    ((stroke,), nothing) = found.scribbles
    assert (stroke.points.tolist(), stroke.label, nothing) == ([[0, 3, 4], [1, 4, 5]], 0, ())
    assert not perturbation("translation:x=50").moved(one).mask.any()
    assert found.boxes is None, "they would no longer be where the target is"
    assert perturbation("translation:x=2").moved(replace(one, boxes=())).boxes == ()


def test_image_and_target_stay_together_in_a_run(say: Callable[..., Said], tmp_path: Path) -> None:
    words = ("run", "-d", SMALL, "--model", "random_walker", "--prompter", "box_slice", "--workers", "0")
    words = (*words, "--cases", "first:1", "--out", str(tmp_path / "out"))
    said = say(*words, "--perturb", "none", "--perturb", "translation:x=2", "--perturb", "rotation:degrees=180")
    assert said.code == 0, said.err
    rows = read_rows(tmp_path / "out")
    dice = rows.group_by("dataset").agg(pl.col("dice").mean())["dice"]
    assert dice.min() > 0.9  # type: ignore[operator]
    assert rows.group_by("target").agg(pl.col("prompts_hash").n_unique())["prompts_hash"].to_list() == [3] * 3
    verified = say("verify", str(tmp_path / "out"))
    assert (verified.code, f"{len(rows)} ok" in verified.out) == (0, True), verified.out


def test_a_target_that_leaves_the_image_does_not_apply(
    say: Callable[..., Said], tmp_path: Path, wording: SnapshotAssertion
) -> None:
    words = ("run", "-d", SMALL, "--model", "box_fill", "--prompter", "box_volume", "--workers", "0")
    said = say(*words, "--cases", "first:1", "--perturb", "translation:x=24", "--out", str(tmp_path / "out"))
    assert said.code == 0, said.err
    rows = read_rows(tmp_path / "out")
    assert set(rows["status"]) == {"ok", "not_applicable"}
    gone = rows.filter(pl.col("status") == "not_applicable")
    assert [*set(gone["error"])] == wording
    assert gone["dice"].null_count() == len(gone)
    assert rows["session"].n_unique() == len(rows) == 3


def test_annotations_of_superpixels_move_along(say: Callable[..., Said], tmp_path: Path) -> None:
    words = (
        "superpixels",
        "run",
        "-d",
        SMALL,
        "-m",
        "slic",
        "--segments",
        "300",
        "--workers",
        "0",
        "--cases",
        "first:1",
    )
    said = say(*words, "--perturb", "none", "--perturb", "translation:x=1", "--out", str(tmp_path / "out"))
    assert said.code == 0, said.err
    found = dict(read_rows(tmp_path / "out").select("dataset", "asa").iter_rows())
    assert found[f"{SMALL}+translation:x=1"] == pytest.approx(found[SMALL], abs=0.02)
