"""A session without prompts: the model divides the image, and its superpixels are compared with an annotation."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import cached_property
from typing import Any

from intrabench.errors import foreign, in_words, legible
from intrabench.identity.versions import ships
from intrabench.mask import Mask
from intrabench.metrics.base import Metric
from intrabench.metrics.partition_metric import PartitionMetric
from intrabench.metrics.score import checked_value
from intrabench.models.base import Answer, Failure, Request
from intrabench.play.state import Timings
from intrabench.superpixels.partitions.pair import PartitionPair
from intrabench.superpixels.partitions.partition import Partition


class Divided:
    """What `Session` is for targets, for an annotation: one request, one answer, one row of round 0.

    The row has no Dice, but the columns of the metrics. metrics: those that are no `PartitionMetric` have no value.
    """

    round = rounds = 0

    def __init__(self, key: str, annotation: Partition, metrics: Sequence[Metric]) -> None:
        self.key, self.metrics = key, metrics
        self.target_ml: float | None = None
        self.turns: list[dict[str, Any]] = []
        self.masks: list[Mask] = []
        self.rows: list[dict[str, Any]] = []
        self.problems: set[tuple[str, str]] = set()
        self.failure: Failure | None = None
        self._annotation: Partition | None = annotation
        self.requests: Sequence[Request] = [Request(key, (), partition=True)]

    @property
    def sessions(self) -> Sequence[Divided]:
        """Itself, as a joint session has several."""
        return [self]

    @property
    def ended(self) -> bool:
        """Whether it has its row."""
        return bool(self.rows)

    @cached_property
    def ours(self) -> bool:
        """Whether no code of the user's own scores it."""
        return all(map(ships, self.metrics))

    def scored(self, seconds: float | None = 0.0) -> bool:
        """Whether all scores are known, as they are at once."""
        return True

    def begin(self) -> None:
        """Nobody is asked."""

    def receive(self, answer: Answer | Failure) -> None:
        """Take the model's superpixels, and measure them."""
        timings = Timings()
        timings.add(answer)
        if isinstance(answer, Failure):
            self._fail(replace(answer, message=legible(answer.message)), timings)
        elif not isinstance(answer.partition, Partition) or self._annotation is None:
            self._fail(Failure("error", "model: it gave no superpixels; it must set Answer.partition"), timings)
        elif answer.partition.shape != self._annotation.shape:
            self._fail(Failure("error", f"model: its superpixels have the shape {answer.partition.shape}"), timings)
        else:
            self._measure(PartitionPair(answer.partition, self._annotation))
            self._end("ok", self._summary(), timings, answer.notes)

    def _fail(self, failure: Failure, timings: Timings) -> None:
        self.failure = failure
        self._end(failure.status, failure.message, timings)

    def _measure(self, pair: PartitionPair) -> None:
        self._values: dict[str, float | None] = {}
        for metric in self.metrics:
            try:
                with nullcontext() if self.ours else foreign():
                    value = metric.compare(pair) if isinstance(metric, PartitionMetric) else None
                    self._values[metric.column] = checked_value(metric, value)
            except Exception as error:  # the metric's own code may raise anything
                self._values[metric.column] = None
                self.problems.add((metric.column, in_words(error)))

    def _summary(self) -> str:
        return "; ".join(f"metric {column}: {reason}" for column, reason in sorted(self.problems))

    def _end(self, status: str, error: str, timings: Timings, notes: Sequence[str] = ()) -> None:
        self.requests, self._annotation = [], None  # annotations of many sessions would fill the memory
        self.rows.append(
            {
                "session": self.key,
                "round": 0,
                "status": status,
                "error": error,
                "ended": True,
                "prompts_hash": "",
                "adapted": ",".join(sorted(set(notes))),
                "interactions": 0.0,
                "dof": 0.0,
                "seconds_human": 0.0,
                **dict.fromkeys(("dice", "iou"), None if status == "ok" else 0.0),
                **(self._values if status == "ok" else {}),
                **vars(timings),
            }
        )
