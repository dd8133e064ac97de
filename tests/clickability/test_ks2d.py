"""The two-dimensional Kolmogorov-Smirnov test: by hand, and as ndtest on draws from maps."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import kstwobign

from intrabench.clickability.click_metrics import ks2d
from tests.conftest import GOLDEN

CASES = ("03_ring__dtmodel", "10_random_field__peaky")


@pytest.mark.parametrize("case", CASES)
def test_as_ndtest(case: str) -> None:
    with np.load(GOLDEN / "rclicks" / "click_metrics.npz") as golden:
        x, y, drawn_x, drawn_y, expected = (
            golden[f"{case}/{name}"] for name in ("x_gt", "y_gt", "sampled_x", "sampled_y", "ks_p_D_per_bootstrap")
        )
    real = np.stack([y, x], axis=1)
    found = [ks2d(real, drawn) for drawn in np.stack([drawn_y, drawn_x], axis=2)]
    np.testing.assert_allclose(found, expected[:, 0], atol=1e-9)


def test_by_hand() -> None:
    """Two samples apart on a diagonal differ by 1, less the point that makes the quadrant; both are correlated."""
    low = np.array([[0, 0], [1, 1], [2, 2], [3, 3]])
    size = math.sqrt(16 / 8)
    assert ks2d(low, low + 10) == pytest.approx(kstwobign.sf(1 * size))
    square = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])  # not correlated
    assert ks2d(square, square + 10) == pytest.approx(kstwobign.sf(1 * size / (1 + 0.25 - 0.75 / size)))


def test_equal_samples_are_not_told_apart() -> None:
    points = np.random.default_rng(0).integers(100, size=(60, 2))
    assert ks2d(points, points) > 0.99
    assert ks2d(points, points + [60, 0]) < 0.001
    assert ks2d(points, points[:7]) == pytest.approx(ks2d(points[:7], points))


@pytest.mark.parametrize("line", [[[5, 1], [5, 2], [5, 9]], [[1, 5], [2, 5], [9, 5]], [[3, 3]]])
def test_samples_on_a_line_cannot_be_compared(line: list[list[int]]) -> None:
    points = np.random.default_rng(0).integers(100, size=(20, 2))
    assert math.isnan(ks2d(np.array(line), points))
    assert math.isnan(ks2d(points, np.array(line)))
