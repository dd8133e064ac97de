"""Superpixels: from rows of divided images to values by number of superpixels, and to AMR, AUE and AUV."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import polars as pl

from intrabench.errors import IntraBenchError
from intrabench.metrics.base import Metric
from intrabench.protocols import PROTOCOLS, command_for
from intrabench.protocols.superpixels_paper import AVERAGED
from intrabench.results.schema import metric_columns
from intrabench.specs.specs import parse, written
from intrabench.statistics.aggregate import COUNTS
from intrabench.statistics.coverage import on_shared
from intrabench.statistics.ranking import AverageRanking, average_ranking
from intrabench.statistics.resample import intervals
from intrabench.statistics.scores import FailurePolicy, measured_metrics, scores, states, valued
from intrabench.statistics.statistic import averages
from intrabench.superpixels.partitions.averages import ENOUGH, LEAST, MOST, average_loss
from intrabench.target import ANNOTATION

DIVIDING = [one.id for one in PROTOCOLS.values() if one.partition]
"""Protocols in which models divide images."""
_CURVE, _IMAGE = ("dataset", "method"), ("dataset", "case", "patient")
HOW = averages(DIVIDING)
"""How images are averaged."""


def prompted(rows: pl.DataFrame, metric: str = "dice") -> pl.DataFrame:
    """The rows without those of divided images, unless these have a value of the metric, which no answer has.

    Raises:
        IntraBenchError: there are only superpixels.
    """
    others = rows.filter(~pl.col("protocol").is_in(DIVIDING))
    if len(others) == len(rows) or (metric in metric_columns(rows) and divided(rows)[metric].count()):
        return rows
    if others.is_empty():
        raise IntraBenchError("there are only superpixels in the results; `intrabench superpixels table` shows them")
    return others


def divided(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows of superpixels.

    Raises:
        IntraBenchError: there are none.
    """
    found = rows.filter(pl.col("protocol").is_in(DIVIDING))
    if found.is_empty():
        raise IntraBenchError(f"there are no superpixels in the results; run: {command_for(DIVIDING[0])}")
    return found


@dataclass(frozen=True)
class SuperpixelScores:
    """Superpixels of a results folder.

    images: one line per image, method and number of superpixels asked for, `asked`; a column per metric has the value
    of the worst annotation (`superpixel_scores` can also give a line per annotation). metrics: those columns, in the
    order of the protocol.
    """

    images: pl.DataFrame
    metrics: Sequence[Metric]

    @property
    def curves(self) -> pl.DataFrame:
        """One line per data set, method and `asked`: number of images, of `failed` ones, and the mean of each metric.

        `sp`, the number of superpixels, is the mean of what methods made, else what was asked for.
        """
        means = [pl.col(metric.column).mean() for metric in self.metrics]
        found = self.images.group_by(*_CURVE, "asked").agg(pl.len().alias("images"), pl.col("failed").sum(), *means)
        return found.with_columns(pl.col("sp").fill_null(pl.col("asked"))).sort(*_CURVE, "asked")

    def averages(self) -> pl.DataFrame:
        """One line per image and method, with AMR, AUE and AUV in percent.

        All images of a curve are averaged over the same numbers of superpixels, their means; so the mean over images is
        the average of the mean curve, as it is published.
        """
        joined = self.images.join(self.curves.select(*_CURVE, "asked", number="sp"), on=[*_CURVE, "asked"])
        found = []
        for (dataset, method, case, patient), image in joined.group_by(
            "dataset", "method", "case", "patient", maintain_order=True
        ):
            losses = {}
            for name, (column, inverse) in AVERAGED.items():
                curve = image.filter(pl.col(column).is_not_null())
                values = 1 - curve[column] if inverse else curve[column]
                points = list(zip(curve["number"], values, strict=True))
                losses[name] = average_loss(points) if points else None
            failed = int(image["failed"].sum())
            found.append(
                {"dataset": dataset, "method": method, "case": case, "patient": patient, **losses, "failed": failed}
            )
        return pl.DataFrame(found, infer_schema_length=None).with_columns(pl.col(*AVERAGED).cast(pl.Float64))

    def summary(self) -> pl.DataFrame:
        """One line per method and data set, and their average: each of `AVERAGED` with its interval, and `numbers`.

        numbers: how many numbers of superpixels were asked for.
        """
        each, table = self.averages(), None
        for name in AVERAGED:
            part = intervals(as_scores(each, name), ["method"], HOW)
            part = part.select(
                "method", "dataset", pl.col("value").alias(name), pl.col("low", "high").name.prefix(f"{name}_"), *COUNTS
            )
            table = part if table is None else table.join(part.drop(COUNTS), on=["method", "dataset"], how="left")
        assert table is not None
        asked = self.images.group_by(*_CURVE).agg(pl.col("asked").n_unique().alias("numbers"))
        return table.join(asked, on=["method", "dataset"], how="left").sort("dataset", "AMR", "method")

    @cached_property
    def ranked(self) -> AverageRanking:
        """Methods ranked by AMR + AUE on each data set, and the averages of their ranks, as the paper has them.

        On the images that all methods share, without methods that lack most of them (`on_shared`).
        """
        return average_ranking(self._shared[0], ["method"], HOW, best="low")

    @cached_property
    def _shared(self) -> tuple[pl.DataFrame, list[str]]:
        """AMR + AUE of the images that can be compared, and sentences on what that leaves out."""
        scored = as_scores(self.averages().with_columns(both=pl.col("AMR") + pl.col("AUE")), "both")
        names = {(method,): method for method in scored["method"].unique()}
        return on_shared(scored, scored, ["method"], names)

    def of(self, methods: Collection[str]) -> SuperpixelScores:
        """Those of some methods."""
        return replace(self, images=self.images.filter(pl.col("method").is_in(list(methods))))

    def asked_for(self, numbers: Collection[int]) -> SuperpixelScores:
        """Those of some numbers of superpixels that methods were asked for.

        Raises:
            IntraBenchError: one was not run.
        """
        there = self.images["asked"].unique().sort()
        for number in numbers:
            if number not in there:
                have = ", ".join(map(str, there))
                raise IntraBenchError(
                    f"{number} superpixels were not run; there are {have}, and "
                    f"intrabench superpixels run --segments {number} adds them"
                )
        return replace(self, images=self.images.filter(pl.col("asked").is_in(list(numbers))))

    def nearest_to(self, numbers: Collection[int]) -> SuperpixelScores:
        """Those of the number asked for that is nearest to each of some, by the ratio, of each data set and method."""
        ratio = [(pl.col("asked") / number).log().abs() for number in numbers]
        nearest = [pl.col("asked") == pl.col("asked").sort_by(one, "asked").first().over(*_CURVE) for one in ratio]
        return replace(self, images=self.images.filter(pl.any_horizontal(nearest)))

    def notes(self) -> list[str]:
        """Sentences on curves whose averages say little, and on what the ranks leave out."""
        lines, compared = list[str](), self._shared[1]
        for dataset, method, count in self.curves.group_by(*_CURVE).len().sort(*_CURVE).iter_rows():
            if count < ENOUGH:
                lines.append(
                    f"{dataset}, {method}: {count} numbers of superpixels; averages between {LEAST} and {MOST} need "
                    f"{ENOUGH} (superpixels run without --segments)"
                )
        if len(lines) > 3:
            lines = [f"fewer than {ENOUGH} numbers of superpixels for {len(lines)} curves; their averages are rough"]
        return [*lines, *compared]


