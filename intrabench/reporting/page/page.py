"""`write_report`: a results folder as one self-contained HTML file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import polars as pl

from intrabench.datasets.base import Dataset
from intrabench.errors import IntraBenchError, several
from intrabench.files.atomic import atomically, writing
from intrabench.reporting.figures import sweep_figures, swept_dice
from intrabench.reporting.footnotes import sentence, undrawn
from intrabench.reporting.page import credits, tables, texts
from intrabench.reporting.page.answers import answers, budgets_of
from intrabench.reporting.page.correlations import correlation_panel
from intrabench.reporting.page.credits import command
from intrabench.reporting.page.curve_data import curve_data, rounds_of
from intrabench.reporting.page.diagnosis import other_targets, slice_grid
from intrabench.reporting.page.difficulty import difficulty_panel
from intrabench.reporting.page.explore import explored
from intrabench.reporting.page.grid import frame_grid
from intrabench.reporting.page.leading_score import LeadingScore, leading_score
from intrabench.reporting.page.listings import (
    PAIRS,
    Gains,
    claim_section,
    failure_grid,
    pair_gains,
    pair_grid,
    run_grid,
)
from intrabench.reporting.page.narrative import BudgetResults, Names
from intrabench.reporting.page.protocol_table import capped_numbers, click_grid, protocol_grids
from intrabench.reporting.page.render import check_html, render
from intrabench.reporting.page.speed import speed_grid, speeds
from intrabench.reporting.page.strata import strata
from intrabench.reporting.page.viewer import VIEWS, samples, views
from intrabench.reporting.plots import as_svg, style
from intrabench.reporting.protocol_figures import time_figure
from intrabench.results.origin import datasets_of
from intrabench.results.runs import without_home
from intrabench.results.selection import EVERYTHING, Selection
from intrabench.statistics.aggregate import Aggregation
from intrabench.statistics.budgets import at_budgets
from intrabench.statistics.evaluation import Evaluation, about, counted_rows, with_lines
from intrabench.statistics.measures import DavisArea, scored_by, summary
from intrabench.statistics.notes import adapted, cut_short_of
from intrabench.statistics.ranking import Ranking, pairs, rankings
from intrabench.statistics.resample import AVERAGE, FEW, Draws, drawn_intervals, resample
from intrabench.statistics.scores import measured_metrics, scores
from intrabench.statistics.sizes import names_of
from intrabench.statistics.soundness import check_mixable
from intrabench.statistics.statistic import Statistic
from intrabench.statistics.steps import Steps, steps

_SHOWN = ("plane", "fp_voxels", "fn_voxels", "fits_better", "batch", "peak_memory_mb", "peak_gpu_mb", "device")
"""Columns that the report shows besides those that all outputs read."""

_ASSETS = (
    *("page.css", "answers.css", "explore.css"),
    *("state.js", "packed.js", "page.js", "answers.js", "curves.js", "plane.js", "viewer.js", "explore.js"),
)

_CONTENTS = {
    "answers": "Which is best?",
    "summary": "Summary",
    "effort-section": "Effort and scores",
    "own-section": "What the protocol reports",
    "curves": "Curves",
    "ranking-section": "Ranking",
    "sizes-section": "Sizes",
    "difficulty-section": "Difficulty",
    "correlations-section": "Correlations",
    "diagnosis-section": "Diagnosis",
    "perturbed-section": "Perturbed images",
    "clicking-section": "Where people click",
    "ratings-section": "What people say",
    "explore": "Labels and cases",
    "viewer": "Targets",
    "failures-section": "Failures",
    "sources": "Licences and citations",
    "reproduce": "Environment and commands",
    "definitions": "Definitions",
}


def write_report(
    results: Path,
    path: Path,
    views: int = VIEWS,
    statistic: Statistic | None = None,
    ratings: Sequence[tuple[str, pl.DataFrame]] = (),
    title: str = "",
    selection: Selection = EVERYTHING,
    say: Callable[[str], None] = lambda what: None,
) -> list[str]:
    """Write the report of a results folder.

    statistic: the score that leads; without a metric that of the protocol (`leading_score`). views: number of targets
    per data set in the viewer, from the worst to the best by final Dice; 0: none. ratings: tables of what people said
    of its masks, with their headings. title: the heading. selection: of which sessions. say: is told each step.

    Returns:
        A sentence for each file of masks that the viewer lacks because it cannot be read.

    Raises:
        IntraBenchError: there are no results, or the file cannot be written.
    """
    check_html(path)
    if views < 0:
        raise IntraBenchError(f"--views {views} is not a number of targets; give 0 for none, or more")
    asked = statistic or Statistic("")
    say("reading the rows")
    rows, left_out = counted_rows(results, asked, selection, more=_SHOWN)
    lead = leading_score(rows["protocol"], asked)
    rows, lines = with_lines(rows)
    evaluation = Evaluation(results, rows, lines, lead, datasets_of(results, rows), left_out, selection=selection)
    content = _content(evaluation, lead, views, say)
    content["title"] = title or content["title"]
    content["ratings"] = [
        (heading, frame_grid(table, f"ratings{number}"))
        for number, (heading, table) in enumerate(ratings)
        if not table.is_empty()
    ]
    if not content["ratings"]:
        del content["contents"]["ratings-section"]
    say("writing the page")
    text = render(
        "page.html.jinja",
        content | {"warnings": [*content["warnings"], *(f"{sentence}." for sentence in left_out)]},
        _ASSETS,
    )
    with writing(path), atomically(path, durable=False) as part:
        part.write_text(text, encoding="utf-8")
    unread: list[str] = content["unread"]
    return unread


def _content(evaluation: Evaluation, lead: LeadingScore, views: int, say: Callable[[str], None]) -> dict[str, Any]:
    say("computing tables and curves")
    rows, lines, datasets, records = evaluation.rows, evaluation.lines, evaluation.datasets, evaluation.records
    scored = scores(rows, policy=lead.policy)
    grids = _tables(evaluation, lead, scored, views)
    made = f"Made on {datetime.now(UTC):%Y-%m-%d} by intrabench {version('intrabench')}"
    panels = ("sizes", "perturbed", "clicking", "own", "difficulty", "correlations", "diagnosis")
    absent = {f"{name}-section" for name in panels if not grids[name]}
    return {
        "title": "IntraBench report",
        "subtitle": "; ".join(filter(None, [made, about(evaluation.selection, lead.metric)])),
        "contents": {id: name for id, name in _CONTENTS.items() if id not in absent},
        "facts": texts.summary(rows, scored),
        "warnings": texts.warnings(evaluation, scored),
        "with_interval": texts.with_interval(scored),
        "few": FEW,
        **grids,
        **_viewer(evaluation, scored, views, say),
        "data_credits": credits.of_datasets(datasets),
        "model_credits": credits.of_models(lines, records),
        "runs": run_grid(records),
        "environment": texts.environment(records),
        "commands": [(line["name"], _command(line, datasets)) for line in lines.iter_rows(named=True)],
        "definitions": texts.definitions(rows, lead.how, lead.policy, records),
    }


def _tables(evaluation: Evaluation, lead: LeadingScore, dice: pl.DataFrame, views: int) -> dict[str, Any]:
    """The tables and answers. dice: `scores`. views: the most targets of a data set whose scans are shown."""
    rows, lines, how, policy = evaluation.rows, evaluation.lines, lead.how, lead.policy
    seen = rows.filter(pl.col("seen_in_training") == "yes").select("line", "dataset").unique().rows()
    ends = rows.filter(pl.col("round") == pl.col("round").max().over("session"))  # scores need only the last row
    metrics = {one: scores(ends, one.column, policy=policy) for one in measured_metrics(rows)}
    failures, left_out = failure_grid(rows)
    scored = dice if lead.metric == "dice" else evaluation.scored
    played, draws = steps(rows, scored_by(lead.metric), policy), resample(scored, ["line"], how)
    means = drawn_intervals(scored, ["line"], how, draws)
    averages = means.filter(pl.col("dataset") == AVERAGE)
    by, leading = scored_by(lead.metric), summary(lead.metric)
    bounded = played if lead.bounded else steps(rows, policy=policy)
    short = cut_short_of(bounded, ["line"], tables.clicks_to_goal(by if lead.bounded else "dice"))
    capped = capped_numbers(rows, played, by, policy) | ({leading: played} if leading and leading.capped else {})
    notes, marks = tables.line_notes(rows, scored, lines, capped)
    plain, marked = marks[None], marks.get(leading, marks[None])
    by_slice, others = slice_grid(metrics, lines, how, plain), other_targets(rows, lines)
    grids = [(text, grid, grid.notes(notes.texts)) for text, grid in protocol_grids(rows, lines, policy, marks)]
    # Marks that only the tables of protocols have are explained below these, and not again in the notes of all tables.
    elsewhere = {letter for each in (plain, marked) for mark in each.values() for letter in mark.split(",")}
    only_there = {mark for *_, below in grids for mark in below} - elsewhere
    names = Names(lines, frozenset(line for line, _ in seen))
    modalities = {name: "" if isinstance(one, str) else one.card.modality for name, one in evaluation.datasets.items()}
    # Answers, curves, ranks and claims compare lines, so they are of the targets that all lines have.
    fair = evaluation.shared
    if fair is evaluation:
        same, compared, same_draws = scored, played, draws
    else:
        same, compared = fair.scored, steps(fair.rows, scored_by(lead.metric), policy)
        same_draws = resample(same, ["line"], how)
    budgets = budgets_of(compared)
    found = at_budgets(compared, how, [*(one for every in budgets.values() for one in every), *rounds_of(fair.lines)])
    sizes = strata(scored, evaluation.pictures, lead.ends)
    curves, speed = curve_data(compared, lines, how, found), speeds(rows, lines)
    return {
        "lead": lead,
        **_answers(fair, same, BudgetResults(lead, fair.rows, names, found, budgets, modalities, speed), curves),
        "speed": speed_grid(speed),
        "notes": {mark: text for mark, text in notes.texts.items() if mark not in only_there},
        "effort": tables.effort_grid(scored, lines, means, set(seen), marked, lead),
        "metrics": tables.metric_grid(metrics, lines, how, plain),
        "explore": explored(scored, lines, lead),
        "own": grids,
        "timed": _timed(compared, lead.metric, evaluation.names, how),
        "curves": curves,
        "curves_note": " ".join(
            filter(None, [sentence(adapted(rows, ["line"]), evaluation.names), undrawn(averages, evaluation.names)])
        ),
        "progress": tables.progress_grid(bounded, lines, how, plain, short),
        "progress_note": sentence(short, evaluation.names, f" {tables.SHORT}: "),
        **_ranking(fair, same, same_draws, names.seen, marked.without_fewer(), lead),
        **claim_section(same, fair.lines, lead),
        "sizes": tables.thirds_grid("sizes", sizes, "size", names_of(lead.ends), lines, marked, lead)
        if len(sizes)
        else None,
        **difficulty_panel(evaluation, lead, marked, views),
        **correlation_panel(fair),
        "diagnosis": [*filter(None, [by_slice, others])],
        "slices": by_slice,
        "other_targets": others,
        "perturbed": _perturbed(dice, evaluation.names, how),
        "clicking": click_grid(rows, policy),
        "failures": failures,
        "failures_left_out": left_out,
        "averaging": f"{how.description}; {policy.describe()}",
    }


def _answers(
    fair: Evaluation, scored: pl.DataFrame, results: BudgetResults, curves: Mapping[str, Any]
) -> dict[str, Any]:
    """The answers, or why there are none: neither different protocols nor different targets can be compared."""
    if not fair.comparable:
        return {"answers": None, "answers_problem": f"{fair.compared[0]}."}
    try:
        check_mixable(scored, results.lead.column)
    except IntraBenchError as error:
        return {"answers": None, "answers_problem": f"{error} with --protocol"}
    return {"answers": answers(results, curves), "answers_problem": ""}


def _timed(played: Steps, metric: str, names: Mapping[int, str], how: Aggregation) -> str:
    """The curve of DAVIS Interactive, if that leads; else matplotlib is not needed."""
    asked = summary(metric)
    if not isinstance(asked, DavisArea):
        return ""
    with style():
        return as_svg(time_figure(played, asked, names, how))


def _perturbed(scored: pl.DataFrame, names: Mapping[int, str], how: Aggregation) -> dict[str, str]:
    """A figure of Dice against strength for each kind of perturbation; without a sweep matplotlib is not needed."""
    swept = swept_dice(scored, names, how)
    if swept.is_empty():
        return {}
    with style():
        return {kind: as_svg(figure) for kind, figure in sweep_figures(swept).items()}


def _ranking(
    fair: Evaluation,
    scored: pl.DataFrame,
    draws: Draws,
    seen: Set[int],
    marks: tables.Notes,
    lead: LeadingScore,
) -> dict[str, Any]:
    """The table of ranks of models with the same prompter, notes on it, and the tests of all pairs of lines.

    There is no table if no line has all data sets, and neither table nor tests if protocols have different definitions.
    """
    lines, ranked, notes, tested = fair.lines, None, [], pl.DataFrame()
    apart: Gains = []
    try:
        if not fair.comparable:
            raise IntraBenchError(f"{fair.compared[0]}.")
        check_mixable(scored, lead.column)
        tested = pairs(scored, ["line"], best=lead.best)
        within = dict(lines.select("line", "shown").iter_rows())
        found, left_out = rankings(scored, draws, within, lead.how, best=lead.best)
        ranked = tables.ranking_grid(found, lines, seen, marks, lead) if found else None
        notes = _about_ranks(found, left_out, lines)
        apart = pair_gains(draws, scored, tested.head(PAIRS), lead)
    except IntraBenchError as error:
        notes = [str(error)]
    listed, others = pair_grid(tested, apart, lines, seen, lead)
    return {"ranking": ranked, "ranking_notes": notes, "pairs": listed, "pairs_left_out": others}


def _about_ranks(found: Mapping[str, Ranking], left_out: pl.DataFrame, lines: pl.DataFrame) -> list[str]:
    """Notes on the stability of ranks and on lines without a rank, grouped by their missing data sets."""
    stable = ", ".join(f"{one.tau:.2f} ({name})" for name, one in found.items() if one.tau is not None)
    notes = [f"Kendall's tau between these rankings and those of bootstrap draws: {stable}."] if stable else []
    left = left_out.join(lines, on="line", maintain_order="left")
    return notes + [
        f"Not ranked because of missing {', '.join(missing)}: {'; '.join(group['name'])}."
        for (missing,), group in left.group_by("missing", maintain_order=True)
    ]


def _viewer(evaluation: Evaluation, scored: pl.DataFrame, count: int, say: Callable[[str], None]) -> dict[str, Any]:
    chosen, shown = samples(scored, count), list[dict[str, Any]]()
    for number, view in enumerate(views(evaluation.root, evaluation.rows, chosen, evaluation.datasets), 1):
        say(f"{number} of {several(len(chosen), 'target')} read")
        shown.append(view)
    unread = [text for view in shown for text in view.pop("unread", ())]
    thumbnails = [{"id": f"view{n}", **view.pop("thumbnail")} for n, view in enumerate(shown) if "thumbnail" in view]
    problems: dict[tuple[str, str], set[str]] = {}
    for view in shown:
        if "problem" in view:
            problems.setdefault((view["dataset"], view["problem"]), set()).add(view["case"])
    return {
        "views": [view | {"id": f"view{n}"} for n, view in enumerate(shown) if "problem" not in view],
        "thumbnails": sorted(thumbnails, key=lambda one: one["dice"]),
        "view_problems": [
            without_home(f"{dataset}, case{'s' * (len(cases) > 1)} {', '.join(sorted(cases))}: {problem}")
            for (dataset, problem), cases in sorted(problems.items())
        ]
        + [without_home(text) for text in unread],
        "unread": unread,
    }


def _command(line: Mapping[str, Any], datasets: Mapping[str, Dataset | str]) -> str:
    arguments = {name: name if isinstance(found, str) else found.argument for name, found in datasets.items()}
    return without_home(command(line, [arguments[name] for name in line["datasets"]]))
