"""`intrabench table` with all that it can be asked for."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.reporting.table import Layout, annotated_table, effort_table, few_places
from intrabench.results.current import IDENTITY
from intrabench.results.store import Store
from intrabench.statistics.resample import intervals
from intrabench.statistics.scores import scores
from tests.conftest import Said
from tests.results.made import rows

MEDSAM = "medsam:policy=radioactive"
CASES = [{"case": str(number), "dice": 0.1 * number, "label": label} for number in range(1, 7) for label in ("a", "b")]
PAPER = {"weights": "registered", "prompter": "box_interp:n=3", "protocol": "intrabench@1"}
GIVEN = pl.concat(
    [
        rows(*CASES, dataset="lnq", model=MEDSAM, **PAPER),
        rows(*CASES[:4], dataset="mine", model=MEDSAM, **PAPER),
        rows({"status": "oom", "dice": 0.0}, dataset="mine", model="box_fill", case="9", protocol="intrabench@1"),
    ]
)


@pytest.fixture
def table(say: Callable[..., Said]) -> Callable[..., Said]:
    """Type `intrabench table ...` where those rows are stored."""
    store = Store(Path("intrabench-results"), "run")
    store.write_part([{k: v for k, v in row.items() if v is not None} for row in GIVEN.to_dicts()], [])
    return lambda *words: say("table", *words)


def test_cells_tell_interval_cases_targets_and_failures() -> None:
    layout = Layout(by=("model",))
    found = annotated_table(GIVEN, layout, interval=True, counts=True)
    bounds = intervals(scores(GIVEN), ["model"], layout.how).filter(model=MEDSAM, dataset="lnq").row(0, named=True)
    assert bounds["low"] < 0.35 < bounds["high"]
    cells = {row["model"]: row for row in found.to_dicts()}
    assert cells[MEDSAM]["lnq"] == f"0.350 [{bounds['low']:.3f}, {bounds['high']:.3f}] 6/12"
    assert cells["box_fill"]["mine"] == "0.000 [-] 1/1 !1"
    assert cells["box_fill"]["lnq"] is None
    plain = effort_table(GIVEN, layout)
    assert found.drop("lnq", "mine", "average").equals(plain.drop("lnq", "mine", "average"))


@pytest.mark.parametrize("of", ["dataset", "label"])
@pytest.mark.parametrize("name", ["_line", "model", "dataset", "fewest", "value", "*", "^x$", "text"])
def test_any_name_can_be_a_heading(name: str, of: str) -> None:
    frame = rows({"dice": 0.25, of: name}, {"dice": 0.75, of: "~"})
    layout = Layout(columns=of)
    (heading, value), (other, another), _ = list(effort_table(frame, layout).to_dicts()[0].items())[-3:]
    assert (heading.split()[-1], value, other, another) == (name, 0.25, "~", 0.75)
    if of == "dataset":
        found = annotated_table(frame, layout, interval=True, counts=True)
        assert found.get_column(heading).to_list()[0] == "0.250 [-] 1/1"
        assert few_places(frame, found, layout).marks[heading] != [""]


def test_intervals_of_few_patients_are_marked(table: Callable[..., Said]) -> None:
    many = rows(
        *({"case": f"{n}", "dice": n / 50, "label": "a"} for n in range(50)), dataset="many", model=MEDSAM, **PAPER
    )
    rare = rows({"case": "0", "dice": 0.5, "label": "b"}, dataset="rare", model=MEDSAM, **PAPER)
    for frame in (many, many.with_columns(dataset=pl.lit("rare"), session=pl.format("r{}", "session")), rare):
        given = [{k: v for k, v in row.items() if v is not None} for row in frame.to_dicts()]
        Store(Path("few"), f"run{frame['dataset'][0]}{len(frame)}").write_part(given, [])
    said = table("--out", "few", "--interval")
    (line,) = (line.split("│") for line in said.out.splitlines() if MEDSAM in line)
    assert ["*" in cell for cell in line[-4:-1]] == [False, True, True]  # many, rare, average
    assert said.out.count("fewer than 50 patients") == 1
    assert "fewer than 50" not in table("--out", "few").out


def test_the_head_says_what_was_done(table: Callable[..., Said], wording: SnapshotAssertion) -> None:
    said = table("--failed", "drop", "--aggregation", "pooled")
    assert said.code == 0
    head = " ".join(said.out.split("┏")[0].split())
    assert head == wording
    head = " ".join(table("--interval").out.split("┏")[0].split())
    assert head == wording


def test_lines_and_columns_of_ones_own(table: Callable[..., Said], wording: SnapshotAssertion) -> None:
    said = table("--by", "model", "--columns", "label", "--csv", "--metric", "iou")
    assert [line.split(",")[0] for line in said.out.splitlines()] == ["model", "box_fill", MEDSAM]
    assert said.out.splitlines()[0].endswith(",a,b,x,average")
    said = table("--by", "modle")
    assert (said.code, said.err.partition(";")[0]) == (2, wording)


def test_summaries_of_sessions_are_metrics(table: Callable[..., Said], wording: SnapshotAssertion) -> None:
    said = table("--metric", "nof:threshold=0.5,limit=10", "--by", "model", "--aggregation", "pooled", "--csv")
    ends = {line.split(",")[0]: line.split(",")[-1] for line in said.out.splitlines()[1:]}
    assert ends["box_fill"] == ""
    assert float(ends[MEDSAM]) == pytest.approx((8 / 12 + 1) / 2)
    said = table("--metric", "nof:treshold=0.5")
    assert (said.code, "did you mean 'threshold'" in said.err) == (2, True)
    said = table("--reference", "paper", "--metric", "auc")
    assert (said.code, said.err) == (2, wording)


def test_ours_beside_the_paper(table: Callable[..., Said]) -> None:
    said = table("--reference", "paper", "--format", "csv")
    assert (
        said.out.splitlines()[0] == "row,model,round,paper,dataset,ours,published,difference,adapted,why_not_applicable"
    )
    (line,) = said.out.splitlines()[1:]
    assert line.startswith(f"3B Inter,{MEDSAM},0,D5,lnq,0.35")
    assert float(line.split(",")[7]) == pytest.approx(0.35 - 0.4141)
    assert said.err == ""


def test_other_protocols_are_not_mixed_into_a_comparison_with_the_paper(table: Callable[..., Said]) -> None:
    early = rows({"dice": 0.5}, dataset="lnq", model=MEDSAM, **PAPER | {"protocol": "overlap@1", "stop": "dice=0.5"})
    store = Store(Path("intrabench-results"), "other")
    store.write_part([{k: v for k, v in row.items() if v is not None} for row in early.to_dicts()], [])
    said = table("--reference", "paper")
    assert (said.code, "cannot be combined" in said.err) == (2, True)


def test_the_table_says_what_the_paper_has_instead(table: Callable[..., Said], wording: SnapshotAssertion) -> None:
    plain = rows({"dice": 0.5}, dataset="lnq", model="medsam", **PAPER)
    store = Store(Path("intrabench-results"), "other")
    store.write_part([{k: v for k, v in row.items() if v is not None} for row in plain.to_dicts()], [])
    said = table("--reference", "paper")
    assert (said.code, said.out.count("3B Inter")) == (0, 1)
    assert said.err == wording


@pytest.mark.parametrize(
    "words",
    [
        ("--format", "word"),
        ("--failed", "zero"),
        ("--aggregation", "median"),
        ("--reference", "papre"),
        ("--interval", "--columns", "label"),
    ],
    ids=" ".join,
)
def test_wrong_words(table: Callable[..., Said], words: tuple[str, ...], wording: SnapshotAssertion) -> None:
    said = table(*words)
    assert said.code == 2
    assert said.err == wording


def test_identity_is_what_lines_are_by_default() -> None:
    assert Layout().by == IDENTITY


def test_options_that_would_be_ignored_are_refused(table: Callable[..., Said], wording: SnapshotAssertion) -> None:
    said = table("--groups", "--by", "model", "--counts", "--reference", "paper")
    assert (said.code, said.err) == (2, wording)


def test_options_that_the_table_of_users_would_ignore_are_refused(
    table: Callable[..., Said], wording: SnapshotAssertion
) -> None:
    for words in (
        ("--round", "2"),
        ("--groups",),
        ("--reference", "paper"),
        ("--reference", "paper", "--protocol", "intrabench@1", "--by", "model"),
    ):
        said = table("--users", *words)
        assert (said.code, said.err) == (2, wording)
    assert table("--users").err == wording


def test_the_published_users_stand_beside_ours(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    store = Store(Path("intrabench-results"), "run")
    shared = {
        "model": "sam:multimask=best",
        "weights": "registered",
        "dataset": "tetris",
        "protocol": "rclicks-users@1",
    }
    given = rows({"iou": 0.25, "prompter": "recorded:clicks=clicks.csv"}, **shared)
    store.write_part([{k: v for k, v in row.items() if v is not None} for row in given.to_dicts()], [])
    asked = ("table", "--protocol", "rclicks-users@1", "--reference", "paper")
    said = say(*asked, "--csv")
    assert said.code == 0, said.err
    lines = pl.read_csv(said.out.encode()).select("clicks", "mean", "source").rows()
    assert lines[0] == ("real", 0.25, "ours")
    assert [line[::2] for line in lines[1:]] == [("real", "published"), ("of the published network", "published")]
    assert say(*asked, "--users", "--metric", "iou").out == say(*asked).out
    said = say(*asked, "--metric", "boundary_iou")
    assert said.err == wording


def test_the_published_clicks_take_no_metric_of_ones_own(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    store = Store(Path("intrabench-results"), "run")
    given = rows({"dice": 0.5}, protocol="rclicks@1", model="sam", dataset="tetris", prompter="click_deepest")
    store.write_part([{k: v for k, v in row.items() if v is not None} for row in given.to_dicts()], [])
    asked = ("table", "--protocol", "rclicks@1", "--reference", "paper")
    said = say(*asked, "--metric", "auc", "--round", "3")
    assert said.err == wording
    told = "only the baseline of rclicks@1 was played, and no groups of clicks; run it without --only"
    assert told in say(*asked).err


def test_a_round_that_no_run_allowed_is_refused(table: Callable[..., Said], wording: SnapshotAssertion) -> None:
    said = table("--round", "9")
    assert said.code == 2
    assert said.err == wording
    assert table("--round", "0").code == 0
    record = {"state": "finished", "rounds": 3}  # sessions may all have ended before
    Path("intrabench-results/runs").mkdir(exist_ok=True)
    Path("intrabench-results/runs/run.json").write_text(json.dumps(record))
    assert table("--round", "3").code == 0
    assert table("--round", "4").err == wording


def test_means_of_fewer_targets_have_a_letter_and_common_takes_the_same(
    say: Callable[..., Said], wording: SnapshotAssertion
) -> None:
    def line(model: str, *values: float) -> pl.DataFrame:
        return rows(*({"dice": value, "case": str(case)} for case, value in enumerate(values)), model=model)

    base, own, tried = [0.7] * 4 + [0.9] * 4, [0.75] * 4, [0.99] * 3
    Path("out/rows").mkdir(parents=True)
    lines = [line("base", *base), line("base2", *base), line("own", *own), line("tried", *tried)]
    pl.concat(lines).write_parquet("out/rows/run-1.parquet")
    text = say("table", "--out", "out").out
    shown = [each for each in text.splitlines() if "│ p" in each]
    cells = [each.rstrip(" │").rpartition("│")[2].split() for each in shown]
    assert cells == [["0.800"], ["0.800"], ["0.750", "a"], ["0.990", "b"]]
    assert [each for each in text.splitlines() if each[:3] in ("a  ", "b  ")] == wording
    frame = say("table", "--out", "out", "--common", "--csv")
    assert [one["d"] for one in csv.DictReader(frame.out.splitlines())] == ["0.7", "0.7", "0.75"]
    assert frame.err == wording
    for by in ("case", "model,case", "dataset", "model,dataset"):  # lines of other cases are not to be equal
        told = say("table", "--out", "out", "--by", by)
        assert (told.code, "mean of" in told.out) == (0, by == "model,dataset")
    assert say("table", "--out", "out", "--columns", "prompter").code == 0