def superpixel_scores(rows: pl.DataFrame, annotations: bool = False) -> SuperpixelScores:
    """What was measured of superpixels.

    rows: `current` ones. Failures count as the worst value of each metric. annotations: a line per annotation, not per
    image, without failures.

    Raises:
        IntraBenchError: there are none.
    """
    rows = divided(rows)
    metrics = [one for one in measured_metrics(rows) if one.column in metric_columns(rows)]
    each = [_of_images(rows, metric, annotations) for metric in metrics]
    if not any(metric.column == "sp" for metric in metrics):
        raise IntraBenchError(
            "no image could be divided; the run tells why, and `intrabench superpixels run` tries again"
        )
    images = each[0]
    for one in each[1:]:
        images = images.join(one.drop("failed"), on=[*_IMAGE, "target", "method", "asked"], how="full", coalesce=True)
    return SuperpixelScores(images.sort("dataset", "method", "asked", "case"), metrics)


def _of_images(rows: pl.DataFrame, metric: Metric, annotations: bool) -> pl.DataFrame:
    """The value of each image by a metric, of its worst annotation, or of each of its annotations."""
    # A failure made no superpixels, and says nothing of their time.
    policy = FailurePolicy("drop" if annotations or metric.column in ("sp", "cpu_s") else "worst")
    if annotations:
        scored = valued(states(rows, column=metric.column), metric.column, policy)
    else:
        scored = scores(rows, metric.column, policy=policy)
    specs = {spec: _method_and_number(spec) for spec in scored["model"].unique()}
    scored = scored.with_columns(
        method=pl.col("model").replace_strict({spec: method for spec, (method, _) in specs.items()}),
        asked=pl.col("model").replace_strict({spec: number for spec, (_, number) in specs.items()}),
    )
    seeds = scored.group_by(*_IMAGE, "target", "method", "asked")
    return seeds.agg(pl.col("value").mean().alias(metric.column), pl.col("failed").any())


def _method_and_number(model: str) -> tuple[str, int]:
    """The method that a model divides images with, as people call it, and the number of superpixels it is asked for."""
    _, parameters = parse(model)
    method, number = parameters.pop("method", "slic"), int(parameters.pop("segments", "5000"))
    others = ", ".join(f"{name}={written(value)}" for name, value in parameters.items())
    return f"{method} ({others})" if others else method, number


def as_scores(each: pl.DataFrame, name: str) -> pl.DataFrame:
    """Averages of images as the statistics of sessions take them."""
    return each.select(
        *("dataset", "method", "case", "patient"),
        pl.lit(DIVIDING[0]).alias("protocol"),
        pl.lit(ANNOTATION).alias("label"),
        pl.lit(f"{ANNOTATION}.0").alias("target"),
        pl.lit(0).alias("seed"),
        pl.col(name).alias("value"),
        pl.col("failed") > 0,
        pl.lit(False).alias("not_applicable"),
    )
