"""Figures for papers: files that can be opened, with the numbers of the tables."""

from __future__ import annotations

import sys
from pathlib import Path
from xml.etree import ElementTree

import polars as pl
import pytest
from PIL import Image
from syrupy.assertion import SnapshotAssertion

from intrabench.errors import IntraBenchError
from intrabench.reporting.figures import (
    _add_note,
    _curves,
    _sizes,
    rank_figure,
    style,
    sweep_figures,
    swept_dice,
    time_figure,
    write_figures,
)
from intrabench.reporting.page.curve_data import curve_data
from intrabench.reporting.page.page import write_report
from intrabench.reporting.page.strata import strata
from intrabench.statistics.aggregate import AGGREGATIONS
from intrabench.statistics.evaluation import with_lines
from intrabench.statistics.measures import DavisArea
from intrabench.statistics.ranking import ranking
from intrabench.statistics.scores import scores
from intrabench.statistics.steps import steps
from tests.reporting.page.page_of import store
from tests.results.made import curve

NAMES = ("dice_against_interactions", "dice_against_dof", "dice_against_seconds_human", "dice_against_machine_s")


@pytest.fixture(scope="module", autouse=True)
def _matplotlib() -> None:
    pytest.importorskip("matplotlib")


def several() -> pl.DataFrame:
    return pl.concat(
        curve([0.1 * n, 0.1 * n + 0.05], prompter=f"p:n={n}", model=model, case=str(case), target_ml=1.0 + case)
        for n in range(1, 4)
        for model in ("m", "n")
        for case in range(6)
    )


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return store(tmp_path_factory.mktemp("several") / "results", several())


@pytest.fixture(scope="module")
def drawn(results: Path) -> list[Path]:
    """The figures of `several` as SVG."""
    return write_figures(results, results.parent / "figures", ["svg"])[0]


def test_every_format_can_be_opened(tmp_path: Path, results: Path, drawn: list[Path]) -> None:
    written, _ = write_figures(results, tmp_path / "figures", ["png", "pdf"])
    for format, paths in (("svg", drawn), ("png", written[::2]), ("pdf", written[1::2])):
        assert {path.name for path in paths} == {f"{name}.{format}" for name in (*NAMES, "dice_by_size", "ranking")}
    for path in [*drawn, *written]:
        if path.suffix == ".png":
            with Image.open(path) as picture:
                assert picture.width > 500
        elif path.suffix == ".svg":
            assert any("p:n=2" in (node.text or "") for node in ElementTree.parse(path).iter())
        else:
            assert path.read_bytes().startswith(b"%PDF")


def test_a_line_below_every_figure_says_which_prompts_were_adapted(tmp_path: Path, drawn: list[Path]) -> None:
    adapted = several().with_columns(adapted=pl.when(pl.col("prompter") == "p:n=2").then(pl.lit("box2d->point")))
    noted, _ = write_figures(store(tmp_path / "results", adapted), tmp_path / "figures", ["svg"])
    assert len(noted) == len(drawn)
    for number, paths in enumerate((drawn, noted)):
        for path in paths:
            text = " ".join(node.text or "" for node in ElementTree.parse(path).iter())
            told = "Adapted prompts: box2d->point in all sessions of p:n=2, m; p:n=2, n."
            assert (told in " ".join(text.split())) == bool(number), path


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("note", ["", "box2d->point", ",".join(f"a{n}->b{n}" for n in range(9))])
def test_a_single_line_has_room_beside_its_notes(tmp_path: Path, note: str) -> None:
    """matplotlib warns where a panel has no room."""
    one = several().filter(pl.col("prompter") == "p:n=2", pl.col("model") == "n").with_columns(adapted=pl.lit(note))
    assert len(write_figures(store(tmp_path / "results", one), tmp_path / "figures", ["png"])[0]) > len(NAMES)


def test_names_are_drawn_as_they_are(tmp_path: Path) -> None:
    """matplotlib would leave out a name that begins with an underscore, and warn of letters that no font has."""
    rows = several().with_columns(
        pl.col("prompter").replace({"p:n=2": "_p\x1b[2J\n$x$"}), pl.col("model").replace({"n": "_n\a"})
    )
    written, _ = write_figures(store(tmp_path / "results", rows), tmp_path / "figures", ["svg"])
    for path in written:
        drawn = [node.text or "" for node in ElementTree.parse(path).iter()]
        if path.stem in NAMES:
            assert " _p\\x1b[2J\\n$x$" in drawn
            assert "_n\\x07" in drawn
        if path.stem == "ranking":
            assert sum("_p\\x1b[2J\\n$x$" in text for text in drawn) == 2


def test_equal_results_give_equal_files(tmp_path: Path, results: Path, drawn: list[Path]) -> None:
    again, _ = write_figures(results, tmp_path, ["svg"])
    assert [path.read_bytes() for path in drawn] == [path.read_bytes() for path in again]


def test_what_is_drawn_are_the_numbers() -> None:
    rows, lines = with_lines(several())
    names = dict(lines.select("line", "name").iter_rows())
    scored, how = scores(rows), AGGREGATIONS["protocol"]
    figure = _curves(curve_data(steps(rows), lines, how), 0)
    assert [panel.get_title() for panel in figure.axes] == ["m", "n"]
    drawn = sorted(tuple(line.get_ydata().round(6)) for line in figure.axes[0].lines)
    for (time, quality), answered in zip(drawn, ([2.25, 4.5], [9.25, 18.5]), strict=True):
        assert time == [0, *answered, 240]
        assert quality == pytest.approx([0, 0.4, 0.8, 0.8])
    assert panel.get_xlim() == (0, 90)
