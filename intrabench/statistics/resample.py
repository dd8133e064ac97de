"""Uncertainty of numbers: the bootstrap over patients.

All scans, targets and seeds of a patient stay together, because they are correlated. All lines of a data set share the
draws of patients, so that comparisons are paired; data sets are drawn independently.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import polars as pl

from intrabench.mask import Floats
from intrabench.metrics.base import Best, merit
from intrabench.randomness import stream
from intrabench.statistics.aggregate import COUNTS, Aggregation, aggregate, per_label
from intrabench.statistics.bca import Jackknife, bca, jackknife
from intrabench.statistics.infinite import BESIDE, MISSED, places, with_parts

DRAWS = 2000
FEW = 6
"""Of fewer patients there is no interval, because none holds its level, and no signed rank test can reach 5 %."""
AVERAGE = "average"
"""Name in the column `dataset` of the mean over all data sets."""

_BLOCK = 1 << 22  # counts in memory at once


@dataclass(frozen=True)
class Draws:
    """The value of every line in every draw.

    lines: the columns of a line, one row each, sorted. values: by data set (draws, lines), NaN where a draw holds no
    patient of the line, and throughout where the line has fewer than `FEW`. parts: by data set, for the ends of
    intervals (`bca`). beside: if values are infinite, the same draws of the means `net` and `others` of `BESIDE`.
    """

    lines: pl.DataFrame
    values: Mapping[str, Floats]
    parts: Mapping[str, Jackknife]
    beside: Mapping[str, Mapping[str, Floats]] = field(default_factory=dict)

    def average(self) -> Floats:
        """(draws, lines) Mean over data sets, NaN where one is missing."""
        return self._average

    @cached_property
    def _average(self) -> Floats:
        return self._over_datasets(self.values)

    def merits(self, best: Best) -> Floats:
        """(draws, lines) Numbers by which the lines of a draw are ordered, the greatest first; NaN as in `average`."""
        if not self.beside:
            return np.asarray(merit(self.average(), best))
        net, others = (self._over_datasets(self.beside[name]) for name in ("net", "others"))
        return places(net, others, best)

    def _over_datasets(self, values: Mapping[str, Floats]) -> Floats:
        if not values:
            return np.full((1, self.lines.height), np.nan)
        with np.errstate(invalid="ignore"):  # infinite values of both signs
            return np.mean(list(values.values()), axis=0)


def intervals(scored: pl.DataFrame, by: Sequence[str], how: Aggregation, draws: int = DRAWS) -> pl.DataFrame:
    """`aggregate`, its mean over data sets (`AVERAGE`), and of each the interval of 95 % (`bca`), `low` to `high`.

    scored: `scores`. by: at least one column. The average is absent where a data set is missing. `low` and `high` are
    null where a data set has fewer than `FEW` patients with a value. A mean over infinite values is infinite, and so is
    every draw that holds one; over infinite values of both signs it is null.
    """
    return drawn_intervals(scored, by, how, resample(scored, by, how, draws))


def drawn_intervals(scored: pl.DataFrame, by: Sequence[str], how: Aggregation, draws: Draws) -> pl.DataFrame:
    """`intervals` from draws that were made before (`resample`)."""
    table = with_average(aggregate(scored, by, how), by, scored["dataset"].n_unique())
    bounds = []
    for name, values in {**draws.values, AVERAGE: draws.average()}.items():
        low, high = bca(values, [draws.parts[name]] if name in draws.parts else list(draws.parts.values()))
        bounds.append(draws.lines.with_columns(pl.Series("low", low), pl.Series("high", high), dataset=pl.lit(name)))
    return (
        table.join(pl.concat(bounds), on=[*by, "dataset"], how="left", nulls_equal=True)
        .with_columns(pl.when(pl.col("value").is_not_null()).then(pl.col("low", "high").fill_nan(None)))
        .sort(*by, pl.col("dataset") == AVERAGE, "dataset")
        .select(*by, "dataset", "value", "low", "high", *COUNTS, *BESIDE)
    )


def as_one_dataset(values: pl.DataFrame) -> pl.DataFrame:
    """Values of several data sets as of one, ``all``, in which equal names of patients and cases stay different."""
    apart = [pl.format("{}/{}", "dataset", name).alias(name) for name in ("patient", "case")]
    return values.with_columns(*apart, dataset=pl.lit("all"))


def with_average(table: pl.DataFrame, by: Sequence[str], datasets: int) -> pl.DataFrame:
    """`aggregate`'s table, and a row `AVERAGE` for every line that has a value in all of so many data sets."""
    values = table.filter(pl.col("of") > 0)
    means = values.group_by(*by, pl.lit(AVERAGE).alias("dataset")).agg(
        pl.col(*COUNTS, "infinite", "of", MISSED).sum(),
        pl.col("value", "others", "net", "median").mean(),
        (pl.len() == datasets).alias("_complete"),
    )
    # A mean of infinite values of both signs is not known, but what stands beside it is.
    return pl.concat([table, means.filter("_complete").select(table.columns)]).with_columns(
        pl.col("value").fill_nan(None)
    )


def resample(scored: pl.DataFrame, by: Sequence[str], how: Aggregation, draws: int = DRAWS) -> Draws:
    """Draw the patients of every data set with replacement, as many as it has, and aggregate all lines again.

    The draws of a data set depend on nothing but its name and its patients: neither on the order of rows nor on what
    else was selected.
    """
    lines, sums = _sums(scored, by, how)
    parts = {name: jackknife(groups["value"]) for name, groups in sums.items()}
    found: dict[str, dict[str, Floats]] = {}
    for name, groups in sums.items():
        patients = len(groups["value"][0][0])
        for kind, one in groups.items():
            drawn = np.concatenate([_means(some, one) for some in drawn_weights(name, patients, draws)])
            drawn[:, parts[name].patients < FEW] = np.nan
            found.setdefault(kind, {})[name] = drawn
    return Draws(lines, found.pop("value", {}), parts, found)


