"""Metrics by name, spec, column and id."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.errors import IntraBenchError
from intrabench.metrics.lookup import metric, of_protocol
from intrabench.metrics.nsd import NormalisedSurfaceDice
from intrabench.metrics.partition_metric import PartitionMetric
from intrabench.protocols import PROTOCOLS
from intrabench.registry import registry


@pytest.mark.parametrize("text", ["nsd", "nsd_2mm", "nsd_2mm@1", "nsd:tolerance_mm=2", "nsd:tolerance_mm=2.0"])
def test_one_metric_has_several_names(text: str) -> None:
    assert metric(text) == NormalisedSurfaceDice()


def test_a_column_names_its_metric() -> None:
    for name in registry.entries("metrics"):
        found = metric(name)
        assert metric(found.column) == metric(found.spec) == metric(found.id) == found
    narrow = metric("nsd:tolerance_mm=0.5")
    assert metric(narrow.column) == metric(narrow.id) == narrow


def test_scores_lie_within_the_bounds_of_their_metric() -> None:
    """Best and worst values of what ships."""
    assert [metric(name).worst for name in ("asa", "rec", "ue_np", "mde")] == [0, 0, 1, math.inf]
    for name in registry.entries("metrics"):
        found = metric(name)
        low, high = found.bounds
        assert low <= found.worst <= high, name
        if isinstance(found, PartitionMetric):
            assert (low, high) in {(0, 1), (0, math.inf)}, name
            continue
        shares = found.best == "high" or name == "destroyed"
        assert (low, high) == (0, 1) if shares else ({"low": 0, "zero": -1}[found.best], math.inf), name


@pytest.mark.parametrize(
    "text",
    [
        "dcie",
        "hd95_m",
        "dice@2",
        "nsd_2mm:tolerance_mm=1",
        "nsd:tolerance_mm=-1",
        "lesion_f1:connectivity=8",
    ],
)
def test_what_is_unknown(text: str, wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        metric(text)
    assert caught == wording


def test_built_in_columns_need_no_file_of_the_user() -> None:
    Path("intrabench.toml").touch()
    Path("metrics").mkdir()
    Path("metrics/broken.py").write_text("class Broken:\n    name = 'broken'\nraise SystemExit('imported')\n")
    assert metric("nsd_2mm@1") == NormalisedSurfaceDice()
    assert metric("hd95").column == "hd95_mm"


@pytest.mark.parametrize("protocol", PROTOCOLS.values(), ids=lambda protocol: protocol.id)
def test_protocols_name_metrics_of_this_version(protocol) -> None:  # type: ignore[no-untyped-def]
    assert tuple(one.id for one in of_protocol(protocol.metrics)) == protocol.metrics
