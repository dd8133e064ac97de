"""Tables whose cells also show intervals and counts."""

from __future__ import annotations

import polars as pl

from intrabench.errors import IntraBenchError
from intrabench.reporting.footnotes import Footnotes, few_patients
from intrabench.reporting.table import Layout, counted, effort_table
from intrabench.statistics.aggregate import fewest_patients
from intrabench.statistics.resample import AVERAGE, intervals


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
    names = [*scored["dataset"].unique().sort().to_list(), AVERAGE]
    texts = found.group_by(keys).agg(
        pl.col("text").filter(pl.col("dataset") == name).first().alias(name) for name in names
    )
    return wide.drop(names).join(texts, on=keys, how="left", nulls_equal=True).sort(keys)


def few_places(rows: pl.DataFrame, frame: pl.DataFrame, layout: Layout) -> Footnotes:
    """Marks at the cells of `annotated_table` of few patients; an average is as uncertain as its smallest data set."""
    keys = list(layout.by)
    scored = counted(layout.measured(rows), layout)
    fewest = fewest_patients(scored, keys, layout.how)
    least = fewest.group_by(keys).agg(pl.col("fewest").min(), dataset=pl.lit(AVERAGE)).select(fewest.columns)
    found = Footnotes()
    for (name,), part in pl.concat([fewest, least]).partition_by("dataset", as_dict=True).items():
        at = frame.select(keys, shown=pl.col(str(name)).is_not_null()).join(
            part, on=keys, how="left", nulls_equal=True, maintain_order="left"
        )
        found = found.with_marks(few_patients(at.select(pl.when("shown").then("fewest"))["fewest"], [str(name)]))
    return found


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
