"""The statistics of RClicks against its notebook, and on arrays made by hand."""

from __future__ import annotations

import json
import math
from dataclasses import fields

import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.errors import IntraBenchError
from intrabench.reporting.reference.rclicks import PUBLISHED_METRIC
from intrabench.statistics.click_robustness import group_table
from intrabench.statistics.measures import measured
from intrabench.statistics.robustness import (
    Robustness,
    robustness,
    user_noise,
)
from tests.conftest import GOLDEN
from tests.results import made

FOLDER = GOLDEN / "rclicks"
Curves = dict[str, np.ndarray]


@pytest.fixture
def stored() -> Curves:
    with np.load(FOLDER / "stats.npz") as arrays:
        return dict(arrays)


def users(stored: Curves, name: str) -> list[np.ndarray]:
    """One array per instance."""
    return np.split(stored[name], np.cumsum(stored["user_lengths"])[:-1])


def sessions(groups: np.ndarray, base: np.ndarray) -> pl.DataFrame:
    """IoUs (instances, groups, clicks) and (instances, clicks) as the rows of sessions."""
    prompters = ["click_deepest", *(f"clickability:model=distance,group={n + 1}" for n in range(groups.shape[1]))]
    played = np.concatenate([base[:, None], groups], axis=1)
    return made.rows(
        *(
            {
                "case": f"{instance:02}",
                "prompter": prompters[group],
                "round": click,
                "iou": played[instance, group, click],
                "interactions": click + 1.0,
            }
            for instance, group, click in np.ndindex(played.shape)
        )
    )


def test_single_sessions_as_in_the_notebook(stored: Curves) -> None:
    rows = sessions(stored["ious"], stored["base"])

    def found(metric: str) -> tuple[np.ndarray, np.ndarray]:
        scored = measured(rows, metric).sort("case")
        base = scored.filter(prompter="click_deepest")["value"].to_numpy()
        groups = [
            scored.filter(pl.col("prompter").str.ends_with(f"group={n + 1}"))["value"].to_numpy() for n in range(10)
        ]
        return np.stack(groups, axis=1), base

    clicks, base = found("noc:threshold=0.9,metric=iou")
    np.testing.assert_array_equal(clicks, stored["noc_groups"])
    np.testing.assert_array_equal(base, stored["noc_base"])
    areas, base = found("rclicks_auc")
    np.testing.assert_allclose(areas, stored["auc_groups"], atol=1e-12)
    np.testing.assert_allclose(base, stored["auc_base"], atol=1e-12)
    for place, threshold in enumerate((0.8, 0.85, 0.9)):
        _, clicks = found(f"noc:threshold={threshold},metric=iou")
        assert clicks.mean() == pytest.approx(stored["base_noc_at_80_85_90"][place])
        groups, failures = found(f"nof:threshold={threshold},metric=iou,ritm=true")
        assert failures.sum() == stored["base_over_max_80_85_90"][place]
    np.testing.assert_array_equal(groups.sum(axis=0), stored["nof_groups"])


@pytest.mark.parametrize("model", ["mA", "mB"])
def test_tables_as_in_the_notebook(stored: Curves, model: str) -> None:
    """Model mB has all IoUs times 0.97; the notebook's ratios are not in percent yet."""
    factor = {"mA": 1.0, "mB": 0.97}[model]
    ious, base = np.clip(stored["ious"] * factor, 0, 1), np.clip(stored["base"] * factor, 0, 1)
    rows = sessions(ious, base)
    clicks, areas, failures = (
        Robustness(**{field.name: line[field.name] for field in fields(Robustness)})
        for metric in (PUBLISHED_METRIC, "rclicks_auc", f"nof{PUBLISHED_METRIC[3:]},ritm=true")
        for line in group_table(rows, metric).to_dicts()
    )
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


def test_halves_as_the_paper_says(stored: Curves) -> None:
    found = robustness("noc", stored["noc_groups"], stored["noc_base"])
    assert found.dhh_merged == pytest.approx(19.58, abs=0.005)


def test_one_instance_by_hand() -> None:
    found = robustness("noc", [[6, 4, 3, 1]], [2])
    assert (found.base, found.sample, found.spread, found.nsr) == (2, 3.5, pytest.approx(np.std([6, 4, 3, 1])), None)
    assert found.dsb == pytest.approx(75)
    assert found.dgr == pytest.approx(500)
    assert found.dhh == pytest.approx(100 * (1 + 3) / 2)  # 6 to 3 and 4 to 1
    assert found.dhh_merged == pytest.approx(150)  # 5 to 2


def test_ratios_are_of_instances_and_differences_of_means() -> None:
    found = robustness("noc", [[2, 2], [10, 10]], [1, 20])
    assert found.dsb == pytest.approx((100 - 50) / 2)
    failures = robustness("nof", [[1, 0], [1, 1]], [0, 0])
    assert (failures.base, failures.sample, failures.spread) == (0, 1.5, 0.5)
    assert (failures.dsb, failures.dgr, failures.dhh, failures.nsr) == (1.5, 1, 1, None)


def test_a_score_of_zero_has_no_noise() -> None:
    found = robustness("auc", [[0.0, 0.0], [0.2, 0.6]], [0.0, 0.5])
    assert found.nsr == pytest.approx(100 * (0 + 0.2 / 0.4) / 2)
    assert found.dsb == pytest.approx(0.2 - 0.25)
    assert user_noise([[0.0, 0.0], [0.5]]).nsr == 0


def test_nan_is_not_hidden() -> None:
    found = robustness("auc", [[np.nan, 0.5], [0.5, 0.5]], [0.5, 0.5])
    assert math.isnan(found.sample)
    assert found.base == 0.5


def test_the_middle_of_an_odd_number_of_groups_is_in_neither_half() -> None:
    assert robustness("auc", [[0.1, 0.9, 0.4]], [0.5]).dhh == pytest.approx(-0.3)
    assert robustness("noc", [[6, 1, 4]], [1]).dhh == robustness("noc", [[6, 1, 4]], [1]).dhh_merged == 50


def test_wrong_arrays(wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        robustness("noc", [[1, 2]], [0])
    assert caught == wording
    for groups, base in (([[1]], [1]), ([[1, 2]], [1, 1]), ([1, 2], [1]), (np.empty((0, 2)), [])):
        with pytest.raises(ValueError) as caught:
            robustness("auc", groups, base)
        assert caught == wording
    with pytest.raises(ValueError, match="no clicks"):
        user_noise([[0.5], []])
