"""The report's claims of the best line, against the paired t test."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy.stats import ttest_rel
from syrupy.assertion import SnapshotAssertion

from intrabench.reporting.page.leading_score import leading_score
from intrabench.reporting.page.listings import claim_section
from intrabench.statistics.evaluation import with_lines
from intrabench.statistics.measures import measured
from intrabench.statistics.scores import scores
from intrabench.statistics.statistic import Statistic
from tests.reporting.page.test_pairs import made
from tests.results.made import rows
from tests.wording import sentence_with


def section(given: pl.DataFrame) -> dict[str, object]:
    played, lines = with_lines(given)
    return claim_section(scores(played), lines, leading_score(played["protocol"], Statistic("")))


def test_the_best_line_against_all_others(wording: SnapshotAssertion) -> None:
    given, dice = made({"a": 0.5, "b": 0.62, "c": 0.6}, cases=60)
    found = section(given)
    grid = found["claims"]
    assert {row[0].text for row in grid.rows} == {"p, b"}  # type: ignore[attr-defined]
    names = [row[1].text for row in grid.rows]  # type: ignore[attr-defined]
    assert names == ["p, c", "p, a"]  # what is least sure comes first
    for row, other in zip(grid.rows, "ca", strict=True):  # type: ignore[attr-defined]
        tested = ttest_rel(dice["b"], dice[other], alternative="greater")
        assert row[5].value == pytest.approx(tested.pvalue)
        assert row[4].value == pytest.approx(np.mean(dice["b"] - dice[other]))
        assert row[4].note == ""
        assert [cell.value for cell in row[2:4]] == [1, 60]
    assert str(found["claims_caption"]) == wording
    assert "fewer than 50" not in str(found["claims_caption"])


def test_few_patients_are_marked_and_very_few_have_no_probability(wording: SnapshotAssertion) -> None:
    few = section(made({"a": 0.5, "b": 0.6}, cases=12)[0])
    (row,) = few["claims"].rows  # type: ignore[attr-defined]
    assert (row[4].note, row[5].text != "–") == ("*", True)
    assert sentence_with(str(few["claims_caption"]), "50 patients") == wording
    none = made({"a": 0.5, "b": 0.6}, cases=5)[0].with_columns(prompter=pl.lit("q"))
    assert section(none) == {"claims": None, "claims_caption": ""}
    both = section(pl.concat([none.with_columns(dataset=pl.lit("e")), made({"a": 0.5, "b": 0.6}, cases=60)[0]]))
    rough, sure = sorted(both["claims"].rows, key=lambda row: row[5].text != "–")  # type: ignore[attr-defined]
    assert (rough[4].note, rough[4].interval, rough[5].text, sure[4].note) == ("", "", "–", "")
    assert "*: fewer" not in str(both["claims_caption"])  # there is no number that would be rough


@pytest.mark.parametrize(
    "given",
    [
        made({"a": 0.5}, cases=8)[0],
        pl.concat([made({"a": 0.5}, cases=8)[0], rows({"model": "b", "case": "other", "dice": 0.5})]),
        pl.concat([made({"a": 0.5}, cases=8)[0], made({"b": 0.5}, cases=8, stop="dice=0.9")[0]]),
    ],
    ids=["one line", "nothing in common", "other rules"],
)
def test_there_is_no_table_of_what_cannot_be_compared(given: pl.DataFrame) -> None:
    assert section(given) == {"claims": None, "claims_caption": ""}


def test_models_are_compared_within_a_prompter() -> None:
    cheap, _ = made({"a": 0.5, "b": 0.6}, cases=12)
    costly, _ = made({"a": 0.9, "b": 0.7}, cases=12)
    found = section(pl.concat([cheap, costly.with_columns(prompter=pl.lit("q"))]))
    assert [(row[0].text, row[1].text) for row in found["claims"].rows] == [  # type: ignore[attr-defined]
        ("p, b", "p, a"),
        ("q, a", "q, b"),
    ]


def test_the_lowest_is_best_where_the_score_says_so() -> None:
    given, dice = made({"a": 0.5, "b": 0.6}, cases=12)
    played, lines = with_lines(given.with_columns(hd95_mm=pl.col("dice") * 10))
    lead = leading_score(played["protocol"], Statistic("hd95"))
    (row,) = claim_section(measured(played, "hd95"), lines, lead)["claims"].rows
    assert (row[0].text, row[4].value) == ("p, a", pytest.approx(10 * np.mean(dice["b"] - dice["a"])))