def influences(scored: pl.DataFrame, by: Sequence[str], how: Aggregation) -> tuple[pl.DataFrame, dict[str, Jackknife]]:
    """The lines and parts of `resample`, without draws."""
    lines, sums = _sums(scored, by, how)
    return lines, {name: jackknife(groups["value"]) for name, groups in sums.items()}


_Groups = list[tuple[Floats, Floats]]
"""Of each group the sums and numbers of its values, as `_matrices`."""


def _sums(
    scored: pl.DataFrame, by: Sequence[str], how: Aggregation
) -> tuple[pl.DataFrame, dict[str, dict[str, _Groups]]]:
    """The lines, and by data set the groups of `value`; if some are infinite, also those of `net` and `others`."""
    cells, groups, kinds = _cells(scored, by, how)
    lines = cells.select(by).unique().sort(by).with_row_index("_line")
    cells = cells.join(lines, on=by, nulls_equal=True)
    cells = cells.with_columns(_patient=pl.col("patient").rank("dense").over("dataset") - 1)
    found = {}
    for (name,), part in cells.sort(*groups, "_patient", "_line").partition_by("dataset", as_dict=True).items():
        patients, each = part["patient"].n_unique(), part.partition_by(groups)
        found[str(name)] = {kind: [_matrices(one, kind, patients, lines.height) for one in each] for kind in kinds}
    return lines.select(by), found


def difference(a: Floats, b: Floats) -> Floats:
    """a - b, where equal values, infinite ones too, differ by nothing."""
    return np.subtract(a, b, out=np.zeros_like(a), where=a != b)


def _cells(scored: pl.DataFrame, by: Sequence[str], how: Aggregation) -> tuple[pl.DataFrame, list[str], list[str]]:
    """The sums and the numbers of values per line, group and patient; the columns that make a group; and the values.

    Cases are averaged within groups, such as classes, and a line is the mean of its groups: all aggregations are mean
    over groups of sum over cases / number of cases, which a draw takes with the weights of their patients.
    """
    values, kinds = per_label(scored).filter(pl.col("value").is_not_null()), ["value"]
    if values["value"].is_infinite().any():
        values, kinds = with_parts(values), ["value", "net", "others"]
    within = [step for step in how.steps if "case" in step]
    for step in within:
        values = values.group_by(*dict.fromkeys([*by, *step, "patient"])).agg(pl.col(kinds).mean())
    keys = dict.fromkeys([*by, *how.groups, "patient"])
    sums = values.group_by(*keys).agg(pl.col(kinds).sum(), pl.col(kinds).count().name.suffix("_count"))
    return sums, list(how.groups), kinds


def _matrices(group: pl.DataFrame, kind: str, patients: int, lines: int) -> tuple[Floats, Floats]:
    """(patients, lines) Sums and numbers of the values of a group."""
    sums, counts = np.zeros((2, patients, lines))
    where = group["_patient"].to_numpy(), group["_line"].to_numpy()
    sums[where], counts[where] = group[kind].to_numpy(), group[f"{kind}_count"].to_numpy()
    return sums, counts


def drawn_weights(dataset: str, patients: int, draws: int) -> Iterator[Floats]:
    """Blocks of (draws, patients): how often each patient was drawn."""
    random = stream("bootstrap", dataset)
    block = max(1, _BLOCK // patients)
    for start in range(0, draws, block):
        size = min(block, draws - start)
        # The patients of each draw get numbers of their own, so that one bincount does all draws of the block.
        picked = random.integers(patients, size=(size, patients)) + patients * np.arange(size)[:, None]
        yield np.bincount(picked.ravel(), minlength=size * patients).reshape(size, patients).astype(float)


def _means(weights: Floats, groups: Sequence[tuple[Floats, Floats]]) -> Floats:
    """(draws, patients) weights to (draws, lines) means over the groups that a draw holds; NaN where it holds none."""
    total, present = np.zeros((2, len(weights), groups[0][0].shape[1]))
    some = max(1, _BLOCK // total.size)  # one large product takes a tenth of the time of many small ones
    with np.errstate(invalid="ignore", divide="ignore"):
        for start in range(0, len(groups), some):
            sums, counts = (np.stack(part, axis=1) for part in zip(*groups[start : start + some], strict=True))
            count = _product(weights, counts)
            total += np.where(count > 0, _weighted(weights, sums) / count, 0).sum(axis=1)
            present += (count > 0).sum(axis=1)
        return total / present


def _weighted(weights: Floats, sums: Floats) -> Floats:
    """`_product`, where an infinite value counts only in the draws that hold it."""
    finite = np.isfinite(sums)
    if finite.all():
        return _product(weights, sums)
    # Infinity times a weight of 0 would be NaN, so infinite sums are left out of the product and added where they
    # count.
    above, below = (_product(weights, sums == extreme) > 0 for extreme in (np.inf, -np.inf))
    return _product(weights, np.where(finite, sums, 0)) + np.where(above, np.inf, 0) - np.where(below, np.inf, 0)


def _product(weights: Floats, cells: Floats) -> Floats:
    """(draws, patients) by (patients, groups, lines): the (draws, groups, lines) sums over patients."""
    return (weights @ cells.reshape(len(cells), -1)).reshape(len(weights), *cells.shape[1:])
