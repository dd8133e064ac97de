"""Metrics of click models against RClicks' own, and by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import wasserstein_distance_nd
from syrupy.assertion import SnapshotAssertion

from intrabench.clickability.click_metrics import click_metrics, ks, nss, pde, pl1, sample, wd
from tests.conftest import GOLDEN

CASES = ("03_ring__dtmodel", "10_random_field__peaky")
Case = dict[str, np.ndarray]


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> Case:
    with np.load(GOLDEN / "rclicks" / "click_metrics.npz") as golden:
        prefix = f"{request.param}/"
        found = {name.removeprefix(prefix): golden[name] for name in golden.files if name.startswith(prefix)}
    return found | {"clicks": np.stack([found["y_gt"], found["x_gt"]], axis=1)}


def test_as_rclicks(case: Case) -> None:
    found = click_metrics(case["map"], case["gt_mask"] == 1, case["clicks"], np.random.RandomState(42))
    assert (found.pl1, found.wd, found.ks) == pytest.approx(
        [float(case[name]) for name in ("l1", "wasserstein", "ks2d")], abs=1e-6
    )
    # RClicks computes these two in single precision
    assert (found.nss, found.pde) == pytest.approx((float(case["nss"]), float(case["pde"])), rel=1e-4)


def test_draws_as_rclicks(case: Case) -> None:
    drawn = sample(case["map"].astype(float), (100, 24), np.random.RandomState(42))
    np.testing.assert_array_equal(drawn[..., 0], case["sampled_y"])
    np.testing.assert_array_equal(drawn[..., 1], case["sampled_x"])
    box = case["bbox_w_h"][::-1].astype(float)
    two = {name: float(case[f"two_sample_{name}"]) for name in ("l1", "wasserstein", "ks_ge_005")}
    assert pl1(drawn[:1], case["clicks"], box) == pytest.approx(two["l1"], abs=1e-6)
    assert wd(drawn[:1], case["clicks"], box) == pytest.approx(two["wasserstein"], abs=1e-6)
    assert ks(drawn[:1], case["clicks"]) == two["ks_ge_005"]


def test_distances_by_hand() -> None:
    clicks = np.array([[0, 0], [10, 0]])
    drawn = np.array([[[0, 4], [10, 4]], [[10, 0], [0, 0]]])
    box = np.array([20.0, 5.0])
    # first draw: y apart by 0, 10, 10, 0 and x by 4; second: x by 0
    assert pl1(drawn, clicks, box) == pytest.approx(5 / 20 + 2 / 5)
    assert wd(drawn, clicks, box) == pytest.approx((4 + 0) / 2 / math.hypot(20, 5))


def test_wasserstein_as_scipy() -> None:
    random = np.random.default_rng(1)
    drawn, clicks = random.integers(50, size=(3, 9, 2)), random.integers(50, size=(9, 2))
    expected = np.mean([wasserstein_distance_nd(one, clicks) for one in drawn]) / math.hypot(3, 4)
    assert wd(drawn, clicks, np.array([3.0, 4.0])) == pytest.approx(expected, abs=1e-6)


def test_the_map_at_the_clicks_by_hand() -> None:
    weights = np.array([[0.0, 2.0], [0.0, 6.0]])
    clicks = np.array([[1, 1], [0, 1], [0, 0], [1, 1]])
    assert pde(weights, clicks) == pytest.approx((6 + 2 + 0 + 6) / 4 / 8)
    spread = np.std([0, 2, 0, 6])
    assert nss(weights, clicks) == pytest.approx((3.5 - 2) / spread)
    assert nss(np.ones((4, 4)), clicks) == pytest.approx(0, abs=1e-6)


def test_clicks_on_a_line_count_as_told_apart() -> None:
    weights = np.zeros((9, 9))
    weights[4] = 1
    clicks = np.array([[4, 1], [4, 5], [4, 8]])
    found = click_metrics(weights, weights > 0, clicks, np.random.default_rng(0))
    assert found.ks == 0
    assert found.pl1 > 0
    one = click_metrics(np.ones((9, 9)), weights > 0, clicks[:1], np.random.default_rng(0), bootstraps=3)
    assert (one.ks, one.nss) == (0, pytest.approx(0, abs=1e-6))


def test_draws_follow_the_map_and_the_stream() -> None:
    weights = np.array([[0.0, 1.0, 0.0], [3.0, 0.0, 0.0]])
    drawn = sample(weights, (1000, 4), np.random.default_rng(0)).reshape(-1, 2)
    shares = np.array([(drawn == place).all(axis=1).mean() for place in ([0, 1], [1, 0])])
    np.testing.assert_allclose(shares, [0.25, 0.75], atol=0.02)
    assert shares.sum() == 1
    again = sample(weights * 7, (1000, 4), np.random.default_rng(0)).reshape(-1, 2)
    np.testing.assert_array_equal(drawn, again)


@pytest.mark.parametrize(
    "change",
    [
        {"probability": np.zeros((4, 6))},
        {"probability": np.full((4, 6), np.nan)},
        {"probability": np.full((4, 6), -1.0)},
        {"target": np.zeros((4, 6), dtype=bool)},
        {"target": np.ones((6, 4), dtype=bool)},
        {"clicks": np.empty((0, 2), np.int64)},
        {"clicks": np.array([[4, 0]])},
        {"clicks": np.array([[0, -1]])},
    ],
)
def test_what_cannot_be_compared(change: dict[str, np.ndarray], wording: SnapshotAssertion) -> None:
    usual = {"probability": np.ones((4, 6)), "target": np.ones((4, 6), dtype=bool), "clicks": np.array([[1, 5]])}
    with pytest.raises(ValueError) as caught:
        click_metrics(**(usual | change), random=np.random.default_rng(0))
    assert caught == wording
