"""`write_report`: a results folder as one self-contained HTML file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

import polars as pl

from intrabench.atomic import atomically, writing
from intrabench.datasets.base import Dataset
from intrabench.errors import IntraBenchError
from intrabench.names import one_line
from intrabench.reporting.figures import as_svg, style, sweep_figures, swept_dice
from intrabench.reporting.footnotes import sentence
from intrabench.reporting.formats import formatted
from intrabench.reporting.page import credits, facts, tables
from intrabench.reporting.page.chosen import chosen
from intrabench.reporting.page.clicking import click_grid
from intrabench.reporting.page.commands import command
from intrabench.reporting.page.curve_data import curve_data
from intrabench.reporting.page.lines import with_lines
from intrabench.reporting.page.listings import failure_grid, pair_grid, run_grid
from intrabench.reporting.page.strata import strata
from intrabench.reporting.page.viewer import views
from intrabench.results.current import current
from intrabench.results.origin import datasets_of
from intrabench.results.parts import read_rows
from intrabench.results.runs import read_records, without_home
from intrabench.statistics.adapted import adapted
from intrabench.statistics.aggregate import AGGREGATIONS, Aggregation
from intrabench.statistics.ranking import Ranking, pairs, ranking
from intrabench.statistics.resample import intervals
from intrabench.statistics.scores import FailurePolicy, measured_metrics, scores
from intrabench.statistics.soundness import check_mixable
from intrabench.statistics.steps import steps
from intrabench.statistics.superpixels import prompted

_UNUSED = (
    *("prompts_hash", "package_versions_hash", "batch", "prompt_s", "ended", "instance", "target_voxels"),
    *("fp_voxels", "fn_voxels", "pred_voxels"),
)
"""Columns that are not needed; a million rows would take much memory."""

_BREAKS = re.compile(r"([:,+/](?=\w)|=(?=\w{6}))")
"""Where specs may break into the next line; not within ``n=3``."""

_CONTENTS = {
    "summary": "Summary",
    "effort-section": "Effort against Dice",
    "curves": "Curves",
    "ranking-section": "Ranking",
    "sizes-section": "Sizes",
    "perturbed-section": "Perturbed images",
    "clicking-section": "Where people click",
    "ratings-section": "What people say",
    "viewer": "Targets",
    "failures-section": "Failures",
    "sources": "Licences and citations",
    "reproduce": "Environment and commands",
    "definitions": "Definitions",
}


def write_report(
    results: Path,
    path: Path,
    targets: int = 3,
    how: Aggregation = AGGREGATIONS["protocol"],
    policy: FailurePolicy | None = None,
    ratings: Sequence[tuple[str, pl.DataFrame]] = (),
) -> list[str]:
    """Write the report of a results folder.

    targets: number of targets per data set in the viewer, from the worst to the best by final Dice; 0: none. ratings:
    tables of what people said of its masks, with their headings.

    Returns:
        A sentence for each file of masks that the viewer lacks because it cannot be read.

    Raises:
        IntraBenchError: there are no results, or the file cannot be written.
    """
    rows, left_out = current(read_rows(results))
    if rows.is_empty():
        raise IntraBenchError(f"{results} has no results yet; `intrabench run --model M --prompter P` computes some")
    rows = prompted(rows)
    if targets < 0:
        raise IntraBenchError(f"--targets {targets} is not a number of targets; give 0 for none, or more")
    content = _content(results, rows, targets, how, policy or FailurePolicy())
    content["ratings"] = [(heading, formatted(table, "html")) for heading, table in ratings if not table.is_empty()]
    if not content["ratings"]:
        del content["contents"]["ratings-section"]
    text = _render(content | {"warnings": [*content["warnings"], *(f"{sentence}." for sentence in left_out)]})
    with writing(path), atomically(path, durable=False) as part:
        part.write_text(text, encoding="utf-8")
    unread: list[str] = content["unread"]
    return unread


def _content(
    results: Path, rows: pl.DataFrame, targets: int, how: Aggregation, policy: FailurePolicy
) -> dict[str, Any]:
    rows, lines = with_lines(rows.drop(_UNUSED))
    scored = scores(rows, policy=policy)
    datasets, records = datasets_of(results, rows), read_records(results)
    grids = _tables(rows, scored, lines, how, policy)
    absent = {f"{name}-section" for name in ("perturbed", "clicking") if not grids[name]}
    return {
        "title": "IntraBench report",
        "subtitle": f"Made on {datetime.now(UTC):%Y-%m-%d} by intrabench {version('intrabench')}",
        "contents": {id: name for id, name in _CONTENTS.items() if id not in absent},
        "facts": facts.summary(rows, scored),
        "warnings": facts.warnings(results, rows, scored),
        **grids,
        **_viewer(results, rows, scored, datasets, targets),
        "data_credits": credits.of_datasets(datasets),
        "model_credits": credits.of_models(lines, records),
        "runs": run_grid(records),
        "environment": facts.environment(records),
        "commands": [(line["name"], _command(line, datasets)) for line in lines.iter_rows(named=True)],
        "definitions": facts.definitions(rows, how, policy),
    }


def _tables(
    rows: pl.DataFrame, scored: pl.DataFrame, lines: pl.DataFrame, how: Aggregation, policy: FailurePolicy
) -> dict[str, Any]:
    seen = rows.filter(pl.col("seen_in_training") == "yes").select("line", "dataset").unique().rows()
    ends = rows.filter(pl.col("round") == pl.col("round").max().over("session"))  # scores need only the last row
    metrics = {one: scores(ends, one.column, policy=policy) for one in measured_metrics(rows)}
    failures, left_out = failure_grid(rows)
    played = steps(rows, policy=policy)
    notes, marks = tables.line_notes(rows, lines)
    return {
        "notes": notes.texts,
        "effort": tables.effort_grid(scored, lines, intervals(scored, ["line"], how), set(seen), marks),
        "metrics": tables.metric_grid(metrics, lines, how, marks),
        "curves": curve_data(played, lines, how),
        "curves_note": sentence(adapted(rows, ["line"]), dict(lines.select("line", "name").iter_rows())),
        "progress": tables.progress_grid(played, lines, how, marks),
        **_ranking(scored, lines, how, {line for line, _ in seen}, marks),
        "sizes": tables.size_grid(strata(scored), lines, marks),
        "perturbed": _perturbed(scored, lines, how),
        "clicking": click_grid(rows, policy),
        "failures": failures,
        "failures_left_out": left_out,
        "averaging": f"{how.description}; {policy.describe()}",
    }


def _perturbed(scored: pl.DataFrame, lines: pl.DataFrame, how: Aggregation) -> dict[str, str]:
    """A figure of Dice against strength for each kind of perturbation; without a sweep matplotlib is not needed."""
    swept = swept_dice(scored, dict(lines.select("line", "name").iter_rows()), how)
    if swept.is_empty():
        return {}
    with style():
        return {kind: as_svg(figure) for kind, figure in sweep_figures(swept).items()}


def _ranking(
    scored: pl.DataFrame, lines: pl.DataFrame, how: Aggregation, seen: set[int], marks: tables.Notes
) -> dict[str, Any]:
    """The table of ranks, notes on it, and the tests of all pairs of lines.

    There is no table if no line has all data sets, and neither table nor tests if protocols have different definitions.
    """
    ranked, notes, tested = None, [], pl.DataFrame()
    try:
        check_mixable(scored)
        tested = pairs(scored, ["line"])
        found = ranking(scored, ["line"], how)
        ranked, notes = tables.ranking_grid(found, lines, seen, marks), _about_ranks(found, lines)
    except IntraBenchError as error:
        notes = [str(error)]
    listed, left_out = pair_grid(tested, lines, seen)
    return {"ranking": ranked, "ranking_notes": notes, "pairs": listed, "pairs_left_out": left_out}


def _about_ranks(found: Ranking, lines: pl.DataFrame) -> list[str]:
    """Notes on the stability of ranks and on lines without a rank, grouped by their missing data sets."""
    notes = (
        []
        if found.tau is None
        else [f"Kendall's tau between this ranking and those of bootstrap draws: {found.tau:.2f}."]
    )
    left = found.left_out.join(lines, on="line", maintain_order="left")
    for (missing,), group in left.group_by("missing", maintain_order=True):
        notes.append(f"Not ranked because of missing {', '.join(missing)}: {'; '.join(group['name'])}.")
    return notes


def _viewer(
    results: Path, rows: pl.DataFrame, scored: pl.DataFrame, datasets: Mapping[str, Dataset | str], targets: int
) -> dict[str, Any]:
    shown = list(views(results, rows, chosen(scored, targets), datasets))
    unread = [text for view in shown for text in view.pop("unread", ())]
    problems: dict[tuple[str, str], set[str]] = {}
    for view in shown:
        if "problem" in view:
            problems.setdefault((view["dataset"], view["problem"]), set()).add(view["case"])
    return {
        "views": [view | {"id": f"view{n}"} for n, view in enumerate(shown) if "problem" not in view],
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


def _render(content: Mapping[str, Any]) -> str:
    """The page; all texts from rows, cards and records are escaped."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
        from markupsafe import Markup, escape
    except ImportError as error:
        raise IntraBenchError("the report needs jinja2; run: pip install 'intrabench[report]'") from error

    loader = PackageLoader("intrabench.reporting", "page")
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined)
    environment.filters["one_line"] = one_line
    environment.filters["breakable"] = lambda text: Markup(_BREAKS.sub(r"\1<wbr>", str(escape(one_line(str(text))))))
    environment.filters["markup"] = Markup
    page = environment.get_template("page.html.jinja")
    here = files("intrabench.reporting.page")
    names = ("page.css", "page.js", "curves.js", "plane.js", "viewer.js")
    assets = {name.replace(".", "_"): Markup(here.joinpath(name).read_text(encoding="utf-8")) for name in names}
    return page.render(**content, **assets)
