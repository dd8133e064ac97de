"""What protocols report by names of their own: the table of a run, of all results, and what `info` says."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.protocols import PROTOCOLS
from intrabench.results.parts import read_rows
from tests.conftest import Said
from tests.wording import line_with

RUN = ("run", "--model", "random_walker", "--dataset", "phantom:shape=8x32x40", "--workers", "0", "--out", "out")


def by_hand(values: list[float]) -> float:
    """Trapezoids of width 1."""
    return sum(values) - (values[0] + values[-1]) / 2


@pytest.mark.parametrize(
    ("protocol", "rows", "columns"),
    [
        ("cvpr25-fixed@1", [], {"DSC_AUC": "dice"}),
        ("autopet5@1", ["--only", "Boundary (mended)"], {"AUC-Dice": "dice", "AUC-DMM": "dmm"}),
    ],
)
def test_a_run_ends_with_the_numbers_of_its_protocol(
    say: Callable[..., Said], protocol: str, rows: list[str], columns: dict[str, str], wording: SnapshotAssertion
) -> None:
    said = say(*RUN, "--protocol", protocol, *rows)
    assert said.code == 0, said.err
    for head, _ in PROTOCOLS[protocol].numbers:
        assert head in said.out
    assert line_with(said.out, "shows all") == wording
    table = say("table", "--protocol", protocol, "--csv", "--out", "out").out
    (line,) = csv.DictReader(io.StringIO(table))
    played = read_rows(Path("out")).sort("round")
    for column, metric in columns.items():
        targets = [part[metric].to_list() for _, part in played.group_by("session", maintain_order=True)]
        areas = [by_hand([*scores, *[scores[-1]] * (6 - len(scores))]) for scores in targets]
        scale = 0.8 if column == "DSC_AUC" else 1.0  # five trapezoids, scaled to the challenge's four
        assert float(line[column]) == pytest.approx(scale * sum(areas) / len(areas), abs=1e-6)
    if "AUC-DMM" in columns:
        last = played.filter(pl.col("round") == played["round"].max())
        assert float(line["DMM"]) == pytest.approx(last["dmm"].mean(), abs=1e-6)
        assert float(line["FPV ml"]) == pytest.approx(last["fpv"].mean(), abs=1e-6)


def test_a_challenge_cannot_be_shortened(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    said = say(*RUN, "--protocol", "autopet5@1", "--rounds", "4")
    assert (said.code, said.err) == (2, wording)


def test_info_says_what_is_reported_and_that_nothing_ends_a_session(
    say: Callable[..., Said], wording: SnapshotAssertion
) -> None:
    lines = say("info", "autopet5@1").out.splitlines()
    assert line_with(lines, "stop rule") == wording
    assert line_with(lines, "autopet5_auc (") == wording
    assert line_with(lines, "fpv (") == wording
    assert "  Random (mended)      nothing+autopet:style=random,empty=counts_zero" in lines
    assert math.isinf(PROTOCOLS["autopet5@1"].stop.dice)
    assert line_with(say("info", "intrabench@1").out, "Box PS ") == wording
