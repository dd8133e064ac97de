"""Figures for papers: curves, ranking and scores by target size, as PNG, SVG or PDF."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from intrabench.errors import IntraBenchError
from intrabench.reporting.correlation_figure import correlated, correlation_figure
from intrabench.reporting.footnotes import sentence, undrawn
from intrabench.reporting.formats import decimals
from intrabench.reporting.page.curve_data import curve_data
from intrabench.reporting.page.difficulty import by_difficulty, divisible
from intrabench.reporting.page.strata import strata
from intrabench.reporting.page.tables import EFFORT
from intrabench.reporting.plots import (
    LISTED,
    add_legend,
    add_note,
    folded,
    in_legend,
    listed,
    logarithmic,
    look,
    metric_head,
    most_lines,
    panel_beside,
    panels_for,
    save,
    style,
)
from intrabench.reporting.protocol_figures import figures_of_protocols, protocol_figures
from intrabench.results.schema import STRATUM, THIRDS
from intrabench.results.selection import EVERYTHING, Selection
from intrabench.specs.specs import nearest, parse
from intrabench.statistics.aggregate import Aggregation, aggregate
from intrabench.statistics.evaluation import Evaluation, about
from intrabench.statistics.measures import best, scored_by
from intrabench.statistics.notes import adapted
from intrabench.statistics.ranking import ranking, rankings
from intrabench.statistics.resample import AVERAGE, resample, with_average
from intrabench.statistics.scores import metric as metric_of
from intrabench.statistics.sizes import ends_of, names_of
from intrabench.statistics.statistic import Statistic
from intrabench.statistics.steps import steps
from intrabench.statistics.sweeps import sweeps

FORMATS = ("png", "svg", "pdf")


def write_figures(
    results: Path,
    folder: Path,
    formats: Sequence[str] = ("png",),
    metric: str = "",
    selection: Selection = EVERYTHING,
    correlate: Sequence[str] = (),
    size_bins: str | Sequence[float] = "",
) -> tuple[list[Path], Sequence[str]]:
    """Write curves against each effort, the ranking, scores by target size, and correlations over three models or more.

    metric: of the ranking and the sizes; curves are of the metric that it is made of. Empty: the number that leads in
    the protocols of the rows, if they agree, else dice. correlate: columns of `make_correlations`.
    size_bins: as of `ends_of`.

    Returns:
        The files, and sentences on sessions that do not count.

    Raises:
        IntraBenchError: an unknown format, no results, matplotlib is missing, or the folder cannot be written to.
    """
    for format in formats:
        if format not in FORMATS:
            raise IntraBenchError(
                f"there is no format {format!r}{nearest(format, FORMATS)}; choose from {', '.join(FORMATS)}"
            )
    whole = Evaluation.of(results, Statistic(metric, ends=ends_of(size_bins)), selection)
    evaluation, metric = whole.shared, whole.shared.statistic.metric
    if evaluation.scored["value"].is_null().all():
        raise IntraBenchError(f"no session in {results} has a value of {metric} to draw; `intrabench table` says why")
    of_thirds = [f"{parse(metric)[0]}_by_{kind}" for kind in ("size", STRATUM)]
    with style():
        drawn = _drawn(evaluation, whole.lines, whole.names, correlate)
        note = _note(evaluation, whole.names, about(selection, metric))
        short = sentence(evaluation.statistic.cut_short(evaluation.rows, ["line"]), whole.names, "")
        for name, figure in drawn.items():
            words = " ".join(filter(None, [note, short if name in ("ranking", *of_thirds) else ""]))
            add_note(figure, words, beside_legend=bool(figure.legends) and name not in of_thirds)  # whose is above
        written = [path for name, figure in drawn.items() for path in save(figure, folder, name, formats)]
    return written, whole.left_out


def _drawn(
    evaluation: Evaluation, lines: pl.DataFrame, names: Mapping[int, str], correlate: Sequence[str]
) -> dict[str, Any]:
    """The figures by the names of their files."""
    scored, how, metric = evaluation.scored, evaluation.statistic.how, evaluation.statistic.metric
    of, file, head = scored_by(metric), parse(metric)[0], metric_head(metric)
    curves, swept = curve_data(steps(evaluation.rows, of), lines, how), swept_dice(scored, names, how, head)
    drawn = {f"{parse(of)[0]}_against_{key}": _curves(curves, n, metric_head(of)) for n, key in enumerate(EFFORT)}
    drawn |= protocol_figures(evaluation)
    drawn |= {f"{file}_by_{kind}": figure for kind, figure in sweep_figures(swept).items()}
    by_size = strata(scored, evaluation.pictures, evaluation.statistic.ends)
    if not by_size.is_empty():
        drawn[f"{file}_by_size"] = _by_thirds(by_size, "size", names_of(evaluation.statistic.ends), names, head)
    if not (thirds := _by_difficulty(evaluation)).is_empty():
        drawn[f"{file}_by_{STRATUM}"] = _by_thirds(thirds, STRATUM, THIRDS, names, head)
    drawn_lines, within = resample(scored, ["line"], how), dict(lines.select("line", "shown").iter_rows())
    ranked, _ = rankings(scored, drawn_lines, within, how, best=best(metric))
    if ranked and evaluation.comparable:  # else no line has all data sets, or they share no target
        table = pl.concat(one.table for one in ranked.values())
        by = "" if metric == "dice" else f" by {head}"
        what = f"rank{by} among the models with the same prompter"
        drawn["ranking"] = rank_figure(table.to_dicts(), [names[line] for line in table["line"]], what)
    if not (between := correlated(evaluation, correlate)[0]).is_empty():
        drawn["correlations"] = correlation_figure(between)
    return drawn


def _note(evaluation: Evaluation, names: Mapping[int, str], words: str) -> str:
    """What is below all figures. words: of what they are."""
    scored = evaluation.scored
    averages = with_average(
        aggregate(scored, ["line"], evaluation.statistic.how), ["line"], scored["dataset"].n_unique()
    )
    infinite = undrawn(averages.filter(pl.col("dataset") == AVERAGE), names)
    chosen = [f"{one[0].upper()}{one[1:]}." for one in filter(None, [words, *evaluation.compared])]
    return " ".join(filter(None, [sentence(adapted(evaluation.rows, ["line"]), names), infinite, *chosen]))


def drawn_figures(evaluation: Evaluation) -> list[str]:
    """The names, without endings, of what `write_figures` draws of these sessions if no metric is asked for."""
    statistic = replace(evaluation.statistic, metric="").of_protocols(evaluation.rows["protocol"])
    file, of = parse(statistic.metric)[0], parse(scored_by(statistic.metric))[0]
    fair = replace(evaluation, statistic=statistic).shared
    scored, how = fair.scored, statistic.how
    found = [f"{of}_against_{key}" for key in EFFORT]
    found += figures_of_protocols(fair)
    swept = swept_dice(scored, evaluation.names, how)
    found += [] if swept.is_empty() else [f"{file}_by_{kind}" for kind in swept["kind"].unique(maintain_order=True)]
    found += [] if strata(scored, fair.pictures, statistic.ends).is_empty() else [f"{file}_by_size"]
    found += [] if _by_difficulty(fair).is_empty() else [f"{file}_by_{STRATUM}"]
    with suppress(IntraBenchError):
        if fair.comparable:
            ranking(scored, ["line"], how, draws=1)
            found.append("ranking")
    found += [] if correlated(fair)[0].is_empty() else ["correlations"]
    return found


def _curves(data: Mapping[str, Any], effort: int, head: str = "Dice") -> Any:
    """Scores against an effort, averaged over data sets: a panel per model, a curve per prompter, a point per round."""
    series: dict[int, list[list[float]]] = {}
    for dataset, line, _, *scored, spent in ([*point[:6], point[6 + effort]] for point in data["points"]):
        if dataset == 0 and spent:
            series.setdefault(line, []).append([spent, *scored])
    about = {line: data["lines"][line] for line in series}
    models, names = (sorted({of(one) for one in about.values()}) for of in (lambda one: one["model"], _name))
    figure, panels = panels_for(models, shared=True)
    for panel in panels:
        panel.set(xlabel=data["efforts"][effort]["name"], ylabel=head)
        logarithmic(panel)
        panel.label_outer()
    handles: dict[str, Any] = {}
    for line in sorted(series, key=lambda line: -len(series[line])):  # single points are drawn last, on top
        name, panel = _name(about[line]), panels[models.index(about[line]["model"])]
        looks = look(names.index(name))
        x, y, *_ = zip(*series[line], strict=True)
        handles[name] = panel.plot(x, y, **looks, linewidth=1)[0]
        bars = [(x, low, high) for x, _, low, high in series[line] if low is not None]
        panel.vlines(*(zip(*bars, strict=True) if bars else ([], [], [])), color=looks["color"], linewidth=0.6)
    add_legend(figure, handles, names)
    return figure


def rank_figure(ranked: Sequence[Mapping[str, Any]], names: Sequence[str], what: str = "rank") -> Any:
    """Ranks and the ranks in 95 % of the draws of patients, the best on top.

    ranked: `Ranking.table`, row by row; of averages of ranks also these, `often`, and how often each was had, `len`.
    """
    from matplotlib.ticker import MaxNLocator

    label = folded(f"{what} with 95 % interval", LISTED // 2)
    figure, panel = panel_beside(names, 0.5 + 0.13 * most_lines([label]))
    for place, line in enumerate(ranked):
        if line["low"] is not None:
            panel.plot([line["low"], line["high"]], [place, place], color="0.5", linewidth=1.5)
        for rank, times in zip(line.get("often", ()), line.get("len", ()), strict=True):
            panel.plot(rank, place, "o", color="0.5", markerfacecolor="none", markersize=5 + 2 * times, linewidth=0.6)
        panel.plot(line["rank"], place, "o", color="black")
    listed(panel, names)
    panel.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    last = max(max(line["high"] or line["rank"], *line.get("often", ()), 1) for line in ranked)
    panel.set(xlabel=label, xlim=(0.5, last + 0.5))
    return figure


def swept_dice(scored: pl.DataFrame, names: Mapping[int, str], how: Aggregation, what: str = "Dice") -> pl.DataFrame:
    """`sweeps` of the mean of each line, `name`, per data set; what: the name of the metric."""
    means = aggregate(scored, ["line"], how).filter(pl.col("value").is_not_null())
    named = means.with_columns(name=pl.col("line").replace_strict(names, return_dtype=pl.String), what=pl.lit(what))
    return sweeps(named.select("name", "what", "dataset", "value"))


def sweep_figures(swept: pl.DataFrame) -> dict[str, Any]:
    """For each kind of perturbation a figure: values against its strength.

    swept: `sweeps` of rows with `name`, a curve each, and `what`, a panel for each of them and each data set.
    """
    return {
        str(kind): _sweep(one, f"{kind}, {one['parameter'][0]}")
        for (kind,), one in swept.group_by("kind", maintain_order=True)
    }


def _sweep(swept: pl.DataFrame, strength: str) -> Any:
    names = swept["name"].unique().sort().to_list()
    places = swept.select("dataset", "what").unique(maintain_order=True).rows()
    figure, panels = panels_for([dataset for dataset, _ in places], shared=False)
    handles: dict[str, Any] = {}
    for panel, (dataset, what) in zip(panels, places, strict=True):
        here = swept.filter((pl.col("dataset") == dataset) & (pl.col("what") == what))
        for number, name in enumerate(names):
            curve = here.filter(pl.col("name") == name).sort("strength")
            if curve.height:
                handles[name] = panel.plot(curve["strength"], curve["value"], **look(number), linewidth=1)[0]
        panel.set(xlabel=strength, ylabel=what)
        panel.grid(axis="y", linewidth=0.5, alpha=0.4)
    shown = [name for name in names if name in handles]
    add_legend(figure, {in_legend(name): handles[name] for name in shown}, [*map(in_legend, shown)])
    return figure


def _by_difficulty(evaluation: Evaluation) -> pl.DataFrame:
    """`by_difficulty` of the lines; empty if targets cannot be divided."""
    of = evaluation.statistic
    scale = metric_of(scored_by(of.metric))
    each = divisible(replace(of, metric=scale.column).measured(evaluation.rows), scale, evaluation.selection)
    return pl.DataFrame() if each is None else by_difficulty(evaluation.scored, each, decimals(scale.unit))


def _by_thirds(
    means: pl.DataFrame, third: str, thirds: Sequence[str], names: Mapping[int, str], head: str = "Dice"
) -> Any:
    """The mean of each line by thirds of the targets, which are in the column `third`."""
    lines = means["line"].unique().sort().to_list()
    figure, panel = panel_beside([names[line] for line in lines], 1.0)
    for number, one in enumerate(thirds):
        here = means.filter(pl.col(third) == one)
        if here.height:
            looks = {**look(number), "linestyle": "none"}
            panel.plot(here["value"], [lines.index(line) for line in here["line"]], **looks, label=here["show"][0])
    listed(panel, [names[line] for line in lines])
    panel.set(xlabel=head)
    figure.legend(loc="outside upper left", ncols=1)
    return figure


def _name(line: Mapping[str, str]) -> str:
    return in_legend(line["prompter"] + (f" ({line['notes']})" if line["notes"] else ""))
