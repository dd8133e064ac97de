"""Aggregation by hand: instance, case, data set; failures, not applicable, early stops."""

from __future__ import annotations

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.errors import IntraBenchError
from intrabench.reporting.table import Layout, effort_table, readable, round_table, seen_in_training
from intrabench.results.schema import SCHEMA
from intrabench.statistics.evaluation import STATISTICAL
from tests.results import made


def frame(*rows: tuple[str, str, str, int, str, float | None]) -> pl.DataFrame:
    """Rows ``dataset, case, target, round, status, dice`` of one prompter and model."""
    columns = ("dataset", "case", "target", "round", "status", "dice")
    shared = {"model_version": "1", "weights_sha256": "", "dtype": "float32", "strict": False, "written_at": 1}
    shared |= {"protocol": "basic@1", "prompter": "p", "model": "m", "seed": 0, "interactions": 2.0}
    data = [
        {**shared, **dict(zip(columns, row, strict=True)), "session": "/".join(row[:3]), "hd95_mm": 1.0} for row in rows
    ]
    return pl.DataFrame(data, schema=SCHEMA | made.METRICS)


def test_mean_over_instances_then_cases_then_data_sets() -> None:
    rows = frame(
        ("a", "1", "x.1", 0, "ok", 0.2),
        ("a", "1", "x.2", 0, "ok", 0.4),
        ("a", "2", "x.1", 0, "ok", 0.9),
        ("b", "1", "y.1", 0, "empty", 0.0),
    )
    (line,) = effort_table(rows).rows(named=True)
    assert line["a"] == pytest.approx((0.3 + 0.9) / 2)
    assert (line["b"], line["sessions"], line["failed"]) == (0.0, 4, 0)
    assert line["average"] == pytest.approx(0.3)
    assert line["interactions"] == 2.0


def test_failures_count_as_the_worst_and_are_counted() -> None:
    rows = frame(("a", "1", "x.1", 0, "ok", 0.8), ("a", "1", "x.2", 0, "oom", 0.0), ("a", "2", "*", 0, "error", 0.0))
    (line,) = effort_table(rows).rows(named=True)
    assert line["a"] == pytest.approx((0.4 + 0.0) / 2)
    assert (line["failed"], line["sessions"]) == (2, 2)
    assert effort_table(rows, Layout("hd95_mm"))["a"][0] == float("inf")


def test_not_applicable_is_in_no_mean() -> None:
    rows = frame(("a", "1", "x.1", 0, "ok", 0.8), ("a", "1", "x.2", 0, "not_applicable", None))
    (line,) = effort_table(rows).rows(named=True)
    assert (line["a"], line["not_applicable"], line["failed"]) == (0.8, 1, 0)


def test_the_columns_that_are_read_are_enough() -> None:
    rows = frame(
        ("a", "1", "x.1", 0, "ok", 0.8),
        ("a", "1", "x.1", 1, "ok", 0.9),
        ("a", "1", "x.2", 0, "not_applicable", None),
        ("a", "2", "*", 0, "error", 0.0),
        ("b", "1", "y.1", 0, "oom", 0.0),
    ).with_columns(seen_in_training=pl.lit("yes"))
    assert effort_table(rows.select(STATISTICAL)).equals(effort_table(rows))
    assert seen_in_training(rows.select(STATISTICAL)) == seen_in_training(rows) != []


def test_the_last_state_is_carried_forward_and_rounds_can_be_chosen() -> None:
    rows = frame(
        ("a", "1", "x.1", 0, "ok", 0.1),
        ("a", "1", "x.1", 1, "ok", 0.5),
        ("a", "1", "x.1", 2, "ok", 0.7),
        ("a", "1", "x.2", 0, "stopped", 1.0),
    )
    assert effort_table(rows)["a"][0] == pytest.approx(0.85)
    assert effort_table(rows, Layout(round=1))["a"][0] == pytest.approx(0.75)
    assert effort_table(rows, Layout(round=0))["a"][0] == pytest.approx(0.55)


def test_no_average_where_a_data_set_is_missing() -> None:
    rows = frame(("a", "1", "x.1", 0, "ok", 0.8), ("b", "1", "x.1", 0, "not_applicable", None))
    assert effort_table(rows)["average"].to_list() == [None]


def test_people_see_trouble_only_where_there_is_some() -> None:
    fine = readable(effort_table(frame(("a", "1", "x.1", 0, "ok", 0.8))))
    assert fine.columns == ["prompter", "model", "sessions", "interactions", "human s", "a"]
    trouble = frame(("a", "1", "x.1", 0, "error", 0.0), ("b", "1", "x.1", 0, "not_applicable", None))
    assert {"failed", "n/a", "average"} <= set(readable(effort_table(trouble)).columns)


