"""The table that options ask for, by the names that they have on the command line and in `intrabench.table`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl

from intrabench.errors import IntraBenchError
from intrabench.protocols import Protocol
from intrabench.reporting.click_tables import ClickTable, click_table
from intrabench.reporting.correlations import make_correlations
from intrabench.reporting.difficulty import make_difficulty
from intrabench.reporting.display import Part, Section
from intrabench.reporting.footnotes import Footnotes, Place, footnotes, with_words
from intrabench.reporting.numbers import numbers_heading, numbers_places, numbers_table
from intrabench.reporting.spread import NONE_SHARED, make_spread
from intrabench.reporting.table import (
    Layout,
    annotated_table,
    apart_by_effort,
    effort_table,
    few_places,
    names_in,
    places,
    readable,
    reference_places,
    referenced,
    round_places,
    round_table,
    seen_in_training,
)
from intrabench.results.current import IDENTITY
from intrabench.results.selection import EVERYTHING, Selection
from intrabench.results.spellings import two_spellings
from intrabench.statistics.click_robustness import LINE
from intrabench.statistics.coverage import on_shared
from intrabench.statistics.difficulty import PARTS
from intrabench.statistics.evaluation import about, counted_rows
from intrabench.statistics.measures import scored_by
from intrabench.statistics.resample import FEW
from intrabench.statistics.soundness import check_data, check_round
from intrabench.statistics.sources import source
from intrabench.statistics.statistic import averaged_otherwise, averages, statistic_of, with_numbers
from intrabench.target import WHOLE_CASE

_USUAL = {"dataset", "protocol"}
"""Columns and averages unless others are chosen."""
_INTERVALS = f"; 95 % intervals over patients, [-] for fewer than {FEW}"


@dataclass(frozen=True)
class Table:
    """A table, how its numbers came about, the rows that it is made from, and what of them is left out and why.

    notes: which of its numbers come from prompts that were converted, or are missing because they were refused. lost: a
    sentence on cases without data.
    """

    frame: pl.DataFrame
    heading: str
    rows: pl.DataFrame
    left_out: Sequence[str] = ()
    notes: Footnotes = field(default_factory=Footnotes)
    lost: str = ""

    @property
    def parts(self) -> list[Part]:
        """What people see first: the columns that they compare, and below them the models trained on the data."""
        frame = readable(self.frame)
        numbers = [name for name, kind in self.frame.schema.items() if kind.is_numeric()]  # some are texts by now
        heading = "; ".join(filter(None, [self.heading, self.lost]))
        section = Section(heading, frame, self.notes.of(frame.columns), right=numbers)
        return [section, *seen_in_training(self.rows)]


def table_of_run(rows: pl.DataFrame, preset: Protocol) -> Table:
    """The table at the end of a run: of what its protocol reports, if that has names for it."""
    layout = Layout(how=averages([preset.id]))
    if preset.numbers:
        return _numbers_table(rows, layout, [preset])
    return _with_notes(effort_table(rows, layout), layout.heading(), rows, (), places(rows, layout), layout)


def _with_notes(
    frame: pl.DataFrame,
    heading: str,
    rows: pl.DataFrame,
    left_out: Sequence[str],
    noted: Sequence[Place],
    layout: Layout,
) -> Table:
    return Table(with_words(frame, noted), heading, rows, left_out, footnotes(frame, noted), layout.lost(rows))


@dataclass(frozen=True)
class TableQuery:
    """What a table is to show, by the names of the options.

    metric: empty is what the protocols of the rows report by names of their own, if all do; where something else is
    asked, the number that leads among them; else dice. by: columns with commas between them, or the usual ones.
    common: only the targets that all lines share, without lines that lack more than half. spread: over which of
    `SOURCES`. difficulty: of targets; of all sessions, or of those of groups, users or a spread. correlate: columns of
    which correlations over lines are shown, or `ALL`.

    Raises:
        IntraBenchError: options do not go together.
    """

    metric: str = ""
    round: int | None = None
    per_round: bool = False
    by: str = ""
    columns: str = "dataset"
    aggregation: str = "protocol"
    failed: str = "worst"
    empty: str = "worst"
    groups: bool = False
    users: bool = False
    spread: str = ""
    difficulty: bool = False
    correlate: Sequence[str] = ()
    interval: bool = False
    counts: bool = False
    reference: str = ""
    common: bool = False
    selection: Selection = EVERYTHING

    def __post_init__(self) -> None:
        plain = {"--reference": self.reference, "--columns": self.columns != "dataset"}
        plain |= {"--per-round": self.per_round, "--counts": self.counts}
        kinds = ("--groups" if self.groups else "", "--users" if self.users else "", "--spread" if self.spread else "")
        second = dict.fromkeys([*filter(None, kinds)][1:], True)
        if self.difficulty:
            others = {"--correlate": self.correlate, "--aggregation": self.aggregation != "protocol"}
            others |= {f"--targets {name}": True for name in self.selection.strata}
            _refuse("--difficulty", plain | second | others)
        elif self.correlate:
            _refuse("--correlate", plain | second | {"--by": self.by != "" and (self.groups or self.users)})
        elif self.spread:
            _refuse(f"--spread {source(self.spread).name}", {"--groups": self.groups, "--users": self.users} | plain)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of `by`."""
        return names_in(self.by)

    @property
    def split(self) -> list[str]:
        """Those of them whose values are parts of the targets."""
        return [name for name in self.names if name in PARTS]

    @property
    def clicks(self) -> ClickTable | None:
        """The table of clicks that is asked for, if any."""
        return click_table(self.groups, self.users, self.paper)

    @property
    def paper(self) -> str:
        """The protocols whose published numbers are asked for."""
        return ",".join(self.selection.protocol) if self.reference == "paper" else ""

    @property
    def as_usual(self) -> bool:
        """Whether nothing is asked that the numbers of a protocol lack."""
        other = {self.columns, self.aggregation} - _USUAL
        return not (self.reference or self.per_round or self.interval or self.counts or other)

    def check_clicks(self, clicks: ClickTable) -> None:
        """Refuse what a table of clicks would ignore."""
        published = self.paper == clicks.protocol
        ignored = {"--by": not published and len(self.split) < len(self.names)}
        ignored |= {"--columns": self.columns != "dataset", "--aggregation": self.aggregation != "protocol"}
        ignored |= {"--per-round": self.per_round, "--counts": self.counts, "--users": self.groups and self.users}
        ignored |= {"--reference": self.reference != "" and not published}
        ignored |= {"--round": self.round is not None and not clicks.rounds}
        _refuse(clicks.option if self.groups or self.users else f"--reference of {self.paper}", ignored)


