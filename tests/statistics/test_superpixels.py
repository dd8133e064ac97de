"""Superpixels: the worst annotation of an image counts everywhere, and ranks are those of data sets, averaged."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from intrabench.errors import IntraBenchError
from intrabench.publishing.board.lines import stated_lines, tables_of
from intrabench.publishing.board.tables import _table
from intrabench.reporting.superpixels import beside_published, summary_table
from intrabench.reporting.table import Layout, effort_table
from intrabench.results.store import Store
from intrabench.statistics.compare import Settings, compare
from intrabench.statistics.coverage import on_shared
from intrabench.statistics.notes import adapted
from intrabench.statistics.scores import scores
from intrabench.statistics.statistic import Statistic, averages
from intrabench.statistics.steps import steps
from intrabench.statistics.superpixels import superpixel_scores
from tests.conftest import Said
from tests.results import made

PEOPLE: dict[str, dict[str, tuple[float, ...]]] = {
    "p": {"slic": (0.1, 0.5), "felzenszwalb": (0.3, 0.3)},
    "q": {"slic": (0.2,), "felzenszwalb": (0.3,)},
}
"""UE by image, method and person: slic is 0.5 and 0.2, felzenszwalb 0.3; of means over people slic were better."""
UE = {"slic": 0.35, "felzenszwalb": 0.3}


def spec(method: str, segments: int = 400) -> str:
    return f"supervoxels:method={method},segments={segments}"


def divided(values: dict[tuple[str, str, str, str], tuple[float, float]]) -> pl.DataFrame:
    """Rows of images: (Rec, UE) by data set, image, method and person."""
    rows = made.rows(
        *(
            {"dataset": dataset, "case": case, "model": spec(method), "label": person}
            for dataset, case, method, person in values
        ),
        protocol="superpixels@1",
        prompter="partition",
        metrics="rec@1 ue_np@1 ev@1 sp@1",
        instance=0,
        dice=None,
    )
    rec, ue = zip(*values.values(), strict=True)
    numbers = {"rec": rec, "ue_np": ue, "ev": [1.0] * len(rec), "sp": [400.0] * len(rec)}
    series = [pl.Series(name, each, dtype=pl.Float64) for name, each in numbers.items()]
    return rows.drop(made.METRICS).with_columns(series)


def annotated() -> pl.DataFrame:
    return divided(
        {
            ("d", image, method, f"person{n}"): (1 - value, value)
            for image, methods in PEOPLE.items()
            for method, each in methods.items()
            for n, value in enumerate(each, start=1)
        }
    )


def of_methods(values: dict[str, dict[str, float]], images: int = 8) -> pl.DataFrame:
    """Rows with AMR 0 and these AUE in percent, by data set and method."""
    return divided(
        {
            (dataset, f"i{image}", method, "annotation"): (1.0, value / 100)
            for dataset, methods in values.items()
            for method, value in methods.items()
            for image in range(images)
        }
    )


def store(rows: pl.DataFrame) -> None:
    kept = [{name: value for name, value in row.items() if value is not None} for row in rows.to_dicts()]
    Store(Path("intrabench-results"), "run").write_part(kept, [])


def test_every_mean_is_of_the_worst_annotation() -> None:
    rows = annotated()
    of_table = dict(effort_table(rows, Layout("ue_np")).select("model", "d").iter_rows())
    assert of_table == {spec(method): pytest.approx(value) for method, value in UE.items()}
    assert effort_table(rows, Layout("ue_np"))["sessions"].to_list() == [2, 2]
    curves = superpixel_scores(rows).curves
    assert dict(curves.select("method", "ue_np").iter_rows()) == {name: pytest.approx(ue) for name, ue in UE.items()}
    high = dict(effort_table(rows, Layout("rec")).select("model", "d").iter_rows())
    assert high == {spec(method): pytest.approx(1 - value) for method, value in UE.items()}
    stated = {line["model"]: line for line in stated_lines(rows)}
    assert {model: line["means"]["ue_np@1"] for model, line in stated.items()} == pytest.approx(of_table)
    assert {(line["targets"], line["cases"], line["sessions"]) for line in stated.values()} == {(2, 2, 2)}
    assert sorted(steps(rows, "ue_np").value.tolist()) == [0.2, 0.3, 0.3, 0.5]


def test_a_comparison_pairs_images_whoever_is_worst() -> None:
    rows = annotated()
    slic, other = (rows.filter(pl.col("model") == spec(method)) for method in UE)
    found = compare(slic, other, Settings("ue_np"))
    line = found.datasets.row(0, named=True)
    assert (line["units"], line["difference"]) == (2, pytest.approx(0.05))
    assert (found.only_a, found.only_b) == (0, 0)
    assert found.extremes.select("case", "difference").rows() == [("p", 0.2), ("q", pytest.approx(-0.1))]


def test_a_board_counts_images_and_ranks_all_lines() -> None:
    rows = annotated().with_columns(submission=pl.lit("s"))
    (part,) = tables_of(rows)
    table = _table(part)
    assert table.targets == 2
    assert [(line.status, line.counts["targets"]) for line in table.lines] == [("ranked", 2)] * 2
    column = next(one for one in table.columns if one.id == "ue_np@1")
    names = {line.number: line.model for line in table.lines}
    means = {names[line.number]: line.means[column.id][0] for line in table.lines}
    assert sorted(means.values()) == [pytest.approx(0.3), pytest.approx(0.35)]  # type: ignore[type-var]
    assert column.how == averages(["superpixels@1"])


def test_other_protocols_keep_each_annotation() -> None:
    rows = annotated().with_columns(protocol=pl.lit("basic@1"))
    assert scores(rows, "ue_np").height == rows.height
    assert averages(["basic@1"]).description.startswith("mean over the instances")
    both = averages(["basic@1", "superpixels@1"])
    assert (both.name, "worst" in both.description) == ("protocol", False)
    assert averages(["superpixels@1"]).description.startswith("worst annotation")
    assert Statistic("rec").of_protocols(["superpixels@1"]).how.name == "case"


def test_a_failure_of_one_annotation_is_the_images() -> None:
    rows = annotated().with_columns(
        status=pl.when(pl.col("session").str.contains("person1"), pl.col("case") == "p")
        .then(pl.lit("error"))
        .otherwise("status")
    )
    found = scores(rows, "ue_np").filter(pl.col("case") == "p")
    assert found.select("value", "failed", "target").unique().rows() == [(1.0, True, "annotation.0")]


def test_notes_count_images() -> None:
    divided = pl.when(pl.col("case") == "p").then(pl.lit("2 supervoxels instead of 400"))
    (note,) = adapted(annotated().with_columns(adapted=divided), ["protocol"]).iter_rows(named=True)
    assert (note["sessions"], note["of"]) == (2, 4)  # of two methods


def test_shared_images_keep_the_rows_of_all_people() -> None:
    rows = annotated()
    lacking = rows.filter((pl.col("case") == "p") | (pl.col("model") == spec("slic")))
    kept, sentences = on_shared(lacking, scores(lacking, "ue_np"), ["model"])
    assert set(kept["case"]) == {"p"}
    assert (kept.height, len(sentences)) == (4, 1)
    assert scores(kept, "ue_np")["value"].sort().to_list() == [0.3, 0.5]


def test_ranks_are_averaged_over_data_sets() -> None:
    table = summary_table(
        superpixel_scores(of_methods({"d": {"A": 1, "B": 2, "C": 3}, "e": {"A": 10, "B": 5, "C": 6}}))
    )
    average = table.filter(pl.col("dataset") == "average")
    assert average.select("method", "rank", "ranks").rows() == [
        ("B", 1.5, "1: 1, 2: 1"),
        ("A", 2.0, "1: 1, 3: 1"),
        ("C", 2.5, "2: 1, 3: 1"),
    ]
    assert average["AUE"].to_list() == pytest.approx([3.5, 5.5, 4.5])  # by the mean, C were before A
    each = {(dataset, method): rank for dataset, method, rank in table.select("dataset", "method", "rank").iter_rows()}
    assert [each["e", method] for method in "ABC"] == [3, 1, 2]


def test_a_method_without_a_data_set_has_ranks_on_the_others() -> None:
    found = superpixel_scores(of_methods({"d": {"A": 1, "B": 2, "C": 2}, "e": {"B": 5, "C": 6}}))
    table = summary_table(found)
    assert table.filter(dataset="average").select("method", "rank").rows() == [("B", 1.5), ("C", 2.0)]
    assert table.filter(dataset="d").select("method", "rank").rows() == [("A", 1), ("B", 2), ("C", 2)]
    assert found.ranked.left_out.rows() == [("A", ["e"])]


def test_published_ranks_are_among_the_methods_that_both_have() -> None:
    found = of_methods({"d": {"grid": 1, "slic": 5, "felzenszwalb": 3, "watershed": 4}})
    lines = beside_published(superpixel_scores(found)).select("algorithm", "rank", "rank_paper", "average_rank_of_28")
    assert lines.rows() == [("FH", 1, 3, 19.0), ("W", 2, 2, 12.8), ("SLIC", 3, 1, 6.2)]
    with pytest.raises(IntraBenchError, match="none of these methods"):
        beside_published(superpixel_scores(found.filter(pl.col("model") == spec("grid"))))


def test_ranks_are_of_the_images_that_all_methods_have() -> None:
    rows = of_methods({"d": {"slic": 1, "grid": 2}})
    easy = pl.col("case").is_in(["i0", "i1"]) & (pl.col("model") == spec("grid"))
    rows = rows.with_columns(ue_np=pl.when(easy).then(0.0).otherwise("ue_np"))  # grid: 0.015 on all, 0.02 on the rest
    rows = rows.filter(~(pl.col("case").is_in(["i0", "i1"]) & (pl.col("model") == spec("slic"))))
    hard = rows.with_columns(ue_np=pl.when(pl.col("model") == spec("slic")).then(0.018).otherwise("ue_np"))
    found = superpixel_scores(hard)
    table = summary_table(found).sort("method")
    assert table.select("method", "rank", "images").rows() == [("grid", 2, 8), ("slic", 1, 6)]
    assert table["AUE"].to_list() == pytest.approx([1.5, 1.8])
    assert "the 6 of 8" in found.notes()[-1]
    apart = (pl.col("model") == spec("slic")) == pl.col("case").is_in(["i2", "i3", "i4"])
    assert summary_table(superpixel_scores(hard.filter(apart)))["rank"].null_count() == 2


def test_commands_say_the_same(say: Callable[..., Said]) -> None:
    store(annotated())
    slic, other = (spec(method) for method in UE)
    numbers = pl.read_csv(io.StringIO(say("superpixels", "table", "--metric", "ue_np", "--csv").out))
    of_table = pl.read_csv(io.StringIO(say("table", "--metric", "ue_np", "--csv").out))
    difference = json.loads(say("compare", slic, other, "--metric", "ue_np", "--json").out)[0]["datasets"][0]
    power = json.loads(say("power", slic, other, "--metric", "ue_np", "--json").out)
    assert sorted(numbers["UE"]) == sorted(of_table["d"]) == pytest.approx([0.3, 0.35])
    assert difference["difference"] == pytest.approx(UE["slic"] - UE["felzenszwalb"])
    assert (difference["units"], difference["patients"]) == (2, 2)
    assert "0.05" in json.dumps(power)
    assert "worst annotation" in say("table", "--metric", "ue_np").out
    assert "2 targets in 1" in say("methods", "--metric", "ue_np").out
