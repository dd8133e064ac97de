"""The tests of every two lines in the report, against SciPy."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import rankdata, wilcoxon
from syrupy.assertion import SnapshotAssertion

from tests.reporting.page.page_of import report, store
from tests.results.made import rows
from tests.wording import sentence_with

HEAD = ["First line", "Second line", "Difference", "Patients", "Rank-biserial", "p, corrected"]


def made(quality: dict[str, float], cases: int, **shared: object) -> tuple[pl.DataFrame, dict[str, np.ndarray]]:
    """Rows of models that are so good, two targets to a case, and the Dice of each model by case."""
    random = np.random.default_rng(0)
    dice = {model: np.clip(random.normal(mean, 0.1, (cases, 2)), 0, 1) for model, mean in quality.items()}
    given = (
        {"model": model, "case": f"{case:03d}", "instance": target + 1, "dice": value, **shared}
        for model, values in dice.items()
        for (case, target), value in np.ndenumerate(values)
    )
    return rows(*given), {model: values.mean(axis=1) for model, values in dice.items()}


def holm(p: list[float]) -> list[float]:
    """Holm's correction, word for word."""
    order = sorted(range(len(p)), key=p.__getitem__)
    stepped = [min(1.0, max(p[order[k]] * (len(p) - k) for k in range(place + 1))) for place in range(len(p))]
    return [stepped[order.index(number)] for number in range(len(p))]


def test_the_values_are_those_of_scipy(tmp_path: Path) -> None:
    given, dice = made({"a": 0.5, "b": 0.55, "c": 0.7, "d": 0.52}, cases=14)
    page, _ = report(store(tmp_path / "results", given))
    head, *lines = page.tables["pairs"]
    assert head == HEAD
    names = list(combinations("abcd", 2))
    differences = [dice[one] - dice[other] for one, other in names]
    raw = [float(wilcoxon(values).pvalue) for values in differences]
    corrected = holm(raw)
    effects = [float(rankdata(abs(d)) @ np.sign(d)) * 2 / (14 * 15) for d in differences]
    means = {name: values.mean() for name, values in dice.items()}
    expected = [
        [
            f"p, {one}",
            f"p, {other}",
            f"{means[one] - means[other]:.3f}".replace("-", "−"),
            "14",
            f"{effect:.2f}".replace("-", "−"),
        ]
        + [f"{p:.3f}" if p >= 0.001 else "<\u00a00.001"]
        for _, (one, other), effect, p in sorted(zip(raw, names, effects, corrected, strict=True))
    ]
    assert [[*line[:2], line[2].split(" ")[0], *line[3:]] for line in lines] == expected
    assert {"<\u00a00.001", "1.000"} & {line[-1] for line in lines}
    assert "pairs with a larger p are left out" not in page.text


def test_all_data_sets_count_together(tmp_path: Path) -> None:
    one, first = made({"a": 0.5, "b": 0.55}, cases=8)
    two, second = made({"b": 0.6, "a": 0.5}, cases=5, dataset="e")
    page, _ = report(store(tmp_path / "results", one, two))
    together = np.concatenate([one["a"] - one["b"] for one in (first, second)])
    (line,) = page.tables["pairs"][1:]
    assert line[3] == "13"
    assert line[5] == f"{wilcoxon(together).pvalue:.3f}"


def test_a_line_that_shares_no_case_is_in_no_pair(tmp_path: Path) -> None:
    given, _ = made({"a": 0.5, "b": 0.6}, cases=7)
    page, _ = report(store(tmp_path / "results", given, rows({"model": "c", "case": "other", "dice": 0.5})))
    assert [[*line[:2], line[3]] for line in page.tables["pairs"][1:]] == [["p, a", "p, b", "7"]]


def test_few_cases_are_told_and_reach_no_five_percent(tmp_path: Path, wording: SnapshotAssertion) -> None:
    given, _ = made({"a": 0.1, "b": 0.9}, cases=5)
    page, _ = report(store(tmp_path / "results", given))
    assert page.tables["pairs"][1][3:] == ["5", "−1.00", "–"]  # even if all five are worse, p is 2 / 2**5
    assert "reach 5 %" in page.text
    assert sentence_with(page.text, "patients no") == wording


@pytest.mark.parametrize(("count", "sentence"), [(20, ""), (21, "10 pairs with a larger p are left out.")])
def test_of_many_pairs_only_the_first_are_listed(tmp_path: Path, count: int, sentence: str) -> None:
    given, _ = made({f"m{number:02d}": 0.5 + number / 100 for number in range(count)}, cases=6)
    page, text = report(store(tmp_path / "results", given))
    assert len(page.tables["pairs"]) - 1 == min(count * (count - 1) // 2, 200)
    assert ("left out" in page.text) == bool(sentence)
    assert sentence in page.text
    assert "<summary>All pairs of lines</summary>" in text


def test_one_line_has_no_pairs(tmp_path: Path) -> None:
    page, _ = report(store(tmp_path / "results", made({"a": 0.5}, cases=3)[0]))
    assert "pairs" not in page.tables


def test_lines_that_saw_the_data_are_marked(tmp_path: Path, wording: SnapshotAssertion) -> None:
    seen, _ = made({"a": 0.5}, cases=3, seen_in_training="yes")
    unseen, _ = made({"b": 0.5}, cases=3, seen_in_training="no")
    page, _ = report(store(tmp_path / "results", seen, unseen))
    assert page.tables["pairs"][1][:2] == wording
