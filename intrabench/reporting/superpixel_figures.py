"""Figures of superpixels: curves by their number, spread over images, ranks, robustness, trade-offs of parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from intrabench.files.names import one_line
from intrabench.metrics import lookup
from intrabench.reporting.figures import rank_figure, sweep_figures
from intrabench.reporting.plots import add_legend, logarithmic, look, style
from intrabench.statistics.superpixel_curves import SPREAD, spread, trade_offs
from intrabench.statistics.superpixels import SuperpixelScores
from intrabench.statistics.sweeps import sweeps

CURVES = ("rec", "ue_np", "ev", "cpu_s")
SWEPT = ("rec", "ue_np", "sp")
"""Metrics of which the paper shows robustness; `sp` counts connected superpixels here."""


def curve_figures(found: SuperpixelScores) -> dict[str, Any]:
    """For each data set a figure: Rec, UE, EV and the time against the number of superpixels, a curve per method."""
    titles = {}
    for column in CURVES:
        metric = lookup.metric(column)
        titles[column] = f"{metric.head} ({'higher' if metric.best == 'high' else 'lower'} is better)"
    return _curve_figures(found.curves, titles)


def spread_figures(found: SuperpixelScores) -> dict[str, Any]:
    """For each data set a figure: the worst image by Rec, UE and EV, max K, and the standard deviations over images.

    As Figures 9 (d to k) and 10 of the paper. None of a single image.
    """
    lines = spread(found, [one for one in SPREAD if one in found.curves.columns]).filter(pl.col("images") > 1)
    titles = {}
    for column in (*SPREAD, "sp"):
        metric = lookup.metric(column)
        worst = "min" if metric.best == "high" and column != "sp" else "max"
        titles[f"{column}_{worst}"] = f"{worst} {metric.head}"
    titles |= {f"{column}_sd": f"SD of {lookup.metric(column).head}" for column in (*SPREAD, "sp")}
    return _curve_figures(lines, titles)


def _curve_figures(lines: pl.DataFrame, titles: Mapping[str, str]) -> dict[str, Any]:
    with style():
        return {
            str(dataset): _curves(curves, {name: title for name, title in titles.items() if name in curves.columns})
            for (dataset,), curves in lines.group_by("dataset", maintain_order=True)
        }


def _curves(curves: pl.DataFrame, titles: Mapping[str, str]) -> Any:
    """A panel per column of `titles` against ``sp``, four in a row."""
    from matplotlib.figure import Figure

    methods = curves["method"].unique().sort().to_list()
    across, down = min(4, len(titles)), -(-len(titles) // 4)
    figure = Figure(figsize=(2.5 * across + 0.3, 2.3 * down))
    panels = figure.subplots(down, across, squeeze=False).ravel()
    handles = {}
    for panel, (column, title) in zip(panels, titles.items(), strict=False):
        for number, method in enumerate(methods):
            curve = curves.filter(pl.col("method") == method).sort("sp")
            (handles[one_line(method)],) = panel.plot(curve["sp"], curve[column], **look(number), linewidth=1)
        panel.set(xlabel="superpixels", title=title)
        logarithmic(panel)
        if column == "cpu_s":
            logarithmic(panel, "y", (1,))
    for panel in panels[len(titles) :]:
        panel.remove()
    add_legend(figure, handles, list(handles))
    return figure


def trade_off_figures(found: SuperpixelScores) -> dict[str, Any]:
    """For each method with several values of a parameter: Rec, UE, compactness and time against it."""
    swept = trade_offs(found)
    with style():
        return {
            f"{kind}, {parameter}": figure
            for (kind, parameter), one in swept.group_by("kind", "parameter", maintain_order=True)
            for figure in sweep_figures(one).values()
        }


def robustness_figures(found: SuperpixelScores) -> dict[str, Any]:
    """For each kind of perturbation a figure: Rec, UE and the number of superpixels against its strength."""
    curves = found.curves.with_columns(name=pl.format("{}, {}", "method", "asked"))
    heads = {column: lookup.metric(column).head for column in SWEPT}
    values = curves.select("name", "dataset", pl.col(SWEPT).cast(pl.Float64)).rename(heads)
    swept = sweeps(
        values.unpivot(index=["name", "dataset"], variable_name="what").filter(pl.col("value").is_not_null())
    )
    with style():
        return sweep_figures(swept)


def ranks_figure(found: SuperpixelScores) -> Any:
    """Average ranks, those in 95 % of the draws of images, and how often each method had which rank."""
    ranked = found.ranked
    counts = ranked.each.group_by("method", "rank").len().sort("rank").group_by("method").agg("len", often="rank")
    table = ranked.table.join(counts, on="method", maintain_order="left")
    with style():
        return rank_figure(table.to_dicts(), table["method"].to_list(), "average rank by AMR + AUE")
