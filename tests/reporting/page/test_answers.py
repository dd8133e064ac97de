"""The sentences with which the report begins, from rows whose answers are known."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.errors import IntraBenchError
from intrabench.reporting.page.grid import Cell, with_best_marks
from intrabench.results.selection import selection
from tests.reporting.page.page_of import Page, report, store
from tests.results.made import curve, rows
from tests.wording import line_with, sentence_with


def said(page: Page, unit: int = 0) -> list[str]:
    """What is said of each budget of an effort, as text."""
    return [one for number, one in _stops(page) if number == unit]


def _stops(page: Page) -> list[tuple[int, str]]:
    parts = re.split(r'<div class="stop[^"]*" data-stop="(\d+),\d+">', _source(page))[1:]
    texts = (unescape(re.sub(r"<[^>]+>", "", part.partition("</div>")[0])) for part in parts[1::2])
    return [(int(n), " ".join(t.split())) for n, t in zip(parts[::2], texts, strict=True)]


def _source(page: Page) -> str:
    return page.source  # type: ignore[attr-defined,no-any-return]


def read(folder: Path, *parts: pl.DataFrame, **options: Any) -> Page:
    page, text = report(store(folder / "results", *parts), views=0, **options)
    page.source = text  # type: ignore[attr-defined]
    return page


def lines(first: list[float], second: list[float], cases: int = 8, **shared: Any) -> pl.DataFrame:
    """Two models, `good` and `poor`, with these scores after each round, a little different from case to case."""
    return pl.concat(
        curve([value + 0.01 * (case % 4) for value in every], model=model, case=str(case), interactions=3.0, **shared)
        for model, every in (("good", first), ("poor", second))
        for case in range(cases)
    )


def test_the_best_line_of_every_budget_and_by_how_much(tmp_path: Path, wording: SnapshotAssertion) -> None:
    page = read(tmp_path, lines([0.5, 0.7], [0.6, 0.6]))  # 3 and 6 interactions
    one, three, five, unlimited = said(page)
    assert one == wording
    assert "Dice 0.61" in three
    assert "interval 0.61 to 0.62" in three
    assert "0.100 to 0.100" in three
    assert "p = 0.008" in three
    assert three == wording
    assert five.startswith("At 5 interactions poor")
    assert "Dice 0.71" in unlimited
    assert unlimited == wording
    assert "is 0.100" in unlimited
    seconds = said(page, 2)
    assert len(seconds) == 3  # 5, 10, no limit: both rounds cost 14
    assert seconds[0] == wording


def test_what_may_be_chance_is_said_to_be(tmp_path: Path, wording: SnapshotAssertion) -> None:
    mixed = pl.concat(
        curve([0.5 + sign * (0.1 if case % 2 else -0.11)], model=model, case=str(case))
        for model, sign in (("a", 1), ("b", -1))
        for case in range(8)
    )
    (*_, last) = said(read(tmp_path, mixed))
    assert last == wording


def test_few_patients_allow_no_conclusion(tmp_path: Path, wording: SnapshotAssertion) -> None:
    page = read(tmp_path, lines([0.7], [0.5], cases=3))
    (*_, last) = said(page)
    assert "Dice 0.71" in last
    assert last == wording
    assert "is 0.200" in last
    assert page.data("answer-data")["units"][0]["stops"][-1]["rows"][1]["behind"][3:] == ["–", None]


def test_enough_patients_only_in_all_data_sets_together_are_tested_but_have_no_interval(
    tmp_path: Path, wording: SnapshotAssertion
) -> None:
    page = read(tmp_path, *(lines([0.7], [0.5], cases=cases, dataset=name) for name, cases in (("d", 8), ("e", 1))))
    (*_, last) = said(page)
    assert "is 0.200" in last
    assert "= 0.004" in last
    assert sentence_with(last, "interval, because") == wording
    assert "nobody can tell" not in last


def test_ties_and_single_lines(tmp_path: Path, wording: SnapshotAssertion) -> None:
    tied = said(read(tmp_path / "tied", lines([0.5], [0.5])))[-1]
    assert tied == wording
    alone = said(read(tmp_path / "alone", lines([0.5], [0.5]).filter(model="good")))[-1]
    assert alone == wording
    assert "on the same patients" not in tied + alone  # nothing leads


def test_sessions_and_prompters_that_cost_more_are_told(tmp_path: Path, wording: SnapshotAssertion) -> None:
    dear = pl.concat(curve([0.9], model="m", case=str(case), interactions=4.0 if case else 2.0) for case in range(6))
    slices = pl.concat(
        curve([0.9], model="m", prompter="box_slice", interactions=42.0, case=str(case)) for case in range(6)
    )
    page = read(tmp_path, dear, slices)
    _, three, *_, fifty = said(page)
    assert "Dice 0.15 (" in three
    assert "Dice 0.00" in three
    assert three == wording
    assert "box_slice" in fifty
    assert "cost more" not in fifty
    board = page.data("answer-data")["units"][0]["stops"][1]
    assert board["outside"] == [[0, 42.0]]
    assert [row["over"] for row in board["rows"]] == [5]


def test_where_the_best_line_fails(tmp_path: Path, wording: SnapshotAssertion) -> None:
    """Sizes are of each label: the liver is always large, and its small ones are worse than its large ones."""
    scores = {"liver": 0.9, "spleen": 0.8, "vein": 0.3, "duct": 0.4, "node": 0.5}
    given = pl.concat(
        curve([score - 0.2 * (case < 2)], model="m", case=str(case), label=label, target_ml=100 * score + case)
        for label, score in scores.items()
        for case in range(6)
    )
    (*_, last) = said(read(tmp_path / "thirds", given))
    told = last.partition("Where it fails. ")[2]
    assert told == wording
    assert "small targets (0.38" in told
    assert "best on medium targets, 0.58" in told
    (*_, last) = said(read(tmp_path / "bins", given, ends=(50.0, 85.0)))
    assert last.partition("Where it fails. ")[2] == wording


def test_which_lesions_the_best_line_finds(tmp_path: Path, wording: SnapshotAssertion) -> None:
    lesions = pl.concat(
        curve([0.0 if case < 2 and instance < 3 else 0.6], case=str(case), instance=instance, target_ml=0.5 * instance)
        for case in range(4)
        for instance in range(1, 7)
    )
    (*_, last) = said(read(tmp_path, lesions, curve([0.0], case="0", label="liver", target_ml=1000.0)))
    assert sentence_with(last, "Of labels with several") == wording


def test_the_best_of_each_data_set(tmp_path: Path, wording: SnapshotAssertion) -> None:
    page = read(tmp_path, lines([0.8], [0.5], dataset="d"), lines([0.5], [0.6], dataset="e"))
    (*_, last) = said(page)
    assert sentence_with(last, "cases, mean") == wording
    assert sentence_with(last, "same everywhere") == wording
    assert sentence_with(last, "worst on") == wording
    assert "0.61, 0.60 to 0.62" in last
    assert "0.52, 0.51 to 0.53" in last
    assert "d, 0.82" in last
    alike = read(tmp_path / "alike", lines([0.8], [0.5], dataset="d"), lines([0.5], [0.501], dataset="e"))
    assert "The best is not the same" not in said(alike)[-1]  # 0.515 and 0.516 look the same


def test_how_long_it_takes(tmp_path: Path, wording: SnapshotAssertion) -> None:
    times = [{"case": str(n), "segment_s": n / 10, "encode_s": 2.0, "device": "cuda", "batch": 1} for n in range(1, 21)]
    page = read(tmp_path, rows(*times, dice=0.5, peak_memory_mb=700.0, peak_gpu_mb=3000.0))
    (*_, last) = said(page)
    assert "takes 1.1" in last
    assert "700 MiB of memory" in last
    assert last == wording
    assert page.tables["speed"][1] == ["m", "cuda", "20", "1.050", "2.000", "2.000", "1", "700", "3\u202f000"]


def test_groups_of_clicks_are_no_choice(tmp_path: Path, wording: SnapshotAssertion) -> None:
    groups = [curve([0.9], model="m", prompter=f"clickability:group={n}", interactions=1.0) for n in (1, 10)]
    page = read(tmp_path, curve([0.5], model="m", prompter="click_deepest", interactions=1.0), *groups)
    text = said(page)[-1]
    assert "Dice 0.50" in text
    assert text == wording
    assert line_with(page.text, "out, because") == wording


def test_lines_that_cannot_be_compared_are_told(tmp_path: Path, wording: SnapshotAssertion) -> None:
    both = pl.concat(curve([0.5], model="whole", dataset=name) for name in "de")
    refused = rows(*({"model": "boxes", "status": "not_applicable", "dataset": name} for name in "de"))
    page = read(tmp_path, both, curve([0.9], model="part", dataset="d"), refused)
    assert line_with(page.text, "boxes with") == wording
    assert line_with(page.text, "set: part") == wording
    assert said(page)[-1] == wording


@pytest.mark.parametrize(
    ("costs", "start"),
    [([1] * 20, "no limit"), ([1] * 4, "no limit"), ([6, 6], "no limit"), ([3, 1, 1], "5"), ([1, 0], "1")],
)
def test_the_first_budget_is_what_most_lines_need(tmp_path: Path, costs: list[float], start: str) -> None:
    spent = [sum(costs[: n + 1]) for n in range(len(costs))]
    clicks = rows(*({"round": n, "interactions": cost, "dice": 0.5} for n, cost in enumerate(spent)))
    dear = curve([0.9], model="dear", interactions=100.0) if start != "no limit" else clicks.clear()
    clicks = pl.concat([clicks, clicks.with_columns(model=pl.lit("n"), session=pl.lit("n"))])
    unit = read(tmp_path, clicks, dear).data("answer-data")["units"][0]
    assert unit["stops"][unit["start"]]["label"] == start


def test_footnotes_are_those_of_the_budget(tmp_path: Path, wording: SnapshotAssertion) -> None:
    """A first box is converted in one session of two, a first correction in the other, a second is ignored in both."""
    done = {"1": ["box3d->box2d", "", "ignored"], "2": ["", "point->box2d", "ignored"]}
    made = pl.concat(
        curve([0.5, 0.6, 0.7], case=case, interactions=3.0).with_columns(adapted=pl.Series(notes))
        for case, notes in done.items()
    )
    page = read(tmp_path, made)
    one, three, _, unlimited = said(page)
    assert "note" not in one
    assert three == wording
    assert "in 50 %" in three
    assert unlimited == wording
    assert "in 50 %" in unlimited
    assert "2 of 4 corrections" in unlimited
    assert "1 of 4 corrections" in unlimited
    stops = page.data("answer-data")["units"][0]["stops"]
    assert [[row["note"] for row in stop["rows"]] for stop in stops] == [[], ["a"], ["a"], ["a,b,c"]]
    front = re.sub(r"<[^>]+>", "", _source(page).partition('aria-label="Pareto front"')[2].partition("</div>")[0])
    assert line_with(front, "first prompts") == wording
    assert line_with(front, "1 correction") == wording
    assert line_with(front, "2 corrections") == wording


def test_marks_stand_at_names(tmp_path: Path, wording: SnapshotAssertion) -> None:
    page = read(tmp_path, rows({"dice": 0.5, "adapted": "box3d->box2d", "seen_in_training": "yes"}))
    text = said(page)[-1]
    assert "Dice 0.50" in text
    assert text == wording


def test_protocols_that_mean_different_things_have_no_common_answer(tmp_path: Path, wording: SnapshotAssertion) -> None:
    page = read(tmp_path, rows({"dice": 0.5}, {"dice": 0.6, "stop": "dice=0.9"}))
    assert "cannot be combined" in page.text
    assert sentence_with(page.text, "protocol with") == wording


def test_the_front_is_listed_from_the_cheapest(tmp_path: Path, wording: SnapshotAssertion) -> None:
    page = read(tmp_path, lines([0.5, 0.7], [0.6, 0.6]))
    items = re.findall(r"<li>(\d+ interactions?: .*?)</li>", _source(page))
    assert [re.sub(r"<[^>]+>", "", one) for one in items] == wording


def test_of_a_long_front_both_ends_are_told(tmp_path: Path, wording: SnapshotAssertion) -> None:
    page = read(tmp_path, lines([n / 40 for n in range(1, 21)], [0.01]))
    items = re.findall(r"<li>(\d+) interactions: ", _source(page).partition("data-unit=1")[0])
    assert [int(one) for one in items] == [3, 12, 18, 27, 36, 45, 51, 60]  # 20 rounds of 3
    assert line_with(page.text, "12 more between") == wording


def test_another_score_leads(tmp_path: Path, wording: SnapshotAssertion) -> None:
    given = lines([0.5, 0.7], [0.6, 0.6])
    worse = pl.when(pl.col("model") == "good").then(9.0).otherwise(3.0)
    page = read(tmp_path, given.with_columns(hd95_mm=worse), metric="hd95", title="Our clinic")
    text = said(page)[-1]
    assert "HD95 3.0" in text
    assert "is 6.00" in text
    assert text == wording
    assert page.tables["ranking"][1][:4] == ["p", "poor", "1", "3.0"]
    assert page.tables["effort"][1][-1].startswith("9.0")
    assert "<title>Our clinic</title>" in _source(page)
    with pytest.raises(IntraBenchError) as caught:
        report(tmp_path / "results", metric="hd96")
    assert caught == wording


def test_only_one_protocol(tmp_path: Path) -> None:
    given = rows({"dice": 0.5}, {"dice": 0.9, "protocol": "overlap@1"})
    page = read(tmp_path, given, selection=selection(protocol="basic@1"))
    assert "reaches Dice 0.50" in said(page)[-1]
    with pytest.raises(IntraBenchError, match="it has basic@1, overlap@1"):
        report(tmp_path / "results", selection=selection(protocol="cvpr25@1"))


def test_clicks_until_an_iou_lead_the_protocol_of_clicks(tmp_path: Path, wording: SnapshotAssertion) -> None:
    given = pl.concat(
        curve([0.5, 0.8, 0.95], model=model, case=str(case), prompter=prompter, protocol="rclicks@1", interactions=cost)
        for model in ("a", "b")
        for case in range(6)
        for prompter, cost in (
            ("click_deepest", 1.0 if model == "a" else 2.0),
            *((f"clickability:group={n}", 2.0 * (11 - n) / 10) for n in (1, 10)),
        )
    )
    page = read(tmp_path, given)
    assert "Effort against NoC20@90" in page.text
    head, first, second = page.tables["own-rclicks"]
    assert head[3:] == ["NoC20@90", "IoU-AuC", "IoU", "NoC20@90, groups", "dSB", "dGR", "NSR@20"]
    assert (first[0], first[3]) == ("a", "3.0")
    assert (second[0], second[3]) == ("b", "6.0")
    assert first[6] == "3.3 ±\u00a02.7"  # 6.0 of the least likely clicks, 0.6 of the most likely
    assert first[7:9] == ["10.0 %", "900.0 %"]
    assert page.best["own-rclicks"][0] == (1, 3, "best")
    text = said(page)[0]
    assert "IoU 0.50" in text
    assert text == wording


@pytest.mark.parametrize("name", ["report.htlm", "report", "report.pdf"])
def test_a_wrong_file_ending_is_refused(tmp_path: Path, name: str, wording: SnapshotAssertion) -> None:
    from intrabench.reporting.page.page import write_report

    store(tmp_path / "results", rows({"dice": 0.5}))
    with pytest.raises(IntraBenchError) as caught:
        write_report(tmp_path / "results", tmp_path / name)
    assert caught == wording
    assert not (tmp_path / name).exists()


def cell(value: float | None, low: float = 0, high: float = 0) -> Cell:
    return Cell("–" if value is None else f"{value:.2f}", value, ends=(low, high) if high else None)


def test_the_best_of_a_column_and_what_cannot_be_told_from_it() -> None:
    column = [cell(0.701, 0.6, 0.8), cell(0.699, 0.5, 0.61), cell(0.5, 0.4, 0.59), cell(None), cell(0.65, 0.6, 0.7)]
    made = with_best_marks([[one] for one in column], ["p"] * 5, ["high"])
    assert [row[0].best for row in made] == ["best", "best", "", "", "alike"]  # the first two look the same
    low = with_best_marks([[one] for one in column], ["p"] * 5, ["low"])
    assert [row[0].best for row in low] == ["", "alike", "best", "", ""]
    apart = with_best_marks([[one] for one in column], ["p", "q", "q", "q", "p"], ["high"])
    assert [row[0].best for row in apart] == ["best", "best", "alike", "", "alike"]
    assert with_best_marks([[cell(0.5)]], ["p"], ["high"])[0][0].best == ""
    assert with_best_marks([[cell(0.5)], [cell(0.6)]], ["p", "p"], [None])[1][0].best == ""


def test_best_values_are_marked_within_a_prompter_and_said(tmp_path: Path) -> None:
    page = read(tmp_path, lines([0.5], [0.6]), lines([0.9], [0.8], prompter="q"))
    assert page.best["effort"] == [(2, 7, "best"), (3, 7, "best")]
    assert [line[:3] for line in page.tables["ranking"][1:]] == [
        ["p", "poor", "1"],
        ["p", "good", "2"],
        ["q", "good", "1"],
        ["q", "poor", "2"],
    ]
