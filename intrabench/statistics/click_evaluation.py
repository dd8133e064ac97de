"""How well a clickability model fits the clicks of many people on many instances, or two sets of clicks each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, fields

import numpy as np
import polars as pl

from intrabench.clickability.base import Clickability
from intrabench.clickability.click_metrics import BOOTSTRAPS, ClickMetrics, Clicks, click_metrics, ks, pl1, sides, wd
from intrabench.clickability.clicked_images import ClickedImage
from intrabench.clickability.clicks_csv import RealClicks
from intrabench.errors import IntraBenchError, foreign, in_words
from intrabench.randomness import stream
from intrabench.statistics.aggregate import aggregation
from intrabench.statistics.resample import AVERAGE, intervals

METRICS = tuple(field.name for field in fields(ClickMetrics))
ALL = "all"
"""The click type of means over all types, which RClicks publishes."""

SCHEMA = {
    "dataset": pl.String,
    "full_stem": pl.String,
    "image_stem": pl.String,
    "click_type": pl.String,
    "clicks": pl.Int64,
    **dict.fromkeys(METRICS, pl.Float64),
}

OF_CLICKS = ("pl1", "wd", "ks")
"""The metrics that compare clicks with clicks."""
CHANCE, MORE = "by chance", "more than chance"
LEAST = 10
"""So many clicks must be on an instance in each set, as in Table 8 of RClicks."""
DIVISIONS = 10


def compare(
    a: Iterable[RealClicks],
    b: Iterable[RealClicks],
    image_of: Callable[[RealClicks], ClickedImage],
    name: str = "A and B",
    seed: int = 0,
    least: int = LEAST,
) -> pl.DataFrame:
    """Two sets of clicks: three rows per ``full_stem`` that has at least so many clicks in each, by ``compared``.

    `name`: `OF_CLICKS` of both sets; pl1 is of all pairs, ks 1 if the test does not distinguish them (p > 0.05), else
    0. `CHANCE`: means of the same for `DIVISIONS` random divisions of all these clicks into sets of these sizes.
    `MORE`: by how much the first exceeds the second. ``clicks``, ``others``: the numbers of clicks of A and B.

    Tables 1 and 8 of RClicks (https://arxiv.org/abs/2410.11722); its code for Table 8 takes x for y of one set.

    Raises:
        IntraBenchError: no entry has enough clicks in both, or they were made on pictures of different sizes.
    """
    mine = {(one.dataset, one.full_stem): one for one in a}
    pairs = [(mine[key], one) for one in b if (key := (one.dataset, one.full_stem)) in mine]
    enough = [(one, other) for one, other in pairs if min(len(one.clicks), len(other.clicks)) >= least]
    if not enough:
        most = max((min(len(one.clicks), len(other.clicks)) for one, other in pairs), default=0)
        found = f"at most {most} in both" if pairs else "none is in both"
        raise IntraBenchError(
            f"no full_stem has {least} clicks or more in each set ({found}); lower --least, or give sets of clicks on "
            "the same objects"
        )
    rows = [row for one, other in enough for row in _compared(one, other, image_of(one), name, seed)]
    schema = {key: kind for key, kind in SCHEMA.items() if key not in METRICS}
    numbers = {"others": pl.Int64, **dict.fromkeys(OF_CLICKS, pl.Float64)}
    return pl.DataFrame(rows, schema={**schema, "compared": pl.String, **numbers})


def _compared(
    one: RealClicks, other: RealClicks, clicked: ClickedImage, name: str, seed: int
) -> Iterator[dict[str, str | int | float]]:
    image, target, _ = clicked
    if not one.shape == other.shape == image.shape[:2]:
        sizes = ", ".join(f"{rows} x {columns}" for rows, columns in (one.shape, other.shape, image.shape[:2]))
        raise IntraBenchError(
            f"{one.full_stem}: A, B and the picture have different sizes ({sizes} pixels); use the data set that both "
            "sets of clicks were made on"
        )
    box, size = sides(target), len(one.clicks)

    def metrics(mine: Clicks, others: Clicks) -> dict[str, float]:
        return {"pl1": pl1(mine[None], others, box), "wd": wd(mine[None], others, box), "ks": ks(mine[None], others)}

    random, every = stream("compare_clicks", seed, one.dataset, one.full_stem), np.vstack([one.clicks, other.clicks])
    orders = [random.permutation(len(every)) for _ in range(DIVISIONS)]
    drawn = [metrics(every[order[:size]], every[order[size:]]) for order in orders]
    found = {name: metrics(one.clicks, other.clicks)}
    found[CHANCE] = {key: float(np.mean([each[key] for each in drawn])) for key in OF_CLICKS}
    found[MORE] = {key: found[name][key] - found[CHANCE][key] for key in OF_CLICKS}
    for compared, numbers in found.items():
        yield {**_who(one), "clicks": size, "others": len(other.clicks), "compared": compared, **numbers}


def evaluate(
    entries: Iterable[RealClicks],
    image_of: Callable[[RealClicks], ClickedImage],
    clickability: Clickability,
    seed: int = 0,
    bootstraps: int = BOOTSTRAPS,
) -> pl.DataFrame:
    """`SCHEMA`: a row per entry, with the number of its clicks and its `click_metrics`.

    The draws depend only on the seed and the entry.

    Raises:
        IntraBenchError: there are no entries, a picture does not fit its clicks, or a map is invalid.
    """
    rows = [_row(entry, image_of(entry), clickability, seed, bootstraps) for entry in entries]
    if not rows:
        raise IntraBenchError("there are no clicks to compare with; choose a data set in the file of clicks")
    return pl.DataFrame(rows, schema=SCHEMA)


def means(evaluated: pl.DataFrame) -> pl.DataFrame:
    """Means of `evaluate`, or of the rows of `compare` with one value of ``compared``: ``dataset``, ``click_type``,
    ``metric``, its mean `value` over `stems`, and `low` to `high`.

    The interval is the 95 % bootstrap interval (`intervals`) over pictures, each with all its stems. The click type
    `ALL` is the mean over all stems; with several data sets, the data set `AVERAGE` is the mean over data sets.
    """
    keys = ["dataset", "full_stem", "image_stem", "click_type"]
    each = evaluated.unpivot(
        [name for name in METRICS if name in evaluated.columns], index=keys, variable_name="metric"
    )
    each = pl.concat([each, each.with_columns(click_type=pl.lit(ALL))])
    one = {"patient": pl.col("image_stem"), "case": pl.col("full_stem"), "target": pl.col("full_stem")}
    scored = each.with_columns(**one, label=pl.lit("click"), failed=pl.lit(False), not_applicable=pl.lit(False))
    found = intervals(scored, ["click_type", "metric"], aggregation("pooled"))
    if evaluated["dataset"].n_unique() == 1:
        found = found.filter(pl.col("dataset") != AVERAGE)
    return found.select("dataset", "click_type", "metric", "value", "low", "high", pl.col("cases").alias("stems"))


def wide(table: pl.DataFrame, of: str = "model") -> pl.DataFrame:
    """`means` of several models (column `of`) with a column of texts per metric: ``0.230 [0.218, 0.241]``."""
    digits = {"pde": 6}
    cell = pl.struct("metric", "value", "low", "high").map_elements(
        lambda one: _cell(one["value"], one["low"], one["high"], digits.get(one["metric"], 3)), pl.String
    )
    keys = ["dataset", "click_type", of, "stems"]
    names = [name for name in METRICS if name in table["metric"]]
    return table.with_columns(cell=cell).pivot("metric", index=keys, values="cell").select(*keys, *names)


def each_means(evaluated: Mapping[str, pl.DataFrame], of: str = "model") -> pl.DataFrame:
    """`means` of several, by name in the column `of`, side by side."""
    found = [means(one).insert_column(0, pl.lit(name).alias(of)) for name, one in evaluated.items()]
    return pl.concat(found).sort("dataset", "click_type", "metric", maintain_order=True)


def _cell(value: float, low: float | None, high: float | None, digits: int) -> str:
    within = "" if low is None or high is None else f" [{low:.{digits}f}, {high:.{digits}f}]"
    return f"{value:.{digits}f}{within}"


def _row(
    entry: RealClicks, clicked: ClickedImage, clickability: Clickability, seed: int, bootstraps: int
) -> dict[str, str | int | float]:
    image, target, error = clicked
    if not image.shape[:2] == target.shape == error.shape == entry.shape:
        raise IntraBenchError(
            f"the clicks of {entry.full_stem} were made on {entry.shape[0]} x {entry.shape[1]} pixels, but its picture "
            f"has {image.shape[0]} x {image.shape[1]}; use the version of the data set that RClicks used"
        )
    random = stream("click_metrics", seed, entry.dataset, entry.full_stem)
    try:
        with foreign():
            probability = clickability.probability(image, target, error)
        found = click_metrics(probability, target, entry.clicks, random, bootstraps)
    except IntraBenchError:
        raise
    except Exception as problem:  # the model's own code may raise anything
        raise IntraBenchError(
            f"{clickability.name} cannot be compared with the clicks of {entry.full_stem} ({in_words(problem)}); "
            "fix the model or leave out this entry"
        ) from problem
    return {**_who(entry), "clicks": len(entry.clicks), **asdict(found)}


def _who(entry: RealClicks) -> dict[str, str]:
    return {name: getattr(entry, name) for name in ("dataset", "full_stem", "image_stem", "click_type")}
