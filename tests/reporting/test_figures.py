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
from intrabench.models.weights.registry import REGISTERED
from intrabench.protocols import protocol
from intrabench.protocols.intrabench_paper import MODELS
from intrabench.reporting.figures import (
    _by_thirds,
    _curves,
    rank_figure,
    sweep_figures,
    swept_dice,
    write_figures,
)
from intrabench.reporting.page.curve_data import curve_data
from intrabench.reporting.page.page import write_report
from intrabench.reporting.page.strata import strata
from intrabench.reporting.plots import add_note, style
from intrabench.reporting.protocol_figures import paper_dice, protocol_figures, time_figure
from intrabench.reporting.reference import PAPERS, paper_number
from intrabench.statistics.aggregate import AGGREGATIONS
from intrabench.statistics.evaluation import Evaluation, with_lines
from intrabench.statistics.measures import DavisArea
from intrabench.statistics.ranking import ranking
from intrabench.statistics.scores import scores
from intrabench.statistics.sizes import SIZES
from intrabench.statistics.statistic import Statistic
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
        assert {path.name for path in paths} == {
            f"{name}.{format}" for name in (*NAMES, "dice_by_size", "dice_by_difficulty", "ranking")
        }
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
    assert drawn == [(0.1, 0.15), (0.2, 0.25), (0.3, 0.35)]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["p:n=1", "p:n=2", "p:n=3"]
    table = ranking(scored, ["line"], how).table
    ranked = rank_figure(table.to_dicts(), [names[line] for line in table["line"]])
    assert next(text.get_text() for text in ranked.axes[0].get_yticklabels()) in ("p:n=3, m", "p:n=3, n")
    sized = _by_thirds(strata(scored), "size", SIZES, names)
    assert next(line.get_label() for line in sized.axes[0].lines) == "small, 1 to 2 ml (2)"


def test_a_curve_against_the_strength_of_a_perturbation(tmp_path: Path) -> None:
    rows = pl.concat(
        curve([0.5, dice], model=model, case=str(case), dataset=f"d{change}")
        for model, slope in (("m", 1.0), ("_n", 0.5))
        for case in range(6)
        for change, dice in (("", 0.8), ("+noise", 0.8 - 0.1 * slope), ("+noise:sigma=0.3", 0.8 - 0.3 * slope))
    )
    rows, lines = with_lines(rows)
    swept = swept_dice(scores(rows), dict(lines.select("line", "name").iter_rows()), AGGREGATIONS["protocol"])
    figure = sweep_figures(swept)["noise"]
    (panel,) = figure.axes
    assert (panel.get_title(), panel.get_xlabel(), panel.get_ylabel()) == ("d", "noise, sigma", "Dice")
    drawn = sorted([*map(tuple, line.get_xydata().round(6).tolist())] for line in panel.lines)
    assert drawn == [[(0, 0.8), (0.1, 0.7), (0.3, 0.5)], [(0, 0.8), (0.1, 0.75), (0.3, 0.65)]]
    results = store(tmp_path / "results", rows.drop("line", "name"))
    write_report(results, tmp_path / "page.html", views=0)
    page = (tmp_path / "page.html").read_text()
    assert "<h2>Perturbed images</h2>" in page
    assert page.count("<figure class=drawn") == 1


