"""A model misses targets, so its HD95 is infinite there: every output says so alike, and none drops it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean, median
from typing import Any

import polars as pl
import pytest
import yaml

import intrabench
from intrabench.files.documents import number_of_json
from intrabench.publishing.board.content import _data, model_contents
from intrabench.publishing.board.lines import stated_lines
from intrabench.publishing.board.submission import Submission
from intrabench.publishing.board.tables import tables
from intrabench.publishing.exports.eee import Evaluator, export_eee
from intrabench.publishing.exports.hugging_face import export_hugging_face
from intrabench.publishing.methods.methods import make_methods
from intrabench.reporting.figures import write_figures
from intrabench.reporting.footnotes import undrawn
from intrabench.reporting.page.grid import digits_of
from intrabench.results.parts import read_rows
from intrabench.statistics.infinite import Infinite, signed
from intrabench.statistics.measures import measured
from tests.conftest import Said
from tests.reporting.page.page_of import report, store
from tests.results.made import rows

DISTANCES = [3 + n / 7 for n in range(12)]
MISSED = (1, 4, 6, 10)
FOUND = [[DISTANCES[n] for n in (2 * case, 2 * case + 1) if n not in MISSED] for case in range(6)]
OTHERS = fmean(fmean(case) for case in FOUND)
MEDIAN = median(math.inf if n in MISSED else value for n, value in enumerate(DISTANCES))
MEAN, APART = Infinite(4, 12, OTHERS, median=MEDIAN), Infinite(4, 12, 0.0, median=0.0)
"""Of model a, and of its difference from b, which is as good where a finds the target."""


def line(model: str, missed: Sequence[int] = (), worse: float = 0.0, **shared: Any) -> pl.DataFrame:
    """Two targets to a patient, some of them missed."""
    given = (
        {"case": f"{n // 2}", "patient": f"P{n // 2}", "instance": n % 2 + 1, "target_ml": 1.0 + n}
        | (
            {"hd95_mm": math.inf, "dice": 0.0, "status": "empty"}
            if n in missed
            else {"hd95_mm": value + worse, "dice": 0.8}
        )
        for n, value in enumerate(DISTANCES)
    )
    return rows(*given, model=model, **{"interactions": 1.0, "dof": 3.0, "seconds_human": 2.5, **shared})


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return store(tmp_path / "intrabench-results", line("a", MISSED), line("bb"))


def _table(say: Callable[..., Said], root: Path) -> str:
    return say("table", "--metric", "hd95").out


def _rounds(say: Callable[..., Said], root: Path) -> str:
    return say("table", "--metric", "hd95", "--per-round").out


def _csv(say: Callable[..., Said], root: Path) -> str:
    return say("table", "--metric", "hd95", "--csv").out


def _latex(say: Callable[..., Said], root: Path) -> str:
    return say("table", "--metric", "hd95", "--format", "latex").out


def _methods(say: Callable[..., Said], root: Path) -> str:
    return make_methods(root, metric="hd95", failed="worst", empty="worst").written()


def _report(say: Callable[..., Said], root: Path) -> str:
    _, text = report(root, metric="hd95")
    for number in (OTHERS, MEDIAN):
        text = text.replace(digits_of(number, 1), f"{number:.3f}")
    return text


def _eee(say: Callable[..., Said], root: Path) -> str:
    export_eee(root, Path("eee"), Evaluator(), now=datetime(2026, 1, 2, tzinfo=UTC))
    return "".join(path.read_text(encoding="utf-8") for path in Path("eee").rglob("*.json"))


def _hub(say: Callable[..., Said], root: Path) -> str:
    export_hugging_face(root, Path("hub"), ["d=lab/b/t"], "hd95")
    entries = [yaml.safe_load(path.read_text(encoding="utf-8"))[0] for path in Path("hub").rglob("*.yaml")]
    assert sorted(entry["value"] for entry in entries) == pytest.approx(sorted([OTHERS, sum(DISTANCES) / 12]))
    return str(entries)


def _figures(say: Callable[..., Said], root: Path) -> str:
    pytest.importorskip("matplotlib")
    texts = [path.read_text(encoding="utf-8") for path in write_figures(root, Path("figures"), ["svg"], "hd95")[0]]
    told = [" ".join(re.sub(r"<[^>]*>", " ", text).split()) for text in texts]
    assert len([text for text in told if MEAN.words() in text]) == len(told)  # each of them
    return told[0]


def _board(say: Callable[..., Said], root: Path) -> str:
    (table,) = tables([Submission(root, None, read_rows(root), [])])
    return str([*model_contents([table])])


@pytest.mark.parametrize("output", [_table, _rounds, _csv, _latex, _methods, _report, _eee, _hub, _figures, _board])
def test_every_mean_says_the_same(output: Callable[..., str], say: Callable[..., Said], results: Path) -> None:
    assert MEAN.words() in output(say, results)


BOUNDED = "hd95:miss=50mm"


def _board_of_misses(say: Callable[..., Said], root: Path) -> str:
    (table,) = tables([Submission(root, None, read_rows(root), [])])
    assert [one["misses"] for one in _data(table)["lines"] if one["misses"]] == [{f"{BOUNDED}@1": "missed in 4 of 12"}]
    return str([*model_contents([table])])


def _figures_of_misses(root: Path) -> str:
    pytest.importorskip("matplotlib")
    texts = [path.read_text(encoding="utf-8") for path in write_figures(root, Path("figures"), ["svg"], BOUNDED)[0]]
    assert all("missed in 4 of 12" in " ".join(re.sub(r"<[^>]*>", " ", text).split()) for text in texts)
    return "missed in 4 of 12" * bool(texts)


def _hub_of_misses(root: Path) -> str:
    export_hugging_face(root, Path("hub"), ["d=lab/b/t"], BOUNDED)
    return "".join(path.read_text(encoding="utf-8") for path in Path("hub").rglob("*.yaml"))


@pytest.mark.parametrize(
    "output",
    [
        lambda say, root: say("table", "--metric", BOUNDED).out,
        lambda say, root: say("table", "--metric", BOUNDED, "--per-round").out,
        lambda say, root: say("table", "--metric", BOUNDED, "--csv").out,
        lambda say, root: say("table", "--metric", BOUNDED, "--columns", "label").out,
        lambda say, root: make_methods(root, metric=BOUNDED, failed="worst", empty="worst").written(),
        lambda say, root: report(root, metric=BOUNDED)[1],
        lambda say, root: say("compare", "a", "bb", "--metric", BOUNDED).out,
        lambda say, root: _figures_of_misses(root),
        lambda say, root: _hub_of_misses(root),
        _eee,
        _board_of_misses,
    ],
)
def test_misses_with_a_finite_value_are_counted(output: Callable[..., str], say: Callable[..., Said]) -> None:
    """Three answers are empty and one failed; the mean is finite."""
    bounded = line("a", MISSED).with_columns(
        pl.col("hd95_mm").replace(math.inf, 50.0).alias(BOUNDED), metrics=pl.lit(f"dice@1 iou@1 {BOUNDED}@1")
    )
    first = (pl.col("case") == "0") & (pl.col("instance") == 2)
    bounded = bounded.drop("hd95_mm", "nsd_2mm").with_columns(
        pl.when(~first).then(BOUNDED).alias(BOUNDED),
        status=pl.when(first).then(pl.lit("error")).otherwise("status"),
        target_voxels=pl.lit(7, pl.Int64),
        pred_voxels=pl.when(~first).then(pl.when(pl.col("status") == "empty").then(0).otherwise(7)).cast(pl.Int64),
    )
    found = line("bb").drop("nsd_2mm").rename({"hd95_mm": BOUNDED})
    found = found.with_columns(metrics=pl.lit(f"dice@1 iou@1 {BOUNDED}@1"), pred_voxels=pl.lit(7, pl.Int64))
    root = store(Path("intrabench-results"), bounded, found.select(bounded.columns))
    (scored,) = read_rows(root).filter(model="a").pipe(measured, BOUNDED).select(pl.col("value").mean())["value"]
    assert scored == pytest.approx((4 * 50 + sum(value for case in FOUND for value in case)) / 12)
    assert "missed in 4 of 12" in output(say, root)


@pytest.mark.parametrize("command", ["compare", "power"])
def test_so_does_every_difference(command: str, say: Callable[..., Said], results: Path) -> None:
    more = ["--difference", "1"] if command == "power" else []
    assert APART.words(signed) in say(command, "a", "bb", "--metric", "hd95", *more).out
    found = json.loads(say(command, "a", "bb", "--metric", "hd95", *more, "--json").out, parse_constant=pytest.fail)
    row = found[0]["datasets"][0] if command == "compare" else found[0]
    assert number_of_json(row["difference"]) == math.inf
    assert (row["infinite"], row["others"]) == (4, 0.0)


def test_the_report_names_the_difference(results: Path) -> None:
    page, _ = report(results, metric="hd95")
    assert APART.words(lambda _: "0.0") in " ".join(map(str, page.tables["pairs"]))
    assert APART.words(lambda _: "0.00 higher") in page.text
    assert "infinitely" not in page.text


def test_the_data_of_the_page_have_what_is_infinite(results: Path) -> None:
    _, text = report(results, metric="hd95")
    (found,) = re.findall(r"<script type=\"application/json\" id=answer-data>(.*?)</script>", text, re.DOTALL)
    first, second = json.loads(found, parse_constant=pytest.fail)["units"][0]["stops"][-1]["rows"]
    assert (first["infinite"], first["behind"]) == ("", None)
    assert (second["value"][0], second["behind"][0]) == ("Infinity", "Infinity")
    assert second["infinite"] == MEAN.words(lambda value: f"{value:.1f}")
    assert second["behind_infinite"] == APART.words(lambda value: f"{value:.1f}")


def test_what_both_lines_miss_leaves_the_interval_and_the_verdict_to_the_others(tmp_path: Path) -> None:
    both = Infinite(0, 8, 1.0, both=4)
    page, text = report(store(tmp_path / "results", line("a", MISSED), line("bb", MISSED, 1.0)), metric="hd95")
    (found,) = re.findall(r"<script type=\"application/json\" id=answer-data>(.*?)</script>", text, re.DOTALL)
    second = json.loads(found, parse_constant=pytest.fail)["units"][0]["stops"][-1]["rows"][1]
    assert (second["behind"][:3], second["mixed"]) == ([1.0, 1.0, 1.0], False)
    assert second["behind_infinite"] == both.words(lambda value: f"{value:.1f}")
    assert "There is no interval" not in page.text
    assert f"1.0; {both.words(lambda value: f'{value:.1f}')}" in str(page.tables["pairs"]).replace("−", "")


def test_json_and_rows_have_words_for_infinite_numbers(say: Callable[..., Said], results: Path) -> None:
    found = json.loads(say("table", "--metric", "hd95", "--json").out, parse_constant=pytest.fail)
    assert [row["d"] for row in found] == ["Infinity", pytest.approx(sum(DISTANCES) / 12)]
    assert found[0]["infinite"] == MEAN.words()
    means = [one["means"]["hd95_mm@1"] for one in stated_lines(read_rows(results))]
    assert means == ["Infinity", pytest.approx(sum(DISTANCES) / 12)]


def test_figures_say_what_they_do_not_draw() -> None:
    means = pl.DataFrame(
        {"line": [0, 1], "infinite": [4, 0], "of": [12, 12], "others": [OTHERS, 3.0], "net": [0.3, 0.0]}
    ).with_columns(median=pl.Series([MEDIAN, None]), missed=0)
    assert undrawn(means, {0: "p, a", 1: "p, bb"}).count("p, a") == 1
    assert MEAN.words() in undrawn(means, {0: "p, a", 1: "p, bb"})
    assert "bb" not in undrawn(means, {0: "p, a", 1: "p, bb"})
    assert undrawn(means.tail(1), {1: "p, bb"}) == ""


def test_lines_with_infinite_means_are_not_equal(results: Path) -> None:
    store(Path("many"), line("a", MISSED), line("bb", (0, 5)), line("cc", (2, 8), 0.5), line("dd", MISSED[:1]))
    page, _ = report(Path("many"), metric="hd95")
    ranked = [(row[1], row[2]) for row in page.tables["ranking"][1:]]
    assert ranked == [("dd", "1"), ("bb", "2"), ("cc", "3"), ("a", "4")]
    assert "Equally good" not in page.text
    (table,) = tables([Submission(Path("many"), None, read_rows(Path("many")), [])])
    (column,) = (one for one in table.columns if one.spec == "hd95_mm")
    names = {one.number: one.model for one in table.lines}
    assert {names[number]: rank for number, rank in table.ranks(column).items()} == {"dd": 1, "bb": 2, "cc": 3, "a": 4}


def test_the_exit_code_is_of_ranks(say: Callable[..., Said], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    store(tmp_path / "intrabench-results", line("a", range(0, 12, 2)), line("bb"))
    assert say("compare", "bb", "a", "--metric", "hd95").code == 1  # six of six patients: p = 0.03
    assert say("compare", "a", "bb", "--metric", "hd95").code == 0
    (found,) = intrabench.compare("bb", "a", metric="hd95").values()
    assert (found.worse, found.better) == (True, False)


def test_counts_beside_a_mean_are_of_what_enters_it(say: Callable[..., Said], results: Path) -> None:
    counted = say("table", "--metric", "hd95", "--counts", "--empty", "drop", "--csv").out.splitlines()
    head = counted[0].split(",")
    assert [line.split(",")[head.index("d")].split(" ")[1] for line in counted[1:]] == ["6/8", "6/12"]
