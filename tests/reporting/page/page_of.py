"""A report as tests read it: its tables, its text, its tags."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl

from intrabench.reporting.page.page import write_report
from intrabench.statistics.statistic import Statistic

_VOID = {"meta", "link", "input", "br", "path", "circle", "wbr", "img", "source"}


@dataclass
class Page(HTMLParser):
    """What a browser would find: tags with attributes, texts of scripts by id, cells of tables by id, commands.

    best: by id of the table, the row and the column of cells that are marked as best or alike, and how that is said.
    """

    tags: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    scripts: dict[str, str] = field(default_factory=dict)
    tables: dict[str, list[list[str]]] = field(default_factory=dict)
    commands: list[str] = field(default_factory=list)
    best: dict[str, list[tuple[int, int, str]]] = field(default_factory=dict)
    text: str = ""

    def __post_init__(self) -> None:
        super().__init__()
        self._script = self._table = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag."""
        given = dict(attrs)
        self.tags.append((tag, given))
        if tag not in _VOID:
            self.open.append(tag)
        if tag == "script":
            self._script = given.get("id") or "code"
        if tag == "table":
            self._table = given["id"] or ""
            self.tables[self._table] = []
        if tag == "tr":
            self.tables[self._table].append([])
        if tag in ("td", "th"):
            self.tables[self._table][-1].append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag that is closed at once."""
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        """Check that what is closed was opened last."""
        assert self.open.pop() == tag, (tag, self.getpos())

    def handle_data(self, data: str) -> None:
        """Note text where it stands."""
        if self.open and self.open[-1] == "script":
            self.scripts[self._script] = data
        elif self.open and self.open[-1] != "style":
            self.text += data
            self.commands += [data] if self.open[-1] == "pre" else []
            if data.strip() in ("best", "not told from the best") and "td" in self.open:
                table = self.tables[self._table]
                self.best.setdefault(self._table, []).append((len(table) - 1, len(table[-1]) - 1, data.strip()))
            elif "td" in self.open or "th" in self.open:
                mark = " " if self.open[-1] == "span" else ""
                self.tables[self._table][-1][-1] += mark + data.strip()

    def data(self, id: str) -> Any:
        """The plain data of a script."""
        return json.loads(self.scripts[id])


def report(folder: Path, metric: str = "", ends: tuple[float, ...] = (), **options: Any) -> tuple[Page, str]:
    """The report of a results folder, read, and as text."""
    path = folder / "report.html"
    write_report(folder, path, statistic=Statistic(metric, ends=ends), **options)
    return read(path)


def read(path: Path) -> tuple[Page, str]:
    """A report that was written, read, and as text."""
    text = path.read_text(encoding="utf-8")
    page = Page()
    page.feed(text)
    assert not page.open
    return page, text


def store(folder: Path, *parts: pl.DataFrame) -> Path:
    """A results folder with these rows."""
    (folder / "rows").mkdir(parents=True)
    pl.concat(parts).write_parquet(folder / "rows" / "run-0001.parquet")
    return folder
