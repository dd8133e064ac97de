"""Figures of single protocols: the curve of DAVIS Interactive over time, and those of the IntRaBench paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, log10
from typing import Any

import polars as pl

from intrabench.models.weights.registry import REGISTERED
from intrabench.protocols import PROTOCOLS, row_names
from intrabench.protocols.row import Row
from intrabench.reporting.plots import add_legend, in_legend, listed, look, panel_beside, panels_for
from intrabench.reporting.reference import paper_number, reference
from intrabench.specs.specs import parse, split
from intrabench.statistics.aggregate import Aggregation, aggregate
from intrabench.statistics.davis_curves import mean_curves
from intrabench.statistics.evaluation import Evaluation
from intrabench.statistics.measures import DavisArea, DavisAt, summary
from intrabench.statistics.resample import AVERAGE, with_average
from intrabench.statistics.scores import metric as metric_of
from intrabench.statistics.scores import scores
from intrabench.statistics.steps import Steps, steps

PAPER = "intrabench@1"
BY_PROMPT, BY_ROUND = "paper_by_prompt", "paper_by_round"
"""Names of the figures of the paper: 4, and 5 and 6."""
_OURS, _PUBLISHED = "ours", "published"


def figures_of_protocols(evaluation: Evaluation) -> list[str]:
    """The names of what `protocol_figures` draws."""
    asked, rows = summary(evaluation.statistic.metric), _paper_rows(evaluation)
    found = [_over_time(asked)] if isinstance(asked, DavisArea) else []
    found += [BY_PROMPT] if any(not _corrected(row) for row in rows) else []
    return found + ([BY_ROUND] if any(map(_corrected, rows)) else [])


def protocol_figures(evaluation: Evaluation) -> dict[str, Any]:
    """The figures of the protocols of these sessions, by name; of the paper only those of which there are rows."""
    found, rows = dict[str, Any](), _paper_rows(evaluation)
    asked = summary(evaluation.statistic.metric)
    if isinstance(asked, DavisArea):
        played = steps(evaluation.rows, asked.metric)
        found[_over_time(asked)] = time_figure(played, asked, evaluation.names, evaluation.statistic.how)
    if not rows:
        return found
    dice = paper_dice(evaluation)
    static, corrected = ([row for row in rows if _corrected(row) is kind] for kind in (False, True))
    found |= {BY_PROMPT: _by_prompt(dice, static)} if static else {}
    return found | ({BY_ROUND: _by_round(dice, corrected)} if corrected else {})


def _over_time(asked: DavisArea) -> str:
    return f"{parse(asked.metric)[0]}_over_time"


def time_figure(played: Steps, asked: DavisArea, names: Mapping[int, str], how: Aggregation) -> Any:
    """The published curve of DAVIS Interactive of each line, a panel per data set.

    played: of the metric of `asked`. Time is on a logarithmic scale from the first answer on, and ends behind the last
    one, or behind the 60 s that are marked; from there on curves are flat.
    """
    from matplotlib.ticker import FormatStrFormatter, NullLocator

    found = mean_curves(played, asked.seconds, how)
    datasets, lines = (found[name].unique().sort().to_list() for name in ("dataset", "line"))
    figure, panels = panels_for(datasets, shared=False)
    handles: dict[str, Any] = {}
    for panel, dataset in zip(panels, datasets, strict=True):
        here = found.filter(pl.col("dataset") == dataset)
        ends = pl.col("time_s").max().over("line")
        answered = here.filter(pl.col("time_s") > 0, pl.col("time_s") < ends)["time_s"].to_list()
        first, last = min([*answered, DavisAt.after]), max([*answered, DavisAt.after])
        ticks = [10.0**power for power in range(ceil(log10(first)), ceil(log10(last)))]
        for number, line in enumerate(lines):
            curve = here.filter(pl.col("line") == line)
            (drawn,) = panel.plot(curve["time_s"], curve["value"], **look(number), linewidth=1)
            handles[in_legend(names[line])] = drawn
        panel.axvline(DavisAt.after, color="0.6", linewidth=0.8, linestyle=":")
        panel.set(xlabel="seconds of the model, all objects", ylabel=metric_of(asked.metric).head)
        panel.set_xscale("symlog", linthresh=first, linscale=0.5)
        panel.set(xlim=(0, 1.5 * last), ylim=(0, 1.02), xticks=[0, *ticks, DavisAt.after])
        panel.xaxis.set_major_formatter(FormatStrFormatter("%g"))
        panel.xaxis.set_minor_locator(NullLocator())
        panel.grid(axis="y", linewidth=0.5, alpha=0.4)
    add_legend(figure, handles, [*handles])
    return figure


def paper_dice(evaluation: Evaluation) -> pl.DataFrame:
    """`row`, `model`, `round`, `source` (ours or published) and `dice`: means over data sets, of `intrabench@1`.

    A session that ended keeps its Dice. Published numbers are of the models here in the published configuration, after
    the rounds of these rows, and over these data sets, if the paper has all of them and the weights are those.
    """
    rows = evaluation.rows.filter(pl.col("protocol") == PAPER)
    datasets, names = rows["dataset"].unique().to_list(), row_names(PAPER)
    line = ["prompter", "model"]
    parts = []
    for number in range(int(rows["round"].max() or 0) + 1):  # type: ignore[arg-type]
        reached = rows.filter(pl.col("round").max().over(line) >= number)
        scored = scores(reached, "dice", number, evaluation.statistic.policy)
        means = aggregate(scored, line, evaluation.statistic.how)
        means = with_average(means, line, len(datasets)).filter(pl.col("dataset") == AVERAGE)
        parts.append(means.select(*line, round=pl.lit(number, pl.Int64), dice="value"))
    ours = pl.concat(parts).with_columns(source=pl.lit(_OURS))
    numbers = {paper_number(name) for name in datasets}
    theirs = reference().filter(pl.col("paper").is_in([*filter(None, numbers)]) & pl.lit(None not in numbers))
    theirs = theirs.group_by("prompter", "model", "round").agg(
        pl.col("published").mean().alias("dice"), _of=pl.col("published").count()
    )
    theirs = theirs.filter(pl.col("_of") == len(numbers))
    theirs = theirs.join(rows.filter(pl.col("weights") != REGISTERED), on="model", how="anti").join(
        ours, on=["prompter", "model", "round"], how="semi"
    )
    columns = ("prompter", "model", "round", "source", "dice")
    both = pl.concat([ours.select(columns), theirs.with_columns(source=pl.lit(_PUBLISHED)).select(columns)])
    both = both.filter(pl.col("prompter").is_in([*names])).with_columns(
        row=pl.col("prompter").replace_strict(names, default=None)
    )
    return both.select("row", "model", "round", "source", "dice").sort("row", "model", "source", "round")


def _paper_rows(evaluation: Evaluation) -> list[Row]:
    """The rows of the paper that these sessions have, in its order."""
    played = set(evaluation.rows.filter(pl.col("protocol") == PAPER)["prompter"])
    return [row for row in PROTOCOLS[PAPER].rows if row.prompter in played]


def _corrected(row: Row) -> bool:
    return len(split(row.prompter)) > 1


def _looks(number: int, source: str) -> dict[str, Any]:
    """Ours are filled, and published numbers hollow and pale."""
    looks = look(number)
    filled = {"markerfacecolor": looks["color"]} if source == _OURS else {"alpha": 0.6}
    return {**looks, **filled, "linestyle": "none", "linewidth": 1}


def _by_prompt(dice: pl.DataFrame, rows: Sequence[Row]) -> Any:
    """Dice after the first prompts: a line per row of Tables 2 to 4, a mark per model."""
    names = [row.name for row in rows]
    figure, panel = panel_beside(names, 0.8)
    models, handles = dice["model"].unique().sort().to_list(), dict[str, Any]()
    for number, model in enumerate(models):
        for source in (_OURS, _PUBLISHED):
            here = dice.filter(pl.col("model") == model, pl.col("source") == source, pl.col("row").is_in(names))
            here = here.filter(pl.col("round") == 0)
            if here.height:
                places = [names.index(row) for row in here["row"]]
                handles[_called(model, source)] = panel.plot(here["dice"], places, **_looks(number, source))[0]
    listed(panel, names)
    panel.set(xlabel="Dice", xlim=(0, 1))
    add_legend(figure, handles, [*handles])
    return figure


def _by_round(dice: pl.DataFrame, rows: Sequence[Row]) -> Any:
    """Dice after each round of the rows of Tables 5 and 6: a panel per model, dashed where the user scribbles."""
    names = [row.name for row in rows]
    models = dice.filter(pl.col("row").is_in(names))["model"].unique().sort().to_list()
    figure, panels = panels_for(models, shared=True)
    handles: dict[str, Any] = {}
    for panel, model in zip(panels, models, strict=True):
        for number, row in enumerate(rows):
            dash = "--" if "+scribble" in row.prompter else "-"
            for source in (_OURS, _PUBLISHED):
                here = dice.filter(
                    pl.col("model") == model, pl.col("row") == row.name, pl.col("source") == source
                ).sort("round")
                if here.height:
                    looks = {**_looks(number, source), "linestyle": dash}
                    handles[_called(row.name, source)] = panel.plot(here["round"], here["dice"], **looks)[0]
        panel.set(xlabel="round of corrections", ylabel="Dice", ylim=(0, 1), xticks=range(int(dice["round"].max()) + 1))  # type: ignore[arg-type]
        panel.grid(axis="y", linewidth=0.5, alpha=0.4)
        panel.label_outer()
    add_legend(figure, handles, [*handles])
    return figure


def _called(name: str, source: str) -> str:
    return in_legend(name if source == _OURS else f"{name}, published")
