"""Resize policies on images small enough to do by hand, and against the libraries whose steps they repeat."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("cv2")

import cv2
from PIL import Image

from intrabench.models.parts.resize import Frame, Resize, fit, frame, pad

POLICIES: tuple[Resize, ...] = Resize.__args__  # type: ignore[attr-defined]
IMPULSE = [[0, 80, 0, 0, 0, 0]]


def ramp(height: int, width: int) -> np.ndarray[Any, Any]:
    """Values without any pattern that an interpolation could profit from."""
    return (np.arange(height * width, dtype=np.float32) * 37 % 101).reshape(height, width)


def fitted(image: Any, policy: Resize, side: int) -> np.ndarray[Any, Any]:
    """The one channel of a grey image."""
    (channel,) = fit(np.array(image, dtype=np.float32), policy, side)
    return channel


@pytest.mark.parametrize("policy", ["longest", "longest_area"])
@pytest.mark.parametrize(
    ("shape", "side", "inner"),
    [
        ((73, 73), 256, (256, 256)),
        ((512, 333), 256, (256, 167)),  # 166.5, rounded up
        ((300, 601), 256, (128, 256)),  # 127.79
        ((2000, 1), 256, (256, 1)),  # never less than a pixel
    ],
)
def test_the_longest_side_fills_the_square(
    policy: Resize, shape: tuple[int, int], side: int, inner: tuple[int, int]
) -> None:
    assert frame(policy, shape, side) == Frame(shape, inner)
    assert fit(np.zeros(shape, dtype=np.uint8), policy, side).shape == (1, *inner)


@pytest.mark.parametrize("policy", [policy for policy in POLICIES if policy.startswith("squash")])
def test_both_sides_are_squashed_into_the_square(policy: Resize) -> None:
    assert frame(policy, (30, 77), 64) == Frame((30, 77), (64, 64))
    assert fit(np.zeros((30, 77), dtype=np.uint8), policy, 64).shape == (1, 64, 64)


def test_coordinates_are_scaled_by_each_axis_its_own_factor() -> None:
    corners = np.array([(0, 0), (256, 333), (512, 100)])
    longest = frame("longest", (512, 333), 256).coordinates(corners)
    assert longest.tolist() == [[0, 0], [128, 167], [256, np.float32(100 * 167 / 333)]]
    assert longest.dtype == np.float32
    assert frame("squash", (512, 100), 256).coordinates(corners[[0, 2]]).tolist() == [[0, 0], [256, 256]]


def test_padding_is_zeros_below_and_to_the_right_in_three_channels() -> None:
    image = np.arange(1, 7, dtype=np.float32).reshape(1, 2, 3)
    padded = pad(image, 4)
    assert padded[1].tolist() == [[1, 2, 3, 0], [4, 5, 6, 0], [0, 0, 0, 0], [0, 0, 0, 0]]
    assert np.array_equal(padded[0], padded[2])
    colours = np.concatenate([image, image + 10, image + 20])
    assert pad(colours, 4)[:, 1, 2].tolist() == [6, 16, 26]
    assert pad(colours, 4).sum() == colours.sum()


@pytest.mark.parametrize(
    ("policy", "image", "rows"),
    [
        ("longest", [[0, 0, 70, 70]], [[10, 60]]),  # a triangle two pixels wide: 3 : 3 : 1
        ("longest", [[0, 100]], [[0, 100]]),
        ("longest", [[0, 0, 70.9, 70.9]], [[10, 60]]),  # 8-bit values
        ("longest_area", [[0, 10, 20, 30], [40, 50, 60, 70]], [[25, 45]]),
        ("squash", IMPULSE, [[80, 0]] * 2),  # at 1 and at 4: what lies between is not seen
        ("squash_smooth", IMPULSE, [[30, 0]] * 2),  # a triangle three pixels wide: 2 : 3 : 2 : 1
        ("squash_bicubic", IMPULSE, [[80, 0]] * 2),
        ("squash_bicubic_smooth", IMPULSE, [[28, 0]] * 2),  # 21 : 27 : 21 : 9 : 0 : -2, in whole numbers
        ("squash_nearest", [[5, 6, 7, 8]], [[5, 7]] * 2),
    ],
)
def test_shrinking(policy: Resize, image: Any, rows: list[list[int]]) -> None:
    np.testing.assert_allclose(fitted(image, policy, 2), rows, atol=1e-4)


def test_growing() -> None:
    for policy in ("longest", "squash", "squash_smooth"):
        np.testing.assert_allclose(fitted([[0, 100], [0, 100]], policy, 4), [[0, 25, 75, 100]] * 4)  # type: ignore[arg-type]
    assert fitted([[0, 100]], "longest_area", 4).shape == (2, 4)
    assert fitted([[5, 6]], "squash_nearest", 4).tolist() == [[5, 5, 6, 6]] * 4


@pytest.mark.parametrize("side", [1, 3, 5, 7, 200, 256])
def test_nearest_takes_the_pixel_below(side: int) -> None:
    image = ramp(5, 73)
    rows, columns = ([int(i * n / side) for i in range(side)] for n in image.shape)
    assert np.array_equal(fitted(image, "squash_nearest", side), image[rows][:, columns])


@pytest.mark.parametrize("side", [12, 40])
def test_bicubic_is_that_of_opencv(side: int) -> None:
    image = np.random.default_rng(0).normal(0, 100, (23, 31)).astype(np.float32)
    expected = cv2.resize(image, (side, side), interpolation=cv2.INTER_CUBIC)
    np.testing.assert_allclose(fitted(image, "squash_bicubic", side), expected, atol=2e-3)


@pytest.mark.parametrize("side", [12, 40])
def test_smooth_bicubic_is_what_pillow_does_to_colours(side: int) -> None:
    image = np.random.default_rng(0).integers(0, 256, (23, 31, 3)).astype(np.uint8)
    expected = np.asarray(Image.fromarray(image).resize((side, side)))  # bicubic is its default
    assert np.array_equal(fit(image, "squash_bicubic_smooth", side), np.moveaxis(expected, -1, 0))


@pytest.mark.parametrize("side", [12, 40])
def test_mean_areas_are_those_of_opencv(side: int) -> None:
    image = np.random.default_rng(0).integers(0, 256, (23, 31)).astype(np.uint8)
    expected = cv2.resize(image, (side, round(23 * side / 31)), interpolation=cv2.INTER_AREA)
    assert np.array_equal(fit(image, "longest_area", side)[0], expected)


# resize(ramp(...), (side, side), order=3, anti_aliasing=True, preserve_range=True) of scikit-image 0.26.0
SPLINES = {
    (5, 7, 8): {
        0: [5.2285, 31.2316, 70.6987, 38.5317, 15.3796, 62.6167, 71.1956, 25.5309],
        3: [23.3457, 63.6071, 82.3452, 48.4801, 30.6633, 61.7226, 74.8427, 43.3087],
        7: [30.4165, 49.2073, 93.9088, 61.1861, 52.0865, 52.7966, 13.5048, 49.825],
    },
    (20, 15, 4): {
        0: [54.0689, 52.1367, 49.3364, 48.0805],
        1: [53.8764, 49.7982, 49.1925, 49.4078],
        3: [49.0438, 50.4056, 52.0184, 48.272],
    },
    (4, 17, 6): {
        0: [35.7328, 43.5634, 51.8047, 50.1866, 44.7354, 51.8233],
        3: [61.7317, 64.2373, 33.6131, 44.7991, 60.4921, 68.4771],
    },
    (1, 9, 4): {0: [24.4941, 30.4575, 63.5425, 69.5059]},
}


@pytest.mark.parametrize("size", SPLINES)
def test_cubic_is_the_spline_of_scikit_image(size: tuple[int, int, int]) -> None:
    height, width, side = size
    resized = fitted(ramp(height, width), "squash_cubic", side)
    for row, expected in SPLINES[size].items():
        np.testing.assert_allclose(resized[row], expected, atol=1e-4)


def test_cubic_stays_within_the_values_of_the_image() -> None:
    step = np.repeat([[0, 0, 0, 10, 10, 10]], 6, axis=0)
    resized = fitted(step, "squash_cubic", 24)
    assert (resized.min(), resized.max()) == (0, 10)
    assert fitted(step, "squash_bicubic", 24).max() > 10


def test_smooth_is_the_transform_of_sam2() -> None:
    import torch
    from torch.nn import functional

    from intrabench.models.networks.sam2 import normalised

    image = np.random.default_rng(0).integers(0, 256, (40, 1500)).astype(np.uint8)  # grows and shrinks
    resized = fit(image, "squash_smooth", 1024)[0] / 255
    mean, deviation = 0.456, 0.224  # of ImageNet's green
    pixels = torch.from_numpy(image).float()[None, None] / 255
    square = functional.interpolate(pixels, (1024, 1024), mode="bilinear", align_corners=False, antialias=True)
    np.testing.assert_allclose((resized - mean) / deviation, normalised(square[0])[1], atol=1e-4)


@pytest.mark.parametrize("policy", POLICIES)
def test_colours_are_resized_one_by_one(policy: Resize) -> None:
    image = np.random.default_rng(0).integers(0, 256, (11, 23, 3)).astype(np.uint8)
    together = fit(image, policy, 16)
    assert together.dtype == np.float32
    for channel in range(3):
        assert np.array_equal(together[channel], fit(image[..., channel], policy, 16)[0])


@pytest.mark.parametrize("policy", POLICIES)
def test_one_pixel_fills_the_square(policy: Resize) -> None:
    assert np.array_equal(fit(np.array([[7]], dtype=np.uint8), policy, 4), np.full((1, 4, 4), 7))
