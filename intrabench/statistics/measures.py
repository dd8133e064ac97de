"""One number per session, chosen by a spec: its final score (`dice`), or a summary of all its rounds (`noc`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import polars as pl

from intrabench.errors import IntraBenchError
from intrabench.mask import Bools
from intrabench.metrics.base import Best
from intrabench.protocols.toothfairy3_challenge import CLICKS as CANAL_CLICKS
from intrabench.specs.specs import build, parse, switch
from intrabench.statistics import cvpr25, davis_curves
from intrabench.statistics.curves import CLICKS, check_bounded, check_finite, drops, trapezoids
from intrabench.statistics.scores import FailurePolicy, metric, scores
from intrabench.statistics.steps import Steps, steps


class Measure(ABC):
    """A summary: one number per session.

    metric: the metric of its rounds. against: the effort, or time, that is counted. step: whether an answer counts from
    when it is there, else on the line to it.
    """

    metric: str

    @property
    def best(self) -> Best:
        """Which values are best: those of the metric, unless it says otherwise."""
        return metric(self.metric).best

    @property
    def capped(self) -> str:
        """What is to be said of numbers of sessions that ended before all the effort that it is of; empty: nothing."""
        return ""

    def cut_short(self, played: Steps) -> Bools:
        """(sessions) Whether this is to be said of a session."""
        raise NotImplementedError

    @property
    @abstractmethod
    def description(self) -> str:
        """The summary in words, for the headings of tables."""

    @abstractmethod
    def of(self, played: Steps) -> pl.DataFrame:
        """`scores` with this number as `value`."""

    def measured(self, rows: pl.DataFrame, policy: FailurePolicy | None) -> pl.DataFrame:
        """The same from rows."""
        return self.of(steps(rows, self.metric, policy))


@dataclass(frozen=True)
class Area(Measure):
    """The mean score of each session while effort goes from 0 to a budget: the area under its steps, by the budget.

    A score that is reached exactly at the end of the budget adds no area. Of a distance it is the mean distance, if a
    miss is finite: before its first answer, a session counts as a miss.
    """

    metric: str = "dice"
    against: str = "interactions"
    budget: float = 20

    @property
    def description(self) -> str:
        return f"mean {self.metric} while {self.against} go from 0 to {self.budget:g}"

    def of(self, played: Steps) -> pl.DataFrame:
        check_finite(played)
        budget = self.budget
        if not 0 < budget < np.inf:
            raise IntraBenchError(
                f"there is no area over a budget of {budget:g} {self.against}; give a finite budget above 0"
            )
        # A step lasts until the next one of its session, and the last one until the budget is spent. What begins beyond
        # the budget is cut to a width of 0.
        start = np.minimum(played.effort(self.against), budget)
        end = np.where(np.roll(played.first, -1), budget, np.roll(start, -1))
        width = np.stack(
            [end - start, np.where(played.first, start, 0.0)]
        )  # of a step, and of what is before the first
        height = np.where(width > 0, [played.value, played.before], 0.0)  # which may be infinite
        area = np.bincount(played.session, (height * width).sum(axis=0), minlength=played.sessions.height)
        return played.scored(area / budget)


@dataclass(frozen=True)
class ChallengeFinal(Measure):
    """The score after the last click of the challenge.

    above: it is 0 unless the mean Dice of all targets of the case is above this in the round (0: no rule). missing:
    what a step without an answer counts, the worst value or the answer before; then cases without any answer are left
    out.
    """

    metric: str = "dice"
    above: float = switch(0.0)
    missing: Literal["worst", "previous"] = switch("worst")

    @property
    def description(self) -> str:
        return f"{self.metric} after click {cvpr25.STEPS}{self._rules}"

    @property
    def _rules(self) -> str:
        gate = f", 0 unless the case's Dice is above {self.above:g}" if self.above else ""
        return gate + (", a missing answer is the one before" if self.missing == "previous" else "")

    def of(self, played: Steps) -> pl.DataFrame:
        return played.scored(played.at("round", cvpr25.STEPS))

    def measured(self, rows: pl.DataFrame, policy: FailurePolicy | None) -> pl.DataFrame:
        """By the rules of the challenge for missing answers, and for NSD."""
        # Whether a case failed is asked of the rows as they are, before missing answers take the scores of those
        # before.
        original = rows
        if self.missing == "previous":
            rows = cvpr25.with_answers_before(rows)
        if self.above:
            rows = cvpr25.above(rows, metric(self.metric).column, self.above, policy)
        found = super().measured(rows, policy)
        if self.missing == "worst":
            return found
        found = found.drop("failed").join(cvpr25.failures(original), on="session", how="left", maintain_order="left")
        return found.with_columns(value=pl.when(~pl.col("silent")).then("value")).drop("silent")


@dataclass(frozen=True)
class ChallengeArea(ChallengeFinal):
    """The area of the CVPR 2025 challenge, 0 to 4, of each session: trapezoids of width 1 over rounds 1 to 5.

    A missing round has the score of the previous one. first: 0 counts the box, too, and the sum is scaled to 0 to 4.
    The challenge averages over the classes of a case first (aggregation `case`); its rules for NSD and missing answers
    are those of `ChallengeFinal`. CVPR25_iter_eval.py of JunMa11/CVPR-MedSegFMCompetition (2025-06-03).
    """

    first: int = switch(1)

    def __post_init__(self) -> None:
        if not 0 <= self.first < cvpr25.STEPS:
            raise ValueError(f"first={self.first}, expected a round from 0 to {cvpr25.STEPS - 1}")

    @property
    def description(self) -> str:
        return f"area under {self.metric} of rounds {self.first} to {cvpr25.STEPS}, 0 to 4{self._rules}"

    def of(self, played: Steps) -> pl.DataFrame:
        steps = cvpr25.STEPS
        return played.scored(trapezoids(played, self.first, steps) * ((steps - 1) / (steps - self.first)))


@dataclass(frozen=True)
class ScribblesArea(Measure):
    """The area of the autoPET V challenge, 0 to `last`, of each session: trapezoids of width 1 over rounds 0 to `last`.

    Round 0 has no prompts; a session that ended keeps its score, and one that failed has 0. With its default of five
    iterations, the published loop ends at round 4. interactive_loop.py of lab-midas/autoPETV (2026-07-01).
    """

    metric: str = "dice"
    last: int = 5

    def __post_init__(self) -> None:
        if self.last < 1:
            raise ValueError("give last=1 or more")

    @property
    def description(self) -> str:
        return f"area under {self.metric} of rounds 0 to {self.last}, 0 to {self.last}, as in autoPET V"

    def of(self, played: Steps) -> pl.DataFrame:
        return played.scored(trapezoids(played, 0, self.last))


@dataclass(frozen=True)
class CanalArea(Measure):
    """The area of ToothFairy3, task 2, of each session: trapezoids of width 1 over 0 to 5 clicks, one per round.

    It is also of distances, where less is better, and infinite if an answer failed. evaluation.py of
    AImageLab-zip/ToothFairy (commit 681e8b0).
    """

    metric: str = "dice"

    @property
    def description(self) -> str:
        return f"area under {self.metric} of 0 to {CANAL_CLICKS} clicks, as in ToothFairy3"

    def of(self, played: Steps) -> pl.DataFrame:
        values = np.stack([played.at("round", number) for number in range(CANAL_CLICKS + 1)])
        return played.scored((values[1:] + values[:-1]).sum(axis=0) / 2)


@dataclass(frozen=True)
class ClicksArea(Measure):
    """The mean of each session's score over clicks 1 to 20 by trapezoids, 0 to 1: with IoU, the "IoU-AuC" of RClicks.

    One click per round; a session that ended keeps its score.
    """

    metric: str = "iou"

    @property
    def description(self) -> str:
        return f"mean {self.metric} over clicks 1 to 20, by trapezoids as in RClicks"

    @property
    def capped(self) -> str:
        return f"fewer than {CLICKS} clicks were played, and the last score stands for the rest"

    def cut_short(self, played: Steps) -> Bools:
        at_end = played.at("round", np.inf)
        return (played.effort_at_end("round") < CLICKS - 1) & (at_end < 1)

    def of(self, played: Steps) -> pl.DataFrame:
        return played.scored(trapezoids(played, 0, CLICKS - 1) / (CLICKS - 1))


@dataclass(frozen=True)
class DavisArea(Measure):
    """The mean score over the seconds of the model, 0 to 1: the AUC of DAVIS Interactive with its J&F.

    seconds: the end of the axis for each object of an average case. step: an answer counts from when it is there, else
    on the line to it (`intrabench.statistics.davis_curves.davis_auc`).
    """

    metric: str = "j_and_f"
    seconds: float = 240
    step: bool = False

    @property
    def description(self) -> str:
        how = "in steps" if self.step else "on lines"
        return f"mean {self.metric} over {self.seconds:g} s of the model per object, {how}, as in DAVIS Interactive"

    def of(self, played: Steps) -> pl.DataFrame:
        return davis_curves.davis_auc(played, self.seconds, self.step)


@dataclass(frozen=True)
class DavisAt(Measure):
    """The score `after` so many seconds of the model, on the axis of `davis_auc`; in DAVIS Interactive 60 s."""

    metric: str = "j_and_f"
    after: float = 60
    step: bool = False

    @property
    def description(self) -> str:
        return f"{self.metric} after {self.after:g} s of the model, as in DAVIS Interactive"

    def of(self, played: Steps) -> pl.DataFrame:
        return davis_curves.davis_at(played, self.after, self.step)


@dataclass(frozen=True)
class Clicks(Measure):
    """Each session's number of clicks until the score is at least `threshold`; `limit` if it takes more or fails.

    Clicks are interactions, or another effort. With IoU, one click per round and the mean over objects (`pooled`), this
    is the NoC of RITM (Sofiiuk et al. 2022) and RClicks (Antonov et al. 2024).
    """

    best: ClassVar[Best] = "low"
    threshold: float = 0.9
    metric: str = "dice"
    against: str = "interactions"
    limit: float = 20

    def __post_init__(self) -> None:
        if not (0 < self.threshold <= 1 and self.limit > 0):
            raise ValueError("give a threshold above 0 and up to 1, and a limit above 0")

    @property
    def description(self) -> str:
        return f"{self.against} until {self.metric} is {self.threshold:g}, {self.limit:g} if it takes more"

    @property
    def capped(self) -> str:
        return (
            f"fewer than {self.limit:g} {self.against} were played without reaching {self.metric} "
            f"{self.threshold:g}, which {self._counted}, so means are upper bounds"
        )

    @property
    def _counted(self) -> str:
        return f"counts as {self.limit:g}"

    def cut_short(self, played: Steps) -> Bools:
        return np.isinf(played.reach(self.against, self.threshold)) & (played.effort_at_end(self.against) < self.limit)

    def of(self, played: Steps) -> pl.DataFrame:
        check_bounded(played)
        return played.scored(np.minimum(played.reach(self.against, self.threshold), self.limit))


@dataclass(frozen=True)
class Failures(Clicks):
    """Whether a session fails to reach `threshold` within `limit`, 1 or 0; the sum is the number of failures.

    ritm: sessions that need all of `limit` fail too, as RITM and RClicks count them (NoC equals the limit).
    """

    ritm: bool = switch(False)

    @property
    def _counted(self) -> str:
        return "counts as a failure"

    @property
    def description(self) -> str:
        return (
            f"share of sessions that do not reach {self.metric} {self.threshold:g} with {self.limit:g} {self.against}"
        )

    def of(self, played: Steps) -> pl.DataFrame:
        check_bounded(played)
        needed = played.reach(self.against, self.threshold)
        failed = needed >= self.limit if self.ritm else needed > self.limit
        return played.scored(failed.astype(np.float64))


@dataclass(frozen=True)
class Regressions(Measure):
    """The share of a session's corrections that made the score worse by more than a margin.

    Sessions without corrections are left out.
    """

    best: ClassVar[Best] = "low"
    metric: str = "dice"
    margin: float = 0.01

    @property
    def description(self) -> str:
        return f"share of a session's corrections that made {self.metric} worse by more than {self.margin:g}"

    def of(self, played: Steps) -> pl.DataFrame:
        corrected = ~played.first
        worse, corrections = (
            np.bincount(played.session[which], minlength=played.sessions.height)
            for which in (corrected & (drops(played) > self.margin), corrected)
        )
        share = np.divide(worse, corrections, out=np.full(len(worse), np.nan), where=corrections > 0)
        return played.scored(share).with_columns(pl.col("value").fill_nan(None))


SUMMARIES: dict[str, type[Measure]] = {
    "auc": Area,
    "cvpr25_auc": ChallengeArea,
    "cvpr25_final": ChallengeFinal,
    "autopet5_auc": ScribblesArea,
    "rclicks_auc": ClicksArea,
    "davis_auc": DavisArea,
    "davis_at": DavisAt,
    "noc": Clicks,
    "nof": Failures,
    "regressions": Regressions,
    "toothfairy3_auc": CanalArea,
}
"""Summaries by name."""


def summary(spec: str) -> Measure | None:
    """The summary of a spec such as ``noc:threshold=0.8``; None if it is the name of a metric.

    Raises:
        IntraBenchError: it is neither, or its parameters do not fit.
    """
    name, arguments = parse(spec)
    if name in SUMMARIES:
        return build(SUMMARIES[name], arguments, spec)
    metric(spec, [*SUMMARIES])
    return None


def scored_by(spec: str) -> str:
    """The name of the metric on which a spec is based."""
    found = summary(spec)
    return spec if found is None else found.metric


def described(spec: str) -> str:
    """A spec with its description in words."""
    found = summary(spec)
    if found is not None:
        return f"{spec} ({found.description})"
    scale = metric(spec)
    words = [scale.head] if scale.head.lower() != spec else []
    words += [] if scale.best == "high" else [f"{scale.best} is best"]
    return f"{spec} ({', '.join(words)})" if words else spec


def with_direction(spec: str) -> str:
    """`described`, with which values are best where that does not say it."""
    says_it = summary(spec) is None and best(spec) != "high"
    return described(spec) if says_it else f"{described(spec)}; {best(spec)} values are best"


def best(spec: str) -> Best:
    """Which values of a spec are best: high, low or zero."""
    found = summary(spec)
    return metric(spec).best if found is None else found.best


def measured(
    rows: pl.DataFrame, spec: str = "dice", round: int | None = None, policy: FailurePolicy | None = None
) -> pl.DataFrame:
    """`scores` of the metric or summary `spec`, from the rounds up to `round`."""
    found = summary(spec)
    if found is None:
        return scores(rows, spec, round, policy)
    played = rows if round is None else rows.filter(pl.col("round") <= round)
    return found.measured(played, policy)
