"""Sessions with clicks of groups, side by side: which belong together, and what the table says."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.errors import IntraBenchError
from intrabench.prompters.combined import make_prompter
from intrabench.protocols.rclicks_paper import ROWS
from intrabench.reporting.click_tables import further
from intrabench.reporting.formats import with_intervals
from intrabench.reporting.reference.rclicks import PUBLISHED_METRIC, beside_published, published
from intrabench.statistics.aggregate import AGGREGATIONS
from intrabench.statistics.click_robustness import describe_groups, group_table
from intrabench.statistics.resample import intervals
from intrabench.statistics.scores import scores
from intrabench.statistics.sources import group_of
from tests.results import made


def sessions(prompter: str, *dice: float, **shared: Any) -> pl.DataFrame:
    """One session per target with the prompter as rows name it, ending with this Dice after two clicks."""
    return pl.concat(
        [
            made.curve([value / 2, value], instance=number, prompter=make_prompter(prompter).spec, **shared)
            for number, value in enumerate(dice)
        ]
    )


def test_what_belongs_together() -> None:
    found = group_of("box_interp:n=3+clickability:model=distance,group=7,space=slice+hand:jitter_mm=2.0")
    assert found is not None
    assert found.level == 7
    assert found.common == "box_interp:n=3+clickability:model=distance,space=slice+hand:jitter_mm=2.0"
    assert found.base == "box_interp:n=3+click_deepest:space=slice+hand:jitter_mm=2.0"
    assert group_of("clickability:model=distance,group=all") is None
    assert group_of("click_deepest") is None
    base, *groups = (row.prompter for row in ROWS)
    assert {one.base for name in groups if (one := group_of(name))} == {base}


def test_differences_by_hand() -> None:
    rows = pl.concat(
        [
            sessions("clickability:group=1", 0.2, 0.4, 0.9),
            sessions("clickability:group=10", 0.6, 0.6),
            sessions("click_deepest", 0.7, 0.5, 0.9),
            sessions("clickability:group=all", 0.1, 0.1),
        ]
    )
    (line,) = group_table(rows).to_dicts()
    assert (line["clicks"], line["dataset"]) == ("clickability:model=distance", "d")
    assert (line["groups"], line["targets"], line["trajectories"]) == (2, 2, 1)  # the third has no group 10
    assert [line[name] for name in ("base", "sample", "spread")] == pytest.approx([0.6, 0.45, 0.15])
    assert [line[name] for name in ("dsb", "dgr", "dhh")] == pytest.approx([-0.15, -0.3, -0.3])
    assert line["nsr"] == pytest.approx(100 * (0.2 / 0.4 + 0.1 / 0.5) / 2)
    (clicks,) = group_table(rows, "noc:threshold=0.5,against=round,limit=5").to_dicts()
    assert clicks["base"] == 1
    assert clicks["sample"] == pytest.approx((5 + 1) / 2)
    assert group_table(rows.filter(pl.col("prompter") != "click_deepest"))["dsb"].to_list() == [None]


def test_clicks_in_percent_and_failures_as_numbers() -> None:
    parts = [
        sessions("clickability:group=1", 0.5, 0.5, 0.9),
        sessions("clickability:group=10", 0.9, 0.5, 0.9),
        sessions("click_deepest", 0.9, 0.9, 0.9),
    ]
    rows = pl.concat(parts).with_columns(interactions=pl.col("round") + 1.0)
    (clicks,) = group_table(rows, "noc:threshold=0.9").to_dicts()
    assert clicks["dgr"] == pytest.approx(100 * (18 / 2) / 3)
    assert clicks["dsb"] == pytest.approx(100 * ((11 - 2) / 2 + (20 - 2) / 2 + 0) / 3)
    (failures,) = group_table(rows, "nof:threshold=0.9").to_dicts()
    assert [failures[name] for name in ("base", "sample", "spread", "dgr")] == [0, 1.5, 0.5, 1]


def test_trajectories_are_averaged() -> None:
    parts = [
        sessions(f"clickability:group={group}", dice, seed=seed)
        for group, seed, dice in ((1, 0, 0.2), (1, 1, 0.4), (10, 0, 0.8), (10, 1, 0.8))
    ]
    (line,) = group_table(pl.concat(parts)).to_dicts()
    assert (line["sample"], line["trajectories"]) == (pytest.approx(0.55), 2)


def drawn(**values: object) -> pl.DataFrame:
    """The table of RClicks' protocol for one model, with clicks of another click model."""
    usual = {"dataset": "tetris", "weights": "registered"}
    prompters = [row.prompter.replace("model=rclicks", "model=distance") for row in ROWS]
    rows = pl.concat([sessions(prompter, 0.95, **usual | values) for prompter in prompters])  # type: ignore[arg-type]
    return group_table(rows, PUBLISHED_METRIC)


