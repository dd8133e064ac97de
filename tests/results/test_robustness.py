"""The statistics of RClicks against its notebook, and on arrays made by hand."""

from __future__ import annotations

import json
import math

import numpy as np
import polars as pl
import pytest

from intrabench.errors import IntraBenchError
from intrabench.results.robustness import (
    arranged,
    auc_robustness,
    iou_auc,
    noc,
    noc_robustness,
    nof,
    nof_robustness,
    shared_noise,
    user_noise,
)
from tests.conftest import GOLDEN

FOLDER = GOLDEN / "rclicks"
Curves = dict[str, np.ndarray]


@pytest.fixture
def stored() -> Curves:
    with np.load(FOLDER / "stats.npz") as arrays:
        return dict(arrays)


def users(stored: Curves, name: str) -> list[np.ndarray]:
    """One array per instance."""
    return np.split(stored[name], np.cumsum(stored["user_lengths"])[:-1])


def test_single_sessions_as_in_the_notebook(stored: Curves) -> None:
    clicks = noc(stored["ious"])
    np.testing.assert_array_equal(clicks, stored["noc_groups"])
    np.testing.assert_array_equal(nof(clicks), stored["nof_groups"])
    np.testing.assert_array_equal(noc(stored["base"]), stored["noc_base"])
    np.testing.assert_allclose(iou_auc(stored["ious"]), stored["auc_groups"], atol=1e-12)
    np.testing.assert_allclose(iou_auc(stored["base"]), stored["auc_base"], atol=1e-12)
    lower = [noc(stored["base"], threshold) for threshold in (0.8, 0.85, 0.9)]
    np.testing.assert_allclose([one.mean() for one in lower], stored["base_noc_at_80_85_90"])
    np.testing.assert_array_equal([nof(one) for one in lower], stored["base_over_max_80_85_90"])


@pytest.mark.parametrize("model", ["mA", "mB"])
def test_tables_as_in_the_notebook(stored: Curves, model: str) -> None:
    """Model mB has all IoUs times 0.97; the notebook's ratios are not in percent yet."""
    factor = {"mA": 1.0, "mB": 0.97}[model]
    ious, base = np.clip(stored["ious"] * factor, 0, 1), np.clip(stored["base"] * factor, 0, 1)
    clicks, areas = noc_robustness(noc(ious), noc(base)), auc_robustness(iou_auc(ious), iou_auc(base))
    failures = nof_robustness(noc(ious) == 20, noc(base) == 20)
    real, simulated = (user_noise([one * factor for one in users(stored, f"{kind}_concat")]) for kind in USERS)
    found = {
        "NoC Base@20": clicks.base,
        "MEAN NoC@20": clicks.sample,
        "STD NoC@20": clicks.spread,
        "NoC Mean vs Base (%)": clicks.dsb / 100,
        "Sample G1-G10 NoC(%)": clicks.dgr / 100,
        "Sample H1-H2 NoC(%)": clicks.dhh / 100,
        "Base IoU@20": areas.base,
        "MEAN IoU@20": areas.sample,
        "STD IoU@20": areas.spread,
        "IoU Mean vs Base (D)": areas.dsb,
        "Sample G1-G10 IoU(D)": areas.dgr,
        "Sample H1-H2 IoU(D)": areas.dhh,
        "NSR PerImage IoU@20": (areas.nsr or math.nan) / 100,
        "NoF Base@20": failures.base,
        "MEAN NoF@20": failures.sample,
        "STD NoF@20": failures.spread,
        "NoF Mean vs Base (D)": failures.dsb,
        "Sample G1-G10 NoF(D)": failures.dgr,
        "Sample H1-H2 NoF(D)": failures.dhh,
        "MeanIoU_User@1": real.mean,
        "StdIoU_User@1": real.spread,
        "SNRIoU_User@1": (real.nsr or math.nan) / 100,
        "MeanIoU_NUser@1": simulated.mean,
        "StdIoU_NUser@1": simulated.spread,
        "SNRIoU_NUser@1": (simulated.nsr or math.nan) / 100,
        "MeanIoU_Base@1": base[:, 0].mean(),
    }
    expected = json.loads((FOLDER / "stats_expected.json").read_text())
    (wanted,) = (values for name, values in expected.items() if name.startswith(f"model_{model}"))
    assert found == pytest.approx(wanted, abs=1e-6)


USERS = ("user", "nuser")


def test_noise_of_all_models_as_in_the_notebook(stored: Curves) -> None:
    real = users(stored, "user_concat")
    found = shared_noise([real, [one * 0.97 for one in real]])
    expected = json.loads((FOLDER / "stats_expected.json").read_text())["fig8_NSR_mean_over_instances_models_mA_mB"]
    assert found / 100 == pytest.approx(expected, abs=1e-6)