def make_table(folder: Path, query: TableQuery) -> Table:
    """The table of a results folder.

    Raises:
        IntraBenchError: there are no results, or options are unknown or do not go together.
    """
    rows, layout, presets, left_out = _read(folder, query)
    if query.common and not (query.spread and not query.difficulty):
        over = replace(layout, by=query.names or ("model",)) if query.correlate else layout
        apart = LINE if query.difficulty else apart_by_effort(rows, over).by
        rows, lacking = on_shared(rows, layout.measured(rows), apart)
        left_out = [*left_out, *lacking]
        if rows.is_empty():
            raise IntraBenchError(f"the lines in {folder} {NONE_SHARED}")
    table = _table(rows, layout, presets, query)
    check_round(rows, query.round, folder)
    words = about(query.selection, layout.metric, [] if query.difficulty else [*query.names, query.columns])
    heading = "; ".join(filter(None, [table.heading, words]))
    return replace(table, heading=heading, left_out=[*left_out, *table.left_out])


def _table(rows: pl.DataFrame, layout: Layout, presets: Sequence[Protocol], query: TableQuery) -> Table:
    if query.difficulty:
        return _difficulty_table(rows, layout, query)
    if query.correlate:
        return _correlations_table(rows, layout, query)
    if query.spread:
        return _spread_table(rows, layout, query)
    if clicks := query.clicks:
        query.check_clicks(clicks)
        return _click_table(rows, layout, clicks, query)
    if presets and query.as_usual:
        return _numbers_table(rows, layout, presets)
    return _reference_table(rows, layout, query.reference) if query.reference else _of_metric(rows, layout, query)


def _read(folder: Path, query: TableQuery) -> tuple[pl.DataFrame, Layout, Sequence[Protocol], list[str]]:
    """The rows that count; the layout, with what their protocols report and how, unless a metric was chosen; these
    protocols; and what is left out.
    """
    metric, by = query.metric, query.names or IDENTITY
    statistic = statistic_of(metric, query.aggregation, query.failed, query.empty, query.round)
    shown = metric or ("dice" if query.reference else "")  # the number that leads there
    layout = Layout(shown, query.round, statistic.how, statistic.policy, by, query.columns)
    rows, left_out = counted_rows(folder, layout, query.selection, by, [query.columns])
    presets = [] if metric else with_numbers(rows["protocol"].unique().sort().to_list())
    layout = replace(layout.of_protocols(rows["protocol"]), root=folder)
    left_out += two_spellings(rows["model"].unique().sort())
    left_out += [] if metric or presets else _other_numbers(rows)
    if layout.policy.failed != "all":
        check_data(folder, rows)
    return rows, layout, presets, left_out


def _numbers_table(rows: pl.DataFrame, layout: Layout, presets: Sequence[Protocol]) -> Table:
    """What protocols report by names of their own."""
    frame, heading = numbers_table(rows, layout, presets), numbers_heading(layout, presets)
    return _with_notes(frame, heading, rows, (), numbers_places(rows, layout, presets), layout)


