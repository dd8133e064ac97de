"""The tables of a board, aggregated from the rows of all its submissions.

A table has one version of one data set, one protocol with its rules, and one meaning of rows; each of its columns has
one version of a metric. So no column ever mixes what cannot be compared.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from intrabench.models.card import ModelCard
from intrabench.publishing.board.availability import is_published, marks, trained_on
from intrabench.publishing.board.check import CheckResult
from intrabench.publishing.board.lines import EFFORT, LINE, TABLE, Column, columns_of, counts, rows_with, tables_of
from intrabench.publishing.board.submission import Submission, rows_of_several
from intrabench.reporting.page.curve_data import curve_data
from intrabench.results import labels
from intrabench.results.model_cards import card
from intrabench.statistics.aggregate import aggregate
from intrabench.statistics.curves import curve
from intrabench.statistics.infinite import Infinite
from intrabench.statistics.measures import best, measured, scored_by, summary
from intrabench.statistics.resample import AVERAGE, intervals
from intrabench.statistics.scores import by_image
from intrabench.statistics.steps import Steps, steps
from intrabench.target import WHOLE_CASE

BUDGETS = (1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 300, 500, 1000, 2000, 5000, 10_000)
"""Efforts at which scores are shown, in any unit, as far as a table goes."""

UNITS = {"interactions": "interactions", "dof": "degrees of freedom", "seconds_human": "seconds of the user"}
"""Kinds of effort of a person, as `Steps` calls them, and their names; seconds of different machines do not compare."""

RANKED, WITHHELD, INCOMPLETE, COPY = "ranked", "withheld", "incomplete", "copy"
"""The status of a line: it has a rank; its model was trained on the data; it lacks targets that others have; another
submission, made earlier, has its sessions."""


@dataclass
class Line:
    """A line: one model and prompter of one submission.

    model, prompter: as tables print them; spec: the prompter in full. card: of the model; of: the address of its page.
    training: yes, no or unknown. verified: what came of the check of its submission. copies: other submissions that
    have its sessions. means: by column, the value after the last round, its interval, or None. infinite: by column,
    what is infinite among the values. budgets: by column and unit, a value per budget.
    """

    number: int
    id: str
    submission: str
    model: str
    of: str
    prompter: str
    spec: str
    training: str
    marks: tuple[str, ...]
    card: ModelCard
    verified: str = ""
    copies: tuple[str, ...] = ()
    status: str = RANKED
    why: str = ""
    counts: dict[str, int] = field(default_factory=dict)
    effort: dict[str, float | None] = field(default_factory=dict)
    means: dict[str, tuple[float | None, float | None, float | None]] = field(default_factory=dict)
    infinite: dict[str, Infinite] = field(default_factory=dict)
    budgets: dict[str, dict[str, list[float | None]]] = field(default_factory=dict)


@dataclass
class Table:
    """A table. id: its address. key: the values of `TABLE`. budgets: by unit. curves: for the page's script."""

    id: str
    key: Mapping[str, Any]
    protocol: str
    columns: Sequence[Column]
    lines: list[Line]
    targets: int
    budgets: dict[str, list[float]] = field(default_factory=dict)
    curves: dict[str, Any] | None = None

    @property
    def dataset(self) -> str:
        """Its data set."""
        return str(self.key["dataset"])

    @property
    def published(self) -> bool:
        """Whether others can get its data."""
        return is_published(self.dataset, self.key["dataset_version"])

    def ranks(self, column: Column) -> dict[int, int]:
        """The rank of each line that has one, the best first (`Infinite.order`); equal values share a rank."""
        orders = {
            line.number: line.infinite[column.id].order(column.best)
            for line in self.lines
            if line.status == RANKED and line.means.get(column.id, (None,))[0] is not None
        }
        return {number: 1 + sum(other > one for other in orders.values()) for number, one in orders.items()}


def address(words: Sequence[object], of: str, key: object) -> str:
    """Part of an address that stays: words to be read, and a hash of what it is `of` and of its key."""
    text = re.sub(r"[^a-z0-9.]+", "-", "-".join(map(str, words)).lower()).strip("-.")
    return f"{text[:80].rstrip('-.')}-{_digest(of, key)}".lstrip("-")


