"""How sessions become numbers: by which metric, after which round, averaged how; as asked for, or as protocols have it.

Every output that shows means or differences is of a `Statistic`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import polars as pl

from intrabench.errors import IntraBenchError
from intrabench.protocols import Protocol, known
from intrabench.statistics.aggregate import AGGREGATIONS, Aggregation, aggregation
from intrabench.statistics.matched import MATCHED
from intrabench.statistics.measures import measured, scored_by, summary
from intrabench.statistics.notes import adapted, cut_short
from intrabench.statistics.scores import FailurePolicy, metric
from intrabench.statistics.sizes import ends_of

S = TypeVar("S", bound="Statistic")


@dataclass(frozen=True)
class Statistic:
    """How sessions become numbers.

    metric: of a metric or summary; empty: the number that leads in the protocols of the rows (`of_protocols`). round:
    the state after so many corrections; None: the last. how: the averages. policy: how failures count. ends: those of
    groups of targets by size, in ml; none: thirds (`with_sizes`).
    """

    metric: str = "dice"
    round: int | None = None
    how: Aggregation = AGGREGATIONS["protocol"]
    policy: FailurePolicy = field(default_factory=FailurePolicy)
    ends: tuple[float, ...] = field(default=(), kw_only=True)

    @property
    def column(self) -> str:
        """The column of the metric of single rounds, which decides which session of a target counts."""
        return metric(scored_by(self.metric)).column

    def measured(self, rows: pl.DataFrame) -> pl.DataFrame:
        """`scores` of the sessions."""
        return measured(rows, self.metric, self.round, self.policy)

    def adapted(self, rows: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
        """How many of the sessions got other prompts than their prompter gave."""
        return adapted(rows, by, self.round, self.column)

    def cut_short(self, rows: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
        """How many of the sessions ended before the clicks that their numbers are of."""
        return cut_short(rows, by, self.metric, self.round, self.policy)

    def of_protocols(self: S, protocols: Iterable[str]) -> S:
        """The same with a metric, as given, or what leads in these protocols; averaged as they do, if they agree."""
        ids = sorted(set(protocols))
        return replace(self, metric=self.metric or leading(with_numbers(ids)), how=averages(ids, self.how))


def statistic_of(
    metric: str,
    aggregation_name: str,
    failed: str,
    empty: str,
    round: int | None = None,
    size_bins: str | Sequence[float] = "",
) -> Statistic:
    """A statistic from words of the command line.

    Raises:
        IntraBenchError: one of them is unknown.
    """
    for option, word, choices in (("failed", failed, ("worst", "all", "drop")), ("empty", empty, ("worst", "drop"))):
        if word not in choices:
            raise IntraBenchError(f"--{option} {word} is unknown; give {', '.join(choices[:-1])} or {choices[-1]}")
    summary(metric or "dice")
    ends = ends_of(size_bins)
    how = MATCHED if aggregation_name == MATCHED.name else aggregation(aggregation_name)
    return Statistic(metric, round, how, FailurePolicy(failed, empty), ends=ends)  # type: ignore[arg-type]


def with_numbers(protocols: Sequence[str]) -> list[Protocol]:
    """The protocols of these ids, if all of them report numbers by names of their own; else none."""
    found = [preset for id in protocols if (preset := known(id)) and preset.numbers]
    return found if len(found) == len(protocols) else []


def leading(presets: Sequence[Protocol]) -> str:
    """The metric where none is chosen: the first number of these protocols, if that is the same in all, else dice."""
    first = {one.numbers[0][1] for one in presets if one.numbers}
    return first.pop() if len(first) == 1 and all(one.numbers for one in presets) else "dice"


def averages(protocols: Iterable[str], chosen: Aggregation = AGGREGATIONS["protocol"]) -> Aggregation:
    """How means of rows of these protocols are taken: as all of them do, if they do it alike; else as chosen.

    A choice counts for all rows. Its description begins with what becomes of several annotations of an image.
    """
    presets = [known(id) for id in sorted(set(protocols))]
    names = {one.averages if one else "protocol" for one in presets}
    how = AGGREGATIONS[names.pop()] if len(names) == 1 and chosen.name == "protocol" else chosen
    if not presets or any(one is None or one.annotations != "worst" for one in presets):
        return how
    return replace(how, description=f"worst annotation of an image, then {how.description}")


def averaged_otherwise(protocols: Iterable[str], how: Aggregation) -> list[str]:
    """A sentence for each protocol that averages otherwise than numbers whose averages nobody chose."""
    presets = [preset for id in sorted(set(protocols)) if (preset := known(id)) and how.name == "protocol"]
    return [
        f"{one.id} itself takes the {averages([one.id]).description}, as `--aggregation {one.averages}` does"
        for one in presets
        if one.averages != how.name
    ]