def test_beside_the_published(wording: SnapshotAssertion) -> None:
    found, others = beside_published(drawn(model="sam:multimask=best,size=h"))
    known = published("tetris", "sam:multimask=best,size=h")
    assert known is not None
    assert found["source"].to_list() == ["ours", "published"]
    assert found["clicks"].to_list() == [
        "clickability:model=distance,mass=single,draws=published",
        "of the published network",
    ]
    assert found["base"].to_list()[1] == known.noc.base == 2.66
    assert found["dgr"].to_list()[1] == known.noc.dgr
    assert others == []
    for other in ({"weights": "random"}, {"dataset": "mine"}, {"model": "litemedsam"}):
        with pytest.raises(IntraBenchError) as caught:
            beside_published(drawn(**{"model": "sam:multimask=best,size=h"} | other))
        assert caught == wording


@pytest.mark.parametrize(
    ("ran", "published"),
    [
        ("sam:size=h", "sam:size=h,multimask=best"),
        ("sam:policy=radioactive", "sam:multimask=best"),
        ("sam2:multimask=best,size=l,release=2.0", "sam2:size=l,release=2.0,multimask=single"),
    ],
)
def test_what_was_not_run_as_published_is_not_compared(ran: str, published: str) -> None:
    sentence = f"{ran} is not compared, because RClicks ran {published}; give that to --model"
    with pytest.raises(IntraBenchError) as error:
        beside_published(drawn(model=ran))
    assert str(error.value) == sentence
    found, others = beside_published(pl.concat([drawn(model=ran), drawn(model=published)]))
    assert found.select("model", "source").rows() == sorted(
        [(ran, "ours"), (published, "ours"), (published, "published")]
    )
    assert others == [sentence]


