"""What a metric is called in rows and in tables, and what is best of it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import polars as pl
import pytest

from intrabench.identity.versions import version_of
from intrabench.metrics.base import Best, Metric, merit
from intrabench.metrics.hd95 import HausdorffDistance95
from intrabench.metrics.lesion_f1 import LesionF1
from intrabench.metrics.mask_pair import MaskPair
from intrabench.metrics.nsd import NormalisedSurfaceDice


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