def test_what_cannot_be_drawn(
    tmp_path: Path, results: Path, monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    with pytest.raises(IntraBenchError, match="no format 'jpg'"):
        write_figures(results, tmp_path, ["jpg"])
    with pytest.raises(IntraBenchError, match="has no results yet"):
        write_figures(tmp_path / "empty", tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(IntraBenchError) as caught:
        write_figures(results, tmp_path / "file")
    assert caught == wording
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(IntraBenchError, match="pip install 'intrabench\\[report\\]'"):
        write_figures(results, tmp_path)


def test_long_names_and_many_numbers_do_not_overlap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of every figure: no two texts cover each other, and none is cut off."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    long = "point_interp:n=3,placement=center,jitter=0.5+scribble:policy=largest_component,"
    given = pl.concat(
        curve([0.1, 0.2, 0.3], prompter=f"{long}n={n}", model=f"{model},{long}", case=str(case), interactions=cost)
        for n in range(2)
        for model, cost in (("sam2:size=large", 1.0), ("v" * 70, 3000.0), ("medsam", 20.0), ("box_fill", 7.0))
        for case in range(6)
    )
    drawn = []
    monkeypatch.setattr("intrabench.reporting.figures.save", lambda figure, *_: drawn.append(figure) or [])
    write_figures(store(tmp_path / "results", given), tmp_path)
    assert len(drawn) == 7
    for figure in drawn:
        FigureCanvasAgg(figure).draw()
        axes = [axis for panel in figure.axes for axis in (panel.xaxis, panel.yaxis)]
        numbers = [tick.label1 for axis in axes for tick in axis._update_ticks()]  # without those beyond the ends
        others = [text for legend in figure.legends for text in legend.get_texts()]
        others += [panel.title for panel in figure.axes] + [axis.label for axis in axes]
        texts = [text for text in [*numbers, *others] if text.get_text().strip() and text.get_visible()]
        boxes = [(text.get_text(), text.get_window_extent()) for text in texts]
        for number, (name, box) in enumerate(boxes):
            assert box.x0 >= -1, name
            assert box.x1 <= figure.bbox.x1 + 1, name
            for other, against in boxes[:number]:
                apart = (
                    box.x0 >= against.x1 or box.x1 <= against.x0 or box.y0 >= against.y1 - 1 or box.y1 <= against.y0 + 1
                )
                assert apart, (name, other)


def test_notes_of_wide_letters_are_not_cut_off() -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with style():
        figure = Figure(figsize=(8.2, 3.5))
        add_note(figure, 12 * "random_walker with box_volume; ", beside_legend=False)
        FigureCanvasAgg(figure).draw()
        (text,) = figure.texts
        assert "\n" in text.get_text()
        assert text.get_window_extent().x1 <= figure.bbox.x1


def test_davis_over_time_in_figures_and_in_the_report(tmp_path: Path) -> None:
    """From nothing to the last quality, which stays until the end; only where such an area leads."""
    rows = pl.concat(
        curve([0.4, 0.8], protocol="davis@1", model=model, case=str(case), joint=f"{model}{case}", segment_s=seconds)
        for model, seconds in (("m", 2.0), ("n", 9.0))
        for case in range(3)
    ).with_columns(j_and_f=pl.col("dice"))
    results = store(tmp_path / "results", rows)
    written, _ = write_figures(results, tmp_path / "figures", ["svg"])
    assert "j_and_f_over_time" in [path.stem for path in written]
    root = ElementTree.parse(tmp_path / "figures" / "j_and_f_over_time.svg").getroot()
    texts = {"".join(text.itertext()) for text in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {"seconds of the model, all objects", "J&F", "0", "10", "60"} <= texts
    write_report(results, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert page.count("seconds of the model, all objects") == 1
    played = steps(with_lines(rows)[0], "j_and_f")
    with style():
        figure = time_figure(played, DavisArea(), {0: "m", 1: "n"}, AGGREGATIONS["pooled"])
    (panel,) = figure.axes
    drawn = [[[float(x) for x in axis] for axis in line.get_data()] for line in panel.get_lines()[:2]]
    for (time, quality), answered in zip(drawn, ([2.25, 4.5], [9.25, 18.5]), strict=True):
        assert time == [0, *answered, 240]
        assert quality == pytest.approx([0, 0.4, 0.8, 0.8])
    assert panel.get_xlim() == (0, 90)


def paper_rows() -> pl.DataFrame:
    """SAM as the paper ran it, and another model, in a static row and two with corrections."""
    specs = {row.name: row.prompter for row in protocol("intrabench@1").rows}
    shared = {"protocol": "intrabench@1", "dataset": "lnq", "weights": REGISTERED}
    return pl.concat(
        curve(values, prompter=specs[row], model=model, case=str(case), **shared)
        for model in (MODELS["SAM"], "grabcut")
        for row, values in (
            ("Box PS", [0.5]),
            ("1PPS + 1PPS Refine", [0.2, 0.3, 0.4]),
            ("3B Inter + Scribble Refine", [0.5, 0.6]),
        )
        for case in range(2)
    )


def test_the_figures_of_the_paper_have_our_dice_beside_the_published(tmp_path: Path) -> None:
    results = store(tmp_path / "results", paper_rows())
    written, _ = write_figures(results, tmp_path / "figures", ["svg"])
    assert {"paper_by_prompt", "paper_by_round"} <= {path.stem for path in written}
    whole = Evaluation.of(results, Statistic(""))
    dice = paper_dice(whole)
    ours = dice.filter(source="ours", row="1PPS + 1PPS Refine", model="grabcut").sort("round")
    assert ours["dice"].to_list() == pytest.approx([0.2, 0.3, 0.4])
    assert dice.filter(source="published")["model"].unique().to_list() == [MODELS["SAM"]]
    published = dice.filter(source="published", row="1PPS + 1PPS Refine").sort("round")
    printed = pl.read_csv(PAPERS["paper"], comment_prefix="#").filter(
        pl.col("prompter") == "1PPS + 1PPS Refine", pl.col("model") == "SAM", pl.col("iteration") <= 2
    )
    number = paper_number("lnq") or ""
    assert published["dice"].to_list() == pytest.approx((printed.sort("iteration")[number] / 100).to_list())
    with style():
        found = protocol_figures(whole)
    by_round = [panel for panel in found["paper_by_round"].axes if panel.get_lines()]
    assert len(by_round) == 2
    dashes = {line.get_linestyle() for panel in by_round for line in panel.get_lines()}
    assert dashes == {"-", "--"}, "dashed where the user scribbles"
    for panel in by_round:
        for line in panel.get_lines():
            assert (line.get_linestyle() == "--") == (len(line.get_xdata()) == 2)
    (panel,) = found["paper_by_prompt"].axes
    assert [label.get_text() for label in panel.get_yticklabels()] == ["Box PS"]
    assert sorted(float(line.get_xdata()[0]) for line in panel.get_lines()) == pytest.approx(
        sorted([0.5, 0.5, *dice.filter(source="published", row="Box PS")["dice"]])
    )