def _reference_table(rows: pl.DataFrame, layout: Layout, reference: str) -> Table:
    """Our numbers beside published ones."""
    frame, others = referenced(rows, layout, reference)
    unlike = averaged_otherwise(rows["protocol"], layout.how)
    return _with_notes(frame, layout.heading(), rows, [*others, *unlike], reference_places(rows, frame), layout)


def _of_metric(rows: pl.DataFrame, layout: Layout, query: TableQuery) -> Table:
    """The table of one metric, after each round, or with intervals and counts in its cells."""
    heading, unlike = layout.heading(), averaged_otherwise(rows["protocol"], layout.how)
    if not (query.interval or query.counts):
        frame = round_table(rows, layout) if query.per_round else effort_table(rows, layout)
        noted = round_places(rows, layout) if query.per_round else places(rows, layout)
        return _with_notes(frame, heading, rows, unlike, noted, layout)
    frame = annotated_table(rows, layout, interval=query.interval, counts=query.counts)
    if not query.interval:
        return _with_notes(frame, heading, rows, unlike, places(rows, layout), layout)
    table = _with_notes(frame, heading + _INTERVALS, rows, unlike, places(rows, layout), layout)
    return replace(table, notes=table.notes.with_marks(few_places(rows, frame, layout)))


def _difficulty_table(rows: pl.DataFrame, layout: Layout, query: TableQuery) -> Table:
    """Targets by how hard they are."""
    layout = replace(layout, metric=query.metric or scored_by(layout.metric))
    of = source(query.spread or "group") if query.groups or query.spread else None
    frame, heading, few, noted = make_difficulty(rows, layout, query.names, of, query.users, query.interval)
    return _with_notes(frame, heading + (_INTERVALS if query.interval else ""), rows, few, noted, layout)


def _correlations_table(rows: pl.DataFrame, layout: Layout, query: TableQuery) -> Table:
    """How the columns of a table go together over its lines."""
    over = replace(layout, by=query.names or ("model",))
    kind = click_table(query.groups, query.users, "") or (source(query.spread) if query.spread else None)
    found = make_correlations(rows, over, query.correlate, kind, query.metric, query.interval, query.common)
    return Table(*found, rows)


def _spread_table(rows: pl.DataFrame, layout: Layout, query: TableQuery) -> Table:
    """The table of a spread."""
    found = make_spread(rows, layout, source(query.spread), interval=query.interval, common=query.common)
    heading = found.heading + (_INTERVALS if query.interval else "")
    unlike = averaged_otherwise(rows["protocol"], layout.how)
    table = _with_notes(found.frame, heading, rows, [*found.left_out, *unlike], found.places, layout)
    return replace(table, notes=table.notes.with_marks(found.few)) if query.interval else table


def _click_table(rows: pl.DataFrame, layout: Layout, clicks: ClickTable, query: TableQuery) -> Table:
    """A table of clicks, or the published one beside ours."""
    chosen, published = clicks.metric_of(rows, query.metric), query.paper == clicks.protocol
    apart = [] if published else query.split
    if published:
        other = {"--metric": chosen != clicks.published, "--round": layout.round is not None}
        _refuse(f"--reference of {clicks.protocol}", other)
    known = rows.filter(pl.col("target") != WHOLE_CASE)  # of a case without data nobody knows the targets
    parts = known.partition_by(apart, as_dict=True) if apart else {(): rows}
    frames, noted, problems = [], [], []
    for key, part in parts.items():
        values = {name: pl.lit(value, rows.schema[name]) for name, value in zip(apart, key, strict=True)}
        try:
            found = clicks.table(part, chosen, layout.round, layout.policy, query.interval)
        except IntraBenchError as error:
            problems.append((", ".join(map(str, key)), error))
            continue
        frames.append(found.select(*(value.alias(name) for name, value in values.items()), pl.all()))
        for place in clicks.places(part, chosen, layout.round):
            noted.append(replace(place, notes=place.notes.with_columns(**values), on=[*apart, *place.on]))
    if not frames:
        raise problems[0][1]
    frame = pl.concat(frames).sort(apart, maintain_order=True) if apart else frames[0]
    frame, others = clicks.beside(frame) if published else (frame, [])
    others += [f"left out: {name}, for {error}" for name, error in problems]
    heading = clicks.describe(chosen) + (_INTERVALS if query.interval else "")
    return _with_notes(frame, heading, rows, others, noted, layout)


def _other_numbers(rows: pl.DataFrame) -> list[str]:
    """A sentence for each protocol that reports other numbers than the table shows, beside rows of others."""
    return [
        f"{one.id} reports {', '.join(head for head, _ in one.numbers)}: `intrabench table --protocol {one.id}`"
        for id in rows["protocol"].unique().sort()
        for one in with_numbers([id])
    ]


def _refuse(option: str, others: Mapping[str, object]) -> None:
    """Refuse options that would be ignored beside another."""
    conflicts = [name for name, value in others.items() if value]
    if conflicts:
        raise IntraBenchError(f"{option} cannot be combined with {', '.join(conflicts)}; omit one of them")
