"""The lines of tables and their means: what a submission states, a check computes again, and the site shows.

Also what cannot be ranked; the command that makes a submission and the one that checks it ask the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from intrabench.engine.session_spec import CONTRACT
from intrabench.errors import IntraBenchError, several
from intrabench.files.documents import json_number
from intrabench.files.names import one_line
from intrabench.metrics.base import Best
from intrabench.models.weights.registry import RANDOM
from intrabench.protocols import PROTOCOLS, known, protocol
from intrabench.results.current import MODEL, PROTOCOL
from intrabench.results.fast_queries import only
from intrabench.results.statuses import ANSWERED
from intrabench.results.weights import how
from intrabench.statistics.aggregate import USUAL, Aggregation, aggregate
from intrabench.statistics.measures import best, measured
from intrabench.statistics.scores import last_round
from intrabench.statistics.statistic import averages
from intrabench.target import WHOLE_CASE

TABLE = ("contract", *PROTOCOL, "dataset", "dataset_version")
"""What all numbers of a table share: the meaning of rows, the protocol with its rules, and one version of the data."""

LINE = ("prompter", "prompter_version", *MODEL, "model_version", "dtype", "strict")
"""What tells the lines of a table apart, within a submission."""

EFFORT = ("interactions", "dof", "seconds_human", "machine_s")
"""Columns of effort, as `scores` has them; the last is the machine's time."""


@dataclass(frozen=True)
class Column:
    """A column of numbers. id: a metric with its version, ``dice@1``, or what the protocol calls one of its numbers."""

    id: str
    spec: str
    how: Aggregation

    @cached_property
    def best(self) -> Best:
        """Which values are best: high, low or zero."""
        return best(self.spec)


def columns_of(rows: pl.DataFrame) -> list[Column]:
    """The columns of numbers of a table: those its protocol reports, or one for each version of each metric.

    Those of the protocol come first, in its order: the first ranks, and no submission may choose it for others.
    """
    preset = protocol(rows["protocol"][0])
    means = averages([preset.id])
    if preset.numbers:
        return [Column(f"{head} ({preset.id})", spec, means) for head, spec in preset.numbers]
    found, all_ids = [], {id for ids in _metrics(rows).unique() for id in ids.split()}
    usual = [id for id in preset.metrics if id in all_ids]
    for id in [*usual, *sorted(all_ids.difference(usual))]:
        name = id.rpartition("@")[0]
        if name not in rows.columns:
            continue
        with suppress(IntraBenchError):  # a metric of somebody's own has no definition here
            best(name)
            found.append(Column(id, name, means))
    return found


def rows_with(rows: pl.DataFrame, column: Column) -> pl.DataFrame:
    """The rows that have a number in a column."""
    if "@" not in column.id or " " in column.id:
        return rows
    return rows.filter(pl.Series([column.id in ids.split() for ids in _metrics(rows)], dtype=pl.Boolean))


def _metrics(rows: pl.DataFrame) -> pl.Series:
    """The ids of the metrics of each row; early versions did not write them, for they were those of the protocol."""
    usual = {id: " ".join(preset.metrics) for id, preset in PROTOCOLS.items()}
    ids = pl.coalesce("metrics", pl.col("protocol").replace_strict(usual, default="", return_dtype=pl.String))
    return rows.select(ids).to_series()


