"""Which score leads the report: the one that is asked for, else that of the protocol, else Dice."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from intrabench.metrics.base import Best
from intrabench.reporting.formats import decimals
from intrabench.statistics.measures import best, scored_by, summary, with_direction
from intrabench.statistics.scores import Scale, metric, rises
from intrabench.statistics.statistic import Statistic, with_numbers


@dataclass(frozen=True)
class LeadingScore(Statistic):
    """The score that leads. title: its heading."""

    title: str = "Dice"

    @cached_property
    def scale(self) -> Scale:
        """The metric of single rounds."""
        return metric(scored_by(self.metric))

    @property
    def unit(self) -> str:
        """The unit of the score of a round; empty if it has none."""
        return self.scale.unit

    @property
    def scale_title(self) -> str:
        """The heading of the score of a round, without its unit."""
        return self.scale.head.removesuffix(f", {self.unit}")

    @cached_property
    def best(self) -> Best:
        """Which of its values are best."""
        return best(self.metric)

    @property
    def is_summary(self) -> bool:
        """Whether it is a summary of all rounds of a session, and no score of a single one."""
        return summary(self.metric) is not None

    @property
    def description(self) -> str:
        """What it is, and which values are best."""
        return with_direction(self.metric)

    @cached_property
    def digits(self) -> int:
        """Decimals of its values in tables."""
        return digits_of(self.metric)

    @property
    def scale_digits(self) -> int:
        """Decimals of the score of a round in tables."""
        return decimals(self.unit)

    @property
    def bounded(self) -> bool:
        """Whether single rounds are scored from 0 to 1, so that there is an area and a number of clicks of them."""
        return rises(self.scale) and not self.scale.unit

    @property
    def bounded_title(self) -> str:
        """The heading of what areas and numbers of clicks are counted in: of single rounds, or Dice."""
        return self.scale.head if self.bounded else "Dice"


def leading_score(protocols: Iterable[str], asked: Statistic) -> LeadingScore:
    """The score that is asked for, or what leads in the protocols of rows (`leading`), averaged as they do.

    Raises:
        IntraBenchError: there is no such metric.
    """
    ids = sorted(set(protocols))
    found, presets = asked.of_protocols(ids), with_numbers(ids)
    called = [head for one in presets for head, spec in one.numbers if spec == found.metric]
    spec = found.metric
    head = called[0] if called else spec if summary(spec) else metric(spec).head
    return LeadingScore(spec, found.round, found.how, found.policy, head, ends=found.ends)


def digits_of(spec: str) -> int:
    """Decimals of the values of a metric or summary in tables."""
    clicks = "interactions" if spec.partition(":")[0] == "noc" else ""
    return decimals(clicks if summary(spec) else metric(spec).unit)
