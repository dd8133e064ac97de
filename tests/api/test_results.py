"""Results from Python: the same numbers as on the command line, as data."""

from __future__ import annotations

import io
import json
import re
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench import IntraBenchError
from intrabench.errors import PartialResults
from tests.conftest import Said

SMALL = "phantom:shape=16x32x32,instances=3,scans=2"


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ``data`` and ``results``."""
    folder = tmp_path_factory.mktemp("played")
    models, prompters = ["box_fill", "random_walker"], ["box_volume", "box_interp:n=2+click_center"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INTRABENCH_DATA", str(folder / "data"))
        patch.setenv("INTRABENCH_WORKERS", "0")
        intrabench.run(models, prompters, SMALL, rounds=1, save_masks=True, out=folder / "results")
    return folder


@pytest.fixture(autouse=True)
def _results(played: Path, data: Path) -> None:
    shutil.copytree(played / "data", data)
    shutil.copytree(played / "results", "intrabench-results")


def test_tables_and_comparisons_show_what_the_terminal_shows(say: Callable[..., Said]) -> None:
    """Its lines, but for how they are drawn; a frame that is made of a table shows everything."""

    def lines(text: str) -> list[list[str]]:
        rows = [re.sub("[│┆┃]", " ", line).split() for line in text.splitlines()]
        return [words for words in rows if words and not set(words[0]) & set("┌╞└┏┡╇━─╪┴")]

    table, found = intrabench.table(), intrabench.compare("box_fill", "random_walker")
    power, sides = intrabench.power(), ("box_fill", "random_walker")
    assert lines(str(table)) == lines(say("table").out)
    assert lines(str(found)) == lines(say("compare", *sides).out)
    assert lines(str(power)) == lines(say("power").out)
    assert repr(table) == str(table)
    assert "human s" in table._repr_html_()
    assert "superiority" in found._repr_html_()
    assert "protocol" in table.columns
    assert "protocol" not in table._repr_html_()
    assert "protocol" in table.full()._repr_html_()
    assert "protocol" in str(table.select("protocol"))
    assert type(table.full()) is pl.DataFrame
    assert table.full().equals(table)
    assert str(table.clone()) == str(table.full())
    table.insert_column(0, pl.Series("mine", [1] * table.height))
    assert "mine" in str(table)
    assert str(table) == str(table.full())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, []),
        ({"metric": "iou", "round": 0}, ["--metric", "iou", "--round", "0"]),
        (
            {"per_round": True, "by": ["prompter"], "columns": "model"},
            ["--per-round", "--by", "prompter", "--columns", "model"],
        ),
        (
            {"by": "model", "aggregation": "pooled", "failed": "drop"},
            ["--by", "model", "--aggregation", "pooled", "--failed", "drop"],
        ),
        (
            {"interval": True, "counts": True, "protocol": "basic@2"},
            ["--interval", "--counts", "--protocol", "basic@2"],
        ),
        ({"aggregation": "matched", "empty": "drop"}, ["--aggregation", "matched", "--empty", "drop"]),
    ],
)
def test_a_table_is_the_one_of_the_command(say: Callable[..., Said], options: dict[str, Any], words: list[str]) -> None:
    printed = pl.read_csv(io.StringIO(say("table", "--csv", *words).out))
    frame = pl.read_csv(io.StringIO(intrabench.table(**options).write_csv()))
    assert frame.equals(printed)
    assert len(frame) >= 2


def test_a_table_warns_of_what_it_lacks(wording: SnapshotAssertion) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        complete = intrabench.table()
    damaged = next(Path("intrabench-results/rows").iterdir())
    damaged.write_bytes(b"no rows")
    for record in Path("intrabench-results/runs").iterdir():
        record.write_text(record.read_text().replace('"finished"', '"interrupted"'))
    with pytest.warns(PartialResults) as caught:
        assert not intrabench.table().equals(complete)
    first, second = str(caught[0].message).split("\n")
    assert "intrabench-results is partial" in first
    assert second.replace(damaged.name, "PART") == wording


def test_comparison_report_and_figures_warn_of_what_they_lack(say: Callable[..., Said]) -> None:
    shutil.copytree("intrabench-results", "other")
    damaged = Path("other/rows/x-0001.parquet")
    damaged.write_bytes(b"no rows")
    for record in Path("other/runs").iterdir():
        record.write_text(record.read_text().replace('"finished"', '"interrupted"'))
    partial = "other is partial because the run "
    left_out = f"{damaged} cannot be read and is left out; "
    two = ("box_fill", "random_walker")
    for call in (
        lambda: intrabench.compare(Path("intrabench-results"), Path("other")),
        lambda: intrabench.compare(*two, "other"),
        lambda: intrabench.report("mine.html", "other", views=1),
        lambda: intrabench.figures("pictures", "other", format="svg"),
    ):
        with pytest.warns(PartialResults) as caught:
            call()
        (first, second) = str(caught[0].message).split("\n")
        assert len(caught) == 1
        assert (first.startswith(partial), second.startswith(left_out)) == (True, True)
    for words in (
        ("compare", "intrabench-results", "other"),
        ("compare", *two, "--out", "other"),
        ("report", "mine.html", "--views", "1", "--out", "other"),
        ("figures", "pictures", "--format", "svg", "--out", "other"),
        ("table", "--out", "other"),
    ):
        said = say(*words)
        assert said.code == 1, words
        told = said.err.splitlines()
        assert [line[: len(start)] for line, start in zip(told, (partial, left_out), strict=True)] == [
            partial,
            left_out,
        ]
    damaged.unlink()
    said = say("compare", *two, "--out", "other")
    assert said.err.startswith(partial)
    assert said.code == 0


def test_results_of_which_all_is_damaged_are_not_called_missing(
    say: Callable[..., Said], wording: SnapshotAssertion
) -> None:
    for part in Path("intrabench-results/rows").iterdir():
        part.write_bytes(b"no rows")
    for words in (("table",), ("compare", "box_fill", "random_walker")):
        said = say(*words)
        assert said.code == 2
        assert f"{part.name} cannot be" in said.err
        assert said.err == wording
        assert "no results" not in said.err


def test_options_of_a_table_that_do_not_go_together_are_refused(wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        intrabench.table(groups=True, counts=True)
    assert caught == wording
    with pytest.raises(IntraBenchError) as caught:
        intrabench.table(metric="dise")
    assert caught == wording


def test_a_comparison_says_by_how_much_and_whether_it_is_worse(say: Callable[..., Said]) -> None:
    found = intrabench.compare("box_fill", "random_walker")
    assert len(found) == 2
    rows = intrabench.table(by=["model", "prompter"], protocol="basic@2")
    for head, comparison in found.items():
        mean = {
            row["model"]: row["average"] for row in rows.iter_rows(named=True) if row["prompter"] == head.split(", ")[0]
        }
        difference = comparison.datasets["difference"][0]
        assert difference == pytest.approx(mean["random_walker"] - mean["box_fill"])
        assert comparison.worse is False  # two cases are too few
    shown = json.loads(say("compare", "box_fill", "random_walker", "--json").out)
    assert [", ".join(one["shared"].values()) for one in shown] == list(found)
    assert [one["datasets"][0]["difference"] for one in shown] == [
        one.datasets["difference"][0] for one in found.values()
    ]


def test_report_and_figures_are_files() -> None:
    report = intrabench.report("mine.html", views=1, aggregation="pooled")
    assert report == Path("mine.html")
    assert "box_interp:n=2+click_center" in report.read_text()
    files = intrabench.figures("pictures", format=["svg"])
    assert files
    assert all(path.suffix == ".svg" and path.stat().st_size > 1000 for path in files)


def test_merge_tells_what_it_did() -> None:
    merged = intrabench.merge(Path("intrabench-results"), "all")
    assert (merged.copied > 3, merged.skipped, merged.conflicts) == (True, 0, [])
    again = intrabench.merge("intrabench-results", "all")
    assert (again.copied, again.skipped > 3) == (0, True)
    assert intrabench.table("all").equals(intrabench.table())


def test_verify_gives_verdicts() -> None:
    verdicts = intrabench.verify(sample=3, seed=1)
    assert [verdict.found for verdict in verdicts] == ["equal"] * 3


def test_nothing_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    intrabench.table(interval=True)
    intrabench.compare("box_fill", "random_walker")
    intrabench.report()
    intrabench.verify(sample=1)
    assert capsys.readouterr() == ("", "")


def test_functions_are_not_hidden_by_modules_of_the_same_name() -> None:
    import intrabench.engine.check
    import intrabench.engine.preview
    import intrabench.reporting.page.page

    for name in ("run", "table", "compare", "report", "figures", "preview", "check", "merge", "verify"):
        assert callable(getattr(intrabench, name)), name
        assert name in dir(intrabench)


def test_metrics_and_lines_are_given_as_objects_and_classes_too() -> None:
    expected = intrabench.table(metric="iou")
    metric = intrabench.metric("iou")
    assert intrabench.table(metric=metric).equals(expected)
    assert intrabench.table(metric=type(metric)).equals(expected)
    by_name = intrabench.compare("box_fill", "random_walker", metric="iou")
    by_object = intrabench.compare(intrabench.model("box_fill"), type(intrabench.model("random_walker")), metric=metric)
    assert by_object.keys() == by_name.keys()
    assert [found.worse for found in by_object.values()] == [found.worse for found in by_name.values()]


def test_a_comparison_of_prompters_is_headed_by_the_model(say: Callable[..., Said]) -> None:
    names = intrabench.table()["prompter"].unique().sort().to_list()
    found = intrabench.compare(*names)
    assert set(found) == {"box_fill", "random_walker"}
    heads = [one["shared"] for one in json.loads(say("compare", *names, "--json").out)]
    assert heads == [{"model": "box_fill"}, {"model": "random_walker"}]