def _digest(*of: object) -> str:
    return hashlib.sha256(json.dumps(of).encode()).hexdigest()[:8]


def tables(submissions: Sequence[Submission], results: Mapping[str, CheckResult] | None = None) -> Iterator[Table]:
    """The tables of sound submissions, by data set, its version, and protocol. results: of checks, by submission."""
    frames = [one.rows.with_columns(submission=pl.lit(one.name)) for one in submissions if one.rows is not None]
    if frames:
        rows = pl.concat(frames, how="diagonal")
        del frames
        made = [_table(part) for part in tables_of(rows)]
        created = {one.name: one.statement.created for one in submissions if one.statement is not None}
        for table in made:
            _verified(table, results or {}, created)
        yield from sorted(made, key=lambda one: (one.dataset, str(one.key["dataset_version"]), one.protocol))


def _table(rows: pl.DataFrame) -> Table:
    keys = ["submission", *LINE]
    seen = pl.col("seen_in_training").max().over(keys)  # "yes" comes after "unknown" and "no": one row is enough
    lines = rows.with_columns(seen).unique(keys).sort(keys, nulls_last=True).with_row_index("line")
    lines = lines.with_columns(shown=labels.PROMPTER, label=labels.MODEL)
    rows = rows.join(lines.select(*keys, "line"), on=keys, nulls_equal=True, maintain_order="left")
    key, columns = {name: rows[name][0] for name in TABLE}, columns_of(rows)
    protocol = str(rows.head(1).select(labels.PROTOCOL).item())
    # Submissions are scored apart, because of the sessions of one target with one model only the newest would count,
    # and another submission may have the same.
    by_submission = [part for _, part in sorted(rows.partition_by("submission", as_dict=True).items())]
    table = Table(
        address([key["dataset"], "version", key["dataset_version"], protocol], "table", key),
        key,
        protocol,
        columns,
        [_line(one) for one in lines.iter_rows(named=True)],
        by_image(rows).filter(_PLAYED).select(pl.struct("case", "target").n_unique()).item(),
    )
    drawn = scored_by(columns[0].spec) if columns else ""
    for column in columns:
        parts = [part for one in by_submission if len(part := rows_with(one, column))]
        _means(table, column, parts)
        if summary(column.spec) is None and column.best == "high":
            played = [steps(part, column.spec) for part in parts]
            _budgets(table, column, played)
            if column.spec == drawn:
                table.curves = _curves(table, played, lines)
    if table.curves is None and drawn and best(drawn) == "high":  # the first column is a summary of it
        table.curves = _curves(table, [steps(part, drawn) for part in by_submission], lines)
    _statuses(table)
    for number, other in (
        rows_of_several(rows, "line").select("line", "other").unique().sort("line", "other").iter_rows()
    ):
        table.lines[number].copies = (*table.lines[number].copies, other)
    return table


def _verified(table: Table, results: Mapping[str, CheckResult], created: Mapping[str, str]) -> None:
    """Say of each line what was verified, and whether another submission has its sessions; the earliest keeps its rank.

    When a submission was made is what it says, so both are marked.
    """
    for line in table.lines:
        result = results.get(line.submission)
        line.verified = result.words if result else "not checked"
        earliest = min((line.submission, *line.copies), key=lambda name: (created.get(name, ""), name))
        if earliest != line.submission and line.status == RANKED:
            line.status, line.why = COPY, f"submission {earliest}, made earlier, has its sessions"


_PLAYED = (pl.col("target") != WHOLE_CASE) & (pl.col("status") != "not_applicable")


def _line(one: Mapping[str, Any]) -> Line:
    tags = tuple(marks(one))
    whose = one["submission"] if any(mark.startswith("own model") for mark in tags) else ""
    fields = {name: one[name] for name in ("submission", *LINE)}
    return Line(
        number=one["line"],
        id=_digest("line", fields),
        submission=one["submission"],
        model=one["label"],
        of=address([one["label"]], "model", [one["label"], whose]),
        prompter=one["shown"],
        spec=one["prompter"],
        training=trained_on(one),
        marks=tags,
        card=card(one["model"]),
    )