def test_halves_as_the_paper_says(stored: Curves) -> None:
    found = noc_robustness(noc(stored["ious"]), noc(stored["base"]), definition="paper")
    assert found.dhh == pytest.approx(19.58, abs=0.005)


def test_when_the_threshold_is_reached() -> None:
    rises = np.full((4, 20), 0.5)
    rises[1, 19] = 0.9  # exactly, with the last click
    rises[2, 3] = 0.95  # and falls again
    rises[3] = np.nan
    np.testing.assert_array_equal(noc(rises), [20, 20, 4, 20])
    assert nof(noc(rises)) == 3
    np.testing.assert_array_equal(noc(rises, limit=3), [3, 3, 3, 3])
    np.testing.assert_array_equal(noc(rises, threshold=0.5), [1, 1, 1, 20])


def test_areas() -> None:
    assert iou_auc([0.0, 1.0]) == 0.5
    assert iou_auc([0.2, 0.4, 0.4]) == pytest.approx((0.3 + 0.4) / 2)
    assert np.isnan(iou_auc([np.nan, 1.0]))


def test_one_instance_by_hand() -> None:
    found = noc_robustness([[6, 4, 3, 1]], [2])
    assert (found.base, found.sample, found.spread, found.nsr) == (2, 3.5, pytest.approx(np.std([6, 4, 3, 1])), None)
    assert found.dsb == pytest.approx(75)
    assert found.dgr == pytest.approx(500)
    assert found.dhh == pytest.approx(100 * (1 + 3) / 2)  # 6 to 3 and 4 to 1
    assert noc_robustness([[6, 4, 3, 1]], [2], "paper").dhh == pytest.approx(150)  # 5 to 2


def test_ratios_are_of_instances_and_differences_of_means() -> None:
    found = noc_robustness([[2, 2], [10, 10]], [1, 20])
    assert found.dsb == pytest.approx((100 - 50) / 2)
    failures = nof_robustness([[1, 0], [1, 1]], [0, 0])
    assert (failures.base, failures.sample, failures.spread) == (0, 1.5, 0.5)
    assert (failures.dsb, failures.dgr, failures.dhh, failures.nsr) == (1.5, 1, 1, None)


def test_a_score_of_zero_has_no_noise() -> None:
    found = auc_robustness([[0.0, 0.0], [0.2, 0.6]], [0.0, 0.5])
    assert found.nsr == pytest.approx(100 * (0 + 0.2 / 0.4) / 2)
    assert found.dsb == pytest.approx(0.2 - 0.25)
    assert user_noise([[0.0, 0.0], [0.5]]).nsr == 0


def test_nan_is_not_hidden() -> None:
    found = auc_robustness([[np.nan, 0.5], [0.5, 0.5]], [0.5, 0.5])
    assert math.isnan(found.sample)
    assert found.base == 0.5


def test_the_middle_of_an_odd_number_of_groups_is_in_neither_half() -> None:
    assert auc_robustness([[0.1, 0.9, 0.4]], [0.5]).dhh == pytest.approx(-0.3)
    assert noc_robustness([[6, 1, 4]], [1]).dhh == noc_robustness([[6, 1, 4]], [1], "paper").dhh == 50


def test_wrong_arrays() -> None:
    with pytest.raises(ValueError, match="at least one click"):
        noc_robustness([[1, 2]], [0])
    for groups, base in (([[1]], [1]), ([[1, 2]], [1, 1]), ([1, 2], [1]), (np.empty((0, 2)), [])):
        with pytest.raises(ValueError, match=r"groups must be \(instances, groups\)"):
            auc_robustness(groups, base)
    with pytest.raises(ValueError, match="no clicks"):
        user_noise([[0.5], []])


def rows(*values: tuple[str, int, float]) -> pl.DataFrame:
    return pl.DataFrame(values, schema=["instance", "group", "value"], orient="row")


def test_rows_become_arrays() -> None:
    groups, base = arranged(rows(("b", 1, 4), ("b", 0, 5), ("a", 2, 3), ("a", 1, 2), ("a", 0, 1), ("b", 2, 6)))
    np.testing.assert_array_equal(groups, [[2, 3], [4, 6]])
    np.testing.assert_array_equal(base, [1, 5])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            rows(("a", 0, 1), ("a", 1, 2), ("b", 0, 1)),
            "3 values of 2 instances in the groups 0, 1; run what is missing",
        ),
        (rows(("a", 1, 1), ("a", 2, 2)), "for the baseline"),
        (rows(("a", 0, 1), ("a", 0, 1), ("b", 0, 1), ("b", 1, 1)), "two values of one group"),
    ],
)
def test_rows_that_are_missing_or_double(given: pl.DataFrame, words: str) -> None:
    with pytest.raises(IntraBenchError, match=words):
        arranged(given)
