"""Letterboxes against RClicks' own, made with OpenCV 4.9, whose coordinates are rounded to single precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.models.networks.clickability import golden

SHAPES = ["60x100", "100x60", "500x430", "333x1000", "97x97"]


@pytest.fixture(scope="module", autouse=True)
def _imports() -> None:
    """Imported now: collecting tests is quick without torch."""
    global torch, Letterbox, network_input
    import torch

    from intrabench.clickability.letterbox import Letterbox, network_input


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    return golden("letterbox")


def shape_of(array: np.ndarray) -> tuple[int, int]:
    return array.shape[0], array.shape[1]


@pytest.mark.parametrize("case", SHAPES)
def test_masks(expected: dict[str, Any], case: str) -> None:
    mask = expected[f"{case}/mask"]
    square = Letterbox(shape_of(mask)).put(mask[..., None])
    assert square.shape == (1, 416, 416)
    assert square.dtype == torch.float32
    np.testing.assert_allclose(square[0, ::3, ::3], expected[f"{case}/padded_mask"], atol=1e-4)


@pytest.mark.parametrize("case", ["60x100", "100x60", "97x97"])
def test_images(expected: dict[str, Any], case: str) -> None:
    image = expected[f"{case}/image"]
    square = Letterbox(shape_of(image)).put(image)
    found = [float(square.mean()), float(square.std(correction=0))]
    np.testing.assert_allclose(found, expected[f"{case}/padded_image_mean_std"], atol=1e-6)
    filled = (square != 0).any(dim=0)
    rows_and_columns = [int(filled.any(dim=1).sum()), int(filled.any(dim=0).sum())]
    assert rows_and_columns == expected[f"{case}/padded_image_rows_cols_nonzero"].tolist()


def test_an_image_of_the_square_s_size_stays_as_it_is_and_comes_back() -> None:
    rng = np.random.default_rng(0)
    image = rng.random((40, 64, 2), dtype=np.float32)
    box = Letterbox((40, 64), 64)
    assert (box.inner, box.corner) == ((40, 64), (12, 0))
    square = box.put(image)
    np.testing.assert_array_equal(square[:, 12:52], image.transpose(2, 0, 1))
    assert not square[:, :12].any()
    assert not square[:, 52:].any()
    np.testing.assert_array_equal(box.undo(square[1]), image[..., 1])


def test_a_line_keeps_one_pixel() -> None:
    assert Letterbox((1, 2000)).inner == (1, 416)
    assert Letterbox((2000, 1)).undo(torch.ones(416, 416)).shape == (2000, 1)


def test_the_network_sees_normalised_colours_and_soft_masks() -> None:
    image = np.zeros((4, 8, 3), np.uint8)
    image[..., 0], image[..., 2] = 255, 51
    target, error = np.ones((4, 8), bool), np.zeros((4, 8), bool)
    error[:, 4:] = True
    images, masks = network_input(image, target, error, 16)
    np.testing.assert_allclose(images[:, 8, 3], [(1 - 0.485) / 0.229, -0.456 / 0.224, (0.2 - 0.406) / 0.225], rtol=1e-6)
    assert not images[:, 3].any()
    np.testing.assert_array_equal(masks[0, 8], np.ones(16))
    np.testing.assert_array_equal(masks[1, 8], [0] * 7 + [0.25, 0.75] + [1] * 7)


def test_shapes_that_do_not_fit_are_refused() -> None:
    image, mask = np.zeros((4, 8, 3), np.uint8), np.zeros((4, 8), bool)
    for wrong in ((image[..., 0], mask, mask), (image, mask[1:], mask[1:]), (image, mask, mask[1:])):
        with pytest.raises(ValueError, match="two masks"):
            network_input(*wrong)
