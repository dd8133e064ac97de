"""How difficult targets are: the mean and the spread of scores over models, and over what varies within a model.

RClicks (Antonov et al., NeurIPS 2024, https://arxiv.org/abs/2410.11722), Figure 8: of each instance the mean over
models of the mean and of the standard deviation over clicks, whose ratio, averaged over instances, is the NSR of a data
set.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from intrabench.errors import IntraBenchError, several
from intrabench.metrics.base import Best, merit
from intrabench.results.schema import STRATA, STRATUM, THIRDS, WITHIN_LABEL
from intrabench.statistics.click_robustness import LINE, ends
from intrabench.statistics.measures import best as best_of
from intrabench.statistics.measures import scored_by
from intrabench.statistics.robustness import COUNTED_CLICKS, each_spread, noise
from intrabench.statistics.scores import TARGET, by_image
from intrabench.statistics.sources import Source
from intrabench.statistics.spread import each_target
from intrabench.statistics.statistic import Statistic
from intrabench.target import WHOLE_CASE

PARTS = ("label", *STRATA)
"""Columns of targets whose values have lines apart in tables of pairs and of clicks."""

NUMBERS = ("mean", "sd", "spread", "nsr")


def difficulties(scored: pl.DataFrame, kind: str, best: Best, of: Source | None = None) -> pl.DataFrame:
    """A row per target, the hardest of each data set first: `TARGET`, `STRATUM`, ``sessions``, ``models``, `NUMBERS`,
    ``target_ml``, ``patient``, ``rank`` and `WITHIN_LABEL`.

    scored: `scores`. kind: of the metric, as `each_target` has it. of: what varies within a model and prompter; None:
    prompters and seeds within a model. ``models`` counts models, with a source lines of models and prompters, and
    ``sessions`` what they have the spread of.

    mean: over models, of the mean within each. sd: over all of them with equal weight for each model. spread: mean over
    models of the standard deviation within each. nsr: spread over mean in percent, of scores only. Of equal means the
    larger sd is harder, then the order is that of names.

    Raises:
        IntraBenchError: no target has a value, or there is a source and nothing varies in it.
    """
    scored = scored.filter(pl.col("target") != WHOLE_CASE).drop_nulls("value")
    if scored.is_empty():
        raise IntraBenchError("no target has a score to tell how difficult it is; choose a metric that was measured")
    target = [*TARGET, "patient"]
    if of is None:
        within = scored.group_by(*LINE, *target, maintain_order=True).agg("value", levels=pl.len())
        moments = each_spread(within["value"].to_list())
        within = within.with_columns(pl.Series(name, moments[name]) for name in ("mean", "sd"))
    else:
        within = each_target(scored, [*LINE, "prompter"], of, kind, best)
    each = within.group_by(target, maintain_order=True).agg(
        pl.col("mean", "sd"), models=pl.len(), sessions=pl.col("levels").sum()
    )
    models = each_spread(each["mean"].to_list())
    spread, squares = (np.array([np.mean(np.power(one, power)) for one in each["sd"].to_list()]) for power in (1, 2))
    numbers = {"mean": models["mean"], "sd": np.sqrt(squares + models["sd"] ** 2), "spread": spread}
    scores = kind not in COUNTED_CLICKS and best != "zero"
    nsr = 100 * noise(models["mean"], spread) if scores else np.full(len(each), np.nan)
    each = each.with_columns(
        *(pl.Series(name, values) for name, values in numbers.items()), pl.Series("nsr", nsr, nan_to_null=True)
    )
    sizes = scored.group_by(TARGET).agg(pl.col("target_ml").max())
    each = each.join(sizes, on=TARGET, nulls_equal=True)
    each = each.sort("dataset", merit(pl.col("mean"), best), -pl.col("sd"), *TARGET)
    each = each.with_columns(
        _third("dataset").alias(STRATUM),
        _third("dataset", "label").alias(WITHIN_LABEL),
        rank=pl.int_range(1, pl.len() + 1).over("dataset"),
    )
    about = ("target_ml", "label", "patient", "rank", WITHIN_LABEL)
    return each.select("dataset", "case", "target", STRATUM, "sessions", "models", *NUMBERS, *about)


def _third(*among: str) -> pl.Expr:
    """Into which third of the targets that are equal in these columns each belongs, in their order."""
    third = (pl.int_range(pl.len()) * len(THIRDS) // pl.len()).over(among)
    return third.replace_strict(dict(enumerate(THIRDS)), return_dtype=pl.Enum(THIRDS))


def difficulty_table(each: pl.DataFrame, by: Sequence[str], best: Best, interval: bool = False) -> pl.DataFrame:
    """A line per combination of `by` and data set, the hardest first: means of `NUMBERS` over ``targets``.

    each: `difficulties`. interval: the ends of each one's interval of 95 % over patients, too, as ``nsr_low`` and
    ``nsr_high``; models stay as they are.
    """
    keys, lines = list(dict.fromkeys(["dataset", *by])), []
    for key, one in each.partition_by(keys, as_dict=True, maintain_order=True).items():
        limits = ends(one, {name: one[name].to_numpy() for name in NUMBERS}) if interval else {}
        cells = {}
        for name in NUMBERS:
            cells[name] = one[name].mean()
            cells |= {f"{name}_{end}": limits.get(f"{name}_{end}") for end in ("low", "high") if interval}
        lines.append({**dict(zip(keys, key, strict=True)), "targets": len(one), **cells})
    schema = {name: each.schema[name] for name in keys} | {"targets": pl.Int64()}
    table = pl.DataFrame(lines, schema=schema | {name: pl.Float64() for name in lines[0] if name not in schema})
    return table.sort("dataset", merit(pl.col("mean"), best), *keys)


def with_strata(rows: pl.DataFrame, each: pl.DataFrame) -> pl.DataFrame:
    """The rows with the columns `STRATA` of their targets; null where these have no score.

    each: `difficulties`.
    """
    names = by_image(rows.select("protocol", *TARGET)).select(TARGET)
    found = names.join(each.select(*TARGET, *STRATA), on=TARGET, how="left", nulls_equal=True, maintain_order="left")
    return rows.with_columns(found.select(STRATA))


def divided(rows: pl.DataFrame, of: Statistic) -> pl.DataFrame:
    """The rows `with_strata` of the score that the metric is made of, after the round of the statistic, over all of
    them. Targets without a score are left out; the column is null for cases without data, whose targets nobody knows.
    """
    single = replace(of, metric=scored_by(of.of_protocols(rows["protocol"]).metric))
    found = with_strata(rows, difficulties(single.measured(rows), single.metric, best_of(single.metric)))
    return found.filter(pl.col(STRATUM).is_not_null() | (pl.col("target") == WHOLE_CASE))


def described(metric: str, names: Sequence[str]) -> list[str]:
    """What the `STRATA` among the names mean in an output of this metric."""
    among = {STRATUM: "of a data set", WITHIN_LABEL: "with the same label in a data set"}
    by = f"by their mean {scored_by(metric)} over models"
    return [f"{name}: thirds of the targets {among[name]} {by}" for name in STRATA if name in names]


def played_by_few(each: pl.DataFrame) -> list[str]:
    """A sentence for each data set of which some models have only some targets, whose means do not compare."""
    most = each.with_columns(most=pl.col("models").max().over("dataset")).filter(pl.col("models") < pl.col("most"))
    counts = most.group_by("dataset", "most").agg(pl.len()).sort("dataset")
    return [
        f"{several(count, 'target')} of {dataset} have scores of fewer than {models} models, which makes them look "
        "harder or easier than they are; --common leaves them out"
        for dataset, models, count in counts.iter_rows()
    ]
