"""`intrabench table --correlate`, and its picture."""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest
from PIL import Image
from polars.testing import assert_frame_equal
from scipy import stats
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.results.selection import selection
from tests.conftest import Said
from tests.reporting.page.page_of import report
from tests.reporting.test_difficulty import GIVEN, PROMPTERS, VALUES, stored
from tests.results import made

MODELS = 5
EACH = np.random.default_rng(14).uniform(0.2, 0.95, (MODELS, 6, 4, 3))  # models, cases, prompters, rounds
CURVES = pl.concat(
    made.curve(
        EACH[m, c, p], model=f"m{m}", case=str(c), prompter=PROMPTERS[p], interactions=1.0, seconds_human=1.0 + m
    )
    for m, c, p in np.ndindex(EACH.shape[:3])
)


@pytest.fixture
def table(say: Callable[..., Said]) -> Callable[..., pl.DataFrame]:
    stored(CURVES)

    def call(*words: str) -> pl.DataFrame:
        said = say("table", *words, "--csv")
        assert said.code == 0, said.err
        return pl.read_csv(io.StringIO(said.out))

    return call


def many(*columns: str) -> list[str]:
    return [word for column in columns for word in ("--correlate", column)]


def check(found: pl.DataFrame, a: str, b: str, one: np.ndarray, other: np.ndarray) -> None:
    row = found.filter(a=a, b=b).row(0, named=True)
    assert row["lines"] == len(one)
    assert row["pearson"] == pytest.approx(stats.pearsonr(one, other).statistic)
    assert row["spearman"] == pytest.approx(stats.spearmanr(one, other).statistic)


def test_robustness_over_models(table: Callable[..., pl.DataFrame]) -> None:
    """From the values themselves: last rounds, areas, and clicks to a Dice of 0.9."""
    found = table(
        "--groups", *many("dice", "noc:threshold=0.9", "dsb", "dgr", "dhh", "nsr", "rclicks_auc:metric=dice.dsb")
    )
    last, groups = EACH[:, :, 0, -1], EACH[:, :, 1:, -1]
    sample, dsb = groups.mean(axis=(1, 2)), (groups.mean(axis=2) - last).mean(axis=1)
    check(found, "dice", "dsb", sample, dsb)
    check(found, "dsb", "dgr", dsb, (groups[:, :, 0] - groups[:, :, 2]).mean(axis=1))
    check(found, "dsb", "nsr", dsb, (groups.std(axis=2) / groups.mean(axis=2)).mean(axis=1))
    curves = EACH[:, :, 1:]
    reached = np.where((curves >= 0.9).any(axis=-1), (curves >= 0.9).argmax(axis=-1) + 1, 20)
    check(found, "dice", "noc:threshold=0.9", sample, reached.mean(axis=(1, 2)))
    whole = np.concatenate([EACH, np.repeat(EACH[..., -1:], 17, axis=-1)], axis=-1)  # 20 clicks
    area = np.trapezoid(whole, axis=-1) / 19
    gain = (area[:, :, 1:].mean(axis=2) - area[:, :, 0]).mean(axis=1)
    check(found, "dsb", "rclicks_auc:metric=dice.dsb", dsb, gain)


def test_numbers_of_lines(table: Callable[..., pl.DataFrame]) -> None:
    found = table(*many("dice", "seconds_human", "auc"))
    dice = EACH[..., -1].mean(axis=(1, 2))
    check(found, "dice", "seconds_human", dice, np.arange(MODELS))
    every = table("--correlate", "all")
    assert {"dice", "seconds_human"} <= set(every["a"]) | set(every["b"])
    assert "interactions" not in {*every["a"], *every["b"]}  # they are the same for all models
    prompters = table("--by", "model,prompter", *many("dice", "seconds_human"))
    assert prompters["lines"].to_list() == [4 * MODELS]


def test_lines_are_compared_on_prompters_that_all_have(
    table: Callable[..., pl.DataFrame], say: Callable[..., Said], wording: SnapshotAssertion
) -> None:
    words = many("dice", "seconds_human", "auc")
    expected = table(*words)
    more = [
        made.curve([0.1], model="m0", case=str(case), prompter="box_slice", seconds_human=99.0) for case in range(6)
    ]
    refused = [{"model": "m1", "case": "0", "prompter": "box_slice", "status": "not_applicable", "dice": None}]
    stored(pl.concat([CURVES, *more, made.rows(*refused)]))
    said = say("table", *words, "--csv")
    assert_frame_equal(pl.read_csv(io.StringIO(said.out)), expected)
    assert say("table", *words).out.splitlines()[0] == wording
    shutil.rmtree("intrabench-results")
    stored(CURVES.with_columns(prompter=pl.col("model")))
    said = say("table", *words)
    assert (said.code, said.err) == (2, wording)


