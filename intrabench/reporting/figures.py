"""Figures for papers: curves, ranking and scores by target size, as PNG, SVG or PDF."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from io import BytesIO
from math import ceil, inf, log10
from pathlib import Path
from textwrap import wrap
from typing import Any, Literal

import polars as pl

from intrabench.davis.summary import THRESHOLD_S
from intrabench.errors import IntraBenchError
from intrabench.files.atomic import atomically, writing
from intrabench.files.names import one_line
from intrabench.protocols import PROTOCOLS
from intrabench.reporting.footnotes import sentence, undrawn
from intrabench.reporting.page.curve_data import curve_data
from intrabench.reporting.page.strata import SIZES, strata
from intrabench.reporting.page.tables import EFFORT
from intrabench.results.selection import EVERYTHING, Selection
from intrabench.specs.specs import nearest, parse
from intrabench.statistics.aggregate import Aggregation, aggregate
from intrabench.statistics.evaluation import Evaluation
from intrabench.statistics.davis_curves import mean_curves
from intrabench.statistics.measures import DavisArea, Measure, best, scored_by, summary
from intrabench.statistics.notes import adapted
from intrabench.statistics.ranking import ranking, rankings
from intrabench.statistics.resample import AVERAGE, resample, with_average
from intrabench.statistics.scores import metric as metric_of
from intrabench.statistics.statistic import Statistic
from intrabench.statistics.steps import Steps, steps
from intrabench.statistics.sweeps import sweeps

FORMATS = ("png", "svg", "pdf")

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito's colours for colour-blind readers, without yellow, which is hard to see on white."""

_MARKS, _DASHES = "os^Dv", ("-", "--", ":")


