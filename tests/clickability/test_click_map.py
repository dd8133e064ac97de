"""Maps of clicks against those that RClicks trains with, made with OpenCV."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import ndimage
from syrupy.assertion import SnapshotAssertion

from intrabench.clickability.click_map import click_map, gaussian_map, sigma_px
from tests.models.networks.clickability import golden

CASES = [
    ("05_border_corner_rect", 5),
    ("05_border_corner_rect", 30),
    ("05_border_corner_rect", 120),
    ("10_random_field", 30),
    ("15_large_field", 5),
]


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    return golden("click_maps")


def clicks_of(expected: dict[str, Any], case: str) -> np.ndarray:
    return np.stack([expected[f"{case}/y"], expected[f"{case}/x"]], axis=1)


@pytest.mark.parametrize(("case", "sigma"), CASES)
def test_maps(expected: dict[str, Any], case: str, sigma: int) -> None:
    error, clicks = expected[f"{case}/error_mask"] > 0, clicks_of(expected, case)
    assert sigma_px(error.shape, sigma) == pytest.approx(float(expected[f"{case}/sigma_{sigma}/sigma_px"]), rel=1e-12)
    gaussians = gaussian_map(clicks, error.shape, sigma)
    assert gaussians.dtype == np.float32
    np.testing.assert_allclose(gaussians, expected[f"{case}/sigma_{sigma}/gaussian_map"], atol=1e-6)
    np.testing.assert_allclose(click_map(clicks, error, sigma), expected[f"{case}/sigma_{sigma}/click_map"], atol=1e-6)


def test_the_paper_s_soft_mask_is_wider(expected: dict[str, Any]) -> None:
    error, clicks = expected["05_border_corner_rect/error_mask"] > 0, clicks_of(expected, "05_border_corner_rect")
    blurred = ndimage.gaussian_filter(error.astype(np.float32), 0.01 * np.hypot(90, 140))
    np.testing.assert_allclose(
        click_map(clicks, error, 30, "paper"), gaussian_map(clicks, error.shape, 30) * blurred, atol=1e-7
    )


def test_in_small_images_the_code_s_soft_mask_is_hard() -> None:
    error = np.zeros((99, 99), bool)  # a diagonal below 141.4 pixels
    error[30:60, 30:60] = True
    found = click_map(np.array([[30, 30]]), error, 60)
    assert (found[~error] == 0).all()
    assert found[30, 30] == 1
    assert click_map(np.array([[30, 30]]), error, 60, "paper")[29, 30] > 0.1


@pytest.mark.parametrize("clicks", [np.empty((0, 2), int), np.array([[0, 8]]), np.array([[4, 0]]), np.array([[-1, 2]])])
def test_clicks_outside_of_the_image_are_refused(clicks: np.ndarray, wording: SnapshotAssertion) -> None:
    with pytest.raises(ValueError) as caught:
        click_map(clicks, np.ones((4, 8), bool))
    assert caught == wording
