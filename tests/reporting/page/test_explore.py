"""Labels, cases and targets side by side: the numbers of the tables, and what is too much for a page."""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.reporting.page import explore
from intrabench.reporting.page.explore import explored
from intrabench.reporting.page.leading_score import leading_score
from intrabench.reporting.page.strata import strata
from intrabench.reporting.table import Layout, effort_table
from intrabench.statistics.aggregate import AGGREGATIONS
from intrabench.statistics.evaluation import with_lines
from intrabench.statistics.scores import scores
from intrabench.statistics.statistic import Statistic
from tests.reporting.page.page_of import report, store
from tests.results.made import rows
from tests.wording import line_with


def several() -> pl.DataFrame:
    """Two models on two data sets; the liver is in both, twice in case a; one session failed, one is a whole case."""

    def one(dice: float, case: str, label: str, instance: int = 1, **more: Any) -> dict[str, Any]:
        return {"dice": dice, "case": case, "label": label, "instance": instance, **more}

    return rows(
        one(0.2, "a", "liver", 1),
        one(0.4, "a", "liver", 2),
        one(0.9, "b", "liver"),
        one(0.5, "b", "spleen"),
        one(0.7, "c", "liver", dataset="other"),
        one(0.8, "a", "liver", 1, model="n"),
        one(0.6, "b", "spleen", model="n", status="error", error="so"),
    )


def told(
    given: pl.DataFrame, how: str = "protocol"
) -> tuple[dict[str, Any], dict[str, dict[tuple[str, ...], list[Any]]]]:
    """What the page gets, and by level the values of every line by the names of a row."""
    given, lines = with_lines(given)
    found = explored(scores(given), lines, leading_score(given["protocol"], Statistic(how=AGGREGATIONS[how])))
    data = json.loads(zlib.decompress(base64.b64decode(found["text"])))
    levels = {
        level["name"]: dict(
            zip(zip(*level["keys"].values(), strict=True), zip(*level["values"], strict=True), strict=True)
        )
        for level in data["levels"]
    }
    return {**found, "data": data}, levels  # type: ignore[dict-item]


def test_means_by_label_case_and_target() -> None:
    found, levels = told(several())
    assert [line["model"] for line in found["data"]["lines"]] == ["m", "n"]
    assert levels["label"] == {
        ("liver", "average"): (0.65, 0.8),  # 0.6 and 0.7
        ("liver", "d"): (0.6, 0.8),  # case a has 0.3, b 0.9
        ("liver", "other"): (0.7, None),
        ("spleen", "d"): (0.5, 0.0),  # a failure counts as the worst value
    }
    assert levels["case"] == {("a", "d"): (0.3, 0.8), ("b", "d"): (0.7, 0.0), ("c", "other"): (0.7, None)}
    assert levels["target"]["a", "liver.2", "liver", "d"] == (0.4, None)
    assert len(levels["target"]) == 5
    assert found["data"]["levels"][0]["counts"]["targets"] == [4, 3, 1, 1]
    assert found["data"]["levels"][0]["fewer"] == [[None] * 4, [1, 1, None, None]]  # means that are not comparable
    assert "fewer" not in found["data"]["levels"][2]


@pytest.mark.parametrize("how", AGGREGATIONS)
def test_labels_have_the_numbers_of_the_table_by_label(how: str) -> None:
    """Of a label that several data sets have, the table has the mean over these, which is the row of their average."""
    _, levels = told(several(), how)
    table = effort_table(several(), Layout(by=["model"], columns="label", how=AGGREGATIONS[how]))
    for label, dataset in (("liver", "average"), ("spleen", "d")):
        assert levels["label"][label, dataset] == pytest.approx(tuple(table[label]))


def test_a_table_with_too_many_values_is_left_out_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    monkeypatch.setattr(explore, "MOST", 9)
    found, levels = told(several())
    assert (set(levels), found["left_out"]) == ({"label", "case"}, ["5 targets"])
    page, _ = report(store(tmp_path / "results", several()))
    assert line_with(page.text, "this page") == wording


def test_infinite_and_missing_values_are_no_numbers() -> None:
    given, lines = with_lines(several())
    scored = scores(given).with_columns(value=pl.when(pl.col("case") == "a").then(float("inf")).otherwise(None))
    found = explored(scored, lines, leading_score(given["protocol"], Statistic(how=AGGREGATIONS["pooled"])))
    level = json.loads(zlib.decompress(base64.b64decode(found["text"])))["levels"][1]
    assert level["values"][0] == ["Infinity", None, None]


def test_sizes_of_photographs_are_pixels() -> None:
    given = rows(
        *({"case": f"s{n}", "target_ml": 1.0 + n, "dice": 0.1 * n} for n in range(3)),
        *({"case": f"p{n}", "target_ml": 2.0 + n, "dice": 0.5, "dataset": "photos"} for n in range(3)),
    )
    given, _ = with_lines(given)
    assert strata(scores(given), {"photos"}).select("show", "value").rows() == [
        ("small, 1 ml (1), 2\u202f000 pixels (1)", 0.25),
        ("medium, 2 ml (1), 3\u202f000 pixels (1)", pytest.approx(0.3)),
        ("large, 3 ml (1), 4\u202f000 pixels (1)", pytest.approx(0.35)),
    ]
