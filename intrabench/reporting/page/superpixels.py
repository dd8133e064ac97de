"""`write_superpixels`: superpixels of a results folder as one self-contained HTML file."""

from __future__ import annotations

from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import polars as pl

from intrabench.errors import IntraBenchError
from intrabench.files.atomic import atomically, writing
from intrabench.reporting.figures import as_svg
from intrabench.reporting.page.grid import frame_grid
from intrabench.reporting.page.render import check_html, render
from intrabench.reporting.superpixels import (
    curve_figures,
    number_table,
    ranks_figure,
    read_measured,
    robustness_figures,
    summary_table,
)
from intrabench.statistics.superpixels import Measured


def write_superpixels(results: Path, path: Path) -> None:
    """Write averages with intervals, ranking, curves and all numbers.

    Raises:
        IntraBenchError: there are no superpixels, or the file cannot be written.
    """
    check_html(path)
    found, notes = read_measured(results)
    ranking, about = _ranking(found)
    content: dict[str, Any] = {
        "title": "Superpixels",
        "subtitle": f"Made on {datetime.now(UTC):%Y-%m-%d} by intrabench {version('intrabench')}",
        "warnings": [*notes, *_failures(found)],
        "summary": frame_grid(summary_table(found, interval=True), "averages"),
        "ranking": ranking,
        "ranking_notes": about,
        "curves": {name: as_svg(figure) for name, figure in curve_figures(found).items()},
        "robustness": {kind: as_svg(figure) for kind, figure in robustness_figures(found).items()},
        "numbers": frame_grid(
            number_table(found, [metric.column for metric in found.metrics if metric.column != "sp"]), "all-numbers"
        ),
        "definitions": [(metric.head, _first_line(metric)) for metric in found.metrics],
    }
    text = rendered(content)
    with writing(path), atomically(path, durable=False) as part:
        part.write_text(text, encoding="utf-8")


def _ranking(found: Measured) -> tuple[str | None, list[str]]:
    """The figure of ranks, and notes on it; no figure if no method has all data sets, or there is a single one."""
    try:
        ranked = found.ranked()
    except IntraBenchError as error:
        return None, [str(error)]
    return (as_svg(ranks_figure(found)) if ranked.table.height > 1 else None), ranked.describe()


def _failures(found: Measured) -> list[str]:
    failed = found.curves.filter(pl.col("failed") > 0)
    return [
        "{dataset}, {method}, {asked} superpixels: {failed} of {images} images failed".format(**row)
        for row in failed.iter_rows(named=True)
    ]


def _first_line(metric: Any) -> str:
    return (type(metric).__doc__ or "").strip().split("\n")[0]


def rendered(content: dict[str, Any]) -> str:
    """The page of its tables, figures and texts."""
    return render("superpixels.html.jinja", content, ("page.css", "explore.css", "state.js", "packed.js", "page.js"))
