"""Compare two lines on the same targets with the same random numbers: how much better B is than A, and where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import polars as pl

from intrabench.errors import IntraBenchError
from intrabench.results.parts import with_patients
from intrabench.statistics.aggregate import AGGREGATIONS
from intrabench.statistics.bca import LEVEL
from intrabench.statistics.infinite import IS_MISS, whole, with_parts
from intrabench.statistics.measures import best
from intrabench.statistics.notes import shares
from intrabench.statistics.resample import AVERAGE, FEW, as_one_dataset
from intrabench.statistics.scores import TARGET, UNIT, of_targets
from intrabench.statistics.significance import (
    differences,
    holm,
    paired_values,
    patient_differences,
    per_patient,
    signed_rank,
)
from intrabench.statistics.sizes import with_sizes
from intrabench.statistics.statistic import Statistic


@dataclass(frozen=True)
class Settings(Statistic):
    """Settings of a comparison.

    tie: differences up to this are ties (in units of the metric). most: number of targets shown at each extreme.
    """

    tie: float = 0.01
    most: int = 5


@dataclass(frozen=True)
class Comparison:
    """Differences B - A on common units (`UNIT`); positive means that B is better, whatever the metric.

    datasets: a row per data set and `AVERAGE`: `difference`, its interval of 95 %, `low` to `high`, `false`, the
    probability that the claim "B is better than A" is false, `fewest` (as `differences`) and `BESIDE`: HD95 of a missed
    target is infinite, and so is a difference from it, of which there is neither interval nor probability; if both are
    (`both_infinite`), it is a tie without a difference. `sd_a`, `sd_b` and `correlation` of the means of patients, over
    finite values, which the published formula takes (null for `AVERAGE`); `units`, `wins`, `ties` and `losses` of B
    among them, and `superiority`, the share of wins plus half the ties; `missed_a` and `missed_b`, how many are misses
    with a finite value; `rank_biserial` (-1 to 1) and `p` of the signed ranks of per-patient differences
    (`patient_differences`), `p_holm` corrected over data sets (null of fewer patients than `FEW`). Those of `AVERAGE`
    are of the patients of all data sets together, and are not corrected.
    sizes: a row per group of `with_sizes`, with volumes `from_ml` to `to_ml`; all targets have equal weight.
    extremes: the targets that differ most, mean over seeds, the best for B first.
    only_a, only_b: units with a value on one side only; they are not compared. shared: what the two lines have in
    common, by column. adapted: of A and of B, which prompts were converted or refused, and in how many sessions; empty
    if that is the same. pixels: all are photographs or videos, whose targets have pixels; one counts as 0.001 ml.
    selection: which sessions were chosen, in words; empty if all were.
    """

    settings: Settings
    datasets: pl.DataFrame
    sizes: pl.DataFrame
    extremes: pl.DataFrame
    only_a: int
    only_b: int
    warnings: tuple[str, ...]
    shared: Mapping[str, str] = field(default_factory=dict)
    adapted: tuple[str, str] = ("", "")
    pixels: bool = False
    selection: str = ""

    @property
    def worse(self) -> bool:
        """Whether B is significantly worse: by the interval of the average, or by ranks if differences are infinite."""
        return self._verdict < 0

    @property
    def better(self) -> bool:
        """Whether B is significantly better."""
        return self._verdict > 0

    @property
    def by_ranks(self) -> bool:
        """Whether differences are infinite, so that signed ranks of patients decide and no interval does."""
        return bool(self._average.get("infinite"))

    @property
    def _verdict(self) -> float:
        """Below 0 where B is worse, above 0 where it is better; 0 of too few patients."""
        row = self._average
        if self.by_ranks:
            return float(row["rank_biserial"]) if row["p"] is not None and row["p"] < 1 - LEVEL else 0.0
        low, high = row.get("low"), row.get("high")
        return 0.0 if low is None or high is None or low <= 0 <= high else float(low)

    @cached_property
    def _average(self) -> Mapping[str, Any]:
        """The row of the average, empty if a data set has no difference."""
        return next(self.datasets.filter(pl.col("dataset") == AVERAGE).iter_rows(named=True), {})


def compare(
    a: pl.DataFrame, b: pl.DataFrame, settings: Settings | None = None, names: tuple[str, str] = ("A", "B")
) -> Comparison:
    """Compare two lines, given as the rows of each; warnings call them by their names.

    Raises:
        IntraBenchError: a side has several lines, or there is no common unit.
    """
    settings = settings or Settings()
    values_a, values_b, units = _paired(a, b, settings)
    if units.is_empty():
        raise IntraBenchError("the two lines have no target and seed in common; run both on the same data and seeds")
    datasets = _per_dataset(units, settings)
    warnings = []
    done = tuple(_adapted(side, units, settings) for side in (a, b))
    if different := done[0] != done[1]:
        details = "; ".join(f"{name}: {text or 'none'}" for name, text in zip(names, done, strict=True))
        warnings.append(f"prompts were adapted differently: {details}")
    for name, side in zip(names, (a, b), strict=True):
        warnings += [f"{name}: {text}" for text in _cut_short(side, units, settings)]
    few = datasets.filter(pl.col("patients") < FEW, pl.col("dataset") != AVERAGE).select("dataset", "patients")
    if not few.is_empty():
        details = ", ".join(f"{name} ({patients})" for name, patients in few.iter_rows())
        warnings.append(f"fewer than {FEW} patients with a difference, too few for a conclusion: {details}")
    return Comparison(
        settings,
        datasets,
        _per_size(units, settings),
        _extremes(units, settings.most),
        len(values_a) - len(units),
        len(values_b) - len(units),
        tuple(warnings),
        adapted=(done[0], done[1]) if different else ("", ""),
    )


def paired(a: pl.DataFrame, b: pl.DataFrame, settings: Settings) -> pl.DataFrame:
    """The units that two lines have in common, as `paired_values`. There may be none."""
    return _paired(a, b, settings)[-1]


def _paired(a: pl.DataFrame, b: pl.DataFrame, settings: Settings) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """The values of both lines, and what they have in common."""
    values_a, values_b = _values(with_patients(a, b), "A", settings), _values(with_patients(b, a), "B", settings)
    return values_a, values_b, _differences(values_a, values_b, settings)


def _cut_short(rows: pl.DataFrame, units: pl.DataFrame, settings: Settings) -> list[str]:
    """How many of the sessions that are compared ended before the clicks that their numbers are of."""
    found = settings.cut_short(_compared(rows, units), ["_side"])
    return [f"{one['note']}, in {shares([one['sessions'] / one['of']])}" for one in found.iter_rows(named=True)]


def _adapted(rows: pl.DataFrame, units: pl.DataFrame, settings: Settings) -> str:
    """What was done to prompts in the sessions that are compared, and in how many of them."""
    found = settings.adapted(_compared(rows, units), ["_side"]).sort("note")
    return ", ".join(f"{one['note']} in {shares([one['sessions'] / one['of']])}" for one in found.iter_rows(named=True))


def _compared(rows: pl.DataFrame, units: pl.DataFrame) -> pl.DataFrame:
    """The rows of the sessions that are compared, as one group."""
    return of_targets(rows, units.select(UNIT)).with_columns(_side=0)


def _values(rows: pl.DataFrame, side: str, settings: Settings) -> pl.DataFrame:
    """The values of one line, one row per unit."""
    scored = settings.measured(rows).filter(pl.col("value").is_not_null())
    if scored.select(UNIT).is_duplicated().any():
        raise IntraBenchError(
            f"{side} contains several lines; choose one, for example by its model, prompter and protocol"
        )
    missed = pl.col(IS_MISS) if IS_MISS in scored.columns else pl.lit(False)
    return scored.select(*UNIT, "patient", "target_ml", "value", "failed", missed.alias(f"missed_{side.lower()}"))


def _differences(a: pl.DataFrame, b: pl.DataFrame, settings: Settings) -> pl.DataFrame:
    """Common units; the volume of a target is not known of a session that was never played."""
    units = paired_values(a, b, best(settings.metric))
    return units.with_columns(target_ml=pl.coalesce("target_ml", "target_ml_right")).drop("target_ml_right")


def _per_dataset(units: pl.DataFrame, settings: Settings) -> pl.DataFrame:
    """`Comparison.datasets`."""
    effect = differences(units.with_columns(pair=0), ["pair"], settings.how).drop("pair")
    counts = _counts(pl.concat([units, units.with_columns(dataset=pl.lit(AVERAGE))]), "dataset", settings.tie)
    patients = patient_differences(units)
    parts = patients.partition_by("dataset", as_dict=True)
    tests = [(name, *signed_rank(one["difference"])) for (name,), one in parts.items()]
    corrected = holm([p for *_, p in tests])
    together = signed_rank(patients["difference"])
    tested = pl.DataFrame(
        [*((*one, p) for one, p in zip(tests, corrected, strict=True)), (AVERAGE, *together, together[1])],
        schema=["dataset", "rank_biserial", "p", "p_holm"],
        orient="row",
    ).fill_nan(None)
    joined = effect.join(_spreads(units), on="dataset", how="left", maintain_order="left")
    joined = joined.join(counts, on="dataset", how="left", maintain_order="left")
    return joined.join(tested, on="dataset", how="left", maintain_order="left").rename({"value": "difference"})


def _spreads(units: pl.DataFrame) -> pl.DataFrame:
    """By data set `sd_a`, `sd_b` and `correlation` of the means of patients, over the units with finite values."""
    finite = units.filter(pl.col("value").is_finite())
    both = per_patient(finite, name="a").join(per_patient(finite, name="b"), on=["dataset", "patient"])
    return (
        both.sort("dataset", "patient")
        .group_by("dataset")
        .agg(sd_a=pl.col("a").std(), sd_b=pl.col("b").std(), correlation=pl.corr("a", "b").fill_nan(None))
    )


def _per_size(units: pl.DataFrame, settings: Settings) -> pl.DataFrame:
    """`Comparison.sizes`; the patients of all data sets are drawn together."""
    sized = with_sizes(units, settings.ends).drop_nulls("size").sort(UNIT)  # sums depend on the order
    bounds = sized.group_by("size").agg(
        pl.col("target_ml").min().alias("from_ml"), pl.col("target_ml").max().alias("to_ml")
    )
    effect = differences(as_one_dataset(sized), ["size"], AGGREGATIONS["pooled"]).filter(pl.col("dataset") == "all")
    joined = bounds.join(effect, on="size").join(_counts(sized, "size", settings.tie), on="size").sort("size")
    return joined.with_columns(pl.col("size").cast(pl.String)).drop("dataset").rename({"value": "difference"})


def _extremes(units: pl.DataFrame, most: int) -> pl.DataFrame:
    """`Comparison.extremes`."""
    parts = pl.col("target_ml").first(), pl.col("a", "b").mean(), pl.col("net", "others").mean()
    means = with_parts(units).group_by(TARGET).agg(parts)
    means = means.select(*TARGET, "target_ml", "a", "b", difference=whole(pl.col("net"), pl.col("others")))
    better, worse = means.filter(pl.col("difference") > 0), means.filter(pl.col("difference") < 0)
    best = better.sort("difference", *TARGET, descending=[True, *[False] * len(TARGET)]).head(most)
    return pl.concat([best, worse.sort("difference", *TARGET).head(most).reverse()])


def _counts(units: pl.DataFrame, by: str, tie: float) -> pl.DataFrame:
    """Counts of units and of wins, ties and losses, per value of a column."""
    difference = pl.col("difference")
    counts = units.group_by(by).agg(
        pl.len().alias("units"),
        (difference > tie).sum().alias("wins"),
        (difference.abs() <= tie).sum().alias("ties"),
        (difference < -tie).sum().alias("losses"),
        pl.col("both_infinite", "missed_a", "missed_b").sum(),
    )
    return counts.with_columns(superiority=(pl.col("wins") + pl.col("ties") / 2) / pl.col("units"))
