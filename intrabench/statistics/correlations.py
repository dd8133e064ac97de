"""Correlations between numbers of lines, such as clicks and robustness over models: Figure 14 of RClicks.

Antonov et al., NeurIPS 2024, https://arxiv.org/abs/2410.11722.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import atanh, sqrt, tanh
from typing import Any

import numpy as np
import polars as pl

from intrabench.mask import Floats
from intrabench.statistics.resample import AVERAGE

LEAST = 3
"""Two lines always correlate by 1 or -1."""
_NORMAL = 1.959964  # ends of 95 % of a normal distribution

COEFFICIENTS = ("pearson", "spearman")


def correlations(
    numbers: pl.DataFrame, columns: Sequence[str], within: Sequence[str] = ("dataset",), interval: bool = False
) -> pl.DataFrame:
    """A row for each combination of `within` and each pair of columns, ``a`` and ``b``: the number of ``lines`` that
    have both, and their `COEFFICIENTS`.

    numbers: a row per line and data set; what else is no number says what a line is. Of several data sets there is also
    the `AVERAGE`: the correlations of the means over data sets, of lines that have all of them. A coefficient is null
    for fewer than `LEAST` lines, and where a column is constant or infinite. interval: the ends of 95 %, too, as
    ``pearson_low``; by Fisher's transformation, for Spearman with the variance of Bonett and Wright
    (Psychometrika 65, 23, 2000), as if lines were drawn at random.
    """
    keys = [name for name, kind in numbers.schema.items() if name not in columns and not kind.is_numeric()]
    numbers = numbers.select(*keys, *columns)
    apart = [name for name in within if name != "dataset"]
    frames = [numbers]
    if (sets := numbers["dataset"].n_unique()) > 1:
        line = [name for name in keys if name != "dataset"]
        means = numbers.group_by(line).agg(pl.col(columns).mean(), pl.len().alias("_sets"))
        whole = means.filter(pl.col("_sets") == sets).with_columns(dataset=pl.lit(AVERAGE))
        frames.append(whole.select(numbers.columns))
    rows = []
    for frame in frames:
        for key, one in frame.sort(keys).partition_by(*apart, "dataset", as_dict=True, maintain_order=True).items():
            for a, b in combinations(columns, 2):
                both = one.select(a, b).cast(pl.Float64).drop_nulls().drop_nans()
                row: dict[str, Any] = dict(zip([*apart, "dataset"], key, strict=True))
                rows.append(row | {"a": a, "b": b, "lines": len(both)} | _of(both[a], both[b], interval))
    names = [f"{name}{end}" for name in COEFFICIENTS for end in ("", *(("_low", "_high") if interval else ()))]
    schema: dict[str, Any] = dict.fromkeys((*apart, "dataset", "a", "b"), pl.String) | {"lines": pl.Int64}
    return pl.DataFrame(rows, schema=schema | dict.fromkeys(names, pl.Float64))


def pearson(a: Floats, b: Floats) -> float | None:
    """Pearson's correlation of two arrays (lines); None of fewer than `LEAST`, and of constant or infinite values."""
    if len(a) < LEAST or not np.isfinite([a, b]).all():
        return None
    away, other = a - a.mean(), b - b.mean()
    lengths = sqrt(away @ away) * sqrt(other @ other)
    # rounding makes a constant column vary by less than this
    if lengths <= 1e-13 * max(abs(a).max() * abs(b).max(), np.finfo(float).tiny) * len(a):
        return None
    return float(np.clip(away @ other / lengths, -1, 1))


def _of(a: pl.Series, b: pl.Series, interval: bool) -> dict[str, float | None]:
    """The coefficients of two columns; equal values share the mean of their ranks."""
    values = {"pearson": (a, b), "spearman": (a.rank("average"), b.rank("average"))}
    found: dict[str, float | None] = {}
    for name, (one, other) in values.items():
        found[name] = r = pearson(one.to_numpy().astype(float), other.to_numpy().astype(float))
        if interval:
            found |= _ends(name, r, len(a))
    return found


def _ends(name: str, r: float | None, lines: int) -> dict[str, float | None]:
    if r is None or lines <= LEAST:
        return {f"{name}_low": None, f"{name}_high": None}
    if abs(r) == 1:
        return {f"{name}_low": r, f"{name}_high": r}
    away = _NORMAL * sqrt((1 + (r * r / 2 if name == "spearman" else 0)) / (lines - LEAST))
    return {f"{name}_low": tanh(atanh(r) - away), f"{name}_high": tanh(atanh(r) + away)}