def test_numbers_of_a_spread(table: Callable[..., pl.DataFrame]) -> None:
    found = table("--spread", "group", *many("mean", "sd"))
    groups = EACH[:, :, 1:, -1]
    check(found, "mean", "sd", groups.mean(axis=(1, 2)), groups.std(axis=2).mean(axis=1))
    assert set(table("--spread", "group", "--correlate", "all")["a"]) == {"base", "mean", "sd", "worst", "dsb", "dgr"}


def test_for_people(say: Callable[..., Said], table: Callable[..., pl.DataFrame], wording: SnapshotAssertion) -> None:
    said = say("table", "--groups", *many("dice", "dsb", "nsr"), "--interval")
    assert (said.code, said.out) == (0, wording)


@pytest.mark.parametrize(
    "words",
    [
        many("dice"),
        ["--model", "m0", *many("all")],
        many("dice", "seconds_humam"),
        ["--groups", *many("dsp", "dsb")],
        ["--groups", *many("rclicks_auc.dsp", "dsb")],
        ["--groups", "--users", "--per-round", "--by", "model", *many("dsb", "nsr")],
        ["--model", "m[01]", *many("dice", "seconds_human")],
    ],
    ids=" ".join,
)
def test_what_is_refused(
    say: Callable[..., Said], table: Callable[..., pl.DataFrame], words: list[str], wording: SnapshotAssertion
) -> None:
    said = say("table", *words)
    assert (said.code, said.err) == (2, wording)


def test_in_python_and_as_a_picture(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    stored(CURVES)
    found = intrabench.table(groups=True, correlate=["dsb", "nsr", "dice"])
    written = intrabench.figures(tmp_path, format="svg", correlate=["dsb", "nsr", "dice"])
    (path,) = (one for one in written if one.stem == "correlations")
    drawn = [node.text or "" for node in ElementTree.parse(path).iter()]
    for name in ("dSB", "NSR", "Dice"):
        assert drawn.count(name) == 2
    for value in (*found["pearson"], *found["spearman"]):
        assert f"{value:.2f}".replace("-", "\N{MINUS SIGN}") in drawn
    assert any(f"{MODELS} models" in text for text in drawn)
    names = {one.stem for one in intrabench.figures(tmp_path / "usual", format="svg")}
    assert "correlations" in names
    assert "correlations" not in {one.stem for one in intrabench.figures(tmp_path / "two", format="svg", model="m[01]")}


def test_models_that_lack_a_number_do_not_count() -> None:
    stored(GIVEN)
    found = intrabench.table(groups=True, correlate="all")
    assert found["lines"].unique().to_list() == [len(VALUES)]


def test_the_report_has_them(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    stored(CURVES)
    page, _ = report(Path("intrabench-results"))
    assert "#correlations-section" in [given.get("href") for _, given in page.tags]
    found = intrabench.table(groups=True, correlate=["all"], interval=True)
    heads, *lines = page.tables["correlations-table"]
    assert heads[:4] == ["Clicks", "Data set", "Number", "Other number"]
    assert [line[4] for line in lines] == [str(count) for count in found["lines"]]
    for line, row in zip(lines, found.to_dicts(), strict=True):
        for cell, name in zip(line[5:], ("pearson", "spearman"), strict=True):
            assert float(cell.split()[0].replace("\N{MINUS SIGN}", "-")) == pytest.approx(row[name], abs=0.0051)
    two = report(Path("intrabench-results"), selection=selection(model="m[01]"))[0]
    assert "correlations-table" not in two.tables


def test_long_names_are_in_the_picture(tmp_path: Path) -> None:
    """Nothing is drawn beside the picture, whose edges are white."""
    pytest.importorskip("matplotlib")
    stored(CURVES)
    columns = ["noc:threshold=0.55,metric=iou,limit=15", "rclicks_auc.dhh", "dice", "nsr"]
    paths = intrabench.figures(tmp_path, format="png", correlate=columns)
    drawn = np.asarray(Image.open(next(one for one in paths if one.stem == "correlations")).convert("L"))
    assert min(edge.min() for edge in (drawn[0], drawn[-1], drawn[:, 0], drawn[:, -1])) == 255