def test_of_two_versions_of_a_target_the_newest_session_counts() -> None:
    rows = frame(("a", "1", "x.1", 0, "ok", 0.2), ("a", "1", "x.2", 0, "ok", 0.6))
    newer = rows.head(1).with_columns(session=pl.lit("other"), dice=0.4, written_at=pl.lit(2, pl.Int64))
    (line,) = effort_table(pl.concat([rows, newer])).rows(named=True)
    assert (line["a"], line["sessions"]) == (0.5, 2)


def test_weights_and_strictness_make_lines_of_their_own() -> None:
    rows = frame(("a", "1", "x.1", 0, "ok", 0.2))
    others = [rows.with_columns(session=pl.lit("w"), weights_sha256=pl.lit("f" * 64), dice=0.8)]
    others += [rows.with_columns(session=pl.lit("s"), strict=True, dice=0.9)]
    table = readable(effort_table(pl.concat([rows, *others])))
    assert sorted(table["a"].to_list()) == [0.2, 0.8, 0.9]
    assert {"weights_sha256", "strict"} <= set(table.columns)
    assert "dtype" not in table.columns


def test_rows_of_a_published_table_go_by_their_names() -> None:
    rows = frame(("a", "1", "x.1", 0, "ok", 0.2)).with_columns(
        prompter=pl.lit("box_interp:n=3"), protocol=pl.lit("intrabench@1"), stop=pl.lit("dice=0.9")
    )
    assert readable(effort_table(rows))["prompter"].to_list() == ["3B Inter"]
    assert effort_table(rows)["prompter"].to_list() == ["box_interp:n=3"]
    assert readable(effort_table(rows.with_columns(protocol=pl.lit("basic@1"))))["prompter"][0] == "box_interp:n=3"


def test_a_line_per_round(wording: SnapshotAssertion) -> None:
    played = frame(("a", "1", "x.1", 0, "ok", 0.2), ("a", "1", "x.1", 1, "ok", 0.4), ("a", "1", "x.2", 0, "ok", 0.6))
    static = frame(("a", "1", "x.1", 0, "ok", 0.9)).with_columns(prompter=pl.lit("static"))
    table = round_table(pl.concat([played, static]))
    assert table.select("prompter", "round", "a").rows() == [("p", 0, 0.4), ("p", 1, 0.5), ("static", 0, 0.9)]
    assert round_table(played, Layout(round=0)).select("round", "a").rows() == [(0, 0.4)]
    assert readable(table)["round"].to_list() == [0, 1, 0]
    with pytest.raises(IntraBenchError) as caught:
        round_table(played, Layout(round=-1))
    assert caught == wording


def test_no_rows_of_a_round(wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        effort_table(frame(("a", "1", "x.1", 0, "ok", 0.2)), Layout(round=-1))
    assert caught == wording


def test_unknown_metric() -> None:
    with pytest.raises(IntraBenchError, match="no metric 'dise'"):
        effort_table(frame(), Layout("dise"))


def test_models_that_were_trained_on_the_data_are_named(wording: SnapshotAssertion) -> None:
    rows = pl.DataFrame(
        {
            "model": ["segvol", "segvol", "sam", "segvol"],
            "dataset": ["amos", "amos", "amos", "mine"],
            "seen_in_training": ["yes", "yes", "no", "unknown"],
        }
    )
    assert seen_in_training(rows) == wording


def test_weights_of_different_models_are_no_column() -> None:
    frame = pl.DataFrame({"model": ["a", "b"], "weights": ["", "registered"], "weights_sha256": ["", "x"]})
    others = {"protocol": "basic@1", "prompter": "box_slice", "dtype": "float32", "strict": False}
    numbers = {"failed": 0, "not_applicable": 0, "interactions": 1.0, "dof": 1.0, "seconds_human": 1.0, "d": 0.5}
    full = frame.with_columns(**{k: pl.lit(v) for k, v in {**others, **numbers, "average": 0.5}.items()})
    assert not {"weights", "weights_sha256"} & set(readable(full).columns)
    assert "weights_sha256" in readable(full.with_columns(model=pl.lit("a"))).columns
    untrained = readable(full.with_columns(weights=pl.lit("random")))["model"]
    assert untrained.to_list() == ["a (random weights)", "b (random weights)"]
