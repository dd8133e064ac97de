"""`intrabench methods`: the text of fixed rows word for word, and that it never says what the results do not tell."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.effort import kinds, shipped
from intrabench.statistics.aggregate import AGGREGATIONS
from intrabench.statistics.resample import intervals
from intrabench.statistics.scores import scores
from tests.conftest import GOLDEN, Said
from tests.reporting.test_comparison import stored
from tests.results.made import curve, rows
from tests.wording import sentence_with

GIVEN = GOLDEN / "methods"
SHA = "79d8c9dca6db4d69d3f905579e5250af05e859fff9c1f543e89a513c3028ce76"
RECORD = {
    "run_id": "run",
    "state": "finished",
    "rounds": 2,
    "commit": "0123456789abcdef",
    "versions": {"intrabench": "0.1.0", "python": "3.12.1", "torch": "2.9.0", "numpy": "2.4.0"},
    "hardware": {"cpu": "AMD EPYC", "cores": 8, "memory_gb": 64, "gpus": [{"name": "NVIDIA H100"}]},
    "options": {"batch": "1", "cases": ["first:8"], "targets": [], "dataset": ["spine_ct", "mine"]},
}


def made() -> list[pl.DataFrame]:
    """Two models on eight cases of each of two data sets; one corrects by scribbles, some of its prompts converted."""
    random = np.random.default_rng(0)
    frames = []
    for dataset in ("spine_ct", "mine"):
        for case in range(8):
            for model, hash_, seen in (("box_fill", "", "no"), ("litemedsam", SHA, "unknown")):
                start = float(random.beta(6, 4))
                shared = {"dataset": dataset, "case": f"{case}", "model": model, "seen_in_training": seen}
                shared |= {"weights": "registered" if hash_ else "", "weights_sha256": hash_, "device": "cpu"}
                dice = [start, start + 0.05, start + 0.08]
                played = curve(dice, **shared, prompter="box_interp:n=3+scribble", stop="dice=0.95,interactions=12")
                converted = pl.when(pl.col("round") > 0).then(pl.lit("scribble->point")).otherwise(pl.lit(""))
                frames.append(played.with_columns(adapted=converted) if model == "litemedsam" else played)
    failed = {"dataset": "mine", "case": "0", "model": "box_fill", "prompter": "own_boxes:n=2", "status": "oom"}
    failed |= {"seen_in_training": "no"}
    refused = {"dataset": "mine", "case": "0", "model": "litemedsam", "prompter": "own_boxes:n=2"}
    shared = {"weights": "registered", "weights_sha256": SHA, "status": "not_applicable", "error": "it takes boxes"}
    return [*frames, rows({**failed, "dice": 0.0}), rows({**refused, **shared})]


@pytest.fixture
def results() -> None:
    stored("intrabench-results", *made())
    Path("intrabench-results/runs").mkdir(exist_ok=True)
    Path("intrabench-results/runs/run.json").write_text(json.dumps(RECORD))


@pytest.mark.usefixtures("results")
@pytest.mark.parametrize(
    ("option", "file"), [((), "text.txt"), (("--markdown",), "text.md"), (("--latex",), "text.tex")]
)
def test_the_text_of_fixed_rows(say: Callable[..., Said], option: tuple[str, ...], file: str) -> None:
    said = say("methods", *option, "--bib", "refs.bib")
    assert said.code == 0
    assert said.out == (GIVEN / file).read_text()
    assert Path("refs.bib").read_text() == (GIVEN / "refs.bib").read_text()
    assert said.err.startswith("wrote ")


@pytest.mark.usefixtures("results")
def test_values_are_those_of_the_statistics() -> None:
    found = intrabench.methods()
    given = pl.concat(made(), how="diagonal").filter(model="litemedsam", prompter="box_interp:n=3+scribble")
    for column, number in (("initial", 0), ("final", 2)):
        average = intervals(scores(given, round=number), ["model"], AGGREGATIONS["protocol"]).filter(dataset="average")
        value, low, high = average.select("value", "low", "high").row(0)
        line = found.table.filter(model="litemedsam", prompter="box_interp:n=3+scribble")
        assert line[column].to_list() == [f"{value:.3f} [{low:.3f}, {high:.3f}]"]
    assert found.notes.marks["final"] == ["*", "*", "", ""]


@pytest.mark.usefixtures("results")
def test_every_citation_has_an_entry_and_every_entry_is_cited() -> None:
    found = intrabench.methods()
    cited = {key for marks in re.findall(r"\\cite\{([^}]*)\}", found.written("latex")) for key in marks.split(",")}
    assert cited == set(re.findall(r"@misc\{(\w+),", found.bibtex)) == set(found.bibliography.entries)
    marks = " ".join(re.findall(r"\[(@[^\]]*)\]", found.written("markdown")))
    assert cited == set(re.findall(r"@(\w+)", marks))
    assert {"ma2024", "graf", "reloaded2025"} <= cited


def test_what_rows_do_not_tell_is_not_reported(say: Callable[..., Said]) -> None:
    stored(
        "intrabench-results", rows({"dice": 0.5, "dataset": "mine"}, model="own", weights="file", weights_sha256=SHA)
    )
    found = intrabench.methods()
    missing = {item.what: item.missing for item in found.checklist if item.missing}
    assert {"split", "selection of cases", "software", "data set mine", "tuning", "prompter p"} <= missing.keys()
    assert any(what.startswith("model own") for what in missing)
    assert all(item.reported == f"not reported: {item.missing}" for item in found.checklist if item.missing)
    said = say("methods").out
    told = said.partition("REPORTING CHECKLIST")[0]
    for invented in ("python", "torch", "licence", " cores", "selection", "correction by", "0.1.0"):
        assert invented not in told
    assert said.count("not reported: ") == len(missing)


@pytest.mark.usefixtures("results")
def test_the_named_figures_are_those_that_are_drawn() -> None:
    pytest.importorskip("matplotlib")
    drawn = intrabench.figures("pictures")
    assert sorted(path.name for path in drawn) == sorted(intrabench.methods().figures)


def test_swept_figures_are_named_too() -> None:
    pytest.importorskip("matplotlib")
    changed = [f"spine_ct+noise:sigma={sigma}" for sigma in (0.1, 0.2)]
    stored("intrabench-results", *(rows({"dice": 0.5}, dataset=name) for name in ("spine_ct", *changed)))
    drawn = intrabench.figures("pictures")
    assert "dice_by_noise.png" in {path.name for path in drawn}
    assert sorted(path.name for path in drawn) == sorted(intrabench.methods().figures)


def test_contaminated_lines_are_told_by_model_and_data_set(wording: SnapshotAssertion) -> None:
    stored(
        "intrabench-results",
        *(rows({"dice": 0.5}, model=name, dataset="d", seen_in_training="yes") for name in ("m", "n")),
        rows({"dice": 0.5}, model="o", dataset="d", seen_in_training="no"),
    )
    text = intrabench.methods().paragraphs["Models"]
    assert text == wording


def test_prompters_are_cited_only_where_they_were_published() -> None:
    stored("intrabench-results", *(rows({"dice": 0.5}, prompter=name) for name in ("box_middle", "box_own")))
    assert "ulrich2024" not in intrabench.methods().bibliography.entries
    stored("intrabench-results", rows({"dice": 0.5}, prompter="box_prop"), run="later")
    assert "ulrich2024" in intrabench.methods().bibliography.entries


def test_people_are_named_and_a_calibrated_table_is(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    one = rows({"dice": 0.5}, prompter="recorded:FOLDER", effort="clinic@ab12")
    two = rows({"dice": 0.5}, prompter="box_volume", effort="clinic@ab12")
    stored("people", one)
    stored("both", one, two)
    assert sentence_with(intrabench.methods("people").paragraphs["Users"], "People prompted") == wording
    found = intrabench.methods("both")
    assert sentence_with(found.paragraphs["Users"], "simulated users") == wording
    assert found.paragraphs["Effort and time"] == wording
    assert "assumed by IntraBench" not in found.paragraphs["Effort and time"]
    assert "agreement with people" not in {item.what for item in found.checklist}


@pytest.mark.parametrize(
    "words",
    [
        ("--markdown", "--latex"),
        ("--out", "nothing"),
        ("--metric", "dise"),
        ("--metric", "dmm"),
        ("--aggregation", "mean"),
        ("--bib", "intrabench-results"),
    ],
    ids=" ".join,
)
@pytest.mark.usefixtures("results")
def test_what_is_refused(say: Callable[..., Said], words: tuple[str, ...], wording: SnapshotAssertion) -> None:
    said = say("methods", *words)
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("error: ")
    assert said.err == wording
    assert said.err.count("\n") == 1


@pytest.mark.parametrize(
    ("status", "target", "message"),
    [
        ("no_data", "*", "error: no has nothing to show, for the data of all cases could not be read (1 case of d); "),
        ("not_applicable", "a.1", ""),
    ],
)
def test_of_nothing_that_was_scored_nothing_is_claimed(
    say: Callable[..., Said], status: str, target: str, message: str, wording: SnapshotAssertion
) -> None:
    stored("no", rows({"status": status, "target": target}, dice=None, iou=None))
    said = say("methods", "--out", "no")
    assert (said.code, said.err.startswith(message)) == (2 if message else 0, True)
    assert "as they were given" not in said.out
    drawn = say("figures", "pictures", "--out", "no")
    assert drawn.code == 2
    assert drawn.err == wording
    assert not Path("pictures").exists()


def test_a_paper_names_no_paths_hosts_and_raters() -> None:
    one = rows({"dice": 0.5}, prompter="human:rater=jdoe", model="masks:folder=/home/jdoe/answers")
    two = rows({"dice": 0.5}, prompter="human:rater=ab", model="url:url=http://gpu7:1527", dataset="/srv/jdoe/Liver")
    stored("private", one, two)
    record = RECORD | {"options": {"cases": ["@/home/jdoe/cases.txt"], "dataset": ["/srv/jdoe/Liver"]}}
    Path("private/runs").mkdir(exist_ok=True)
    Path("private/runs/run.json").write_text(json.dumps(record))
    text = intrabench.methods("private").written("markdown")
    assert [secret for secret in ("jdoe", "gpu7", "/home", "/srv", "1527", "rater=ab") if secret in text] == []
    for told in ("`human:rater=rater-1`", "`masks:folder=answers`", "`url:url=http://host`", "`Liver`", "`@cases.txt`"):
        assert told in text


def test_how_a_stroke_was_drawn_is_no_conversion_for_a_model() -> None:
    played = rows({"dice": 0.8}, model="own").with_columns(adapted=pl.lit("scribble as click,scribble->point"))
    stored("intrabench-results", played)
    converted, noted = intrabench.methods().paragraphs["Failures"].split("The sessions also note: ")
    assert "scribble->point" in converted
    assert "scribble as click" not in converted
    assert "scribble as click" in noted


def test_the_price_of_every_action_is_told() -> None:
    """Prices of the table are read apart from the sentence: ``a click, a handle count 1; a 2D box counts 2``."""
    stored("intrabench-results", rows({"dice": 0.8}, model="own"))
    told = str(intrabench.methods().written("markdown"))
    costs = shipped("interactions@1").costs
    prices = [costs[kind]["each"] + costs[kind].get("per_word", 0) for kind in kinds()]
    for price in sorted({*prices}):
        (part,) = (one for one in re.split("[;.] ", told) if re.search(rf" counts? {price}$", one))
        assert len(re.split(", | and ", part)) == prices.count(price)


def test_which_line_was_played_on_which_cases_is_that_of_the_rows(say: Callable[..., Said]) -> None:
    """The record of one run does not tell on what the lines of another were played."""
    whole = rows(*({"case": f"c{n}", "dice": 0.8 - n / 100} for n in range(8)), model="base", run_id="first")
    part = rows(*({"case": f"c{n}", "dice": 0.9} for n in range(4, 8)), model="own", run_id="second")
    stored("intrabench-results", whole, part)
    Path("intrabench-results/runs").mkdir(exist_ok=True)
    for run, cases in (("first", []), ("second", ["c[4-7]"])):
        record = {**RECORD, "run_id": run, "options": {"cases": cases, "targets": []}}
        Path(f"intrabench-results/runs/{run}.json").write_text(json.dumps(record))
    found = intrabench.methods()
    (told,) = re.findall(r"p, own on (\d) of the (\d) targets of d \((.*?)\)", found.written("text"))
    assert told == ("4", "8", "4 cases: c4, c5, c6 and c7")
    assert "c[4-7]" not in found.written("text")
    assert "4 of 8 targets" in found.paragraphs["Statistics"]
    assert found.notes.marks["final"] == ["*", "a,*"]
    assert "4 of 8 targets" in found.notes.texts["a"]
    alone = intrabench.methods(cases="c[4-7]")
    assert "only cases c[4-7]." in alone.paragraphs["Data"]
    assert "Lines were not" not in alone.paragraphs["Data"]
    assert alone.notes.marks["final"] == ["*", "*"]
    own = intrabench.methods(model="own").paragraphs["Data"]
    assert "the cases `c[4-7]`." in own
