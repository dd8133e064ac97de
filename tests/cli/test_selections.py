"""Every reader of a results folder takes the same options that choose sessions, and is of these sessions alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.main import get_command

import intrabench
from intrabench.cli.main import app
from intrabench.cli.options import OF_RESULTS
from intrabench.people.rating.inputs import inputs_of
from intrabench.results.parts import read_rows
from intrabench.results.selection import selection
from tests.conftest import Said
from tests.reporting.test_comparison import stored
from tests.results.made import rows

OPTIONS = ("-m", "a*", "-m", "c", "-p", "p", "-d", "d", "--cases", "c?", "--targets", "ml>=2")
WORDS = "only model a* or c; prompter p; data set d; cases c?; targets ml>=2"

READERS = {
    "table", "compare", "power", "report", "figures", "methods", "failures", "score", "verify", "submit", "gap",
    "calibrate", "export rows", "export masks", "export lesions", "export clicks", "export eee", "export hf",
    "export croissant", "export ro-crate",
    "rate design", "superpixels table", "superpixels report",
}  # fmt: skip


def made() -> list[dict[str, Any]]:
    """Four models with two prompters on two data sets, cases with targets of several sizes; `c` fails once."""
    return [
        {
            **{"model": model, "prompter": prompter, "dataset": dataset, "case": case, "label": f"l{size}"},
            **{"target_ml": float(size), "target_voxels": 1000 * size, "run_id": "run"},
            "dice": round(0.3 + 0.07 * m + 0.05 * size + 0.01 * n + 0.1 * (prompter == "q") * (m % 2), 3),
            **({"status": "error", "error": "broken"} if (model, case, size) == ("c", "c1", 3) else {}),
        }
        for m, model in enumerate(("aa", "ab", "b", "c"))
        for prompter in ("p", "q")
        for dataset in ("d", "e")
        for n, case in enumerate(("c1", "c2", "c3", "c4", "c5", "c6", "c7", "other"))
        for size in (1, 2, 3)
    ]


def wanted(row: dict[str, Any]) -> bool:
    """Whether `OPTIONS` choose a row, said another way."""
    of_line = row["model"] != "b" and row["prompter"] == "p" and row["dataset"] == "d"
    return of_line and row["case"] != "other" and row["target_ml"] > 1


@pytest.fixture
def folders() -> None:
    """The folder ``whole``, and ``part`` with only what the options choose."""
    stored("whole", rows(*made()))
    stored("part", rows(*filter(wanted, made())))
    for folder in ("whole", "part"):
        Path(folder, "runs").mkdir(exist_ok=True)
        Path(folder, "runs", "run.json").write_text(
            json.dumps({"run_id": "run", "state": "finished", "options": {"cases": []}})
        )


@pytest.mark.usefixtures("folders")
@pytest.mark.parametrize(
    "words",
    [
        ("table", "--csv"),
        ("table", "--counts", "--interval"),
        ("table", "--by", "model", "--columns", "label", "--json"),
        ("compare", "aa", "c"),
        ("compare", "aa", "c", "--csv"),
        ("power",),
        ("power", "aa", "ab", "--csv"),
        ("methods",),
        ("failures",),
        ("failures", "--json"),
    ],
)
def test_what_is_printed_is_as_of_a_folder_with_these_alone(say: Callable[..., Said], words: tuple[str, ...]) -> None:
    chosen, alone = say(*words, *OPTIONS, "--out", "whole"), say(*words, "--out", "part")
    assert WORDS in " ".join((chosen.out + chosen.err).split())
    assert chosen.code == alone.code
    assert _plain(chosen.out) == _plain(alone.out) != _plain(say(*words, "--out", "whole").out)


def _plain(text: str) -> str:
    """A text without what was chosen, and without the ends of lines that it moves."""
    text = " ".join(text.split())
    for said in (*_IN_METHODS, f"; {WORDS}", WORDS):
        text = text.replace(said, "")
    return text.replace("whole", "part")


_IN_METHODS = (f"All numbers are of a part of the results: {WORDS}.", "No cases or targets were left out by selection.")


@pytest.mark.usefixtures("folders")
def test_means_by_hand(say: Callable[..., Said]) -> None:
    rows = pl.DataFrame(made()).filter(pl.Series(map(wanted, made())))
    failed = pl.col("model").eq("c") & pl.col("case").eq("c1") & pl.col("target_ml").eq(3)
    rows = rows.with_columns(dice=pl.when(failed).then(0.0).otherwise("dice"))
    cases = rows.group_by("model", "label", "case").agg(pl.col("dice").mean())
    classes = cases.group_by("model", "label").agg(pl.col("dice").mean())
    expected = dict(classes.group_by("model").agg(pl.col("dice").mean()).iter_rows())
    found = intrabench.table(
        "whole", model=["a*", "c"], prompter="p", dataset="d", cases="c?", targets="ml>=2", by="model"
    )
    assert dict(found.select("model", "d").iter_rows()) == pytest.approx(expected)


@pytest.mark.usefixtures("folders")
def test_files_are_of_these_sessions(say: Callable[..., Said]) -> None:
    assert say("export", "rows", "rows.parquet", *OPTIONS, "--out", "whole").code == 0
    assert pl.read_parquet("rows.parquet").height == read_rows(Path("part")).height == 3 * 7 * 2
    for format, place in (("eee", "whole-eee"), ("ro-crate", "crate"), ("croissant", "cards")):
        assert say("export", format, place, *OPTIONS, "--out", "whole").code == 0
    assert say("export", "eee", "part-eee", "--out", "part").code == 0
    whole, part = (_scores(Path(place)) for place in ("whole-eee", "part-eee"))
    assert whole == part
    assert {model for model, _ in whole} == {"aa", "ab", "c"}
    assert pl.read_parquet("crate/rows.parquet").height == 42
    assert WORDS in Path("crate/ro-crate-metadata.json").read_text()
    assert WORDS in Path("cards/prompts/croissant.json").read_text()
    task = ("--benchmark", "d=lab/d/t")
    assert say("export", "hf", "hf", *task, *OPTIONS, "--out", "whole").code == 0
    values = {path.parts[1]: path.read_text() for path in Path("hf").rglob("*.yaml")}
    means = dict(intrabench.table("part", by="model").select("model", "d").iter_rows())
    assert values.keys() == means.keys() == {"aa", "ab", "c"}
    for model, mean in means.items():
        assert f"value: {mean!r}"[:14] in values[model]
        assert WORDS in values[model]


def _scores(folder: Path) -> dict[tuple[str, str], float]:
    logs = [json.loads(path.read_text()) for path in folder.rglob("*.json")]
    return {
        (log["model_info"]["name"], one["evaluation_name"]): one["score_details"]["score"]
        for log in logs
        for one in log["evaluation_results"]
    }


@pytest.mark.usefixtures("folders")
def test_the_report_and_figures_say_what_they_are_of(say: Callable[..., Said]) -> None:
    for folder, options in (("whole", OPTIONS), ("part", ())):
        assert say("report", f"{folder}.html", *options, "--out", folder).code == 0
        assert say("figures", f"{folder}-figures", "--format", "svg", *options, "--out", folder).code == 0
    whole, part = (Path(f"{folder}.html").read_text() for folder in ("whole", "part"))
    assert f"; {WORDS}</p>".replace(">=", "&gt;=") in whole
    sections = [text[text.index("<section id=summary") : text.index("<section id=reproduce")] for text in (whole, part)]
    assert sections[0] == sections[1]
    assert {path.name for path in Path("whole-figures").iterdir()} == {
        path.name for path in Path("part-figures").iterdir()
    }
    assert "Only model a*" in Path("whole-figures/ranking.svg").read_text()


DATA = "phantom:shape=8x24x24,scans=3"
CHOSEN = {"prompter": "box_i*", "cases": "first:2", "targets": "ml>0.1"}
WORDS_OF_RUN = [word for name, text in CHOSEN.items() for word in (f"--{name}", text)]


@pytest.fixture
def run(data: Path) -> pl.DataFrame:
    """A run that kept its masks; the sessions that `CHOSEN` chooses."""
    given: dict[str, Any] = {"dataset": DATA, "out": "run", "save_masks": True, "workers": 0}
    rows = intrabench.run(["box_fill", "random_walker"], ["box_slice", "box_interp:n=3"], **given)
    cases = pl.col("case").is_in(["case-1", "case-2"])
    kept = rows.filter(pl.col("prompter").str.starts_with("box_interp"), cases, pl.col("target_ml") > 0.1)
    assert 0 < kept.height < rows.height / 3
    return kept


def test_sessions_are_verified_submitted_rated_and_their_masks_written(
    say: Callable[..., Said], run: pl.DataFrame
) -> None:
    verdicts = intrabench.verify("run", sample=1000, **CHOSEN)  # type: ignore[arg-type]
    assert {one.session for one in verdicts} == {*run["session"]}
    assert {one.found for one in verdicts} == {"equal"}
    assert say("export", "masks", "masks", *WORDS_OF_RUN, "--out", "run").code == 0
    assert len([*Path("masks").rglob("*.nii.gz")]) == run.height
    assert say("export", "masks", "one", "-m", "box_fill", *WORDS_OF_RUN, "--out", "run").code == 0
    assert len([*Path("one").rglob("*.nii.gz")]) == run.filter(model="box_fill").height
    who: dict[str, Any] = {"name": "Lab", "contact": "a@lab.example", "licence": "CC0-1.0", "notes": "ours"}
    made = intrabench.submit("sent", **who, out="run", **CHOSEN)  # type: ignore[arg-type]
    assert {*made.rows["session"]} == {*run["session"]}  # type: ignore[index]
    assert made.statement is not None
    assert made.statement.by.notes == f"ours; {selection(**CHOSEN).words}"
    found, _ = inputs_of(Path("run"), selection=selection(**CHOSEN))
    assert len(found) == run.select("case", "target").n_unique()
    assert len(inputs_of(Path("run"))[0]) == 2 * read_rows(Path("run")).select("case", "target").n_unique()


def test_superpixels_of_some_methods_and_cases(say: Callable[..., Said], data: Path) -> None:
    words = ("superpixels", "run", "-m", "slic", "-m", "slic:compactness=5", "-d", DATA, "--segments", "20,40")
    assert say(*words, "--workers", "0", "--out", "run").code == 0
    table = ("superpixels", "table", "--by-number", "--metric", "rec", "--csv", "--out", "run")
    whole, chosen = (say(*table, *more) for more in ((), ("-m", "slic", "--cases", "case-2")))
    frame = pl.read_csv(chosen.out.encode())
    assert (frame["method"].unique().to_list(), frame["images"].unique().to_list()) == (["slic"], [1])
    assert "method slic; cases case-2" in chosen.err
    rows = read_rows(Path("run")).filter(pl.col("case") == "case-2", ~pl.col("model").str.contains("compactness"))
    worst = rows.group_by("model").agg(pl.col("rec").min())["rec"]
    assert sorted(frame["Rec"]) == pytest.approx(sorted(worst))
    assert pl.read_csv(whole.out.encode())["images"].unique().to_list() == [3]
    assert "did you mean 'slic'" in say(*table, "-m", "slik").err
    assert say("superpixels", "report", "x.html", "-m", "slic", "--out", "run").code == 0
    assert "; only method slic</p>" in Path("x.html").read_text()


@pytest.mark.usefixtures("folders")
def test_unknown_names_end_every_reader_alike(say: Callable[..., Said]) -> None:
    told = {say(reader, "-m", "aab", "--out", "whole").err for reader in ("table", "power", "methods", "failures")}
    assert len(told) == 1
    assert "did you mean 'a" in told.pop()
    assert "--views 3" in say("report", "x.html", "--targets", "3", "--out", "whole").err


def test_what_cannot_be_combined_is_looked_for_in_what_is_chosen(say: Callable[..., Said]) -> None:
    other = rows({"dice": 0.5, "protocol": "rclicks@1"}, {"dice": 0.6, "protocol": "rclicks@1", "case": "2"})
    stored("mixed", rows({"dice": 0.7}, {"dice": 0.9, "case": "2"}), other)
    assert say("table", "--by", "model", "--metric", "dice", "--out", "mixed").code == 2
    for words, mean in ((("--protocol", "basic@1"), 0.8), (("--protocol", "rcl*"), 0.55)):
        said = say("table", "--by", "model", "--metric", "dice", "--csv", *words, "--out", "mixed")
        assert pl.read_csv(said.out.encode())["d"].to_list() == pytest.approx([mean])


def test_every_reader_has_the_options() -> None:
    """A command that reads results has them all, and says so here."""
    found = {}
    for path, command in _commands(get_command(app), ()):
        names = {one.name for one in command.params}
        if "selection" not in names and {"model", "method"} & names and "workers" not in names:
            found[path] = {*OF_RESULTS} & names
    readers = {name: options for name, options in found.items() if {"cases", "targets", "dataset"} <= options}
    assert {*readers} - {"annotate", "job", "run"} == READERS
    for name in READERS - {"superpixels table", "superpixels report"}:
        assert readers[name] == {*OF_RESULTS}, name


def _commands(command: Any, path: tuple[str, ...]) -> list[tuple[str, Any]]:
    if hasattr(command, "commands"):
        return [one for name, each in command.commands.items() for one in _commands(each, (*path, name))]
    return [(" ".join(path), command)]


def test_options_keep_their_place_in_python() -> None:
    """What chooses sessions is named as on the command line, and nothing else is."""
    with pytest.raises(intrabench.IntraBenchError, match="did you mean 'model'"):
        intrabench.table("whole", modell="a")  # type: ignore[call-arg]
    with pytest.raises(intrabench.IntraBenchError, match="cases"):
        intrabench.table("whole", cases=3)  # type: ignore[arg-type]
