"""Correlations between the numbers of a table over its lines: which they are, and the table of them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import polars as pl

from intrabench.errors import IntraBenchError
from intrabench.reporting.click_tables import ClickTable
from intrabench.reporting.spread import SpreadTable, make_spread
from intrabench.reporting.table import Layout, cells, check_columns
from intrabench.results.current import MODEL, PROTOCOL
from intrabench.specs.specs import nearest
from intrabench.statistics.aggregate import COUNTS, EFFORT, totals
from intrabench.statistics.correlations import LEAST, correlations
from intrabench.statistics.infinite import BESIDE
from intrabench.statistics.measures import SUMMARIES, scored_by, summary
from intrabench.statistics.resample import AVERAGE
from intrabench.statistics.scores import measured_metrics
from intrabench.statistics.scores import metric as metric_called
from intrabench.statistics.soundness import check_mixable
from intrabench.statistics.sources import SOURCES, Source

ALL = "all"
GROUPS, TARGETS, LINES = "sample", "mean", "value"
"""The number that stands for a metric: in tables of groups of clicks, of users and spreads, and of lines."""
_ROBUSTNESS = ("dsb", "dgr", "dhh", "nsr")
_COUNTS = {*COUNTS, *BESIDE, *(f"{one.level}s" for one in SOURCES.values()), "sessions", "not_applicable"}
_APART = ("clicks", "users", "dataset")
"""Columns whose values are correlated apart."""


def make_correlations(
    rows: pl.DataFrame,
    layout: Layout,
    columns: Sequence[str],
    kind: ClickTable | Source | None = None,
    metric: str = "",
    interval: bool = False,
    common: bool = False,
) -> tuple[pl.DataFrame, str]:
    """`correlations` of columns over the lines of a table, and their heading.

    layout: of the table without clicks or a spread; its columns are data sets. columns: numbers of the table, as
    ``dsb``; other metrics; and numbers of the table of another metric, as ``rclicks_auc.dsb``; or `ALL`. kind: a table
    of clicks or of a spread. metric: as asked for. common: of spreads, as in their table.

    Raises:
        IntraBenchError: a column is none of these, there are too few lines or columns, or no prompter that all have.
    """
    heading = layout.heading()
    if isinstance(kind, ClickTable):
        layout = replace(layout, metric=kind.metric_of(rows, metric))
        heading, main = kind.describe(layout.metric), GROUPS if kind.option == "--groups" else TARGETS
    elif kind:
        main, heading = TARGETS, _spread(rows, layout, kind, common).heading
    else:
        main, (rows, only) = LINES, _with_all(rows, layout.by)
        heading = "; ".join(filter(None, [heading, only]))
    numbers = _Numbers(rows, layout, kind, common)
    chosen = _usual(numbers, main) if [*columns] == [ALL] else columns
    found, keys = _joined(numbers, chosen, main)
    apart = [name for name in _APART if name in keys]
    parts = found.partition_by(apart)
    most = max(map(len, parts), default=0)
    if most < LEAST:
        raise IntraBenchError(
            f"correlations are over the lines of a data set, and none has more than {most}; run {LEAST} models or "
            "more, or give other lines with --by"
        )
    there = [name for name in dict.fromkeys(chosen) if found[name].count()]
    if [*columns] == [ALL]:
        there = [name for name in there if any(one[name].n_unique() > 1 for one in parts)]
    if len(there) < 2:
        raise IntraBenchError(
            f"correlations are between two columns or more that differ between lines, but there is "
            f"{f'only {there[0]}' if there else 'none'}; give others with --correlate"
        )
    table = correlations(found.select(*keys, *there), there, apart, interval)
    by = [name for name in layout.by if name not in {*MODEL[1:], *PROTOCOL[1:], "dtype", "strict"}]
    lines = "models" if isinstance(kind, ClickTable) or by == ["model"] else f"lines of {', '.join(by)}"
    ends = "; 95 % intervals as if these were drawn at random" if interval else ""
    return table, f"correlations over {lines}; {heading}{ends}"


def _with_all(rows: pl.DataFrame, by: Sequence[str]) -> tuple[pl.DataFrame, str]:
    """The rows of prompters with which all lines have sessions, so that these differ in nothing else; and which.

    Nothing is left out, and nothing to be said, if lines are of prompters, or all have all.
    """
    check_columns(rows, by)
    if "prompter" in by:
        return rows, ""
    played = rows.filter(pl.col("status") != "not_applicable").select(*by, "prompter").unique()
    lines, prompters = played.select(by).n_unique(), played["prompter"].unique().sort()
    common = played["prompter"].value_counts().filter(pl.col("count") == lines)["prompter"].sort()
    if lines and common.is_empty():
        raise IntraBenchError(
            f"no prompter has sessions with all {lines} lines, so their numbers are of different work; choose lines "
            "that have one in common, or give --by model,prompter"
        )
    only = f"only {', '.join(common)}, with which all were played" if len(common) < len(prompters) else ""
    return rows.filter(pl.col("prompter").is_in(common.implode())), only


@dataclass(frozen=True)
class _Numbers:
    """Tables of lines by metric, in which every data set is a line; columns of texts say what a line is."""

    rows: pl.DataFrame
    layout: Layout
    kind: ClickTable | Source | None
    common: bool

    def __call__(self, metric: str) -> pl.DataFrame:
        layout = replace(self.layout, metric=metric)
        if isinstance(self.kind, ClickTable):
            return self.kind.table(self.rows, metric, layout.round, layout.policy, False)
        if self.kind:
            found = _spread(self.rows, layout, self.kind, self.common).frame
            return found.filter(pl.col("dataset") != AVERAGE)
        return _of_lines(self.rows, layout)


def _spread(rows: pl.DataFrame, layout: Layout, of: Source, common: bool) -> SpreadTable:
    return make_spread(rows, layout, of, interval=False, common=common)


def _of_lines(rows: pl.DataFrame, layout: Layout) -> pl.DataFrame:
    """Of lines of the layout: the mean of the metric as ``value``, and of the effort."""
    check_columns(rows, layout.by)
    by = [*dict.fromkeys([*layout.by, "dataset"])]
    if "protocol" not in by:
        check_mixable(rows, scored_by(layout.metric), layout.how)
    scored = layout.measured(rows)
    means, efforts = cells(scored, replace(layout, columns="dataset")), totals(scored, by).select(*by, *EFFORT)
    return means.select(*by, LINES).join(efforts, on=by, nulls_equal=True).sort(by)


def _joined(numbers: _Numbers, columns: Sequence[str], main: str) -> tuple[pl.DataFrame, list[str]]:
    """The columns side by side, and those that say what a line is."""
    frames = {numbers.layout.metric: numbers(numbers.layout.metric)}
    first = frames[numbers.layout.metric]
    keys = [name for name, kind in first.schema.items() if not kind.is_numeric()]
    found = first.select(keys)
    for column in dict.fromkeys(columns):
        spec, field = _parts(column, first, numbers.layout.metric, main)
        if spec not in frames:
            frames[spec] = numbers(spec)
        known = _numeric(frames[spec])
        if field not in known:
            raise IntraBenchError(
                f"--correlate {column}: there is no number {field!r}{nearest(field, known)}; the table has "
                f"{', '.join(known)}"
            )
        one = frames[spec].select(*keys, pl.col(field).alias(column))
        found = found.join(one, on=keys, how="left", nulls_equal=True, maintain_order="left")
    return found, keys


def _usual(numbers: _Numbers, main: str) -> list[str]:
    """What is correlated if nothing else is asked for: of groups of clicks what RClicks shows, else all numbers."""
    metric = numbers.layout.metric
    if main == GROUPS:
        score, kind = scored_by(metric), metric.partition(":")[0]
        clicks = [f"noc:threshold=0.9,metric={score}"] if kind != "noc" and _is_share(score) else []
        found = [metric, *clicks, f"rclicks_auc:metric={score}", *_ROBUSTNESS]
    elif main == LINES:
        others = [one.column for one in measured_metrics(numbers.rows)]
        found = [metric, *others, "interactions", "seconds_human", "seconds"]
    else:
        found = [name for name in _numeric(numbers(metric)) if name not in _COUNTS]
    return list(dict.fromkeys(found))


def _is_share(score: str) -> bool:
    """Whether a score is from 0 to 1, so that clicks to reach it can be counted."""
    return getattr(metric_called(score), "bounds", None) == (0, 1)


def _parts(column: str, frame: pl.DataFrame, metric: str, main: str) -> tuple[str, str]:
    """The metric and the number of its table that a column means."""
    if column in _numeric(frame):
        return metric, column
    spec, _, field = column.rpartition(".")
    if spec and field.isidentifier():
        summary(spec)  # which says what is wrong with it
        return spec, field
    if column.isidentifier() and main != LINES and column not in SUMMARIES:
        with suppress(IntraBenchError):
            metric_called(column)
            return column, main
        return metric, column  # which the table does not have
    summary(column)
    return column, main


def _numeric(frame: pl.DataFrame) -> list[str]:
    return [name for name, kind in frame.schema.items() if kind.is_numeric()]
