"""Tables of effort against a metric, computed from rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl
from polars.selectors import by_name

from intrabench.errors import IntraBenchError
from intrabench.reporting.footnotes import BEYOND, PARTIAL, UNPLAYED, WORDS, Footnotes, Place, few_patients
from intrabench.reporting.formats import with_intervals
from intrabench.reporting.reference import beside
from intrabench.results import labels
from intrabench.results.current import IDENTITY, MODEL, PROTOCOL
from intrabench.results.schema import SCHEMA, STRATA, WITHIN_LABEL
from intrabench.specs.specs import nearest
from intrabench.statistics.aggregate import COUNTS, aggregate, fewest_patients, totals
from intrabench.statistics.coverage import unequal
from intrabench.statistics.infinite import BESIDE, INFINITE, IS_MISS, MISSED
from intrabench.statistics.matched import MATCHED, matched_scores
from intrabench.statistics.measures import described, scored_by
from intrabench.statistics.notes import adapted, infinite
from intrabench.statistics.resample import AVERAGE, intervals
from intrabench.statistics.scores import last_round, scores, without_data
from intrabench.statistics.soundness import check_mixable
from intrabench.statistics.statistic import Statistic

_LINE = "_line"
"""A number of each line of a table while it is made."""

_TAKEN = {
    *(*SCHEMA, *COUNTS, *WORDS, UNPLAYED, PARTIAL, BEYOND, MISSED, _LINE),
    *("sessions", "failed", "not_applicable", "average", "human s", "n/a"),
}
"""Columns that tables have besides those of data sets, labels, ..."""


@dataclass(frozen=True)
class Layout(Statistic):
    """What a table shows and how its numbers are computed.

    by: the columns whose values make lines; weights go with models, and stop rules with protocols;
    rows of several effort tables have a line for each. columns: the column
    whose values make columns of numbers. root: the results folder, for aggregations that need its masks.
    """

    by: Sequence[str] = IDENTITY
    columns: str = "dataset"
    root: Path | None = None

    def __post_init__(self) -> None:
        whole = {"model": MODEL, "protocol": PROTOCOL}
        names = [part for name in self.by for part in whole.get(name, (name,))]
        object.__setattr__(self, "by", tuple(dict.fromkeys(names)))

    def heading(self) -> str:
        """A description of how the numbers were computed."""
        return f"{described(self.metric)}: {self.how.description}; {self.policy.describe()}"

    def lost(self, rows: pl.DataFrame) -> str:
        """A sentence that counts the cases without data, for headings; empty if there are none, or if they count."""
        lost = "" if self.policy.failed == "all" else without_data(rows)
        return f"left out, for their data could not be read: {lost} (see `intrabench failures`)" if lost else ""


def referenced(rows: pl.DataFrame, layout: Layout, name: str) -> tuple[pl.DataFrame, list[str]]:
    """Our Dice per data set and round beside published numbers, and why some of it is not; see `beside`."""
    if layout.metric != "dice":
        raise IntraBenchError("published numbers are Dice; omit --metric with --reference")
    check_mixable(rows)
    top = last_round(rows)
    rounds = range(top + 1) if layout.round is None else [layout.round]
    plain = replace(layout, by=("prompter", "model"), columns="dataset")
    found = [
        cells(scores(rows, "dice", number, plain.policy), plain).with_columns(round=pl.lit(number, pl.Int64))
        for number in rounds
    ]
    return beside(pl.concat(found), name)


def reference_places(rows: pl.DataFrame, table: pl.DataFrame) -> list[Place]:
    """What is to be noted at our numbers in `referenced`'s table."""
    named = rows.with_columns(labels.MODEL, row=labels.PROMPTER)
    return [
        Place(
            adapted(named, ["row", "model", "dataset"], number).with_columns(round=pl.lit(number, pl.Int64)),
            ["row", "model", "dataset", "round"],
            ["ours"],
        )
        for number in table["round"].unique().sort()
    ]


def effort_table(rows: pl.DataFrame, layout: Layout | None = None) -> pl.DataFrame:
    """One line per combination of `layout.by`, one column per value of `layout.columns` (data sets), and `average`.

    Each session enters with its last row up to `round`, so the last state is carried forward after an early stop.
    `average` is the mean of the columns and empty if one of them is. Effort is the mean over sessions that did not
    fail; `failed` and `not_applicable` are counted.
    """
    layout = apart_by_effort(rows, layout or Layout())
    check_columns(rows, [*layout.by, layout.columns])
    if "protocol" not in layout.by:
        check_mixable(rows, scored_by(layout.metric), layout.how)
    scored = layout.measured(rows).with_columns(_labels(layout.columns))
    keys = list(layout.by)
    number = scored.select(keys).hash_rows().alias(_LINE)  # groups of a million texts take much memory
    scored, lines = scored.with_columns(number), replace(layout, by=[_LINE])
    wide = scored.select(_LINE, *keys)[number.arg_unique()]
    for more in (totals(scored, [_LINE]), _pivot(cells(scored, lines), lines, scored)):
        wide = wide.join(more, on=_LINE, how="left")
    return wide.drop(_LINE).sort(keys)


