"""A session without prompts: one request, one row, whatever the model answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.mask import Mask
from intrabench.metrics.lookup import metric
from intrabench.metrics.partition_metric import PartitionMetric
from intrabench.models.base import Answer, Failure, Predictor
from intrabench.play.divided import Divided
from intrabench.play.lockstep import play
from intrabench.superpixels.partitions.pair import PartitionPair
from intrabench.superpixels.partitions.partition import Partition

TRUTH = Partition(np.array([[[0, 0, 1, 1]]], np.int32))
FOUND = Partition(np.array([[[0, 1, 1, 2]]], np.int32), cpu_s=0.25)


class Fixed(Predictor):
    """Gives one answer to all."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def segment(self, requests: Any) -> list[Any]:
        assert all(request.partition and not request.turns for request in requests)
        return [self.answer for _ in requests]


@dataclass(frozen=True)
class Broken(PartitionMetric):
    """Raises."""

    name = "broken"

    def compare(self, pair: PartitionPair) -> float:
        raise ZeroDivisionError("nothing to divide by")


def row_of(answer: Any, *more: PartitionMetric) -> dict[str, Any]:
    session = Divided("key", TRUTH, [*map(metric, ("asa", "ue_np", "cpu_s")), *more])
    play([session], Fixed(answer))
    assert session.ended
    assert not session.requests
    (row,) = session.rows
    assert (row["session"], row["round"], row["ended"], row["interactions"]) == ("key", 0, True, 0)
    return row


def test_superpixels_are_scored_by_the_metrics() -> None:
    answer = Answer(Mask.empty(), seconds=0.5, encode_seconds=2.0, notes=(*"hcbgaefdjilk", "a"), partition=FOUND)
    row = row_of(answer)
    assert (row["status"], row["error"], row["adapted"]) == ("ok", "", ",".join("abcdefghijkl"))
    assert (row["asa"], row["ue_np"], row["cpu_s"]) == (0.75, 0.5, 0.25)
    assert (row["dice"], row["iou"]) == (None, None)
    assert (row["segment_s"], row["encode_s"]) == (0.5, 2.0)


def test_a_metric_that_fails_harms_no_other(wording: SnapshotAssertion) -> None:
    row = row_of(Answer(Mask.empty(), partition=FOUND), Broken())
    assert (row["status"], row["asa"], row["broken"]) == ("ok", 0.75, None)
    assert row["error"] == wording


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (Failure("timeout", "too slow"), "timeout"),
        (Answer(Mask.empty()), "error"),
        (Answer(Mask.empty(), partition="x"), "error"),  # type: ignore[arg-type]
        (Answer(Mask.empty(), partition=Partition(np.zeros((1, 2, 2), np.int32))), "error"),
        ("nonsense", "error"),
    ],
)
def test_other_answers_are_failures(answer: Any, status: str, wording: SnapshotAssertion) -> None:
    row = row_of(answer)
    assert row["status"] == status
    assert row["error"] == wording
    assert row["dice"] == 0
    assert "asa" not in row
