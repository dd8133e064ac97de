"""Intensity policies give the range [0, 255], by the definition of each, and never NaN."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.models.parts import intensity
from intrabench.models.parts.intensity import Intensity, assumed
from intrabench.volume import Volume


def volume(array: np.ndarray, modality: str = "") -> Volume:
    return replace(Volume.from_canonical(array), modality=modality)


def slice_images(array: np.ndarray, policy: Intensity, modality: str = "") -> Callable[[int], np.ndarray]:
    return intensity.slice_images(volume(array, modality), policy)


@pytest.fixture
def scan() -> np.ndarray:
    """Three slices of 20 x 25 voxels with the values 0..499, 1000..1499 and the constant 7."""
    ramp = np.arange(500, dtype=np.int16).reshape(20, 25)
    return np.stack([ramp, ramp + 1000, np.full_like(ramp, 7)])


def test_slice_clips_each_slice_at_its_own_percentiles(scan: np.ndarray) -> None:
    images = slice_images(scan, "slice")
    low, high = 0.005 * 499, 0.995 * 499  # the percentiles of a ramp
    expected = (np.clip(scan[0], low, high) - low) / (high - low) * 255
    np.testing.assert_allclose(images(0), expected, atol=1e-3)
    np.testing.assert_allclose(images(1), expected, atol=1e-3)
    assert images(0).dtype == np.float32


def test_volume_uses_the_percentiles_of_all_voxels(scan: np.ndarray) -> None:
    low, high = np.percentile(scan, [0.5, 99.5])
    images = slice_images(scan, "volume")
    np.testing.assert_allclose(images(1), (np.clip(scan[1], low, high) - low) / (high - low) * 255, atol=1e-3)
    assert images(0).max() < 90 < 170 < images(1).min() + 10


def test_volume_makes_no_float64_copy() -> None:
    scan = np.random.default_rng(0).integers(-1000, 2000, (32, 128, 128)).astype(np.int16)
    opened = volume(scan)
    tracemalloc.start()
    intensity.slice_images(opened, "volume")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2.1 * scan.nbytes  # float64 alone would be four times


def test_window_is_level_40_and_width_400() -> None:
    scan = np.array([-1000, -160, 40, 240, 3000], dtype=np.int16).reshape(1, 1, 5)
    assert slice_images(scan, "ct_soft")(0).tolist() == [[0, 0, 127.5, 255, 255]]


def test_none_is_minimum_to_maximum(scan: np.ndarray) -> None:
    image = slice_images(scan, "none")(1)
    np.testing.assert_allclose(image, np.arange(500).reshape(20, 25) / 499 * 255, atol=1e-3)
    assert image.min() == 0
    assert image.max() <= 255


@pytest.mark.parametrize("policy", ["slice", "slice_positive", "none"])
def test_constant_slices_become_zeros(scan: np.ndarray, policy: str) -> None:
    assert np.array_equal(slice_images(scan, policy)(2), np.zeros((20, 25)))  # type: ignore[arg-type]


def test_colour_bytes_pass_through() -> None:
    colour = np.random.default_rng(0).integers(0, 256, (2, 4, 5, 3)).astype(np.uint8)
    assert np.array_equal(slice_images(colour, "slice")(1), colour[1])
    assert slice_images(colour, "slice")(1).dtype == np.uint8


def mapped(values: np.ndarray, low: float, high: float) -> np.ndarray:
    return (np.clip(values, low, high) - low) / (high - low) * 255


@pytest.fixture
def partly_negative() -> np.ndarray:
    """Three slices of 20 x 25 voxels with the values -200..299, 1000..1499 and -500..-1."""
    ramp = np.arange(500, dtype=np.int16).reshape(20, 25)
    return np.stack([ramp - 200, ramp + 1000, ramp - 500])


def test_slice_positive_counts_the_voxels_of_the_slice_above_zero(partly_negative: np.ndarray) -> None:
    images = slice_images(partly_negative, "slice_positive")
    low, high = 1 + 0.005 * 298, 1 + 0.995 * 298  # the percentiles of 1..299
    np.testing.assert_allclose(images(0), mapped(partly_negative[0], low, high), atol=1e-3)
    assert (images(0)[partly_negative[0] <= 1] == 0).all()


def test_volume_positive_counts_the_voxels_of_all_slices_above_zero(partly_negative: np.ndarray) -> None:
    low, high = np.percentile(np.concatenate([np.arange(1, 300), np.arange(1000, 1500)]), [0.5, 99.5])
    images = slice_images(partly_negative, "volume_positive")
    for z in range(3):
        np.testing.assert_allclose(images(z), mapped(partly_negative[z], low, high), atol=1e-3)
    assert not images(2).any()


def test_where_nothing_is_positive_all_voxels_count(partly_negative: np.ndarray) -> None:
    low, high = -500 + 0.005 * 499, -500 + 0.995 * 499
    expected = mapped(partly_negative[2], low, high)
    np.testing.assert_allclose(slice_images(partly_negative, "slice_positive")(2), expected, atol=1e-3)
    np.testing.assert_allclose(slice_images(partly_negative[2:], "volume_positive")(0), expected, atol=1e-3)


@pytest.mark.parametrize(
    ("modality", "policy"),
    [
        ("CT", "ct_soft"),
        ("ct, portal venous", "ct_soft"),
        ("MR, T1-weighted", "volume_positive"),
        ("", "volume_positive"),
    ],
)
def test_modality_windows_ct_and_nothing_else(partly_negative: np.ndarray, modality: str, policy: Intensity) -> None:
    images, expected = slice_images(partly_negative, "modality", modality), slice_images(partly_negative, policy)
    assert all(np.array_equal(images(z), expected(z)) for z in range(3))
    assert (images(1).min() == 255) == modality.lower().startswith("ct")


def authors(array: np.ndarray, ct: bool) -> np.ndarray:
    """The 8-bit scan by the steps of MedSAM's pre_CT_MR.py, commit 1893706."""
    bounds = (40 - 400 / 2, 40 + 400 / 2) if ct else np.percentile(array[array > 0], (0.5, 99.5))
    clipped = np.clip(array, *bounds)
    scaled = (clipped - clipped.min()) / (clipped.max() - clipped.min()) * 255.0
    return np.where(array == 0, 0, scaled).astype(np.uint8) if not ct else scaled.astype(np.uint8)