def places(rows: pl.DataFrame, layout: Layout | None = None) -> list[Place]:
    """What is to be noted at the numbers of `effort_table`."""
    layout = apart_by_effort(rows, layout or Layout())
    keys = list(layout.by)
    rows = rows.with_columns(_labels(layout.columns))

    def notes(columns: Sequence[str]) -> pl.DataFrame:
        by = list(dict.fromkeys(columns))
        return pl.concat([layout.adapted(rows, by), layout.cut_short(rows, by)], how="diagonal_relaxed")

    scored = layout.measured(rows).with_columns(_labels(layout.columns))
    few, (beyond, beyond_average) = unequal(scored, keys, layout.columns), _infinite(scored, layout)
    every = pl.concat([notes([*keys, layout.columns]), few, beyond], how="diagonal_relaxed")
    if every.is_empty():
        return []
    found = [
        Place(every.filter(pl.col(layout.columns).eq_missing(value)), keys, [heading])
        for value, heading in headings(rows, layout.columns).items()
    ]
    whole = pl.concat([notes(keys), few.select(*keys, *few.columns[-5:])], how="diagonal_relaxed")
    return [*found, Place(whole, keys, ["average"], again=True), Place(beyond_average, keys, ["average"])]


def _infinite(scored: pl.DataFrame, layout: Layout) -> tuple[pl.DataFrame, pl.DataFrame]:
    """What is to be noted at infinite cells, and at infinite averages; at those of misses, too."""
    keys = list(layout.by)
    of_cells = list(dict.fromkeys([*keys, layout.columns]))
    missed = IS_MISS in scored.columns and scored[IS_MISS].any()
    if layout.how is MATCHED or not (missed or scored["value"].is_infinite().any()):
        none = scored.clear().with_columns(pl.lit(None).alias(name) for name in BESIDE)
        return infinite(none, of_cells), infinite(none, keys)
    found = cells(scored, layout).filter(pl.col("of") > 0)
    whole = found.filter(pl.len().over(keys) == len(headings(scored, layout.columns)))  # others have no average
    return infinite(found, of_cells), infinite(_together(whole, keys), keys)


def round_places(rows: pl.DataFrame, layout: Layout | None = None) -> list[Place]:
    """The same at the numbers of `round_table`; footnotes count what happened up to the last round of a line."""
    layout = apart_by_effort(rows, layout or Layout())
    ends, top = _ends(rows, layout)
    found = []
    for number in range(top + 1):
        last = ends.filter(pl.min_horizontal("_end", pl.lit(top)) == number).select(layout.by)
        for one in places(rows, replace(layout, round=number)):
            notes = one.notes.with_columns(round=pl.lit(number))
            # A footnote counts what happened to a session once, in the last round of its line; earlier rounds are only
            # marked.
            for how, again in (("semi", one.again), ("anti", True)):
                part = notes.join(last, on=list(layout.by), how=how, nulls_equal=True)  # type: ignore[arg-type]
                beyond = pl.col("note").str.contains(f"^(?:{INFINITE}|{MISSED})")  # which is told of every round
                found.append(replace(one, notes=part.filter(~beyond), on=[*one.on, "round"], again=again))
                found.append(replace(one, notes=part.filter(beyond), on=[*one.on, "round"]))
    return found


def _ends(rows: pl.DataFrame, layout: Layout) -> tuple[pl.DataFrame, int]:
    """The last round of each line, ``_end``, and the last round that the layout wants of any."""
    top = last_round(rows)
    ends = rows.group_by(list(layout.by)).agg(pl.col("round").max().alias("_end"))
    return ends, top if layout.round is None else min(top, layout.round)


