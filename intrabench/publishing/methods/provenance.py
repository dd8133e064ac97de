"""What a results folder knows of how it came about: its rows, the records of its runs, and the cards behind them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import polars as pl

from intrabench.errors import IntraBenchError
from intrabench.publishing.methods.markup import Bibliography
from intrabench.reporting.page.credits import Credit, of_models
from intrabench.results import labels
from intrabench.results.origin import datasets_of
from intrabench.results.private import Private, without_paths
from intrabench.results.selection import EVERYTHING, Selection
from intrabench.statistics.aggregate import fewest_patients, totals
from intrabench.statistics.evaluation import Evaluation, counted_rows, with_lines
from intrabench.statistics.infinite import Infinite
from intrabench.statistics.measures import summary
from intrabench.statistics.resample import AVERAGE, intervals
from intrabench.statistics.scores import last_round
from intrabench.statistics.soundness import check_data, some_rows
from intrabench.statistics.statistic import Statistic
from intrabench.target import WHOLE_CASE


@dataclass(frozen=True)
class Provenance(Evaluation):
    """An evaluation with all that a paper says of it."""

    @cached_property
    def credits(self) -> dict[str, Credit]:
        """Of models with registered weights, by spec."""
        return {one.name: one for one in of_models(self.lines, self.records)}

    @cached_property
    def corrections(self) -> int:
        """The largest number of corrections that any session had."""
        return last_round(self.rows)

    @cached_property
    def models(self) -> pl.DataFrame:
        """One row per model and weights: `label`, `model`, `model_version`, `weights`, `weights_sha256`, `dtype`."""
        what = ("model", "model_version", "weights", "weights_sha256", "dtype")
        return self.rows.select(labels.MODEL.alias("label"), *what).unique().sort("label", *what)

    @cached_property
    def counts(self) -> pl.DataFrame:
        """By data set: numbers of `cases`, `patients`, `targets` and `classes`, and `version`."""
        targets = self.scored.filter(pl.col("target") != WHOLE_CASE)
        return (
            targets.group_by("dataset")
            .agg(
                pl.col("dataset_version").unique().sort().str.join(", ").alias("version"),
                pl.col("case").n_unique().alias("cases"),
                pl.col("patient").n_unique().alias("patients"),
                pl.struct("case", "target").n_unique().alias("targets"),
                pl.col("label").n_unique().alias("classes"),
            )
            .sort("dataset")
        )

    def options(self, name: str) -> list[str]:
        """What the runs were given for an option, each once."""
        found: list[str] = []
        for record in self.records:
            value = record.get("options", {}).get(name)
            found += value if isinstance(value, list) else [value] if value not in (None, "") else []
        return list(dict.fromkeys(without_paths(str(one)) for one in found))

    @cached_property
    def results(self) -> pl.DataFrame:
        """By line: what the first prompts and the last state gave on average over data sets, and what it cost.

        `first`, `last`, their intervals ``first_low`` ..., what is infinite in them, ``first_words``, and how many are
        misses, ``first_misses``; `interactions`, `seconds` and `machine_s` of a session; `patients` and `fewest`. Lines
        without an average over all data sets have no values.
        """
        cost = totals(self.scored, ["line"], ("interactions", "seconds_human", "machine_s"))
        cost = cost.select("line", "interactions", "machine_s", seconds="seconds_human")
        found = self.lines.select("line", "shown", "label", "notes", "name").join(cost, on="line", how="left")
        ends = {"last": self.scored}
        if summary(self.statistic.metric) is None:
            ends["first"] = replace(self.statistic, round=0).measured(self.rows)
        for name, scored in ends.items():
            table = self._average(scored)
            columns = [pl.col("value").alias(name), pl.col("low", "high").name.prefix(f"{name}_")]
            counts = ["patients"] if name == "last" else []
            beside = [*map(Infinite.beside, table.iter_rows(named=True))]
            words = [
                pl.Series(f"{name}_words", [one.words() if one else "" for one in beside], pl.String),
                pl.Series(f"{name}_misses", [one.misses for one in beside], pl.String),
            ]
            found = found.join(table.select("line", *columns, *counts, *words), on="line", how="left")
        fewest = fewest_patients(self.scored, ["line"], self.statistic.how).group_by("line").agg(pl.col("fewest").min())
        return found.join(fewest, on="line", how="left").sort("line")

    def _average(self, scored: pl.DataFrame) -> pl.DataFrame:
        return intervals(scored, ["line"], self.statistic.how).filter(pl.col("dataset") == AVERAGE)


def provenance(folder: Path, statistic: Statistic, selection: Selection = EVERYTHING) -> Provenance:
    """Read a results folder; in a paper, specs have no paths and hosts, and raters are numbered, as in exports.

    statistic: without a metric, that which leads in the protocols of the rows, averaged as they do, if they agree.

    Raises:
        IntraBenchError: it has no results of prompted models, or none was scored by the metric.
    """
    private = Private(some_rows(folder))
    rows, left_out = counted_rows(folder, statistic, selection, more=["plane", "device"])
    if rows.is_empty():
        raise IntraBenchError(f"{folder} has no results that count; run: intrabench run --model M --prompter P")
    check_data(folder, rows)
    datasets = {
        private.text(name): without_paths(found.replace(name, private.text(name))) if isinstance(found, str) else found
        for name, found in datasets_of(folder, rows).items()
    }
    numbered = with_lines(private.specs(rows))
    of_rows = statistic.of_protocols(rows["protocol"])
    return Provenance(folder, *numbered, of_rows, datasets, left_out, selection=selection)


class Missing(str):
    """Why a fact is not known."""


Fact = Callable[[Provenance, Bibliography], str]
"""Says something of results, and cites what is behind it."""