def test_nothing_to_compare(wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        group_table(pl.concat([sessions("clickability:group=1", 0.5), sessions("click_deepest", 0.5)]))
    assert caught == wording


def test_cases_that_could_not_be_prepared_are_no_targets() -> None:
    rows = pl.concat([sessions("clickability:group=1", 0.2), sessions("clickability:group=10", 0.4)])
    whole = rows.with_columns(target=pl.lit("*"), case=pl.lit("9"), status=pl.lit("error"), dice=pl.lit(0.0))
    (line,) = group_table(pl.concat([rows, whole])).to_dicts()
    assert (line["targets"], line["sample"]) == (1, pytest.approx(0.3))


def test_specs_that_need_quotes_and_rows_of_older_versions() -> None:
    found = group_of("clickability:model=\"rclicks:size=64,weights='a+b.pth'\",group=2".replace("'", ""))
    assert found is not None
    assert found.common == 'clickability:model="rclicks:size=64,weights=a+b.pth"'
    rows = pl.concat([sessions("clickability:group=1", 0.2), sessions("clickability:group=10", 0.4)])
    assert group_table(rows.with_columns(model_version=pl.lit(None, pl.String)))["targets"].to_list() == [1]


def test_metrics_that_were_not_measured_or_have_no_end(wording: SnapshotAssertion) -> None:
    rows = pl.concat([sessions("clickability:group=1", 0.2), sessions("clickability:group=10", 0.4)])
    with pytest.raises(IntraBenchError) as caught:
        group_table(rows, "boundary_iou")
    assert caught == wording
    endless = rows.with_columns(hd95_mm=pl.lit(float("inf")))
    assert group_table(endless, "hd95").select("sample", "dgr").row(0) == (None, None)
    assert "number over targets" in describe_groups("nof")
    for spec in ("noc:threshold=nan", "noc:limit=0", "noc:threshold=2"):
        with pytest.raises(IntraBenchError) as caught:
            group_table(rows, spec)
        assert caught == wording
    with pytest.raises(IntraBenchError) as caught:
        group_table(rows, "auc:budget=inf")
    assert caught == wording


def many(patients: int) -> pl.DataFrame:
    """A target for each of some patients; clicks of group 10 are the better, the more the patient's number."""
    kinds = {"clickability:group=1": 0.01, "clickability:group=10": 0.02, "click_deepest": 0.03}
    return pl.concat(
        made.curve([0.4, 0.5 + step * number], case=str(number), prompter=make_prompter(name).spec)
        for name, step in kinds.items()
        for number in range(patients)
    ).with_columns(iou="dice", interactions=pl.col("round") + 1.0)


def test_intervals_are_those_of_the_mean_over_targets() -> None:
    rows = many(8)
    (line,) = group_table(rows, interval=True).to_dicts()
    base = scores(rows.filter(prompter=make_prompter("click_deepest").spec))
    known = intervals(base, ["model"], AGGREGATIONS["pooled"]).row(0, named=True)
    expected = [known[name] for name in ("value", "low", "high")]
    assert [line["base"], line["base_low"], line["base_high"]] == pytest.approx(expected)
    for name in ("sample", "spread", "dsb", "dgr", "dhh", "nsr"):
        assert line[f"{name}_low"] < line[name] < line[f"{name}_high"], name
    assert [one for one in group_table(rows).columns if one.endswith("_low")] == []
    (text,) = with_intervals(group_table(rows, interval=True)).select("base").to_series()
    assert text == f"{line['base']:.3f} [{line['base_low']:.3f}, {line['base_high']:.3f}]"


def test_few_patients_and_missing_baselines_have_no_interval() -> None:
    (line,) = group_table(many(5), interval=True).to_dicts()
    assert (line["base_low"], line["dgr_high"]) == (None, None)
    assert with_intervals(group_table(many(5), interval=True))["base"].to_list() == [f"{line['base']:.3f} [-]"]
    rows = many(8).filter(pl.col("prompter") != make_prompter("click_deepest").spec)
    (line,) = group_table(rows, interval=True).to_dicts()
    assert (line["base"], line["base_low"], line["dsb_high"]) == (None, None, None)
    assert line["dgr_low"] is not None


def test_failures_have_intervals_of_sums() -> None:
    (line,) = group_table(many(8), "nof:threshold=0.56", interval=True).to_dicts()
    assert (line["base"], line["sample"]) == (2, (6 + 3) / 2)
    assert 0 <= line["base_low"] <= 2 <= line["base_high"] <= 8
    assert line["spread_low"] is None


def test_noise_of_clicks_is_that_of_the_area(wording: SnapshotAssertion) -> None:
    rows = many(8)
    names = ("nsr", "nsr_low", "nsr_high")
    (area,) = group_table(rows, "rclicks_auc:metric=iou", interval=True).to_dicts()
    for metric in (PUBLISHED_METRIC, f"nof{PUBLISHED_METRIC[3:]}"):
        (line,) = group_table(rows, metric, interval=True).to_dicts()
        assert [line[name] for name in names] == pytest.approx([area[name] for name in names])
        assert describe_groups(metric) == wording
    assert describe_groups("dice") == wording


def test_without_groups_the_next_step_is_that_of_the_protocol(wording: SnapshotAssertion) -> None:
    base = sessions("click_deepest", 0.5)
    with pytest.raises(IntraBenchError) as caught:
        group_table(base)
    assert caught == wording
    with pytest.raises(IntraBenchError) as caught:
        group_table(base.with_columns(protocol=pl.lit("rclicks@1")))
    assert caught == wording


def test_which_table_goes_further() -> None:
    groups = [f"clickability:model=distance,group={group}" for group in (1, 10)]
    assert further([*groups, "click_deepest"]) == "--groups"
    assert further([groups[0], "clickability:model=uniform,group=10"]) == ""
    assert further(["recorded:clicks=f.csv", "click_deepest"]) == "--users"
