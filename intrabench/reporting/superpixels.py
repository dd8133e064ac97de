"""Tables of superpixels, and their page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import polars as pl

from intrabench.datasets.cases.selection import matching
from intrabench.errors import IntraBenchError
from intrabench.files.atomic import atomically, writing
from intrabench.metrics import lookup
from intrabench.protocols.superpixels_paper import AVERAGED
from intrabench.reporting.page.grid import frame_grid
from intrabench.reporting.page.render import check_html, render
from intrabench.reporting.plots import as_svg
from intrabench.reporting.superpixel_figures import (
    curve_figures,
    ranks_figure,
    robustness_figures,
    spread_figures,
    trade_off_figures,
)
from intrabench.results.selection import EVERYTHING, Selection
from intrabench.specs.specs import nearest
from intrabench.statistics.evaluation import selected_rows
from intrabench.statistics.resample import AVERAGE
from intrabench.statistics.superpixel_curves import SPREAD, TRADED, correlations, differences, spread, stability
from intrabench.statistics.superpixels import DIVIDING, SuperpixelScores, superpixel_scores

SHOWN = ("rec", "ue_np", "ev", "asa", "co", "cpu_s")
"""Metrics of the table by number of superpixels, unless others are asked for."""
CORRELATED = (
    "rec",
    "pre",
    "ue_np",
    "ue_levin",
    "ue_achanta",
    "asa",
    "ev",
    "icv",
    "sse_rgb",
    "sse_xy",
    "mde",
    "co",
    "cd",
)
"""Metrics whose correlations are shown, of those that were measured."""
TABLE2, TABLE3 = (Path(__file__).parent / "reference" / f"superpixels_table{number}.csv" for number in (2, 3))
MANY = 20_000
"""The number of superpixels in Table 2."""
PAPER = "Stutz, Hermans, Leibe, CVIU 2018"


def read_superpixel_scores(
    folder: Path, methods: Sequence[str] = (), selection: Selection = EVERYTHING, annotations: bool = False
) -> tuple[SuperpixelScores, list[str]]:
    """What was measured of superpixels in a results folder, and what of it is left out.

    methods: only these, as tables print them, or globs. selection: of which sessions. annotations: as of
    `superpixel_scores`.

    Raises:
        IntraBenchError: there are none.
    """
    rows, left_out = selected_rows(folder, selection, protocol=DIVIDING[0])
    found = superpixel_scores(rows, annotations)
    names = found.images["method"].unique().sort().to_list()
    chosen = [name for method in methods for name in _methods(method, names, folder)]
    if methods:
        found = replace(found, images=found.images.filter(pl.col("method").is_in(chosen)))
    return found, left_out


def selected_words(methods: Sequence[str], selection: Selection) -> str:
    """`Selection.words` with methods for models."""
    return replace(selection, model=tuple(methods)).words.replace("only model ", "only method ", 1)


def _methods(method: str, names: Sequence[str], folder: Path) -> list[str]:
    if found := matching(method, names):
        return found
    raise IntraBenchError(f"{folder} has no method {method!r}{nearest(method, names)}; it has {', '.join(names)}")


def summary_table(found: SuperpixelScores, interval: bool = False) -> pl.DataFrame:
    """A line per data set and method with AMR, AUE and AUV, the best first.

    `rank` is that by AMR + AUE on a data set, and in lines of the average the mean of these; there `ranks` says on how
    many data sets a method had which rank, as in ``1: 3, 2: 1``. Of one data set there is no average.
    """
    table, ranked = found.summary(), found.ranked
    average = ranked.table.join(rank_counts(found), on="method").with_columns(dataset=pl.lit(AVERAGE))
    columns = [pl.col("method", "dataset", "rank"), pl.col("low", "high").name.prefix("rank_")]
    ranks = pl.concat([ranked.each.select(columns), average.select(*columns, "ranks")], how="diagonal")
    table = table.join(ranks, on=["method", "dataset"], how="left")
    ends = ["dataset", "method", "rank", "ranks"]
    if table["dataset"].n_unique() == 2:  # the average of one
        table, ends = table.filter(pl.col("dataset") != AVERAGE).cast({"rank": pl.Int64}), ends[:-1]
    table = table.sort(pl.col("dataset") == AVERAGE, "dataset", "rank", "method", nulls_last=True)
    if interval:
        table = table.with_columns(map(_with_interval, ("rank", *AVERAGED)))
    return table.select(*ends, *AVERAGED, "numbers", pl.col("cases").alias("images"), "failed")


def rank_counts(found: SuperpixelScores) -> pl.DataFrame:
    """How often each `method` had which rank, over data sets: `ranks`, the best first, as in ``1: 3, 2: 1``."""
    counts = found.ranked.each.group_by("method", "rank").len().sort("method", "rank")
    words = pl.format("{}: {}", pl.col("rank").cast(pl.Int64), "len")
    return counts.group_by("method", maintain_order=True).agg(ranks=words.str.join(", "))


def _with_interval(name: str, digits: int = 2) -> pl.Expr:
    value, low, high = (pl.col(column).round(digits) for column in (name, f"{name}_low", f"{name}_high"))
    between = pl.format("{} [{}, {}]", value, low, high)
    return pl.coalesce(between, pl.format("{} [-]", value)).alias(name)


def number_table(found: SuperpixelScores, metrics: Sequence[str] = ()) -> pl.DataFrame:
    """A line per data set, method and number of superpixels, with the mean K that methods made and metrics.

    Raises:
        IntraBenchError: a metric is unknown, or was not measured.
    """
    columns = _columns(found, metrics or SHOWN)
    curves = found.curves.select("dataset", "method", "asked", "images", "failed", pl.col("sp").alias("K"), *columns)
    return curves.rename({column: lookup.metric(column).head for column in columns})


def spread_table(found: SuperpixelScores, metrics: Sequence[str] = ()) -> pl.DataFrame:
    """`spread` with headings: K and metrics, each with its min, max and standard deviation over images.

    Raises:
        IntraBenchError: a metric is unknown, or was not measured.
    """
    columns = _columns(found, metrics or SPREAD)
    heads = {"sp": "K"} | {column: lookup.metric(column).head for column in columns}
    ends = {"": "", "_min": " min", "_max": " max", "_sd": " SD"}
    names = {f"{column}{end}": f"{head}{word}" for column, head in heads.items() for end, word in ends.items()}
    return spread(found, columns).rename(names)


def stability_table(found: SuperpixelScores, metrics: Sequence[str] = ()) -> pl.DataFrame:
    """`stability` with headings.

    Raises:
        IntraBenchError: a metric is unknown, or was not measured.
    """
    table = stability(found, _columns(found, metrics or SPREAD))
    heads = {column: lookup.metric(column).head for column in table["metric"].unique()}
    return table.with_columns(pl.col("metric").replace(heads))


def correlation_table(found: SuperpixelScores, metrics: Sequence[str] = ()) -> pl.DataFrame:
    """`correlations` with headings, of `CORRELATED` unless metrics are given.

    Raises:
        IntraBenchError: a metric is unknown, or was not measured.
    """
    have = [metric.column for metric in found.metrics]
    columns = _columns(found, metrics or [column for column in CORRELATED if column in have])
    heads = {column: lookup.metric(column).head for column in columns}
    return correlations(found, columns).with_columns(pl.col("metric").replace(heads)).rename(heads)


def two_methods(found: SuperpixelScores, a: str, b: str) -> tuple[str, str]:
    """The two methods that names or globs mean.

    Raises:
        IntraBenchError: they are not one method each, or the same.
    """
    names = found.images["method"].unique().sort().to_list()
    one, other = matching(a, names), matching(b, names)
    if len(one) != 1 or len(other) != 1 or one == other:
        raise IntraBenchError(f"give two different methods, as tables print them; {a} and {b} are {', '.join(names)}")
    return one[0], other[0]


def compared(found: SuperpixelScores, a: str, b: str, metrics: Sequence[str] = ()) -> pl.DataFrame:
    """`differences` with headings, each with its interval.

    Raises:
        IntraBenchError: they have nothing in common, or a metric was not measured.
    """
    columns = _columns(found, metrics or TRADED)
    table = differences(found, a, b, columns).with_columns(_with_interval(column, 4) for column in columns)
    table = table.select("dataset", "asked", "images", "K_a", "K_b", *columns)
    return table.rename({column: lookup.metric(column).head for column in columns})


def _columns(found: SuperpixelScores, metrics: Sequence[str]) -> list[str]:
    """The columns of metrics that were measured."""
    columns = [lookup.metric(name).column for name in metrics]
    have = [metric.column for metric in found.metrics]
    for column in columns:
        if column not in have:
            raise IntraBenchError(
                f"superpixels were not measured by {column}{nearest(column, have)}; there are {', '.join(have)}, and "
                f"intrabench superpixels run --metric {column} adds it"
            )
    return columns


def beside_published(found: SuperpixelScores) -> pl.DataFrame:
    """AMR and AUE of our average over data sets beside those of Table 3, for methods that both have.

    `rank` and `rank_paper` are among these methods: our average rank, and the place that the paper's average rank has.
    That is printed among all of its methods, as `average_rank_of_28`. The paper tuned parameters on training images and
    averaged over five data sets, so only the order compares.

    Raises:
        IntraBenchError: there is no such method.
    """
    printed = pl.read_csv(TABLE3, comment_prefix="#")
    ours = _printed(summary_table(found.of(_printed(found.images)["method"].unique())))
    ours = ours.select("dataset", "method", "algorithm", "AMR", "AUE", "rank", "numbers")
    theirs = printed.filter(pl.col("algorithm").is_in(ours["algorithm"].to_list())).select(
        "algorithm",
        AMR_paper="AMR",
        AUE_paper="AUE",
        rank_paper=pl.col("avg_rank_printed").rank("min").cast(pl.Int64),
        average_rank="avg_rank_printed",
    )
    theirs = theirs.rename({"average_rank": f"average_rank_of_{printed.height}"})
    return ours.join(theirs, on="algorithm", how="left", maintain_order="left")


def beside_many(found: SuperpixelScores) -> pl.DataFrame:
    """Rec, UE and EV at the number of superpixels next to `MANY` beside those of Table 2 (BSDS500), for common methods.

    Raises:
        IntraBenchError: the paper has none of the methods, or none was asked for as many superpixels.
    """
    printed = pl.read_csv(TABLE2, comment_prefix="#")
    ours = _printed(found.curves).filter(pl.col("asked").is_between(MANY / 2, 2 * MANY))
    if ours.is_empty():
        raise IntraBenchError(f"Table 2 has {MANY} superpixels; run: intrabench superpixels run --segments {MANY}")
    ours = ours.sort((pl.col("asked") / MANY).log().abs(), maintain_order=True)
    ours = ours.group_by("dataset", "method", maintain_order=True).first().sort("dataset", "method")
    ours = ours.select("dataset", "method", "algorithm", "asked", K="sp", Rec="rec", UE="ue_np", EV="ev")
    published = printed.select("algorithm", pl.col("K", "Rec", "UE", "EV").name.suffix("_paper"))
    return ours.join(published, on="algorithm", how="left", maintain_order="left")


def _printed(lines: pl.DataFrame) -> pl.DataFrame:
    """The lines of methods that the paper has, with its name as `algorithm`."""
    base = pl.col("method").str.replace(r" \(tuned=[^)]*\)$", "")
    named = lines.with_columns(algorithm=base.replace_strict(PRINTED, default=None, return_dtype=pl.String))
    named = named.filter(pl.col("algorithm").is_not_null())
    if named.is_empty():
        raise IntraBenchError(f"none of these methods is in the paper's tables; they have {', '.join(PRINTED)}")
    return named


PRINTED = {
    "slic": "SLIC",
    "watershed": "W",
    "compact_watershed": "CW",
    "felzenszwalb": "FH",
    "quickshift": "QS",
    "seeds": "SEEDS",
    "lsc": "LSC",
}
"""What the paper calls our methods."""


@dataclass(frozen=True)
class Table:
    """One that `intrabench superpixels table` shows: `make` gives it of scores and metrics.

    fixed: it has columns of its own, whatever the metrics. averages: these are averages over numbers of superpixels.
    """

    make: Callable[[SuperpixelScores, Sequence[str]], pl.DataFrame]
    heading: str
    fixed: bool = False
    averages: bool = False


IN_SLICES = "boundaries within slices"
AVERAGES = Table(
    lambda found, _: summary_table(found),
    f"averages between 200 and 5200 superpixels, in %, {IN_SLICES}",
    fixed=True,
    averages=True,
)
NUMBERS = Table(number_table, f"mean over images of the worst annotation, {IN_SLICES}")
TABLES = {
    "--interval": replace(AVERAGES, make=lambda found, _: summary_table(found, interval=True)),
    "--by-number": NUMBERS,
    "--spread": Table(spread_table, f"over images, of the worst annotation, {IN_SLICES}"),
    "--stability": Table(stability_table, f"steps from one number to the next, {IN_SLICES}"),
    "--correlation": Table(correlation_table, f"Pearson's correlation over annotations, {IN_SLICES}"),
    "--reference paper": Table(
        lambda found, _: beside_published(found),
        f"beside Table 3 of {PAPER} (five data sets, tuned parameters); ranks are among these methods",
        fixed=True,
        averages=True,
    ),
    "--reference paper-k20000": Table(
        lambda found, _: beside_many(found), f"beside Table 2 of {PAPER} (BSDS500, tuned parameters)", fixed=True
    ),
}
"""By the options that show them; without any it is `AVERAGES`, or `NUMBERS` of metrics."""


def write_superpixels(
    results: Path, path: Path, methods: Sequence[str] = (), selection: Selection = EVERYTHING
) -> None:
    """Write averages with intervals, ranking, curves and all numbers.

    Raises:
        IntraBenchError: there are no superpixels, or the file cannot be written.
    """
    check_html(path)
    found, left_out = read_superpixel_scores(results, methods, selection)
    ranking, about = _ranking(found)
    made = f"Made on {datetime.now(UTC):%Y-%m-%d} by intrabench {version('intrabench')}"
    content: dict[str, Any] = {
        "title": "Superpixels",
        "subtitle": "; ".join(filter(None, [made, selected_words(methods, selection)])),
        "warnings": [*left_out, *found.notes(), *_failures(found)],
        "summary": frame_grid(summary_table(found, interval=True), "averages"),
        "ranking": ranking,
        "ranking_notes": about,
        "curves": {name: as_svg(figure) for name, figure in curve_figures(found).items()},
        "spread": {name: as_svg(figure) for name, figure in spread_figures(found).items()},
        "stability": frame_grid(stability_table(found), "stability"),
        "trade_offs": {name: as_svg(figure) for name, figure in trade_off_figures(found).items()},
        "robustness": {kind: as_svg(figure) for kind, figure in robustness_figures(found).items()},
        "numbers": frame_grid(
            number_table(found, [metric.column for metric in found.metrics if metric.column != "sp"]), "all-numbers"
        ),
        "definitions": [(metric.head, metric.description) for metric in found.metrics],
    }
    text = rendered(content)
    with writing(path), atomically(path, durable=False) as part:
        part.write_text(text, encoding="utf-8")


def _ranking(found: SuperpixelScores) -> tuple[str | None, list[str]]:
    """The figure of ranks, and notes on it; no figure of fewer than two methods with all data sets."""
    ranked = found.ranked
    return (as_svg(ranks_figure(found)) if ranked.table.height > 1 else None), ranked.describe()


def _failures(found: SuperpixelScores) -> list[str]:
    failed = found.curves.filter(pl.col("failed") > 0)
    return [
        "{dataset}, {method}, {asked} superpixels: {failed} of {images} images failed".format(**row)
        for row in failed.iter_rows(named=True)
    ]


def rendered(content: dict[str, Any]) -> str:
    """The page of its tables, figures and texts."""
    return render("superpixels.html.jinja", content, ("page.css", "explore.css", "state.js", "packed.js", "page.js"))
