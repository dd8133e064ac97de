"""The page of superpixels shares tables, links and colours with the report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from intrabench.reporting.figures import rank_figure
from intrabench.reporting.page.grid import frame_grid
from intrabench.reporting.plots import as_svg, style
from intrabench.reporting.superpixels import rendered
from tests.people.browsing import serious
from tests.reporting.page.test_explore_browser import saved
from tests.tabs import Tabs


def test_it_sorts_saves_and_can_be_read_in_the_dark(tabs: Tabs, axe: Any, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    table = pl.DataFrame({"dataset": ["d", "d"], "method": ["slic", "grid"], "AMR": [2.5, 17.25]})
    with style():
        figure = as_svg(
            rank_figure([{"rank": 1, "low": 1, "high": 2}, {"rank": 2, "low": 1, "high": 2}], ["slic", "grid"])
        )
    texts = {"title": "Superpixels", "subtitle": "s", "definitions": [("AMR", "a")], "warnings": ["rough"]}
    names = {"summary": "averages", "stability": "stability", "numbers": "all-numbers"}
    grids = {key: frame_grid(table, name) for key, name in names.items()}
    drawn = {name: {"d": figure} for name in ("curves", "spread", "trade_offs", "robustness")}
    path = tmp_path / "page.html"
    path.write_text(rendered({**texts, **grids, **drawn, "ranking": figure, "ranking_notes": []}))
    page = tabs.open(path.as_uri(), 360, "dark")
    assert serious(axe, page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.locator(".drawn text").first.evaluate("node => getComputedStyle(node).fill") == "rgb(0, 0, 0)"
    page.locator("#averages thead button").last.press("Enter")
    lines = saved(page, page.get_by_role("button", name="Download as CSV: averages"), tmp_path)
    assert lines == [["dataset", "method", "AMR"], ["d", "grid", "17.25"], ["d", "slic", "2.5"]]
    assert tabs.reset() == []
