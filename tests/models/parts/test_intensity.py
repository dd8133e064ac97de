"""Intensity policies give the range [0, 255], by the definition of each, and never NaN."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from intrabench.models.parts.intensity import slice_images


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
    tracemalloc.start()
    slice_images(scan, "volume")
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
        ("CT, portal venous", "ct_soft"),
        ("MR, T1-weighted", "volume_positive"),
        ("", "volume_positive"),
    ],
)
def test_modality_windows_ct_and_nothing_else(partly_negative: np.ndarray, modality: str, policy: str) -> None:
    images = slice_images(partly_negative, "modality", modality)
    expected = slice_images(partly_negative, policy)  # type: ignore[arg-type]
    assert all(np.array_equal(images(z), expected(z)) for z in range(3))
    assert (images(1).min() == 255) == modality.startswith("CT")


def test_unknown_policy_is_refused(scan: np.ndarray) -> None:
    with pytest.raises(
        ValueError,
        match="no intensity policy 'bright'; choose from slice, slice_positive, volume, ",
    ):
        slice_images(scan, "bright")  # type: ignore[arg-type]
