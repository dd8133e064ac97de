"""Means over other targets are not comparable: which lines have what, and what they share."""

from __future__ import annotations

import polars as pl
from syrupy.assertion import SnapshotAssertion

from intrabench.statistics.coverage import coverage, on_shared, partial_lines, shared, unequal


def scored(**lines: dict[str, list[float | None]]) -> pl.DataFrame:
    """Values of lines by data set, a target each; None: no value."""
    rows = [
        {"line": line, "protocol": "basic@1", "dataset": name, "case": f"c{at}", "label": "l", "target": f"l.{at}"}
        | {"seed": 0, "value": value}
        for line, sets in lines.items()
        for name, values in sets.items()
        for at, value in enumerate(values)
    ]
    return pl.DataFrame(rows, schema_overrides={"value": pl.Float64})


FULL, HALF, FEW = [0.8] * 8, [0.9] * 4 + [None] * 4, [0.95] * 3
BY = ["line"]


def test_a_line_with_half_of_the_targets_is_compared_on_them_and_one_with_fewer_is_left_out(
    wording: SnapshotAssertion,
) -> None:
    every = scored(base={"d": FULL}, other={"d": FULL}, own={"d": HALF}, tried={"d": FEW})
    found = coverage(every, BY)
    assert found.rows() == [(name, "d", n, 8, 8) for name, n in (("base", 8), ("other", 8), ("own", 4), ("tried", 3))]
    common, left_out = shared(every, BY)
    assert left_out["line"].to_list() == ["tried"]
    rows, sentences = on_shared(every, every, BY)
    assert sentences == wording
    assert rows.filter(pl.col("value").is_not_null()).equals(common.filter(pl.col("value").is_not_null()))
    assert set(common.select("line", "case").rows()) == {
        (one, f"c{n}") for one in ("base", "other", "own") for n in range(4)
    }
    assert unequal(every, BY).select("line", "note", "sessions", "of").rows() == [
        ("own", "fewer targets: 4 of 8", 4, 8),
        ("tried", "fewer targets: 3 of 8", 3, 8),
    ]


def test_lines_on_the_same_targets_stay_as_they_are() -> None:
    every = scored(base={"d": FULL, "e": FULL}, own={"d": FULL, "e": FULL})
    common, left_out = shared(every, BY)
    assert (common.height, left_out.height, unequal(every, BY).height) == (every.height, 0, 0)
    assert on_shared(every, every, BY)[1] == []


def test_a_line_that_lacks_a_whole_data_set_has_no_mean_there_that_could_mislead() -> None:
    every = scored(base={"d": FULL, "e": FULL}, own={"d": FULL}, half={"d": HALF, "e": HALF})
    assert partial_lines(coverage(every, BY), BY).is_empty()
    assert unequal(every, BY)["line"].to_list() == ["half", "half"]
    common, _ = shared(every, BY)
    assert common.group_by("line", "dataset").len().sort("line", "dataset").rows() == [
        *(("base", "d", 4), ("base", "e", 4), ("half", "d", 4), ("half", "e", 4), ("own", "d", 4)),
    ]


def test_a_line_with_many_targets_does_not_throw_out_those_of_the_others() -> None:
    every = scored(most={"d": FULL}, **{name: {"d": FEW} for name in ("a", "b", "c")})
    common, left_out = shared(every, BY)
    assert left_out.is_empty()
    assert common.group_by("line").len().sort("line").rows() == [("a", 3), ("b", 3), ("c", 3), ("most", 3)]
    two, left_out = shared(scored(most={"d": FULL}, few={"d": [0.9]}), BY)
    assert (left_out.height, two.height) == (0, 2)


def test_what_belongs_to_a_target_sets_lines_apart_that_nobody_compares() -> None:
    every = scored(base={"d": FULL}, own={"d": HALF})
    for by in (["case"], ["line", "case"], ["line", "dataset"], ["dataset"]):
        assert unequal(every, by)["sessions"].to_list() == ([4] if by == ["line", "dataset"] else [])
        assert unequal(every, by, "line").is_empty()  # columns are not compared with each other
    common, _ = shared(every, ["line", "case"])
    assert common["case"].n_unique() == 8  # a case that only one line has is compared with nothing


def test_seeds_are_not_targets() -> None:
    one = scored(base={"d": FULL}, own={"d": FULL})
    more = pl.concat([one, one.filter(pl.col("line") == "base").with_columns(seed=pl.lit(1, pl.Int64))])
    assert coverage(more, BY)["targets"].to_list() == [8, 8]
    assert shared(more, BY)[0].height == more.height


def test_sessions_without_a_value_stay_with_their_target_and_a_data_set_with_nothing_shared_is_named(
    wording: SnapshotAssertion,
) -> None:
    other = [None] * 4 + [0.9] * 4
    every = scored(one={"d": FULL, "e": HALF}, two={"d": [None, *FULL[1:]], "e": other})
    rows, sentences = on_shared(every, every, BY, {("one",): "first", ("two",): "second"})
    assert rows["dataset"].unique().to_list() == ["d"]
    assert rows.height == 14
    assert sentences == wording
    nothing = scored(one={"e": HALF}, two={"e": other})
    assert on_shared(nothing, nothing, BY)[0].is_empty()
