"""Marks at numbers and footnotes, in every table and format."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.protocols import protocol
from intrabench.reporting.click_tables import click_table
from intrabench.reporting.footnotes import MOST, Footnotes, Place, footnotes, sentence
from intrabench.reporting.formats import formatted
from intrabench.reporting.make_table import table_of_run
from intrabench.reporting.table import Layout, effort_table, places, round_places, round_table
from intrabench.results.store import Store
from intrabench.statistics.scores import FailurePolicy
from tests.conftest import Said
from tests.results.made import rows

NO_POINTS = "an initial point has no counterpart for a model that takes only boxes"


def session(model: str, dataset: str, prompter: str, *notes: str) -> pl.DataFrame:
    return rows(
        *({"round": at, "adapted": note, "dice": 0.2 * (at + 1)} for at, note in enumerate(notes)),
        model=model,
        dataset=dataset,
        prompter=prompter,
    )


GIVEN = pl.concat(
    [
        session("boxes", "d", "box_volume+scribble", "box3d->box2d", "ignored,scribble->box"),
        session("boxes", "e", "box_volume+scribble", "box3d->box2d", "point->box2d,scribble->box"),
        session("walker", "d", "box_volume+scribble", "", ""),
        session("walker", "e", "box_volume+scribble", "assumed CT", ""),
        rows({"status": "not_applicable", "error": NO_POINTS}, model="boxes", prompter="point_interp:n=3", dataset="d"),
        session("walker", "d", "point_interp:n=3", ""),
    ]
)
MODELS = Layout(by=("prompter", "model"))


def test_marks_stand_at_the_numbers_they_are_about(wording: SnapshotAssertion) -> None:
    found = footnotes(effort_table(GIVEN, MODELS), places(GIVEN, MODELS))
    assert found.marks == {
        "d": ["a,b", "", "e", ""],
        "e": ["a,c", "d", "", ""],
        "average": ["a,b,c", "d", "e", ""],
    }
    assert found.lines() == wording
    first = Layout(by=MODELS.by, round=0)
    assert set(footnotes(effort_table(GIVEN, first), places(GIVEN, first)).texts) == {"a", "b", "c"}


def test_marks_of_rounds_and_counts_of_the_last(wording: SnapshotAssertion) -> None:
    table = round_table(GIVEN, MODELS)
    found = footnotes(table, round_places(GIVEN, MODELS))
    lines = table.select("model", "round").rows()
    assert found.marks["d"][: len(lines)] == ["a", "a,b", "", "", "e", ""]
    assert "1 of 1 corrections" in found.texts["b"]
    assert found.texts["b"] == wording


def test_what_is_rare_shares_the_last_footnote(wording: SnapshotAssertion) -> None:
    many = pl.concat(
        rows({"case": str(n), "adapted": f"mine {n}", "dice": 0.5}, dataset=f"d{n:02d}") for n in range(MOST + 3)
    )
    found = footnotes(effort_table(many, MODELS), places(many, MODELS))
    assert len(found.texts) == MOST
    assert list(found.texts.values())[-1] == wording
    assert found.marks["d14"] == ["l"]


def test_footnotes_of_some_columns_only() -> None:
    found = footnotes(effort_table(GIVEN, MODELS), places(GIVEN, MODELS)).of(["e", "other"])
    assert (list(found.marks), list(found.texts)) == (["e"], ["a", "c", "d"])


def test_a_line_that_is_not_in_the_table_has_no_footnote() -> None:
    told = pl.DataFrame({"model": ["x"], "note": ["n"], "sessions": [1], "of": [1], "turns": [0], "corrections": [0]})
    assert footnotes(pl.DataFrame({"model": ["m"]}), [Place(told, ["model"], ["d"])]).texts == {}


def test_formats_have_marks_and_footnotes_below() -> None:
    frame = pl.DataFrame({"model": ["m_1", "n"], "d": [0.5, None]})
    notes = Footnotes({"d": ["a", "b"]}, {"a": "box3d->box2d, in 50 % of the sessions", "b": "n/a: so"})
    assert formatted(frame, "markdown", notes) == (
        "| model | d |\n| --- | ---: |\n| m_1 | 0.500<sup>a</sup> |\n| n | -<sup>b</sup> |\n"
        "\n<sup>a</sup> box3d->box2d, in 50 % of the sessions\n\n<sup>b</sup> n/a: so\n"
    )
    assert formatted(frame, "latex", notes).splitlines()[3:] == [
        r"\midrule",
        r"m\_1 & 0.500\textsuperscript{a} \\",
        r"n & -\textsuperscript{b} \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\par{\footnotesize \textsuperscript{a}~box3d-\textgreater{}box2d, in 50 \% of the sessions\par}",
        r"\par{\footnotesize \textsuperscript{b}~n/a: so\par}",
    ]
    html = formatted(frame, "html", notes)
    assert '<td class="number">0.500<sup>a</sup></td>' in html
    assert html.endswith("<p><sup>a</sup> box3d-&gt;box2d, in 50 % of the sessions</p>\n<p><sup>b</sup> n/a: so</p>\n")
    assert formatted(frame, "csv", notes) == "model,d\nm_1,0.5\nn,\n"


@pytest.fixture
def stored() -> None:
    store = Store(Path("intrabench-results"), "run")
    store.write_part([{k: v for k, v in row.items() if v is not None} for row in GIVEN.to_dicts()], [])


@pytest.mark.usefixtures("stored")
def test_files_and_frames_say_it_line_by_line(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    frame = intrabench.table(by=["prompter", "model"])
    assert frame["adapted"].to_list() == wording
    assert frame["why_not_applicable"].to_list() == ["", "", f"{NO_POINTS}, in all sessions", ""]
    assert frame["d"].to_list() == [0.4, 0.4, None, 0.2]
    said = say("table", "--by", "prompter,model", "--csv").out
    assert said.splitlines()[0].endswith(
        ",sessions,failed,not_applicable,adapted,why_not_applicable,interactions,dof,seconds_human,d,e,average"
    )


@pytest.mark.usefixtures("stored")
def test_other_tables_have_marks_too(say: Callable[..., Said]) -> None:
    for words in ((), ("--interval",), ("--per-round",), ("--columns", "label"), ("--format", "markdown")):
        said = say("table", *words).out
        assert f"n/a: {NO_POINTS}, in all sessions" in said, words
        assert "box3d->box2d, in all sessions" in said.replace("\\", ""), words


def test_the_table_of_a_run_has_marks() -> None:
    made = table_of_run(GIVEN, protocol("basic@1"))
    assert list(made.notes.texts) == ["a", "b", "c", "d", "e"]
    challenge = GIVEN.with_columns(protocol=pl.lit("autopet5@1"), dmm=0.5, fpv=0.5, fnv=0.5)
    preset = protocol("autopet5@1")
    made = table_of_run(challenge, preset)
    head = preset.numbers[0][0]
    marked = dict(zip(made.frame.select("model", "prompter", "dataset").rows(), made.notes.marks[head], strict=True))
    assert marked["boxes", "box_volume+scribble", "d"] == "a,b"
    assert marked["walker", "box_volume+scribble", "d"] == ""


def test_a_sentence_for_figures(wording: SnapshotAssertion) -> None:
    told = pl.DataFrame(
        {
            "line": [0, 1, 2, 3, 1],
            "note": ["box3d->box2d"] * 4 + ["n/a: no"],
            "sessions": [4, 1, 4, 4, 3],
            "of": [4, 4, 4, 4, 4],
        }
    )
    names = dict(enumerate(["p, m", "p, n", "q, m", "q, n"]))
    text = sentence(told, names)
    assert "to 100 %" in text
    assert "in 75 %" in text
    assert text == wording
    assert sentence(told.clear(), names) == ""


def test_tables_of_clicks_have_marks_at_what_comes_from_adapted_clicks(wording: SnapshotAssertion) -> None:
    clicks = {"clickability:group=1": "outside crop", "clickability:group=2": "", "click_deepest": "assumed CT"}
    given = pl.concat(
        rows({"case": str(case), "dice": 0.5, "adapted": note}, prompter=f"point_interp:n=1+{name}")
        for name, note in clicks.items()
        for case in range(2)
    )
    table = click_table(groups=True, users=False, published="")
    assert table is not None
    frame = table.table(given, "dice", None, FailurePolicy(), False)
    found = footnotes(frame, table.places(given, "dice", None))
    assert found.texts == {"a": wording}
    assert (found.marks["sample"], found.marks["dgr"], "base" in found.marks) == (["a"], ["a"], False)
    users = click_table(groups=False, users=True, published="")
    assert users is not None
    real = pl.concat(
        rows({"dice": 0.5, "seed": seed, "adapted": note}, prompter=name)
        for name, note in (("recorded:clicks=clicks.csv", "box2d->point"), ("clickability", ""))
        for seed in range(2)
    )
    frame = users.table(real, "dice", None, FailurePolicy(), False)
    found = footnotes(frame, users.places(real, "dice", None))
    assert frame["clicks"].to_list() == ["real", "clickability"]
    assert (found.marks["mean"], found.marks["nsr"]) == (["a", ""], ["a", ""])
