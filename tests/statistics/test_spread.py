"""Spread over seeds, errors of the hand and groups of clicks, by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest

from intrabench.errors import IntraBenchError
from intrabench.metrics.base import Best
from intrabench.prompters.combined import make_prompter
from intrabench.results.current import IDENTITY
from intrabench.statistics.aggregate import AGGREGATIONS, Aggregation
from intrabench.statistics.click_robustness import group_table
from intrabench.statistics.measures import best, measured
from intrabench.statistics.resample import intervals
from intrabench.statistics.robustness import each_spread
from intrabench.statistics.scores import FailurePolicy
from intrabench.statistics.sources import hand_of, source
from intrabench.statistics.spread import each_target, fields_of, spread_table, without_spread
from tests.results import made

BOX, JITTER, SLACK = (
    make_prompter(f"box_volume{hand}").spec for hand in ("", "+hand:jitter_mm=2", "+hand:box_slack=1")
)


def played(*dice: float, prompter: str = BOX, **shared: Any) -> pl.DataFrame:
    """A session of one target with each of these Dice, by seed."""
    return made.rows(
        *({"dice": value, "seed": seed} for seed, value in enumerate(dice)), prompter=prompter, **shared
    ).with_columns(session=pl.format("{} {} {} {}", pl.lit(prompter), "target", "dataset", "seed"))


def table(
    rows: pl.DataFrame,
    over: str,
    metric: str = "dice",
    how: Aggregation = AGGREGATIONS["protocol"],
    policy: FailurePolicy | None = None,
    interval: bool = False,
) -> list[dict[str, Any]]:
    of, kind = source(over), metric.partition(":")[0]
    each = each_target(measured(rows, metric, policy=policy), IDENTITY, of, kind, best(metric))
    return spread_table(each, IDENTITY, of, fields_of(of, kind, best(metric)), how, interval).to_dicts()


@pytest.mark.parametrize(
    ("direction", "worst", "finest", "worst_of_three"),
    [("high", -9.5, 8.5, -9), ("low", 8.5, -9.5, 9), ("zero", 9.5, 0.5, 29 / 3)],
)
def test_tenths_begin_at_one_value_and_are_rounded_up(
    direction: Best, worst: float, finest: float, worst_of_three: float
) -> None:
    values = np.arange(-10.0, 11.0)  # 21 of them
    found = each_spread([values[:-1], [3.0, 1.0, 2.0], values], best=direction)
    few = (1, 3) if direction == "high" else (3, 1)
    assert found["worst_tenth"].tolist() == pytest.approx([worst, few[0], worst_of_three])
    assert found["best_tenth"].tolist()[:2] == [finest, few[1]]


def test_deviations_are_of_samples_or_of_all() -> None:
    values = [[1.0, 2.0, 6.0], [5.0, 5.0], [0.1] * 7]
    for ddof in (0, 1):
        expected = [np.std(one, ddof=ddof) for one in values]
        np.testing.assert_allclose(each_spread(values, ddof)["sd"], expected, atol=1e-15)


def test_infinite_values_differ_by_nothing_if_they_are_equal() -> None:
    found = each_spread([[math.inf, math.inf], [1.0, math.inf]], 1, "low")
    assert found["sd"].tolist() == [0, math.inf]
    assert found["worst_tenth"].tolist() == [math.inf, math.inf]
    assert found["best_tenth"].tolist() == [math.inf, 1]


def test_seeds_of_targets_then_as_the_protocol_averages() -> None:
    """Class x has two instances, class y one: its target weighs as much as both of them."""
    x, other, y = (0.1, 0.3, 0.8), (0.5, 0.5, 0.5), (0.9, 0.7, 0.8)
    rows = pl.concat([played(*x), played(*other, instance=2), played(*y, label="y")])
    (line,) = table(rows, "seed")

    def mean(of: Any) -> float:
        return ((of(x) + of(other)) / 2 + of(y)) / 2

    assert line["mean"] == pytest.approx(mean(np.mean))
    assert line["sd"] == pytest.approx(mean(lambda values: np.std(values, ddof=1)))
    assert line["worst"] == pytest.approx(mean(min))
    assert line["dwb"] == pytest.approx(mean(lambda values: min(values) - max(values)))
    assert line["nsr"] == pytest.approx(mean(lambda values: 100 * np.std(values, ddof=1) / np.mean(values)))
    assert (line["dataset"], line["targets"], line["seeds"], line["failed"]) == ("d", 3, 3, 0)
    (pooled,) = table(rows, "seed", how=AGGREGATIONS["pooled"])
    assert pooled["worst"] == pytest.approx((0.1 + 0.5 + 0.7) / 3)


def test_the_average_is_over_data_sets_that_all_have_a_spread() -> None:
    rows = pl.concat([played(0.2, 0.4), played(0.9, 0.7, 0.8, dataset="e")])
    first, second, average = table(rows, "seed")
    assert [line["dataset"] for line in (first, second, average)] == ["d", "e", "average"]
    assert average["worst"] == pytest.approx((0.2 + 0.7) / 2)
    assert (average["targets"], average["seeds"]) == (2, 2)
    lone = pl.concat([rows, played(0.1, 0.1, prompter="q")])
    assert [line["dataset"] for line in table(lone, "seed") if line["prompter"] == "q"] == ["d"]


def test_failures_are_the_worst_values_unless_they_are_left_out() -> None:
    rows = played(0.6, 0.8, 0.7)
    failed = rows.with_columns(status=pl.when(pl.col("seed") == 1).then(pl.lit("oom")).otherwise("status"))
    (line,) = table(failed, "seed")
    assert (line["worst"], line["mean"], line["failed"]) == (0, pytest.approx((0.6 + 0 + 0.7) / 3), 1)
    (line,) = table(failed, "seed", policy=FailurePolicy(failed="drop"))
    assert (line["worst"], line["seeds"]) == (0.6, 2)
    refused = rows.with_columns(status=pl.when(pl.col("seed") == 1).then(pl.lit("not_applicable")).otherwise("status"))
    assert table(refused, "seed")[0]["seeds"] == 2


def test_the_worst_of_distances_is_far_or_infinite() -> None:
    rows = played(0.5, 0.5, 0.5).with_columns(hd95_mm=pl.Series([2.0, math.inf, 5.0]))
    (line,) = table(rows, "seed", "hd95")
    assert (line["mean"], line["sd"], line["worst"], line["dwb"], line["nsr"]) == (math.inf,) * 4 + (None,)
    (line,) = table(rows.with_columns(hd95_mm=pl.Series([2.0, 3.0, 5.0])), "seed", "hd95")
    assert (line["worst"], line["dwb"]) == (5, 3)


def test_where_zero_is_best_the_farthest_is_the_worst() -> None:
    rows = played(0.5, 0.5, 0.5).with_columns(relative_volume_difference=pl.Series([-0.4, 0.1, 0.3]))
    (line,) = table(rows, "seed", "relative_volume_difference")
    assert (line["mean"], line["worst"], line["dwb"]) == (pytest.approx(0), 0.4, pytest.approx(0.4 - 0.1))
    assert "nsr" not in line


def test_clicks_are_compared_in_percent_of_the_best() -> None:
    (line,) = table(played(0.95, 0.1), "seed", "noc:threshold=0.9,limit=10")
    assert (line["worst"], line["dwb"]) == (10, pytest.approx(100 * (10 - 2) / 2))


def test_targets_with_one_seed_have_no_spread_and_are_counted() -> None:
    rows = pl.concat([played(0.2, 0.4), played(0.9, instance=2), played(0.5, prompter="q")])
    (line,) = table(rows, "seed")
    assert (line["targets"], line["mean"]) == (1, pytest.approx(0.3))
    of, scored = source("seed"), measured(rows, "dice")
    each = each_target(scored, IDENTITY, of, "dice", "high")
    (said,) = without_spread(scored, each, IDENTITY, of)
    assert ("2 lines of d" in said, "2 targets" in said, "second seed" in said) == (True, True, True)
    assert without_spread(measured(played(0.2, 0.4), "dice"), each, IDENTITY, of) == []
    with pytest.raises(IntraBenchError, match=r"--seed 0\.\.9"):
        table(played(0.5), "seed")


def test_hands_are_compared_with_the_same_prompter_without_errors() -> None:
    assert hand_of(BOX) is None
    variant = hand_of(JITTER)
    assert variant is not None
    assert (variant.common, variant.base) == (BOX, BOX)
    errors = [0.4, 0.6, 0.5, 0.1]
    rows = pl.concat([played(0.9), played(*errors[:3], prompter=JITTER), played(errors[3], prompter=SLACK)])
    (line,) = table(rows, "hand")
    assert (line["prompter"], line["draws"], line["base"]) == (BOX, 4, 0.9)
    assert (line["mean"], line["sd"]) == (pytest.approx(0.4), pytest.approx(np.std(errors, ddof=1)))
    assert (line["worst"], line["dsb"], line["dwb"]) == (0.1, pytest.approx(0.4 - 0.9), pytest.approx(0.1 - 0.6))
    (alone,) = table(rows.filter(pl.col("prompter") != BOX), "hand")
    assert (alone["base"], alone["dsb"], alone["mean"]) == (None, None, line["mean"])
    with pytest.raises(IntraBenchError, match="--hand jitter_mm"):
        table(played(0.9, 0.8), "hand")


def test_a_target_that_was_not_played_without_errors_is_not_set_beside_others() -> None:
    rows = pl.concat([played(0.9), played(0.4, 0.6, prompter=JITTER), played(0.1, 0.2, prompter=JITTER, instance=2)])
    (line,) = table(rows, "hand")
    assert (line["targets"], line["mean"], line["dsb"]) == (1, 0.5, pytest.approx(-0.4))


def groups(*values: tuple[float, ...]) -> pl.DataFrame:
    """The baseline and groups 1, 2, 10, of targets with values for these, each with two seeds around it."""
    names = [make_prompter(f"click{name}").spec for name in ("_deepest", *(f"ability:group={n}" for n in (1, 2, 10)))]
    return pl.concat(
        played(value - 0.02, value + 0.02, prompter=name, case=str(case), instance=1)
        for case, each in enumerate(values)
        for name, value in zip(names, each, strict=False)
    ).with_columns(session=pl.format("{} {}", "session", "case"))


def test_groups_are_as_in_their_own_table() -> None:
    """Group 10 comes last, though not by its letters; of the last target group 10 is missing."""
    rows = groups((0.9, 0.3, 0.5, 0.8), (0.8, 0.6, 0.2, 0.7), (0.7, 0.5, 0.5))
    (line,), (published,) = table(rows, "group", how=AGGREGATIONS["pooled"]), group_table(rows).to_dicts()
    names = {"base": "base", "mean": "sample", "sd": "spread", "dsb": "dsb", "dgr": "dgr", "nsr": "nsr"}
    assert [line[name] for name in names] == pytest.approx([published[name] for name in names.values()])
    assert (line["prompter"], line["groups"], line["targets"]) == (published["clicks"], 3, 2)
    assert line["worst"] == pytest.approx((0.3 + 0.2) / 2)
    assert line["dgr"] == pytest.approx(((0.3 - 0.8) + (0.6 - 0.7)) / 2)


def test_intervals_are_those_of_the_means_of_targets() -> None:
    rows = pl.concat(played(0.1 * case, 0.4 + 0.05 * case, case=str(case), patient=str(case)) for case in range(8))
    rows = rows.with_columns(session=pl.format("{} {}", "session", "case"))
    (line,) = table(rows, "seed", interval=True)
    worst = measured(rows.filter(pl.col("seed") == 0), "dice")  # of each target the smaller one
    known = intervals(worst, ["model"], AGGREGATIONS["protocol"]).row(0, named=True)
    expected = [known[name] for name in ("value", "low", "high")]
    assert [line[name] for name in ("worst", "worst_low", "worst_high")] == pytest.approx(expected)
    assert line["sd_low"] < line["sd"] < line["sd_high"]


def test_other_sources_are_unknown() -> None:
    with pytest.raises(IntraBenchError, match="'seed'"):
        source("seeds")
