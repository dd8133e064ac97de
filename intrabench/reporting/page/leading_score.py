"""Which score leads the report: the one that is asked for, else that of the protocol, else Dice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from intrabench.metrics.base import Best, Metric
from intrabench.protocols import PROTOCOLS
from intrabench.statistics.aggregate import AGGREGATIONS, Aggregation
from intrabench.statistics.measures import best, described, scored_by, summary
from intrabench.statistics.scores import Scale, metric


@dataclass(frozen=True)
class Lead:
    """The score that leads. spec: of a metric or a summary. title: its heading. rounds: the metric of single rounds."""

    spec: str
    title: str
    rounds: Scale

    @cached_property
    def best(self) -> Best:
        """Which of its values are best."""
        return best(self.spec)

    @property
    def is_summary(self) -> bool:
        """Whether it is a summary of all rounds of a session, and no score of a single one."""
        return summary(self.spec) is not None

    @property
    def description(self) -> str:
        """What it is, and which values are best."""
        words = "high values are best" if self.best == "high" else f"{self.best} values are best"
        return f"{described(self.spec)}; {words}"

    @cached_property
    def digits(self) -> int:
        """Decimals of its values in tables."""
        return digits_of(self.spec)

    @property
    def bounded(self) -> bool:
        """Whether single rounds are scored from 0 to 1, so that there is an area and a number of clicks of them."""
        return self.rounds.best == "high" and self.rounds.worst == 0 and not getattr(self.rounds, "unit", "")

    @property
    def bounded_title(self) -> str:
        """The heading of what areas and numbers of clicks are counted in: of single rounds, or Dice."""
        return self.rounds.head if self.bounded else "Dice"


def lead_of(rows: pl.DataFrame, asked: str = "") -> Lead:
    """The lead that is asked for, or what the protocol of the rows reports first; of several protocols Dice.

    Raises:
        IntraBenchError: there is no such metric.
    """
    own = own_numbers(_protocols(rows))
    title, spec = next(((head, spec) for head, spec in own if spec == asked or not asked), ("", asked or "dice"))
    rounds = metric(scored_by(spec))
    return Lead(spec, title or (spec if summary(spec) else rounds.head), rounds)


def averaging(rows: pl.DataFrame, name: str) -> Aggregation | None:
    """How the protocol of the rows averages what it reports, where the aggregation `protocol` is asked for."""
    protocols = _protocols(rows)
    if name != "protocol" or not own_numbers(protocols):
        return None
    return AGGREGATIONS[PROTOCOLS[protocols[0]].averages]


def own_numbers(protocols: Sequence[str]) -> Sequence[tuple[str, str]]:
    """What the only protocol reports, by heading; nothing of several."""
    if len(protocols) != 1:
        return ()
    preset = PROTOCOLS.get(protocols[0])
    return preset.numbers if preset else ()


def digits_of(spec: str) -> int:
    """Decimals of the values of a metric or summary in tables."""
    found = summary(spec)
    scale = None if found else metric(spec)
    coarse = spec.partition(":")[0] == "noc" or (isinstance(scale, Metric) and scale.unit)
    return 1 if coarse or getattr(scale, "name", "") == "seconds" else 3


def _protocols(rows: pl.DataFrame) -> list[str]:
    return rows["protocol"].unique().drop_nulls().sort().to_list()
