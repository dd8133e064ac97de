"""Sessions of real first clicks beside simulated ones: the numbers of the notebook, and which sessions count."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.errors import IntraBenchError
from intrabench.reporting.reference.rclicks import FIRST_CLICK, published, users_beside_published
from intrabench.statistics.aggregate import AGGREGATIONS
from intrabench.statistics.click_robustness import describe_users, user_table
from intrabench.statistics.resample import intervals
from intrabench.statistics.scores import scores
from tests.results import made
from tests.statistics.test_robustness import FOLDER, users

REAL, SIMULATED = "recorded:clicks=clicks.csv", "clickability:model=rclicks,group=all"


def sessions(prompter: str, *targets: list[float], **shared: Any) -> pl.DataFrame:
    """A session of one click for each target and seed, with these IoUs."""
    each = [
        {"case": f"{case:02}", "seed": seed, "iou": iou, "prompter": prompter}
        for case, ious in enumerate(targets)
        for seed, iou in enumerate(ious)
    ]
    return made.rows(*each, **shared)


@pytest.mark.parametrize(("model", "factor"), [("mA", 1.0), ("mB", 0.97)])
def test_as_in_the_notebook(model: str, factor: float) -> None:
    with np.load(FOLDER / "stats.npz") as arrays:
        real, simulated = ([factor * one for one in users(arrays, f"{name}_concat")] for name in ("user", "nuser"))
    surplus = [[*one, 0.123, 0.99] for one in simulated]  # all targets are played with all seeds
    rows = pl.concat([sessions(REAL, *map(list, real)), sessions(SIMULATED, *surplus)])
    found = user_table(rows, FIRST_CLICK)
    assert found["clicks"].to_list() == ["real", SIMULATED]
    assert set(found["sessions"]) == {sum(map(len, real))}
    assert set(found["targets"]) == {30}
    stored = json.loads((FOLDER / "stats_expected.json").read_text())
    (expected,) = (values for name, values in stored.items() if name.startswith(f"model_{model}"))
    for name, line in zip(("User", "NUser"), found.to_dicts(), strict=True):
        assert line["mean"] == pytest.approx(expected[f"MeanIoU_{name}@1"], abs=1e-6)
        assert line["spread"] == pytest.approx(expected[f"StdIoU_{name}@1"], abs=1e-6)
        assert line["nsr"] / 100 == pytest.approx(expected[f"SNRIoU_{name}@1"], abs=1e-6)


def test_by_hand(wording: SnapshotAssertion) -> None:
    rows = pl.concat(
        [
            sessions(REAL, [0.2, 0.6], [0.5]),
            made.rows({"case": "00", "iou": 1.0, "round": 1, "prompter": REAL}),  # a correction
            made.rows({"case": "01", "iou": 0.0, "seed": 1, "prompter": REAL, "status": "not_applicable"}),
            sessions(SIMULATED, [0.4, 0.4, 1.0], [0.9, 1.0], [1.0]),
            sessions("clickability:model=rclicks,group=3", [1.0, 1.0], [1.0]),
            sessions("recorded:folder=out", [1.0, 1.0], [1.0]),
        ]
    )
    real, simulated = user_table(rows, "iou").to_dicts()
    assert [real[name] for name in ("mean", "spread", "nsr")] == pytest.approx([0.45, 0.1, 25.0])
    assert [simulated[name] for name in ("mean", "spread", "nsr")] == pytest.approx([0.65, 0.0, 0.0])
    assert [(line["targets"], line["sessions"]) for line in (real, simulated)] == [(2, 3), (2, 3)]
    assert describe_users("iou") == wording


def test_files_and_models_are_apart() -> None:
    other = "recorded:clicks=clicks.csv,device=pc"
    parts = [sessions(REAL, [0.1, 0.3]), sessions(other, [0.5]), sessions(SIMULATED, [0.6, 0.8])]
    rows = pl.concat([*parts, sessions(REAL, [0.9], model="n")])
    found = [
        (line["model"], line["users"], line["clicks"], line["mean"]) for line in user_table(rows, "iou").to_dicts()
    ]
    assert found == [
        ("m", REAL, "real", pytest.approx(0.2)),
        ("m", REAL, SIMULATED, pytest.approx(0.7)),
        ("m", other, "real", pytest.approx(0.5)),
        ("m", other, SIMULATED, pytest.approx(0.6)),
        ("n", REAL, "real", pytest.approx(0.9)),
    ]


def test_beside_the_published(wording: SnapshotAssertion) -> None:
    usual = {"dataset": "tetris", "weights": "registered", "model": "sam:multimask=best,size=h"}
    table = user_table(pl.concat([sessions(REAL, [0.4], **usual), sessions(SIMULATED, [0.6], **usual)]), FIRST_CLICK)
    found, others = users_beside_published(table)
    known = published("tetris", "sam:multimask=best,size=h")
    assert known is not None
    assert others == []
    assert found.select("clicks", "source").rows() == [
        ("real", "ours"),
        ("real", "published"),
        (SIMULATED, "ours"),
        ("of the published network", "published"),
    ]
    assert found["mean"].to_list() == [0.4, known.real.mean, 0.6, known.simulated.mean]
    assert found["nsr"].to_list() == [0, known.real.nsr, 0, None]
    plain = user_table(sessions(REAL, [0.4], **{**usual, "model": "sam:size=h"}), FIRST_CLICK)
    with pytest.raises(IntraBenchError) as caught:
        users_beside_published(plain)
    assert caught == wording


def test_nobody_clicked(wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        user_table(sessions(SIMULATED, [0.4]), "iou")
    assert caught == wording


def test_intervals_are_of_the_means_over_patients() -> None:
    """Those of `intervals` of what each target has; of five photographs there is none."""
    means = [0.1, 0.3, 0.35, 0.5, 0.6, 0.9]
    rows = pl.concat([sessions(REAL, *([one, one + 0.1] for one in means)), sessions(SIMULATED, [0.5, 0.7])])
    real, simulated = user_table(rows, "iou", interval=True).to_dicts()
    each = made.rows(*({"case": f"{n:02}", "dice": one + 0.05} for n, one in enumerate(means)))
    expected = intervals(scores(each), ["model"], AGGREGATIONS["pooled"]).row(0, named=True)
    assert real["mean"] == pytest.approx(expected["value"])
    assert (real["mean_low"], real["mean_high"]) == pytest.approx((expected["low"], expected["high"]))
    assert real["spread_low"] == pytest.approx(real["spread_high"]) == pytest.approx(0.05)
    assert real["nsr_low"] < real["nsr"] < real["nsr_high"]
    assert (simulated["mean"], simulated["mean_low"], simulated["nsr_high"]) == (pytest.approx(0.6), None, None)
