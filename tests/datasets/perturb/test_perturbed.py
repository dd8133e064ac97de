"""Perturbed images: each kind, equal every time, of the same type; targets and prompts stay as they are."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.datasets.cases import store
from intrabench.datasets.perturb.perturbed import PERTURBATIONS, parted, perturbation, perturbed
from intrabench.errors import IntraBenchError
from intrabench.registry import registry
from intrabench.results.parts import read_rows
from intrabench.volume import Volume
from tests.conftest import Said

SMALL = "phantom:shape=8x32x40,noise=0"


def scan(dtype: type = np.int16) -> Volume:
    z, y, x = np.ogrid[:8, :32, :40]
    ball = ((z - 4) * 2) ** 2 + (y - 16) ** 2 + (x - 18) ** 2 < 90
    array = np.where(ball, 900, -100) + np.random.default_rng(0).normal(0, 20, ball.shape)
    return Volume(array.astype(dtype), Volume.from_canonical(array, (2, 1, 1)).grid, case="a")


def photo() -> Volume:
    array = np.random.default_rng(0).integers(0, 255, (1, 32, 40, 3)).astype(np.uint8)
    return Volume(array, Volume.from_canonical(array).grid, case="a")


def changed(spec: str, volume: Volume, dataset: str = "d") -> np.ndarray:
    return perturbed(volume, perturbation(spec), dataset).array


@pytest.mark.parametrize("name", PERTURBATIONS)
@pytest.mark.parametrize("volume", [scan(), scan(np.float32), photo()], ids=["int16", "float32", "photo"])
def test_each_changes_the_image_in_the_same_way_every_time(name: str, volume: Volume) -> None:
    before, also = np.random.get_state()[1].copy(), random.getstate()  # noqa: NPY002
    found = changed(name, volume)
    assert np.array_equal(found, changed(name, volume))
    assert (np.random.get_state()[1] == before).all()  # noqa: NPY002
    assert random.getstate() == also
    assert (found.shape, found.dtype) == (volume.array.shape, volume.array.dtype)
    assert not np.array_equal(found, volume.array)
    assert np.isfinite(found.astype(float)).all()


def test_other_cases_have_other_noise() -> None:
    one = scan()
    other = Volume(one.array, one.grid, case="b")
    assert not np.array_equal(changed("noise", one), changed("noise", other))
    assert not np.array_equal(changed("noise", one), changed("noise", one, "e"))
    assert not np.array_equal(changed("noise:sigma=0.1", one), changed("noise:sigma=0.2", one))


def test_strength_is_a_share_of_the_range_of_the_image() -> None:
    volume = scan(np.float32)
    low, high = np.percentile(volume.array, (0.5, 99.5))
    added = changed("noise:sigma=0.25", volume) - volume.array
    assert added.std() == pytest.approx(0.25 * (high - low), rel=0.03)
    assert added.mean() == pytest.approx(0, abs=0.01 * (high - low))
    salted = changed("salt_pepper:p=0.1", volume)
    black, white = (np.isclose(salted, end, atol=0.01) for end in (low, high))
    assert black.mean() == pytest.approx(0.05, abs=0.006)
    assert white.mean() == pytest.approx(0.05, abs=0.006)
    assert np.allclose(salted[~(black | white)], volume.array[~(black | white)], atol=0.01)
    counted = changed("poisson:counts=400", volume)
    inside = volume.array > 500
    bright = (volume.array[inside].mean() - low) / (high - low)
    noise = (counted - volume.array)[inside].std() / (high - low)
    assert noise == pytest.approx(np.sqrt(bright / 400), rel=0.1)


def test_blur_motion_resolution_and_contrast() -> None:
    from scipy.ndimage import gaussian_filter, uniform_filter1d

    volume = scan(np.float32)
    assert np.allclose(changed("blur:sigma=2", volume), gaussian_filter(volume.array, 2), atol=1)
    plane = gaussian_filter(photo().array[0, ..., 0].astype(float), 1)
    assert np.allclose(changed("blur", photo())[0, ..., 0], plane, atol=1.5)  # not through a picture
    moved = uniform_filter1d(volume.array, 5, axis=2, mode="nearest")
    assert np.allclose(changed("motion:voxels=5", volume), moved, atol=1)
    assert len(np.unique(changed("low_resolution:zoom=0.25", scan()))) < len(np.unique(scan().array)) / 2
    ours = changed("contrast:factor=0.5", volume)
    assert ours.std() == pytest.approx(volume.array.std() / 2, rel=1e-3)
    assert ours.mean() == pytest.approx(volume.array.mean(), rel=1e-3)
    low, high = volume.array.min(), volume.array.max()
    expected = ((volume.array - low) / (high - low)) ** 2 * (high - low) + low
    assert np.allclose(changed("gamma:gamma=2", volume), expected, atol=1)
    ratio = changed("bias_field:strength=0.3", volume) + 0.0
    low, high = np.percentile(volume.array, (0.5, 99.5))
    bright = volume.array > 500
    field = (ratio - low)[bright] / (volume.array - low)[bright]
    assert field.min() >= 0.69
    assert field.max() <= 1.31
    assert np.ptp(field) > 0.05


def test_a_spec_may_have_several() -> None:
    assert parted("spine_ct+noise:sigma=0.1+blur") == ("spine_ct", ["noise:sigma=0.1", "blur"])
    made = registry.make("datasets", f"{SMALL}+noise:sigma=0.1+gamma:gamma=2")
    assert made.short_spec == f"{SMALL}+noise+gamma:gamma=2"
    assert made.spec.endswith("+noise:sigma=0.1+gamma:gamma=2")
    assert registry.make("datasets", made.argument).spec == made.spec
    assert made.version == f"{registry.make('datasets', SMALL).version}/1/2"
    assert made.cases() == registry.make("datasets", SMALL).cases()


def test_a_folder_may_have_a_plus_in_its_name(tmp_path: Path) -> None:
    (tmp_path / "a+noise").mkdir()
    assert parted(str(tmp_path / "a+noise"), there=True) == (str(tmp_path / "a+noise"), [])
    assert parted(f"{tmp_path / 'a+noise'}+blur", there=True) == (str(tmp_path / "a+noise"), ["blur"])
    assert parted(str(tmp_path / "a+noise")) == (str(tmp_path / "a"), ["noise"])  # somebody else's text


def test_nothing_of_a_perturbed_image_is_stored(data: Path) -> None:
    plain, noisy = registry.make("datasets", SMALL), registry.make("datasets", f"{SMALL}+noise")
    (case, *_) = noisy.cases()
    store.prepare(noisy, case)
    files = sorted(path for path in data.rglob("*") if path.is_file())
    one, other = store.open_case(plain, case), store.open_case(noisy, case)
    assert not np.array_equal(one.volume.array, other.volume.array)
    assert one.index == other.index
    assert [target.info() for target in one.targets()] == [target.info() for target in other.targets()]
    assert sorted(path for path in data.rglob("*") if path.is_file()) == files


def test_prompts_are_the_same_and_rows_name_the_perturbation(say: Callable[..., Said], tmp_path: Path) -> None:
    words = ("run", "-d", SMALL, "--model", "random_walker", "--prompter", "points_volume:n=2,placement=random")
    words = (*words, "--cases", "first:1", "--workers", "0", "--out", str(tmp_path / "out"))
    said = say(*words, "--perturb", "none", "--perturb", "noise:sigma=0.8+blur", "--perturb", "low_resolution")
    assert said.code == 0, said.err
    rows = read_rows(tmp_path / "out")
    assert set(rows["dataset"]) == {SMALL, f"{SMALL}+noise:sigma=0.8+blur", f"{SMALL}+low_resolution"}
    assert rows.group_by("target").agg(pl.col("prompts_hash").n_unique())["prompts_hash"].unique().to_list() == [1]
    assert rows["session"].n_unique() == len(rows)
    assert rows["fp_voxels"].n_unique() > 1
    again = say("verify", str(tmp_path / "out"))
    assert again.code == 0, again.out
    assert f"{len(rows)} ok" in again.out


@pytest.mark.parametrize(
    "spec",
    [
        "nois",
        "noise:sigma=0",
        "noise:sigma=nan",
        "salt_pepper:p=2",
        "low_resolution:zoom=1",
        "bias_field:strength=1",
        "rotation:degrees=0",
        "shear:share=inf",
        "noise:amount=1",
    ],
)
def test_what_means_nothing(spec: str, wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as error:
        intrabench.run("box_fill", "box_volume", SMALL, perturb=spec, workers=0)
    assert str(error.value) == wording
