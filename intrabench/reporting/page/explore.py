"""The page's tables by label, case and target: all lines side by side, to be searched, sorted and saved."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Sequence
from typing import Any

import polars as pl

from intrabench.files.documents import json_number
from intrabench.reporting.page.leading_score import LeadingScore
from intrabench.reporting.table import Layout, cells
from intrabench.statistics.aggregate import Aggregation, aggregate
from intrabench.statistics.resample import AVERAGE
from intrabench.target import WHOLE_CASE

MOST = 1_000_000
"""Maximum number of values of a table; one with more is left out, and the page says so."""


def explored(scored: pl.DataFrame, lines: pl.DataFrame, lead: LeadingScore) -> dict[str, Any]:
    """The tables as the page needs them: `text` is compressed, `left_out` says which have too many values.

    fewer: whether there are means of fewer targets than others of their row.

    A row is a label of a data set, a case or a target; a value is the mean of a line over the targets of a label (as
    in tables by label), over the targets of a case with equal weight, or over the seeds of a target.
    """
    levels, left_out = [], []
    for name, keys, table in (
        ("label", ["label", "dataset"], _labels(scored, lead.how)),
        ("case", ["case", "dataset"], _cases(scored)),
        ("target", ["case", "target", "label", "dataset"], _targets(scored)),
    ):
        rows = table.height if table.is_empty() else table.select(keys).n_unique()
        if rows * lines.height > MOST:
            left_out.append(f"{rows:,} {name}s")
        elif rows:
            levels.append({"name": name, **_level(table, keys, lines["line"].to_list())})
    shown = lines.sort("line").select(pl.col("shown").alias("prompter"), pl.col("label").alias("model"), "notes")
    data = {"digits": lead.digits, "best": lead.best, "lines": shown.to_dicts(), "levels": levels}
    text = base64.b64encode(zlib.compress(json.dumps(data, allow_nan=False).encode(), 9)).decode()
    fewer = any(number is not None for level in levels for line in level.get("fewer", ()) for number in line)
    return {"text": text, "levels": [level["name"] for level in levels], "fewer": fewer, "left_out": left_out}


def _labels(scored: pl.DataFrame, how: Aggregation) -> pl.DataFrame:
    """Means per line, label and data set, and the average of data sets for a label that several have."""
    found = aggregate(scored, ["line", "label"], how).filter(pl.col("label").is_not_null())
    shared = found.group_by("label").agg(pl.col("dataset").n_unique()).filter(pl.col("dataset") > 1)["label"]
    means = cells(scored.filter(pl.col("label").is_in(shared.to_list())), Layout(by=["line"], columns="label", how=how))
    names = ["line", "label", "dataset", "targets", "value"]
    return pl.concat([found.select(names), means.with_columns(dataset=pl.lit(AVERAGE)).select(names)])


def _cases(scored: pl.DataFrame) -> pl.DataFrame:
    valued = pl.col("value").is_not_null() & (pl.col("target") != WHOLE_CASE)
    targets = pl.col("target").filter(valued).n_unique().alias("targets")
    return scored.group_by("line", "dataset", "case").agg(pl.col("value").mean(), targets)


def _targets(scored: pl.DataFrame) -> pl.DataFrame:
    targets = scored.filter(pl.col("target") != WHOLE_CASE)
    return targets.group_by("line", "dataset", "case", "target", "label").agg(pl.col("value").mean())


def _level(table: pl.DataFrame, keys: Sequence[str], lines: Sequence[int]) -> dict[str, Any]:
    """The columns that name a row, and a column of values for each line; of means also the most targets of a line.

    fewer: the number of targets of each line that has fewer, which is not comparable; else null.
    """
    wide = table.pivot("line", index=keys, values="value").sort(keys)
    missing = [None] * wide.height
    level = {
        "keys": {name: wide[name].fill_null("").to_list() for name in keys},
        "counts": {},
        "values": [_short(wide[str(line)]) if str(line) in wide else missing for line in lines],
    }
    if "targets" in table.columns:
        most = pl.col("targets").max().over(keys)
        few = table.with_columns(most=most, fewer=pl.when(pl.col("targets") < most).then("targets"))
        fewer = few.pivot("line", index=keys, values="fewer").sort(keys)
        level["counts"] = {"targets": few.group_by(keys).agg(pl.col("most").first()).sort(keys)["most"].to_list()}
        level["fewer"] = [fewer[str(line)].to_list() if str(line) in fewer else missing for line in lines]
    return level


def _short(values: pl.Series) -> list[float | str | None]:
    """Values with six digits, as `json_number`."""
    return [json_number(value) for value in values.round_sig_figs(6).to_list()]