def round_table(rows: pl.DataFrame, layout: Layout | None = None) -> pl.DataFrame:
    """The lines of `effort_table` after every round that was played, up to its round, with a column `round`."""
    layout = apart_by_effort(rows, layout or Layout())
    keys = list(layout.by)
    check_columns(rows, keys)
    ends, top = _ends(rows, layout)
    tables = []
    for number in range(top + 1):
        played = rows.join(ends.filter(pl.col("_end") >= number), on=keys, how="semi", nulls_equal=True)
        table = effort_table(played, replace(layout, round=number))
        tables.append(table.insert_column(table.columns.index("sessions"), pl.lit(number).alias("round")))
    if not tables:
        raise IntraBenchError(f"there are no rows up to round {layout.round}; give --round 0 or more")
    return pl.concat(tables, how="diagonal_relaxed").sort([*keys, "round"])


def apart_by_effort(rows: pl.DataFrame, layout: Layout) -> Layout:
    """The layout with a line for each table of seconds, if rows have several: seconds of two tables have no mean."""
    several = "effort" not in layout.by and "effort" in rows.columns and rows["effort"].n_unique() > 1
    return replace(layout, by=(*layout.by, "effort")) if several else layout


def cells(scored: pl.DataFrame, layout: Layout) -> pl.DataFrame:
    """One line per cell: `layout.by`, `layout.columns`, `value`, and the numbers of `COUNTS` and `BESIDE`.

    If columns are not data sets, a cell is the mean over its data sets.
    """
    keys = [*layout.by, *([] if layout.columns == "dataset" else [layout.columns])]
    per_set = aggregate(counted(scored, layout), keys, layout.how)
    if layout.columns == "dataset":
        return per_set
    return _together(per_set, keys)


