"""`intrabench compare PUBLISHED OURS --reference paper`: what is assumed, what is said, and the numbers by hand."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats
from syrupy.assertion import SnapshotAssertion

import intrabench
from tests.conftest import Said
from tests.reporting.test_comparison import stored
from tests.results.made import rows
from tests.wording import sentence_with

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
def test_what_is_assumed_is_said(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    said = say("compare", "paper:sam2", "litemedsam", "--reference", "paper")
    assert said.code == 0
    told = " ".join(said.out.split())
    assert all(f"r={r}" in told for r in (0.5, 0.7, 0.9))
    assert sentence_with(told, "neither: published") == wording
    assert sentence_with(told, "cases were") == wording
    assert "60 of 513" in told
    assert "3 of 100" in told
    assert "8 of 59" in told
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
    "words",
    [
        ("SAM3", "litemedsam"),
        ("SAM", "litemed"),
        ("SegVol", "litemedsam"),
        ("SAM", "litemedsam", "--correlation", "1"),
        ("SAM", "litemedsam", "--correlation", "high"),
        ("SAM", "litemedsam", "--metric", "nsd"),
        ("SAM", "litemedsam", "--round", "5"),
    ],
    ids=" ".join,
)
def test_what_is_refused(say: Callable[..., Said], words: tuple[str, ...], wording: SnapshotAssertion) -> None:
    said = say("compare", *words, "--reference", "paper")
    assert (said.code, said.out) == (2, "")
    assert said.err == wording


@pytest.mark.usefixtures("results")
def test_an_unknown_reference(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    said = say("compare", "SAM", "litemedsam", "--reference", "papre")
    assert (said.code, said.err) == (2, wording)


def test_two_lines_of_one_prompter_are_not_mixed(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    stored("intrabench-results", ours(DICE), ours(DICE, protocol="overlap@1"))
    said = say("compare", "SAM", "litemedsam", "--reference", "paper")
    assert (said.code, said.err) == (2, wording)
