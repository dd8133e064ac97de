"""From the scores of sessions to one number per line and data set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from intrabench.errors import IntraBenchError
from intrabench.results.fast_queries import only
from intrabench.specs.specs import nearest
from intrabench.statistics.infinite import BESIDE, MISSED, counts, with_parts
from intrabench.target import WHOLE_CASE

COUNTS = ("patients", "cases", "targets", "failed")
"""Columns of numbers that stand beside a mean: those that it is of, and how many sessions failed."""

EFFORT = ("interactions", "dof", "seconds_human")
"""Columns of effort of a person."""

USUAL = ~pl.col("failed") & ~pl.col("not_applicable")
"""Whether a session did not fail, and applies."""

Steps = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Aggregation:
    """Means of means: `steps` are the columns that remain after each mean, besides those of the line.

    The first mean is over all sessions with equal columns of the first step, and so on.
    """

    name: str
    description: str
    steps: Steps

    @property
    def groups(self) -> tuple[str, ...]:
        """The columns of the groups in which cases are averaged, such as classes; a value is the mean of its groups."""
        return next(step for step in self.steps if "case" not in step)


AGGREGATIONS: Mapping[str, Aggregation] = {
    one.name: one
    for one in (
        Aggregation(
            "protocol",
            "mean over the instances of a class in a case, then over cases, then over classes",
            (("dataset", "label", "case"), ("dataset", "label"), ("dataset",)),
        ),
        Aggregation(
            "class-first",
            "mean over the instances of a class in a case, then over the classes of the case, then over cases",
            (("dataset", "label", "case"), ("dataset", "case"), ("dataset",)),
        ),
        Aggregation("case", "mean over the targets of a case, then over cases", (("dataset", "case"), ("dataset",))),
        Aggregation("pooled", "mean over all targets", (("dataset",),)),
    )
}


def aggregation(name: str) -> Aggregation:
    """The aggregation called `name`; an error suggests the nearest name."""
    if name not in AGGREGATIONS:
        raise IntraBenchError(
            f"there is no aggregation {name!r}{nearest(name, AGGREGATIONS)}; "
            f"choose from {', '.join(AGGREGATIONS)}, matched"
        )
    return AGGREGATIONS[name]


def aggregate(scored: pl.DataFrame, by: Sequence[str], how: Aggregation) -> pl.DataFrame:
    """One line per combination of `by` and data set: the mean `value`, and the numbers of `COUNTS` and `BESIDE`.

    scored: `scores`; sessions without a value are left out of means, and of counts but that of failures.
    """
    keys = list(dict.fromkeys([*by, "dataset"]))
    valued = only(scored, pl.col("value").is_not_null())
    counted = (
        only(scored, ~pl.col("not_applicable"))
        .group_by(keys)
        .agg(pl.col("failed").sum())
        .join(
            valued.group_by(keys).agg(
                pl.col("patient").n_unique().alias("patients"),
                pl.col("case").n_unique().alias("cases"),
                pl.struct("case", "target").n_unique().alias("targets"),
                *counts(valued.columns),
            ),
            on=keys,
            how="left",
            nulls_equal=True,
        )
        .with_columns(pl.col("patients", "cases", "targets", "infinite", "of", MISSED).fill_null(0))
    )
    means = only(per_label(scored), pl.col("value").is_not_null())
    averaged = ["value"]
    if counted["infinite"].sum():
        means, averaged = with_parts(means), ["value", "others", "net"]
    for step in how.steps:
        means = means.group_by(list(dict.fromkeys([*by, *step]))).agg(pl.col(averaged).mean())
    if len(averaged) == 1:
        means = means.with_columns(others="value", net=pl.lit(0.0))
    found = counted.join(means, on=keys, how="left", nulls_equal=True)
    return found.select(*keys, *COUNTS, *BESIDE, "value")


def totals(scored: pl.DataFrame, by: Sequence[str], efforts: Sequence[str] = EFFORT) -> pl.DataFrame:
    """Of each line the numbers of `sessions`, `failed` and `not_applicable` ones, and the mean efforts of the others.

    scored: `scores`.
    """
    counts = scored.group_by(by).agg(
        (pl.col("target") != WHOLE_CASE).sum().alias("sessions"), pl.col("failed", "not_applicable").sum()
    )
    spent = only(scored, USUAL).group_by(by).agg(pl.col(name).mean() for name in efforts)
    return counts.join(spent, on=list(by), how="left", nulls_equal=True)


def fewest_patients(scored: pl.DataFrame, by: Sequence[str], how: Aggregation) -> pl.DataFrame:
    """Per combination of `by` and data set, `fewest`: the number of patients behind the least known mean of `how`.

    An average over classes is no better known than that of the class which the fewest patients have.
    """
    keys = list(dict.fromkeys([*by, "dataset"]))
    counted = only(per_label(scored), pl.col("value").is_not_null())
    patients = counted.group_by(list(dict.fromkeys([*keys, *how.groups]))).agg(fewest=pl.col("patient").n_unique())
    return patients.group_by(keys).agg(pl.col("fewest").min().cast(pl.Int64))


def per_label(scored: pl.DataFrame) -> pl.DataFrame:
    """The scores, in which a case that could not be prepared counts once for every class of its data set.

    Such a row has the target `WHOLE_CASE` and no class; as a class of its own it would have too much weight.
    """
    whole = scored.filter(pl.col("target") == WHOLE_CASE)
    if whole.is_empty():
        return scored
    targets = scored.filter(pl.col("target") != WHOLE_CASE)
    labels = targets.select("dataset", "label").unique()
    spread = whole.drop("label").join(labels, on="dataset", how="left").select(scored.columns)
    return pl.concat([targets, spread])
