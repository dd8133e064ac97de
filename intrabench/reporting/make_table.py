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
from intrabench.statistics.sources import Source, source
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
        frame, heading = numbers_table(rows, layout, [preset]), numbers_heading(layout, [preset])
        return _with_notes(frame, heading, rows, (), numbers_places(rows, layout, [preset]), layout)
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


def make_table(
    folder: Path,
    *,
    metric: str,
    round: int | None,
    per_round: bool,
    by: str,
    columns: str,
    aggregation: str,
    failed: str,
    empty: str,
    groups: bool,
    users: bool,
    interval: bool,
    counts: bool,
    reference: str,
    common: bool = False,
    spread: str = "",
    difficulty: bool = False,
    correlate: Sequence[str] = (),
    selection: Selection = EVERYTHING,
) -> Table:
    """The table of a results folder.

    metric: empty is what the protocols of the rows report by names of their own, if all do; where something else is
    asked, the number that leads among them; else dice. common: only the targets that all lines share, without lines
    that lack more than half. spread: over which of `SOURCES`. difficulty: of targets; of all sessions, or of those of
    groups, users or a spread. correlate: columns of which correlations over lines are shown, or `ALL`.

    Raises:
        IntraBenchError: there are no results, or options are unknown or do not go together.
    """
    names = names_in(by)
    plain = {"--reference": reference, "--columns": columns != "dataset", "--per-round": per_round, "--counts": counts}
    kinds = ("--groups" if groups else "", "--users" if users else "", "--spread" if spread else "")
    second = dict.fromkeys([*filter(None, kinds)][1:], True)
    if difficulty:
        others = {"--correlate": correlate, "--aggregation": aggregation != "protocol"}
        others |= {f"--targets {name}": True for name in selection.strata}
        _refuse("--difficulty", plain | second | others)
    elif correlate:
        _refuse("--correlate", plain | second | {"--by": by != "" and (groups or users)})
    elif spread:
        _refuse(f"--spread {source(spread).name}", {"--groups": groups, "--users": users} | plain)
    statistic = statistic_of(metric, aggregation, failed, empty, round)
    asked = Layout(metric or "dice", round, statistic.how, statistic.policy, names or IDENTITY, columns)
    rows, layout, presets, left_out = _read(folder, asked, metric, selection, lead=not reference)
    over = replace(layout, by=names or ("model",)) if correlate else layout
    if common and not (spread and not difficulty):
        apart = LINE if difficulty else apart_by_effort(rows, over).by
        rows, lacking = on_shared(rows, layout.measured(rows), apart)
        left_out = [*left_out, *lacking]
        if rows.is_empty():
            raise IntraBenchError(f"the lines in {folder} {NONE_SHARED}")
    paper = ",".join(selection.protocol) if reference == "paper" else ""
    if difficulty:
        chosen = replace(layout, metric=metric or scored_by(layout.metric))
        of = source(spread or "group") if groups or spread else None
        frame, heading, few, noted = make_difficulty(rows, chosen, names, of, users, interval)
        table = _with_notes(frame, heading + (_INTERVALS if interval else ""), rows, few, noted, chosen)
    elif correlate:
        kind = click_table(groups, users, "") or (source(spread) if spread else None)
        table = Table(*make_correlations(rows, over, correlate, kind, metric, interval, common), rows)
    elif spread:
        table = _spread_table(rows, layout, source(spread), interval, common)
    elif clicks := click_table(groups, users, paper):
        published = paper == clicks.protocol
        split = [] if published else [name for name in names if name in PARTS]
        ignored = {"--by": len(split) < len(names), "--columns": columns != "dataset"}
        ignored |= {"--aggregation": aggregation != "protocol", "--per-round": per_round, "--counts": counts}
        ignored |= {"--users": groups and users, "--reference": reference != "" and not published}
        ignored |= {"--round": round is not None and not clicks.rounds}
        _refuse(clicks.option if groups or users else f"--reference of {paper}", ignored)
        table = _click_table(rows, layout, clicks, metric, published, interval, split)
    elif presets and not (reference or per_round or interval or counts or {columns, aggregation} - _USUAL):
        frame, heading = numbers_table(rows, layout, presets), numbers_heading(layout, presets)
        table = _with_notes(frame, heading, rows, (), numbers_places(rows, layout, presets), layout)
    elif reference:
        table = _reference_table(rows, layout, reference)
    else:
        table = _of_metric(rows, layout, per_round, interval, counts)
    check_round(rows, round, folder)
    words = about(selection, layout.metric, [] if difficulty else [*names, columns])
    heading = "; ".join(filter(None, [table.heading, words]))
    return replace(table, heading=heading, left_out=[*left_out, *table.left_out])


