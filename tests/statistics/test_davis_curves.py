"""The summary of DAVIS from rows: equal to the one from its reports."""

from __future__ import annotations

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.davis.summary import Curve, curve
from intrabench.errors import IntraBenchError
from intrabench.statistics.aggregate import AGGREGATIONS, aggregate
from intrabench.statistics.davis_curves import mean_curves
from intrabench.statistics.measures import measured
from intrabench.statistics.steps import steps
from tests.davis.golden import GOLDEN, REPORT
from tests.davis.test_summary import SAMPLES, STORED
from tests.results import made


def rows_of(report: pl.DataFrame) -> pl.DataFrame:
    """Rows of joint sessions with the numbers of a report; each target has its share of the time."""
    keys = ["sequence", "scribble_idx", "object_id", "interaction"]
    found = []
    for one in report.group_by(keys).agg(pl.col("j_and_f", "timing").mean()).sort(keys).iter_rows(named=True):
        objects = SAMPLES[one["sequence"], one["scribble_idx"]]
        joint = f"{one['sequence']}/{one['scribble_idx']}"
        found.append(
            {
                "case": one["sequence"],
                "target": f"object.{one['object_id']}",
                "instance": one["object_id"],
                "session": f"{joint}/{one['object_id']}",
                "joint": joint,
                "seed": one["scribble_idx"],
                "round": one["interaction"] - 1,
                "dice": one["j_and_f"],
                "encode_s": 0.0,
                "segment_s": one["timing"] / objects,
            }
        )
    return made.rows(*found)


@pytest.mark.parametrize("name", ["A_complete_i5_t60", "B_timeouts_i5_t60"])
def test_equal_to_the_published_summary(name: str) -> None:
    report = pl.read_csv(GOLDEN / "summaries" / f"{name}.csv", schema_overrides=REPORT)
    given = STORED["cases"][name]["params"]
    found = set(report.select("sequence", "scribble_idx").iter_rows())
    there = {key: count for key, count in SAMPLES.items() if key in found}  # a session without an answer has a row here
    expected, rows = curve(report, there, given["max_i"], given["max_t"]), rows_of(report)
    for spec, value in (
        ("davis_auc:metric=dice,seconds=60", expected.auc),
        ("davis_auc:metric=dice,seconds=60,step=yes", expected.auc_step),
        ("davis_at:metric=dice,after=20", expected.at(20)),
        ("davis_at:metric=dice,after=20,step=yes", expected.at(20, step=True)),
    ):
        assert measured(rows, spec)["value"].mean() == pytest.approx(value, abs=1e-12)


def test_by_hand_and_single_sessions(wording: SnapshotAssertion) -> None:
    one = made.curve([0.4, 0.8], instance=0, segment_s=10.0, encode_s=0.0).with_columns(j_and_f=pl.col("dice"))
    area = (10 * 0.4 / 2 + 10 * 0.6 + 80 * 0.8) / 100
    assert measured(one, "davis_auc:seconds=100")["value"].to_list() == pytest.approx([area])
    assert measured(one, "davis_at:after=15")["value"].to_list() == pytest.approx([0.6])
    assert measured(one, "davis_at:after=15,step=yes")["value"].to_list() == pytest.approx([0.4])
    with pytest.raises(IntraBenchError) as caught:
        measured(one, "davis_auc:seconds=0")
    assert caught == wording


def test_lines_of_other_rules_have_a_time_axis_of_their_own() -> None:
    quick = made.curve([0.4, 0.8], instance=0, segment_s=10.0, encode_s=0.0)
    slow = made.curve([0.4, 0.8], instance=0, segment_s=40.0, encode_s=0.0, joint_rules="others=negative", session="s")
    alone = [measured(one, "davis_auc:metric=dice,seconds=100")["value"].to_list() for one in (quick, slow)]
    both = measured(pl.concat([quick, slow]), "davis_auc:metric=dice,seconds=100")
    assert sorted(both["value"].to_list()) == pytest.approx(sorted(alone[0] + alone[1]))
    assert alone[0] != alone[1]


def test_the_drawn_curve_is_the_published_one_and_has_the_area_of_the_table() -> None:
    name = "A_complete_i5_t60"
    report = pl.read_csv(GOLDEN / "summaries" / f"{name}.csv", schema_overrides=REPORT)
    given = STORED["cases"][name]["params"]
    expected = curve(report, SAMPLES, given["max_i"], given["max_t"])
    rows = rows_of(report).with_columns(line=pl.lit(0))
    drawn = mean_curves(steps(rows), 60, AGGREGATIONS["pooled"])
    assert drawn.columns == ["line", "dataset", "value", "time_s"]
    assert drawn["time_s"].to_list() == pytest.approx(expected.time_s, abs=1e-9)
    assert drawn["value"].to_list() == pytest.approx(expected.quality, abs=1e-12)
    area = aggregate(measured(rows, "davis_auc:metric=dice,seconds=60"), ["line"], AGGREGATIONS["pooled"])["value"][0]
    assert Curve(tuple(drawn["time_s"]), tuple(drawn["value"])).auc == pytest.approx(area, abs=1e-12)


def test_a_session_without_a_value_is_in_no_mean_of_the_drawn_curve() -> None:
    played = made.curve([0.4, 0.8], instance=0, segment_s=10.0, encode_s=0.0)
    silent = made.curve([0.0], instance=1, segment_s=0.0, encode_s=0.0).with_columns(status=pl.lit("not_applicable"))
    rows = pl.concat([played, silent], how="diagonal_relaxed").with_columns(line=pl.lit(0))
    drawn = mean_curves(steps(rows), 50, AGGREGATIONS["pooled"])
    assert drawn["value"].to_list() == pytest.approx([0, 0.4, 0.8, 0.8])
    area = aggregate(measured(rows, "davis_auc:metric=dice,seconds=50"), ["line"], AGGREGATIONS["pooled"])["value"][0]
    assert Curve(tuple(drawn["time_s"]), tuple(drawn["value"])).auc == pytest.approx(area)