def _means(table: Table, column: Column, parts: Sequence[pl.DataFrame]) -> None:
    """Enter the means of a column after the last round; of the first also intervals, and what is counted."""
    scored = pl.concat([measured(part, column.spec) for part in parts], how="diagonal")
    if first := column is table.columns[0]:
        found = intervals(scored, ["line"], column.how).filter(pl.col("dataset") != AVERAGE)
    else:
        found = aggregate(scored, ["line"], column.how).with_columns(low=None, high=None)
    for row in found.iter_rows(named=True):
        line = table.lines[row["line"]]
        line.means[column.id], line.infinite[column.id] = (
            (row["value"], row["low"], row["high"]),
            Infinite.beside(row),
        )
    for row in counts(scored, ["line"]).iter_rows(named=True):
        line = table.lines[row["line"]]
        if first or not line.counts:
            line.counts = {name: row[name] for name in ("sessions", "targets", "failed", "not_applicable")}
            line.effort = {name: row[name] for name in EFFORT}


def _budgets(table: Table, column: Column, played: Sequence[Steps]) -> None:
    """Enter the value of each line at each budget, the state that it reaches with so much; None if no session does."""
    for unit in UNITS:
        if unit not in table.budgets:
            spent = np.concatenate([one.effort(unit) for one in played])
            ends = spent[spent > 0].min(initial=np.inf), spent.max(initial=0)
            table.budgets[unit] = [one for one in BUDGETS if ends[0] <= one < ends[1]]
        if not table.budgets[unit]:
            continue
        for one in played:
            found = curve(one, ["line"], column.how, unit, table.budgets[unit])
            begun = pl.DataFrame({"line": one.sessions["line"].gather(one.session), "spent": one.effort(unit)})
            least = dict(begun.group_by("line").min().iter_rows())
            for (line,), values in found.filter(dataset=table.dataset).partition_by("line", as_dict=True).items():
                of = table.lines[line].budgets.setdefault(column.id, {})
                each = values.sort("spent").select("spent", "value").iter_rows()
                of[unit] = [float(f"{value:.4g}") if budget >= least[line] else None for budget, value in each]


def _curves(table: Table, played: Sequence[Steps], lines: pl.DataFrame) -> dict[str, Any]:
    """The curves of the first column's metric as the report's script draws them: a point per line and round."""
    rounds = pl.concat([one.sessions.select("line", "round") for one in played]).group_by("line")
    notes = pl.Series([_note(line) for line in table.lines])
    shown = (
        lines.with_columns(notes=notes).drop("round").join(rounds.agg(pl.col("round").max().alias("rounds")), on="line")
    )
    found = [curve_data(one, shown.join(one.sessions, on="line", how="semi"), table.columns[0].how) for one in played]
    everyone = lines.with_columns(notes=notes).sort("line")
    names = everyone.select(pl.col("shown").alias("prompter"), pl.col("label").alias("model"), "notes").to_dicts()
    return {**found[0], "lines": names, "points": [point for one in found for point in one["points"]]}


def _note(line: Line) -> str:
    return f"{line.submission}, withheld" if line.training == "yes" else line.submission


def _statuses(table: Table) -> None:
    """Say which lines have no rank, and why."""
    for line in table.lines:
        if line.training == "yes":
            line.status, line.why = WITHHELD, "its model was trained on this data, or on data that contain it"
        elif not (targets := line.counts.get("targets", 0)):
            line.status, line.why = INCOMPLETE, "its model does not take these prompts, or no session could be played"
        elif targets < table.targets:
            line.status, line.why = INCOMPLETE, f"it has {targets} of the {table.targets} targets that lines have here"
        elif table.columns and table.columns[0].id not in line.means:
            line.status, line.why = INCOMPLETE, f"it was not scored by {table.columns[0].id}"
