"""The numbers of tables for exports: a mean with its interval for each prompter, metric and state, first and last."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import polars as pl

from intrabench.errors import IntraBenchError, several
from intrabench.metrics import lookup
from intrabench.metrics.base import Metric
from intrabench.reporting.footnotes import PARTIAL
from intrabench.results import labels
from intrabench.results.current import IDENTITY
from intrabench.statistics.aggregate import Aggregation
from intrabench.statistics.coverage import unequal
from intrabench.statistics.infinite import MISSED, NOTHING, Infinite
from intrabench.statistics.measures import measured, summary
from intrabench.statistics.notes import mean_of
from intrabench.statistics.resample import DRAWS, intervals
from intrabench.statistics.scores import FailurePolicy, measured_metrics
from intrabench.statistics.statistic import averages, leading, with_numbers
from intrabench.statistics.superpixels import prompted

LINE = (*(name for name in IDENTITY if name != "prompter"), "dataset")
"""What an evaluation is of: one model under one protocol on one data set, with one precision."""

_OF_DATASETS = tuple(name for name in LINE if name != "dataset")

POLICY = FailurePolicy()
EFFORT = ("interactions", "dof", "seconds_human")
STATES = {"initial": 0, "final": None}
"""After the first prompts, and at the end of a session."""


@dataclass(frozen=True)
class Result:
    """A mean. spec: of the metric or summary. sessions: what it is of, with their `value`, which none of them lacks.

    value: of infinite values, for which these formats have no number, the mean over the others; `infinite` says so.
    fewer: of how many targets it is, where other lines have more of the data set; else empty.
    """

    prompter: str
    spec: str
    state: str
    value: float
    low: float | None
    high: float | None
    patients: int
    counts: dict[str, int]
    sessions: pl.DataFrame
    how: str
    infinite: Infinite = NOTHING
    fewer: str = ""
    draws: int = DRAWS
    method: str = "bias-corrected and accelerated bootstrap over patients"

    @cached_property
    def metric(self) -> Metric:
        """The metric; a summary is none."""
        return lookup.metric(self.spec)

    @property
    def name(self) -> str:
        """Prompter, metric and state."""
        return f"{self.prompter}, {self.spec}, {self.state}"

    @property
    def id(self) -> str:
        """As `name`, for joins."""
        return f"{self.prompter}|{self.spec}|{self.state}"

    @property
    def effort(self) -> dict[str, float]:
        """The mean effort of the sessions up to this state, of each kind that all of them have."""
        means = {name: self.sessions[name].mean() for name in EFFORT if not self.sessions[name].has_nulls()}
        return {name: float(value) for name, value in means.items()}  # type: ignore[arg-type]

    @property
    def details(self) -> dict[str, str]:
        """What stands beside the mean in tables, as texts."""
        texts = {name: f"{value:.6g}" for name, value in self.effort.items()}
        texts |= {name: str(count) for name, count in self.counts.items()}
        texts |= {"infinite": self.infinite.words()} if self.infinite else {}
        texts |= {MISSED: self.infinite.misses} if self.infinite.missed else {}
        adapted = sorted(set(self.sessions["adapted"].drop_nulls()) - {""})
        texts |= {PARTIAL: self.fewer} if self.fewer else {}
        return texts | ({"adapted": "; ".join(adapted)} if adapted else {}) | {"prompter": self.prompter}


@dataclass(frozen=True)
class LineResults:
    """All results of one `LINE`. rows: of its sessions."""

    key: tuple[Any, ...]
    protocol: str
    rows: pl.DataFrame
    results: Sequence[Result]


def scored_results(rows: pl.DataFrame, metric: str | None = None) -> tuple[list[LineResults], list[str]]:
    """The results of rows that count, and a sentence for each metric with means of which no value is finite.

    metric: a metric or a summary of sessions; empty: the number that leads in each protocol; None: all that were
    measured. A session without corrections has only a final state, and so have summaries.

    Raises:
        IntraBenchError: nothing was measured.
    """
    rows, notes = prompted(rows), list[str]()
    found: dict[tuple[Any, ...], list[Result]] = {}
    corrected = set(rows.filter(pl.col("round") > 0).select(*LINE, "prompter").unique().rows())
    for spec, part in _metrics(rows, metric):
        infinite = 0  # means without any other value
        for state, round in STATES.items() if summary(spec) is None else [("final", None)]:
            for key, prompter, result in _results(part, spec, state, round):
                if state == "initial" and (*key, prompter) not in corrected:
                    continue
                if result is None:
                    infinite += 1
                else:
                    found.setdefault(key, []).append(result)
        if infinite:
            notes.append(
                f"{spec} has no finite value in {several(infinite, 'mean')}, which this format cannot hold: left out"
            )
    if not found:
        why = "table" if rows["status"].eq("not_applicable").all() else "failures"
        raise IntraBenchError(f"no session in these results has a score to export; `intrabench {why}` says why")
    parts = rows.with_columns(_label=labels.PROTOCOL).partition_by(LINE, as_dict=True)
    return [LineResults(key, part["_label"][0], part, found[key]) for key, part in parts.items() if key in found], notes


def _metrics(rows: pl.DataFrame, metric: str | None) -> list[tuple[str, pl.DataFrame]]:
    """The metrics and summaries, each with the rows that it is taken of."""
    if metric is None:
        return [(one.column, rows) for one in measured_metrics(rows)]
    if metric:
        return [(metric, rows)]
    leads = {id: leading(with_numbers([id])) for id in rows["protocol"].unique().sort()}
    return [
        (spec, rows.filter(pl.col("protocol").is_in([id for id, one in leads.items() if one == spec])))
        for spec in dict.fromkeys(leads.values())
    ]


_Found = tuple[tuple[Any, ...], str, Result | None]
"""A line, a prompter, and the result of both; None if all values are infinite."""


def _results(rows: pl.DataFrame, spec: str, state: str, round: int | None) -> list[_Found]:
    """The results of each line, averaged as its protocol does."""
    scored = measured(rows, spec, round, POLICY)
    few = unequal(scored, [*_OF_DATASETS, "prompter"])
    fewer = {one[:-1]: mean_of(one[-1]) for one in few.select(*LINE, "prompter", "note").iter_rows()}
    return [
        (key, prompter, one and replace(one, fewer=fewer.get((*key, prompter), "")))
        for (id,), part in sorted(scored.partition_by("protocol", as_dict=True).items())
        for key, prompter, one in _averaged(part, spec, state, averages([id]))
    ]


def _averaged(scored: pl.DataFrame, spec: str, state: str, how: Aggregation) -> Iterator[_Found]:
    by = [*_OF_DATASETS, "prompter"]
    sessions = scored.filter(pl.col("value").is_not_null()).partition_by([*LINE, "prompter"], as_dict=True)
    for line in intervals(scored, by, how).iter_rows(named=True):
        key = tuple(line[name] for name in LINE)
        mine = sessions.get((*key, line["prompter"]))
        if mine is None:
            continue
        infinite = Infinite.beside(line)
        if infinite.others is None:
            yield key, line["prompter"], None
            continue
        counts = {name: int(line[name]) for name in ("patients", "cases", "targets", "failed")}
        patients, means = counts.pop("patients"), f"{how.description}; {POLICY.describe()}"
        result = Result(
            line["prompter"], spec, state, infinite.others, None, None, patients, counts, mine, means, infinite
        )
        known = line["low"] is not None and not infinite
        yield key, line["prompter"], replace(result, low=line["low"], high=line["high"]) if known else result