def _together(found: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Cells averaged over what is not in `by`, with their counts added up."""
    numbers = [*COUNTS, "infinite", "of", MISSED]
    return found.group_by(by).agg(pl.col("value", "others", "net", "median").mean(), pl.col(numbers).sum())


def counted(scored: pl.DataFrame, layout: Layout) -> pl.DataFrame:
    """The values that are averaged: the scores, or those of the published evaluator instead."""
    if layout.how.name != MATCHED.name:
        return scored
    if layout.root is None or layout.metric != "dice":
        raise IntraBenchError("the aggregation matched needs the masks of a results folder, and the metric dice")
    return matched_scores(layout.root, scored)


def _labels(column: str) -> list[pl.Expr]:
    """What people call the values of a column, where that is more than the column says."""
    return [label for name, label in (("model", labels.MODEL), ("protocol", labels.PROTOCOL)) if name == column]


def names_in(words: str) -> tuple[str, ...]:
    """The columns that an option names, with commas between them."""
    return tuple(dict.fromkeys(name.strip() for name in words.split(",") if name.strip()))


def check_columns(rows: pl.DataFrame, names: Sequence[str]) -> None:
    """Refuse columns that rows do not have; not all that they could have are read."""
    known = list(dict.fromkeys([*SCHEMA, *rows.columns, *STRATA]))
    for name in names:
        if name not in rows.columns:
            raise IntraBenchError(f"rows have no column {name!r}{nearest(name, known)}; they have {', '.join(known)}")


def readable(frame: pl.DataFrame) -> pl.DataFrame:
    """The columns that people compare, with short headings; versions and failures only if needed.

    Rows of a published table are shown by their printed names.
    """
    frame = with_intervals(frame)
    dropped = [name for name in (*PROTOCOL, "dtype", "strict") if name in frame and frame[name].n_unique() == 1]
    if set(MODEL) <= set(frame.columns):
        frame = frame.with_columns(labels.MODEL).drop("weights")
        several = frame.group_by("model").agg(pl.col("weights_sha256").n_unique())["weights_sha256"]
        dropped += ["weights_sha256"] if several.max() == 1 else []
    dropped += [name for name in ("failed", "not_applicable") if name in frame and frame[name].sum() == 0]
    dropped += [name for name in ("nsr", "dhh_merged") if name in frame and frame[name].is_null().all()]
    dropped += ["dhh_merged"] if "dhh_merged" in frame and frame["dhh"].equals(frame["dhh_merged"]) else []
    dropped += [name for name in ("dof", *WORDS, UNPLAYED, PARTIAL, BEYOND, MISSED) if name in frame]
    if {WITHIN_LABEL, "rank"} <= set(frame.columns):  # targets, whose names have their label, in the order of ranks
        dropped += [WITHIN_LABEL, "rank", "label", *(["models"] if frame["models"].n_unique() == 1 else [])]
    if {"seconds_human", "average"} <= set(frame.columns) and frame.width - frame.columns.index("seconds_human") <= 3:
        dropped.append("average")  # of a single data set
    if {"protocol", "prompter"} <= set(frame.columns):
        frame = frame.with_columns(prompter=labels.PROMPTER)
    if "weights_sha256" in frame:
        frame = frame.with_columns(pl.col("weights_sha256").str.slice(0, 12))
    short = {"seconds_human": "human s", "not_applicable": "n/a", "target_ml": "ml"}
    return frame.drop(dropped).rename(short, strict=False)


def seen_in_training(rows: pl.DataFrame) -> list[str]:
    """A sentence for each model and data set that its authors used for training."""
    seen = rows.filter(pl.col("seen_in_training") == "yes").select("model", "dataset").unique().sort("model", "dataset")
    return [f"{model} was trained on {dataset} or on data that contain it" for model, dataset in seen.iter_rows()]


def _pivot(found: pl.DataFrame, layout: Layout, scored: pl.DataFrame) -> pl.DataFrame:
    """One column per value of `layout.columns`, and their average if none is missing."""
    names = headings(scored, layout.columns)
    values = {name: pl.col("value").filter(pl.col(layout.columns) == head).first() for head, name in names.items()}
    wide = found.group_by(list(layout.by)).agg(value.alias(name) for name, value in values.items())
    columns = [by_name(name) for name in values]  # pl.col would take "*" and "^...$" for patterns
    complete = pl.all_horizontal(column.is_not_null() for column in columns)
    return wide.with_columns(average=pl.when(complete).then(pl.mean_horizontal(columns)))


def headings(rows: pl.DataFrame, what: str) -> dict[Any, str]:
    """The columns that the values of a column become.

    A value that another column of tables has, such as ``average``, says what it is a name of.
    """
    values = [value for value in rows[what].unique().sort().to_list() if value not in ("", None)]
    names, found = list(map(str, values)), {}
    for value, name in zip(values, names, strict=True):
        heading = name
        while heading in _TAKEN or (heading != name and heading in names):
            heading = f"{what} {heading}"
        found[value] = heading
    return found


def annotated_table(rows: pl.DataFrame, layout: Layout, *, interval: bool, counts: bool) -> pl.DataFrame:
    """`effort_table` with cells as text: ``0.512 [0.401, 0.623] 12/40 !2``.

    interval: the 95 % bootstrap interval over patients; a dash for fewer than `FEW`. counts: the numbers of cases and
    targets, and after an exclamation mark how many sessions failed.

    Raises:
        IntraBenchError: the columns are not data sets.
    """
    if layout.columns != "dataset":
        raise IntraBenchError("--interval and --counts need data sets as columns; omit --columns")
    wide, keys = effort_table(rows, layout), list(layout.by)
    scored = counted(layout.measured(rows), layout)
    found = intervals(scored, keys, layout.how).with_columns(
        text=pl.struct("value", "low", "high", "cases", "targets", "failed").map_elements(
            lambda cell: _text(cell, interval, counts), pl.String
        )
    )
    names = _of_datasets(scored)
    texts = found.group_by(keys).agg(
        pl.col("text").filter(pl.col("dataset") == name).first().alias(heading) for name, heading in names.items()
    )
    return wide.drop(by_name(*names.values())).join(texts, on=keys, how="left", nulls_equal=True).sort(keys)


def few_places(rows: pl.DataFrame, frame: pl.DataFrame, layout: Layout) -> Footnotes:
    """Marks at the cells of `annotated_table` of few patients; an average is as uncertain as its smallest data set."""
    keys = list(layout.by)
    scored = counted(layout.measured(rows), layout)
    fewest = fewest_patients(scored, keys, layout.how)
    least = fewest.group_by(keys).agg(pl.col("fewest").min(), dataset=pl.lit(AVERAGE)).select(fewest.columns)
    fewest, found = pl.concat([fewest, least]), Footnotes()
    for name, heading in _of_datasets(scored).items():
        part = fewest.filter(dataset=name)
        at = frame.select(*keys, shown=by_name(heading).is_not_null()).join(
            part, on=keys, how="left", nulls_equal=True, maintain_order="left"
        )
        found = found.with_marks(few_patients(at.select(pl.when("shown").then("fewest"))["fewest"], [heading]))
    return found


def _of_datasets(scored: pl.DataFrame) -> dict[str, str]:
    """The heading of each data set and of their average."""
    return {**headings(scored, "dataset"), AVERAGE: AVERAGE}


def _text(cell: dict[str, float], interval: bool, counts: bool) -> str | None:
    if cell["value"] is None:
        return None
    words = [f"{cell['value']:.3f}"]
    if interval:
        words.append("[-]" if cell["low"] is None else f"[{cell['low']:.3f}, {cell['high']:.3f}]")
    if counts:
        words.append(f"{cell['cases']}/{cell['targets']}")
        words += [f"!{cell['failed']}"] if cell["failed"] else []
    return " ".join(words)
