"""`intrabench compare PUBLISHED OURS --reference paper`: what is assumed, what is said, and the numbers by hand."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

import intrabench
from tests.conftest import Said
from tests.reporting.test_comparison import stored
from tests.results.made import rows

DICE = np.random.default_rng(0).beta(7, 3, 60)
PUBLISHED = 0.6906  # SAM 2 with three interpolated boxes on D5, Table 3


def ours(dice: np.ndarray, **shared: object) -> object:
    given = ({"case": str(n), "dice": float(value)} for n, value in enumerate(dice))
    return rows(*given, **{"model": "litemedsam", "prompter": "box_interp:n=3", "dataset": "lnq", **shared})


@pytest.fixture
def results() -> None:
    stored("intrabench-results", ours(DICE), ours(DICE[:8], dataset="rider_lung"), ours(DICE[:3], dataset="pengwin"))


@pytest.mark.usefixtures("results")
def test_the_numbers_are_those_of_the_formula() -> None:
    found = intrabench.compare_published("SAM2", "litemedsam", correlation=(0.0, 0.9, 0.9)).frame
    row = found.filter(dataset="lnq").row(0, named=True)
    assert (row["row"], row["round"], row["paper"], row["patients"]) == ("3B Inter", 0, "D5", 60)
    sd = DICE.std(ddof=1)
    assert (row["published"], row["ours"], row["sd"]) == pytest.approx((PUBLISHED, DICE.mean(), sd))
    for r in (0.0, 0.9):
        t = math.sqrt(60) * (DICE.mean() - PUBLISHED) / math.sqrt(2 * sd**2 * (1 - r))
        assert row[f"r={r:g}"] == pytest.approx(stats.t.sf(t, 59))
    assert found.filter(dataset="pengwin")["r=0.9"].to_list() == [None]  # three patients


@pytest.mark.usefixtures("results")
def test_what_is_assumed_is_said(say: Callable[..., Said]) -> None:
    said = say("compare", "paper:sam2", "litemedsam", "--reference", "paper")
    assert said.code == 0
    told = " ".join(said.out.split())
    assert all(f"r={r}" in told for r in (0.5, 0.7, 0.9))
    assert "assumed, because the paper prints neither: published scores have our standard deviation" in told
    assert "but not all cases were run: lnq (60 of 513), pengwin (3 of 100), rider_lung (8 of 59)" in told
    assert told.count("* fewer than 50 patients") == 1
    (line,) = (line for line in said.out.splitlines() if "rider_lung" in line and "│" in line)
    assert " * " in line
    (line,) = (line for line in said.out.splitlines() if " lnq " in line and "│" in line)
    assert " * " not in line
    lines = list(csv.DictReader(say("compare", "SAM2", "litemedsam", "--reference", "paper", "--csv").out.splitlines()))
    assert {one["dataset"] for one in lines} == {"lnq", "pengwin", "rider_lung"}
    assert {float(one["published"]) for one in lines if one["dataset"] == "lnq"} == {PUBLISHED}


@pytest.mark.usefixtures("results")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("SAM3", "litemedsam"), "the paper has no model 'SAM3', did you mean 'SAM'?"),
        (("SAM", "litemed"), "there are no results of a model 'litemed', did you mean 'litemedsam'?"),
        (("SegVol", "litemedsam"), "litemedsam has no line that the paper has for SegVol"),
        (("SAM", "litemedsam", "--correlation", "1"), "--correlation 1 is not a correlation; give numbers from -1"),
        (("SAM", "litemedsam", "--correlation", "high"), "--correlation high: give numbers with commas between them"),
        (("SAM", "litemedsam", "--metric", "nsd"), "published numbers are Dice; omit --metric with --reference"),
        (("SAM", "litemedsam", "--round", "5"), "litemedsam has no line that the paper has for SAM"),
    ],
)
def test_what_is_refused(say: Callable[..., Said], words: tuple[str, ...], message: str) -> None:
    said = say("compare", *words, "--reference", "paper")
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith(f"error: {message}")


@pytest.mark.usefixtures("results")
def test_an_unknown_reference(say: Callable[..., Said]) -> None:
    said = say("compare", "SAM", "litemedsam", "--reference", "papre")
    assert (said.code, "there is no reference 'papre', did you mean 'paper'" in said.err) == (2, True)


def test_two_lines_of_one_prompter_are_not_mixed(say: Callable[..., Said]) -> None:
    stored("intrabench-results", ours(DICE), ours(DICE, protocol="overlap@1"))
    said = say("compare", "SAM", "litemedsam", "--reference", "paper")
    assert (said.code, "there are several lines of one prompter" in said.err) == (2, True)