@pytest.mark.parametrize("modality", ["CT", "MR"])
@pytest.mark.parametrize("values", [(-1000, 900), (-90, 1500), (-700, 210), (-20, 100), (0, 4000)])
def test_modality_is_what_medsams_authors_do(values: tuple[int, int], modality: str) -> None:
    """A scan whose values end inside the window is stretched: the authors map its minimum to 0 and maximum to 255."""
    array = np.random.default_rng(0).integers(*values, (4, 20, 20), endpoint=True).astype(np.int16)
    array[0, 0, :2] = values
    images = slice_images(array, "modality", modality)
    assert np.array_equal([images(z).astype(np.uint8) for z in range(4)], authors(array, modality == "CT"))


@pytest.fixture
def hounsfield() -> np.ndarray:
    """Two slices, one of air and one of tissue."""
    rng = np.random.default_rng(0)
    return np.rint(np.stack([rng.normal(-980, 20, (30, 30)), rng.normal(40, 90, (30, 30))])).astype(np.int16)


def test_values_decide_where_no_modality_is_stated_and_the_note_says_so(hounsfield: np.ndarray) -> None:
    unstated, window = slice_images(hounsfield, "modality"), slice_images(hounsfield, "ct_soft")
    assert np.array_equal(unstated(1), window(1))
    assert assumed(volume(hounsfield), "modality") == ("assumed CT",)
    assert assumed(volume(hounsfield + 1024), "modality") == ("assumed no CT",)
    assert assumed(volume(hounsfield, "channel_0"), "modality") == ("assumed CT",)
    assert {assumed(volume(hounsfield, stated), "modality") for stated in ("CT", "MR, T2", "natural RGB")} == {()}
    assert {assumed(volume(hounsfield), policy) for policy in ("slice", "volume_positive", "ct_soft", "none")} == {()}


def test_modality_leaves_8_bit_images_as_they_are_unless_they_are_stated_to_be_scans() -> None:
    array = np.random.default_rng(0).integers(40, 200, (2, 20, 20)).astype(np.uint8)
    for modality in ("", "CT", "natural RGB"):  # in the challenge's .npz, CT was windowed before it was stored
        assert np.array_equal(slice_images(array, "modality", modality)(1), array[1])
        assert assumed(volume(array, modality), "modality") == ()
    assert np.array_equal(slice_images(array, "modality", "MR")(1), slice_images(array, "volume_positive")(1))
    assert slice_images(array, "modality", "MR")(1).min() == 0


def test_unknown_policy_is_refused(scan: np.ndarray, wording: SnapshotAssertion) -> None:
    with pytest.raises(ValueError) as caught:
        slice_images(scan, "bright")  # type: ignore[arg-type]
    assert caught == wording