def tables_of(rows: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """The rows of each table, in the order of their keys."""
    for key in rows.select(TABLE).unique().sort(TABLE).iter_rows(named=True):
        yield only(rows, pl.all_horizontal(pl.col(name).eq_missing(pl.lit(value)) for name, value in key.items()))


def counts(scored: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """Of each line: sessions, targets, cases, patients, failures, sessions that do not apply, and the mean efforts.

    scored: `scores`. Effort is the mean over sessions that did not fail, as in all tables.
    """
    each = pl.col("target") != WHOLE_CASE
    return scored.group_by(by).agg(
        each.sum().alias("sessions"),
        pl.struct("case", "target").filter(each & ~pl.col("not_applicable")).n_unique().alias("targets"),
        pl.col("case", "patient").n_unique().name.suffix("s"),
        pl.col("failed", "not_applicable").sum(),
        *(pl.col(name).filter(USUAL).mean() for name in EFFORT),
    )


def stated_lines(rows: pl.DataFrame) -> list[dict[str, Any]]:
    """The lines of all tables with their counts and means, as plain data."""
    return [line for part in tables_of(rows) for line in _table_lines(part)]


def _table_lines(rows: pl.DataFrame) -> Iterator[dict[str, Any]]:
    keys, found = [*TABLE, *LINE], dict[tuple[Any, ...], dict[str, Any]]()
    for column in columns_of(rows):
        part = rows_with(rows, column)
        if part.is_empty():
            continue
        scored = measured(part, column.spec)
        for line in counts(scored, keys).iter_rows(named=True):
            found.setdefault(tuple(line[name] for name in keys), {**line, "weights": how(line), "means": {}})
        for line in aggregate(scored, keys, column.how).iter_rows(named=True):
            found[tuple(line[name] for name in keys)]["means"][column.id] = json_number(line["value"])
    yield from (found[key] for key in sorted(found, key=str))


def line_words(line: Mapping[str, Any]) -> str:
    """A line in words, for messages."""
    data = f"{line['dataset']} (version {line['dataset_version']})"
    return f"{line['model']}, {line['prompter']}, on {data} under {line['protocol']}"


LONGEST, MOST_ROUNDS = 2000, 1000
"""Characters of a text in a row, and rounds of a session."""

_NEEDED = (
    *("contract", "stop", "effort", "dataset_version", "label", "seed", "run_id"),
    *("prompter_version", "weights", "weights_sha256", "model_version", "dtype", "strict"),
    *("interactions", "dof", "seconds_human"),
)
"""Columns that this version always writes, and that tables rely on."""


def refusals(rows: pl.DataFrame) -> Iterator[str]:
    """A sentence for each reason why rows cannot be ranked; none if they can."""
    if rows.is_empty():
        yield "there are no rows; `intrabench run` computes some"
        return
    for name, kind in rows.schema.items():
        if kind == pl.String and (rows[name].str.len_chars().max() or 0) > LONGEST:  # type: ignore[operator]
            yield f"the column {one_line(name)} has a text of more than {LONGEST} characters; shorten it, and run again"
    if lacking := [name for name in _NEEDED if rows[name].has_nulls()]:
        yield f"some rows have no {', '.join(lacking)}, which every run writes; run these sessions again"
        return
    if (top := last_round(rows)) > MOST_ROUNDS:
        yield f"a session has {top} rounds, expected {MOST_ROUNDS} at most"
    yield from _versions(rows)
    for id in rows["protocol"].unique().sort():
        of = rows.filter(protocol=id)
        if (preset := known(id)) and any(not columns_of(part) for part in tables_of(of)):
            yield f"rows under {id} have no metric that this version of intrabench knows; update it, or use another one"
        if preset is None:
            yield f"the protocol {one_line(id)} is unknown to this version of intrabench; update it, or use another one"
    if models := rows.filter(pl.col("weights") == RANDOM)["model"].unique().sort().to_list():
        yield f"{', '.join(models)} has random weights, which measure nothing; run it with others, or leave it out"
    if not rows["status"].is_in(ANSWERED).any():
        yield "no session ended with an answer, so there is nothing to rank"
    whole = [id for id, preset in PROTOCOLS.items() if preset.partition]
    blank = rows.filter(
        pl.col("status").is_in(ANSWERED), ~pl.col("protocol").is_in(whole), pl.col("prompts_hash").fill_null("") == ""
    )
    if len(blank):
        yield (
            f"{several(len(blank), 'row')} of {one_line(blank['model'][0])} on {one_line(blank['dataset'][0])} have no "
            "hash of their prompts, so nobody can tell what was prompted; run these sessions again"
        )


def _versions(rows: pl.DataFrame) -> Iterator[str]:
    contracts = rows["contract"].unique().sort().to_list()
    if len(contracts) > 1 or None in contracts:
        yield (
            f"the rows are of versions {', '.join(map(str, contracts))} of the meaning of rows, without a common mean; "
            "run the older ones again, or submit them apart"
        )
    elif contracts[0] > CONTRACT:
        yield f"rows are of version {contracts[0]} of the meaning of rows, this intrabench has {CONTRACT}; update it"
    mixed = rows.group_by(*TABLE, *LINE).agg(pl.col("metrics").drop_nulls().unique().sort()).sort(*TABLE, *LINE)
    for line in mixed.filter(pl.col("metrics").list.len() > 1).iter_rows(named=True):
        sets = " and others ".join(line["metrics"])
        yield (
            f"{line['model']} with {line['prompter']} on {line['dataset']} has sessions with the metrics {sets}, whose "
            "means would be of different targets; run all of them with the same --metric"
        )