def write_figures(
    results: Path,
    folder: Path,
    formats: Sequence[str] = ("png",),
    metric: str = "",
    selection: Selection = EVERYTHING,
) -> tuple[list[Path], Sequence[str]]:
    """Write curves against each effort, the ranking, and scores by target size.

    metric: of the ranking and the sizes; curves are of the metric that it is made of. Empty: the number that leads in
    the protocols of the rows, if they agree, else dice.

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
    whole = Evaluation.of(results, Statistic(metric), selection)
    evaluation, lines, names = whole.shared, whole.lines, whole.names
    rows, scored = evaluation.rows, evaluation.scored
    metric, how = evaluation.statistic.metric, evaluation.statistic.how
    of = scored_by(metric)
    if scored["value"].is_null().all():
        raise IntraBenchError(f"no session in {results} has a value of {metric} to draw; `intrabench table` says why")
    curves = curve_data(steps(rows, of), lines, how)
    head, swept = _head(metric), swept_dice(scored, names, how, _head(metric))
    file, sizes = parse(metric)[0], f"{parse(metric)[0]}_by_size"
    with style():
        drawn = {f"{parse(of)[0]}_against_{key}": _curves(curves, n, _head(of)) for n, key in enumerate(EFFORT)}
        timed = time_figure(steps(rows, of), summary(metric), names, how)
        drawn |= {f"{parse(of)[0]}_over_time": timed} if timed else {}
        drawn |= {f"{file}_by_{kind}": figure for kind, figure in sweep_figures(swept).items()}
        drawn[sizes] = _sizes(strata(scored, evaluation.pictures), names, head)
        drawn_lines, within = resample(scored, ["line"], how), dict(lines.select("line", "shown").iter_rows())
        ranked, _ = rankings(scored, drawn_lines, within, how, best=best(metric))
        if ranked and evaluation.comparable:  # else no line has all data sets, or they share no target
            table = pl.concat(one.table for one in ranked.values())
            by = "" if metric == "dice" else f" by {head}"
            what = f"rank{by} among the models with the same prompter"
            drawn["ranking"] = rank_figure(table.to_dicts(), [names[line] for line in table["line"]], what)
        note = sentence(adapted(rows, ["line"]), names)
        averages = with_average(aggregate(scored, ["line"], how), ["line"], scored["dataset"].n_unique())
        infinite = undrawn(averages.filter(pl.col("dataset") == AVERAGE), names)
        about = filter(None, [selection.words, *evaluation.compared])
        note = " ".join(filter(None, [note, infinite, *(f"{words[0].upper()}{words[1:]}." for words in about)]))
        short = sentence(evaluation.statistic.cut_short(rows, ["line"]), names, "")
        for name, figure in drawn.items():
            words = " ".join(filter(None, [note, short if name in (sizes, "ranking") else ""]))
            _add_note(figure, words, beside_legend=bool(figure.legends) and name != sizes)  # whose legend is above
        written = [path for name, figure in drawn.items() for path in _save(figure, folder, name, formats)]
    return written, whole.left_out


def drawn_figures(evaluation: Evaluation) -> list[str]:
    """The names, without endings, of what `write_figures` draws of these sessions if no metric is asked for."""
    statistic = replace(evaluation.statistic, metric="").of_protocols(evaluation.rows["protocol"])
    file, of = parse(statistic.metric)[0], parse(scored_by(statistic.metric))[0]
    fair = replace(evaluation, statistic=statistic).shared
    scored, how = fair.scored, statistic.how
    found = [f"{of}_against_{key}" for key in EFFORT]
    found += [f"{of}_over_time"] if isinstance(summary(statistic.metric), DavisArea) else []
    swept = swept_dice(scored, evaluation.names, how)
    found += [] if swept.is_empty() else [f"{file}_by_{kind}" for kind in swept["kind"].unique(maintain_order=True)]
    found.append(f"{file}_by_size")
    with suppress(IntraBenchError):
        if fair.comparable:
            ranking(scored, ["line"], how, draws=1)
            found.append("ranking")
    return found


def _head(metric: str) -> str:
    """What a metric is called on an axis: as its protocols call it, if they do."""
    if metric == "dice":
        return "Dice"
    called = {spec: head for preset in PROTOCOLS.values() for head, spec in preset.numbers if summary(spec)}
    return called.get(metric) or (metric if summary(metric) else metric_of(metric).head)


def _add_note(figure: Any, note: str, *, beside_legend: bool) -> None:
    """The figure with a sentence in small type at its foot; above the legend, if that is there, too."""
    if note:
        letters = int(figure.get_figwidth() * _LETTERS_PER_INCH)
        lines = wrap(one_line(note), letters, break_on_hyphens=False)
        if beside_legend:
            (legend,) = figure.legends
            legend.set_title("\n".join(lines), {"size": _SMALL})
            legend.set_alignment("left")
        else:
            figure.supxlabel("\n".join(lines), x=0.01, ha="left", fontsize=_SMALL)
        figure.set_figheight(figure.get_figheight() + 0.13 * len(lines))


_SMALL = 6
_LETTERS_PER_INCH = 20  # of the type of notes; on average 22 fit, and lines of wide letters must, too


def style() -> Any:
    """Small type, no frames; text in SVG and PDF stays text, and dollars in names are no formulas."""
    try:
        from matplotlib import rc_context
    except ImportError as error:
        raise IntraBenchError("figures need matplotlib; run: pip install 'intrabench[report]'") from error
    return rc_context(
        {
            "font.size": 8,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.titlesize": 9,
            "legend.frameon": False,
            "lines.markersize": 4,
            "figure.constrained_layout.use": True,
            "text.parse_math": False,
            "svg.fonttype": "none",
            "svg.hashsalt": "intrabench",
            "pdf.fonttype": 42,
        }
    )


def _curves(data: Mapping[str, Any], effort: int, head: str = "Dice") -> Any:
    """Scores against an effort, averaged over data sets: a panel per model, a curve per prompter, a point per round."""
    series: dict[int, list[list[float]]] = {}
    for dataset, line, _, *scored, spent in ([*point[:6], point[6 + effort]] for point in data["points"]):
        if dataset == 0 and spent:
            series.setdefault(line, []).append([spent, *scored])
    about = {line: data["lines"][line] for line in series}
    models, names = (sorted({of(one) for one in about.values()}) for of in (lambda one: one["model"], _name))
    figure, panels = _panels(models, shared=True)
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
    _legend(figure, handles, names)
    return figure


def time_figure(played: Steps, asked: Measure | None, names: Mapping[int, str], how: Aggregation) -> Any:
    """The published curve of DAVIS Interactive of each line, a panel per data set; None if its area was not asked for.

    played: of the metric of `asked`, a number of DAVIS. Time is on a logarithmic scale from the first answer on, and ends
    behind the last one, or behind the 60 s that are marked; from there on curves are flat.
    """
    from matplotlib.ticker import FormatStrFormatter, NullLocator

    if not isinstance(asked, DavisArea):
        return None
    found = mean_curves(played, asked.seconds, how)
    datasets, lines = (found[name].unique().sort().to_list() for name in ("dataset", "line"))
    figure, panels = _panels(datasets, shared=False)
    handles: dict[str, Any] = {}
    for panel, dataset in zip(panels, datasets, strict=True):
        here = found.filter(pl.col("dataset") == dataset)
        answered = here.filter(pl.col("time_s") > 0, pl.col("time_s") < pl.col("time_s").max().over("line"))["time_s"]
        first, *_, last = [*answered.sort(), THRESHOLD_S, max(answered.max() or 0, THRESHOLD_S)]  # type: ignore[type-var]
        ticks = [10.0**power for power in range(ceil(log10(first)), ceil(log10(last)))]
        for number, line in enumerate(lines):
            curve = here.filter(pl.col("line") == line)
            handles[_in_legend(names[line])] = panel.plot(
                curve["time_s"], curve["value"], **look(number), linewidth=1
            )[0]
        panel.axvline(THRESHOLD_S, color="0.6", linewidth=0.8, linestyle=":")
        panel.set(xlabel="seconds of the model, all objects", ylabel=_head(asked.metric))
        panel.set_xscale("symlog", linthresh=first, linscale=0.5)
        panel.set(xlim=(0, 1.5 * last), ylim=(0, 1.02), xticks=[0, *ticks, THRESHOLD_S])
        panel.xaxis.set_major_formatter(FormatStrFormatter("%g"))
        panel.xaxis.set_minor_locator(NullLocator())
        panel.grid(axis="y", linewidth=0.5, alpha=0.4)
    _legend(figure, handles, [*handles])
    return figure


def _panels(titles: Sequence[str], shared: bool) -> tuple[Any, Sequence[Any]]:
    """A figure with a panel for each title, up to three side by side. shared: they have the same axes."""
    from matplotlib.figure import Figure

    columns = max(1, min(len(titles), 3))
    rows, folded = max(1, ceil(len(titles) / columns)), [_folded(one_line(title), _TITLE) for title in titles]
    figure = Figure(figsize=(2.6 * columns + 0.4, rows * (2.06 + 0.14 * _lines(folded)) + 0.3))
    panels = figure.subplots(rows, columns, sharex=shared, sharey=shared, squeeze=False).ravel()
    for panel, title in zip(panels, folded, strict=False):
        panel.set(title=title)
    for panel in panels[len(titles) :]:
        panel.remove()
    return figure, panels[: len(titles)].tolist()


def _legend(figure: Any, handles: Mapping[str, Any], names: Sequence[str]) -> None:
    """A legend below the panels, in as many columns as fit, with room of its own."""
    letters = int(figure.get_figwidth() * _LETTERS_PER_INCH * _SMALL / 8)
    texts = [_folded(name, letters - _KEY) for name in names]
    widest = max((len(line) for text in texts for line in text.split("\n")), default=0)
    columns = max(1, min(letters // (widest + _KEY), 4, len(texts)))
    figure.set_figheight(figure.get_figheight() + 0.17 * ceil(len(texts) / columns) * _lines(texts))
    figure.legend([handles[name] for name in names], texts, loc="outside lower left", ncols=columns)


def _folded(text: str, letters: int) -> str:
    """The text in lines of at most so many letters, broken after the signs of a spec where that is possible."""
    lines = [""]
    for part in _AFTER.sub(r"\1\n", text).split("\n"):
        if lines[-1] and len(lines[-1]) + len(part) > letters:
            lines.append("")
        lines[-1] += part
        while len(lines[-1]) > letters:
            lines[-1:] = [lines[-1][:letters], lines[-1][letters:]]
    return "\n".join(lines)


def _lines(texts: Iterable[str]) -> int:
    return max((text.count("\n") + 1 for text in texts), default=1)


_AFTER = re.compile(r"([:,+/ ])(?=\S)")
_TITLE, _LISTED, _KEY = 28, 60, 8
"""Letters of a line of a panel's title, of a name beside a panel, and of the space that a legend's mark takes."""


def logarithmic(panel: Any, which: Literal["x", "y"] = "x", steps: Sequence[int] = ()) -> None:
    """A scale of 1, 2, 5, 10, ..., written as such; without `steps`, fewer numbers the more powers of ten there are."""
    from matplotlib.ticker import FormatStrFormatter, LogLocator, NullLocator

    class Fewer(LogLocator):
        def tick_values(self, low: float, high: float) -> Any:
            # How far the scale reaches is known only when the figure is drawn, so what is written is chosen here.
            # Without so many ticks, matplotlib would leave powers of ten out.
            powers = log10(max(high, low) / min(high, low)) if min(high, low) > 0 else 0
            self.set_params(subs=steps or next(subs for most, subs in _SUBS if powers <= most), numticks=99)
            return super().tick_values(low, high)

    panel.set(**{f"{which}scale": "log"})
    axis = {"x": panel.xaxis, "y": panel.yaxis}[which]
    axis.set_major_locator(Fewer())
    axis.set_major_formatter(FormatStrFormatter("%g"))
    axis.set_minor_locator(NullLocator())
    panel.grid(axis="y", linewidth=0.5, alpha=0.4)


_SUBS = ((0.7, range(1, 10)), (1.5, (1, 2, 5)), (2.5, (1, 3)), (inf, (1,)))
"""What is written of each power of ten, by the most powers that a scale spans."""


def rank_figure(ranked: Sequence[Mapping[str, Any]], names: Sequence[str], what: str = "rank") -> Any:
    """Ranks and the ranks in 95 % of the draws of patients, the best on top.

    ranked: `Ranking.table`, row by row; of averages of ranks also these, `often`, and how often each was had, `len`.
    """
    from matplotlib.ticker import MaxNLocator

    label = _folded(f"{what} with 95 % interval", _LISTED // 2)
    figure, panel = _panel(names, 0.5 + 0.13 * _lines([label]))
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
    figure, panels = _panels([dataset for dataset, _ in places], shared=False)
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
    _legend(figure, {_in_legend(name): handles[name] for name in shown}, [*map(_in_legend, shown)])
    return figure


def as_svg(figure: Any) -> str:
    """A figure as SVG, to stand in a page."""
    content = BytesIO()
    with style():
        figure.savefig(content, format="svg", metadata={"Date": None})
    text = content.getvalue().decode()
    return text[text.index("<svg") :]


def _sizes(means: pl.DataFrame, names: Mapping[int, str], head: str = "Dice") -> Any:
    """The mean of each line by thirds of the targets by volume."""
    lines = means["line"].unique().sort().to_list()
    figure, panel = _panel([names[line] for line in lines], 1.0)
    for number, size in enumerate(SIZES):
        here = means.filter(pl.col("size") == size)
        if here.height:
            looks = {**look(number), "linestyle": "none"}
            panel.plot(here["value"], [lines.index(line) for line in here["line"]], **looks, label=here["show"][0])
    listed(panel, [names[line] for line in lines])
    panel.set(xlabel=head)
    figure.legend(loc="outside upper left", ncols=1)
    return figure


def _panel(names: Sequence[str], margin: float) -> tuple[Any, Any]:
    """A figure with a panel that has room for names beside it (`listed`), and `margin` inches besides."""
    from matplotlib.figure import Figure

    folded = [_folded(one_line(name), _LISTED) for name in names]
    longest = max((len(line) for name in folded for line in name.split("\n")), default=0)
    height = len(folded) * (0.07 + 0.13 * _lines(folded)) + margin
    figure = Figure(figsize=(max(5.5, 3 + longest / (_LETTERS_PER_INCH * _SMALL / 8)), height))
    return figure, figure.subplots()


def listed(panel: Any, names: Sequence[str]) -> None:
    """Names on the vertical axis, the first on top."""
    panel.set_yticks(range(len(names)), [_folded(one_line(name), _LISTED) for name in names])
    panel.set_ylim(len(names) - 0.5, -0.5)
    panel.tick_params(axis="y", length=0)
    panel.grid(axis="x", linewidth=0.5, alpha=0.4)


def look(number: int) -> dict[str, Any]:
    """A colour, a marker and a dash pattern, whose combination identifies a line."""
    looks: tuple[Sequence[str], ...] = (_COLOURS, _MARKS, _DASHES)
    colour, mark, dash = (look[number % len(look)] for look in looks)
    return {"color": colour, "marker": mark, "linestyle": dash, "markerfacecolor": "white"}


def _name(line: Mapping[str, str]) -> str:
    return _in_legend(line["prompter"] + (f" ({line['notes']})" if line["notes"] else ""))


def _in_legend(name: str) -> str:
    name = one_line(name)
    return f" {name}" if name.startswith("_") else name  # matplotlib leaves such names out of legends


def _save(figure: Any, folder: Path, name: str, formats: Sequence[str]) -> list[Path]:
    paths = [folder / f"{name}.{format}" for format in formats]
    for path in paths:  # without the date, so that equal results give equal files
        dated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
        content = BytesIO()  # where writing a PDF fails, matplotlib hides why
        figure.savefig(content, format=path.suffix[1:], dpi=200, metadata=dated.get(path.suffix))
        with writing(path), atomically(path, durable=False) as part:
            part.write_bytes(content.getbuffer())
    return paths
