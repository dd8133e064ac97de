"""DMM, FPV and FNV: equal to the published metrics of autoPET V, in analytic cases, and along the interactions."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.errors import IntraBenchError
from intrabench.mask import Mask
from intrabench.metrics.lookup import metric
from intrabench.metrics.score import score
from intrabench.results.parts import read_rows
from intrabench.statistics.scores import scores
from intrabench.target import Target
from tests.conftest import Said

GOLDEN = Path(__file__).parents[1] / "golden" / "autopet5"
UNITS = json.loads((GOLDEN / "metric_units.json").read_text())["pairs"]
PAIRS = np.load(GOLDEN / "metric_units.npz")


def measured(truth: np.ndarray, answer: np.ndarray, *specs: str, spacing: tuple[float, ...] = (1, 1, 1)) -> list[float]:
    z, y, x = spacing
    target = Target("case", "lesion", 0, Mask.of(truth), truth.shape, (z, y, x))
    found = score(target, Mask.of(answer), [metric(spec) for spec in specs])
    assert not found.problems
    return [found.columns[metric(spec).column] for spec in specs]


@pytest.mark.parametrize("name", UNITS)
def test_values_are_the_published_ones(name: str) -> None:
    unit = UNITS[name]
    truth, answer = (PAIRS[f"{name}__{kind}"].T > 0 for kind in ("truth", "prediction"))
    found = measured(truth, answer, "dmm", "fpv", "fnv", "dice", spacing=unit["spacing"][::-1])
    for value, wanted in zip(found, [unit[key] for key in ("f1", "fpv", "fnv", "loop_dice")], strict=True):
        assert value is None if wanted is None else value == pytest.approx(wanted, rel=0, abs=1e-12)


def test_parameters_change_what_a_lesion_is_and_when_it_is_found() -> None:
    truth, answer = np.zeros((2, 4, 8, 8), bool)
    truth[1, 1:3, 1:3] = truth[2, 3:5, 3:5] = True  # they share a corner
    answer[1, 1:3, 1:3] = True
    assert measured(truth, answer, "dmm", "dmm:connectivity=26", "dmm:connectivity=26,iou=0.6") == [2 / 3, 1.0, 0.0]
    assert measured(truth, answer, "fnv", "fnv:connectivity=26", spacing=(10, 5, 5)) == [1.0, 0.0]
    assert measured(answer, truth, "fpv", "fpv:connectivity=26", spacing=(10, 5, 5)) == [1.0, 0.0]
    assert metric("dmm:connectivity=26,iou=0.6").column == "dmm:iou=0.6,connectivity=26"


def test_several_partners_are_allowed_and_a_touch_is_no_match() -> None:
    truth, answer = np.zeros((2, 3, 5, 20), bool)
    truth[1, 1:4, 1:5] = truth[1, 1:4, 7:11] = True
    answer[1, 1:4, 1:11] = True
    assert measured(truth, answer, "dmm", "fpv", "fnv") == [1.0, 0.0, 0.0]
    answer[:] = False
    answer[1, 1, 4:17] = True  # one voxel of the first lesion, IoU 1 / 24; four of the other
    assert measured(truth, answer, "dmm", "lesion_f1", "fpv", "fnv") == [2 / 3, 1.0, 0.0, 0.0]


def test_a_failed_session_does_not_improve_a_volume() -> None:
    assert metric("fpv").worst == metric("fnv").worst == math.inf
    assert metric("dmm").worst == 0
    assert [metric(name).head for name in ("fpv", "fnv", "dmm")] == ["FPV, ml", "FNV, ml", "DMM"]


@pytest.mark.parametrize("spec", ["dmm:iou=1.5", "dmm:connectivity=8", "fpv:connectivity=4", "fnv:connectivity=7"])
def test_wrong_parameters_are_told(spec: str, wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        metric(spec)
    assert caught == wording


def test_lesions_are_matched_anywhere_along_the_interactions(
    say: Callable[..., Said], tmp_path: Path, wording: SnapshotAssertion
) -> None:
    out = str(tmp_path / "out")
    said = say(
        *("run", "-m", "random_walker", "-d", "phantom:shape=24x48x48", "--cases", "first:1", "--rounds", "2"),
        *("-p", "box_interp:n=3+scribble", "--metric", "dmm", "--metric", "fpv", "--metric", "fnv", "--out", out),
    )
    assert said.code == 0, said.err
    rows = read_rows(tmp_path / "out")
    assert rows["round"].max() == 2
    assert rows.select(pl.col("dmm", "fpv", "fnv").null_count()).row(0) == (0, 0, 0)
    assert rows["dmm"].is_between(0, 1).all()
    assert "dmm: mean over" in say("table", "--out", out, "--metric", "dmm").out
    with pytest.raises(IntraBenchError) as caught:
        scores(rows, "dmm:iou=0.5")
    assert caught == wording