def _read(
    folder: Path, asked: Layout, metric: str, selection: Selection, lead: bool
) -> tuple[pl.DataFrame, Layout, Sequence[Protocol], list[str]]:
    """The rows that count; the layout, with what their protocols report and how, unless a metric was chosen; these
    protocols; and what is left out. lead: whether the number that leads there is shown, else dice.
    """
    of = replace(asked, metric="") if lead and not metric else asked
    rows, left_out = counted_rows(folder, of, selection, asked.by, [asked.columns])
    presets = [] if metric else with_numbers(rows["protocol"].unique().sort().to_list())
    layout = replace(of.of_protocols(rows["protocol"]), root=folder)
    left_out += two_spellings(rows["model"].unique().sort())
    left_out += [] if metric or presets else _other_numbers(rows)
    if layout.policy.failed != "all":
        check_data(folder, rows)
    return rows, layout, presets, left_out


def _reference_table(rows: pl.DataFrame, layout: Layout, reference: str) -> Table:
    """Our numbers beside published ones."""
    frame, others = referenced(rows, layout, reference)
    unlike = averaged_otherwise(rows["protocol"], layout.how)
    return _with_notes(frame, layout.heading(), rows, [*others, *unlike], reference_places(rows, frame), layout)


def _of_metric(rows: pl.DataFrame, layout: Layout, per_round: bool, interval: bool, counts: bool) -> Table:
    """The table of one metric, after each round, or with intervals and counts in its cells."""
    heading, unlike = layout.heading(), averaged_otherwise(rows["protocol"], layout.how)
    if not (interval or counts):
        frame = round_table(rows, layout) if per_round else effort_table(rows, layout)
        noted = round_places(rows, layout) if per_round else places(rows, layout)
        return _with_notes(frame, heading, rows, unlike, noted, layout)
    frame = annotated_table(rows, layout, interval=interval, counts=counts)
    if not interval:
        return _with_notes(frame, heading, rows, unlike, places(rows, layout), layout)
    table = _with_notes(frame, heading + _INTERVALS, rows, unlike, places(rows, layout), layout)
    return replace(table, notes=table.notes.with_marks(few_places(rows, frame, layout)))


def _spread_table(rows: pl.DataFrame, layout: Layout, of: Source, interval: bool, common: bool) -> Table:
    """The table of a spread."""
    found = make_spread(rows, layout, of, interval=interval, common=common)
    heading = found.heading + (_INTERVALS if interval else "")
    unlike = averaged_otherwise(rows["protocol"], layout.how)
    table = _with_notes(found.frame, heading, rows, [*found.left_out, *unlike], found.places, layout)
    return replace(table, notes=table.notes.with_marks(found.few)) if interval else table


def _click_table(
    rows: pl.DataFrame,
    layout: Layout,
    clicks: ClickTable,
    metric: str,
    published: bool,
    interval: bool,
    apart: Sequence[str],
) -> Table:
    """A table of clicks, or the published one beside ours. apart: columns of targets whose values have lines apart."""
    chosen = clicks.metric_of(rows, metric)
    if published:
        other = {"--metric": chosen != clicks.published, "--round": layout.round is not None}
        _refuse(f"--reference of {clicks.protocol}", other)
    known = rows.filter(pl.col("target") != WHOLE_CASE)  # of a case without data nobody knows the targets
    parts = known.partition_by(apart, as_dict=True) if apart else {(): rows}
    frames, noted, problems = [], [], []
    for key, part in parts.items():
        values = {name: pl.lit(value, rows.schema[name]) for name, value in zip(apart, key, strict=True)}
        try:
            found = clicks.table(part, chosen, layout.round, layout.policy, interval)
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
    heading = clicks.describe(chosen) + (_INTERVALS if interval else "")
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
