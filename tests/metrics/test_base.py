"""What a metric is called in rows and in tables, and what is best of it."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from intrabench.identity.versions import version_of
from intrabench.mask import Mask
from intrabench.metrics.base import Best, Metric, merit
from intrabench.metrics.hd95 import HausdorffDistance95
from intrabench.metrics.lesion_f1 import LesionF1
from intrabench.metrics.lookup import metric
from intrabench.metrics.mask_pair import MaskPair
from intrabench.metrics.nsd import NormalisedSurfaceDice
from intrabench.registry import registry
from tests.conftest import make_target


@dataclass(frozen=True)
class Plain(Metric):
    name = "plain"
    version = "3"

    def measure(self, pair: MaskPair) -> float:
        return 0.0


@pytest.mark.parametrize(
    ("metric", "column", "id", "head"),
    [
        (Plain(), "plain", f"plain@{version_of(Plain)}", "plain"),
        (HausdorffDistance95(), "hd95_mm", "hd95_mm@1", "HD95, mm"),
        (NormalisedSurfaceDice(), "nsd_2mm", "nsd_2mm@1", "NSD, 2 mm"),
        (NormalisedSurfaceDice(2.0), "nsd_2mm", "nsd_2mm@1", "NSD, 2 mm"),
        (NormalisedSurfaceDice(0.5), "nsd:tolerance_mm=0.5", "nsd:tolerance_mm=0.5@1", "NSD, 0.5 mm"),
        (LesionF1(), "lesion_f1", "lesion_f1@1", "Lesion F1"),
        (LesionF1(6), "lesion_f1:connectivity=6", "lesion_f1:connectivity=6@1", "Lesion F1 (connectivity=6)"),
    ],
)
def test_names(metric: Metric, column: str, id: str, head: str) -> None:
    assert (metric.column, metric.id, metric.head) == (column, id, head)


def test_the_version_of_ones_own_metric_follows_its_code() -> None:
    assert Plain().id.startswith("plain@3.")


@pytest.mark.parametrize(
    ("best", "order"),
    [("high", [math.inf, 2, 0.5, 0, -1]), ("low", [-1, 0, 0.5, 2, math.inf]), ("zero", [0, 0.5, -1, 2, math.inf])],
)
def test_more_merit_is_better(best: Best, order: list[float]) -> None:
    assert sorted([2, 0.5, -1, math.inf, 0], key=lambda value: -merit(value, best)) == order
    array = merit(np.array(order), best)
    assert (np.diff(array) < 0).all()
    frame = pl.DataFrame({"x": order}, schema={"x": pl.Float64}).select(merit(pl.col("x"), best))
    assert frame["x"].to_list() == array.tolist()


def test_the_table_of_the_documentation_says_what_metrics_declare_and_measure() -> None:
    """Of all that ship, but those of DAVIS and of superpixels: what is best, and what two and one empty masks count."""
    text = (Path(__file__).parents[2] / "docs" / "results.md").read_text(encoding="utf-8")
    table = text[text.index("| metric | definition | both empty |") :].split("\n\n")[0].splitlines()[2:]
    told = {}
    for line in table:
        names, _, both, one, best = (cell.strip() for cell in line.strip("|").rsplit("|", 4))
        told |= dict.fromkeys(re.findall(r"`(\w+)`", names), (both, one, best))
    shipped = {name for name, one in registry.entries("metrics").items() if one.origin == "intrabench" and not one.kind}
    assert set(told) == shipped - {"j", "f", "j_and_f"}
    none, some = np.zeros((1, 8, 8), bool), np.ones((1, 8, 8), bool)
    for name, (both, one, best) in told.items():
        made = metric(name)
        assert made.best == best, name
        values = (made.measure(MaskPair(make_target(mask), Mask.empty())) for mask in (none, some))
        for value, words in zip(values, (both, one), strict=True):
            if value is None:
                assert words.endswith("no value") or name in ("dice_prompted", "dice_away", "destroyed"), name
            elif math.isinf(value):
                assert words.endswith("infinite"), name
            elif words.lstrip("-").isdigit():
                assert value == float(words), name
