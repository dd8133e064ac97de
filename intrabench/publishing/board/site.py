"""`build`: a static site from many submissions. It needs no server: its pages are files with all that they show."""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from intrabench.errors import IntraBenchError, several
from intrabench.files.atomic import put, unique, writing
from intrabench.publishing.board.check import CheckResult, read_results
from intrabench.publishing.board.content import index_content, model_contents, submission_content, table_content
from intrabench.publishing.board.submission import Submission, read_submission
from intrabench.publishing.board.tables import Table, tables
from intrabench.reporting.page.render import asset, render

MARKER = "board.json"
"""A file by which a site is known, so that only a site is ever replaced; it lists what there is."""


def submissions_in(folder: Path) -> list[Path]:
    """The submissions in a folder: all folders in it whose names do not begin with a dot.

    Raises:
        IntraBenchError: there are none.
    """
    found = sorted(path for path in folder.glob("*") if path.is_dir() and not path.name.startswith("."))
    if not found:
        raise IntraBenchError(f"{folder} has no submissions; give a folder of folders that `intrabench submit` made")
    return found


def build(
    folder: Path,
    site: Path,
    title: str,
    checks: Path | None = None,
    say: Callable[[str], None] = lambda what: None,
) -> tuple[list[Submission], list[Table]]:
    """Build the site of all submissions in a folder, in place of an earlier one. Those with problems are left out.

    checks: a folder with results of checks. Lines say what was verified; a submission that gave other rows when it was
    played again is left out. say: is told each step.

    Returns:
        The submissions with problems, and the tables.

    Raises:
        IntraBenchError: there are no submissions, none is sound, or the site cannot be written.
    """
    if site.exists() and not ((site / MARKER).is_file() or (site.is_dir() and not any(site.iterdir()))):
        raise IntraBenchError(f"{site} exists and is no site of a board; give another folder")
    paths = submissions_in(folder)
    results = read_results(checks, paths)
    read = []
    for number, path in enumerate(paths, 1):
        say(f"reading submission {number} of {len(paths)}")
        read.append(_with_check(read_submission(path), results.get(path.resolve().name)))
    sound, refused = [one for one in read if not one.problems], [one for one in read if one.problems]
    if not sound:
        return refused, []
    say("computing the tables")
    made = list(tables(sound, results))
    part = site.with_name(f".{site.name}.{unique()}")
    with writing(site):
        try:
            _write(_Pages(part, title, say), title, sound, made)
            if site.exists():
                shutil.rmtree(site)
            put(part, site)
        finally:
            shutil.rmtree(part, ignore_errors=True)
    return refused, made


def _with_check(submission: Submission, result: CheckResult | None) -> Submission:
    """The submission, refused if it gave other rows when it was played again."""
    if result is None or not result.differs:
        return submission
    differs = f"{several(result.differs, 'session')} gave other results when played again; see `intrabench board check`"
    return replace(submission, problems=[*submission.problems, differs])


def _write(pages: _Pages, title: str, submissions: Sequence[Submission], made: Sequence[Table]) -> None:
    pages.write("index", "", index_content(submissions, made))
    for table in made:
        content = table_content(table, submissions)
        pages.write("table", f"tables/{table.id}", content)
        pages.write_json(f"tables/{table.id}", content["data"])
    for address, content in model_contents(made):
        pages.write("model", f"models/{address}", content)
    for one in submissions:
        pages.write("submission", f"submissions/{one.name}", submission_content(one, made))
    listed = {"title": title, "tables": [one.id for one in made], "submissions": [one.name for one in submissions]}
    pages.write_json(MARKER.removesuffix(".json"), listed)


class _Pages:
    """Writes pages; all texts of rows, cards and submissions are escaped, and no script runs but our own."""

    def __init__(self, site: Path, title: str, say: Callable[[str], None]) -> None:
        self._site, self._title, self._say = site, title, say

    def write(self, kind: str, address: str, content: Mapping[str, Any]) -> None:
        """Write the page of a kind at an address, ``tables/NAME``; the start page has none."""
        self._say(f"writing {address or 'index'}.html")
        parts = [asset(name, _PACKAGE) for name in _SCRIPTS[kind]]
        script = parts[0][:0].join(parts)
        shared = {
            "board": self._title,
            "root": "../" * address.count("/"),
            "made_by": f"intrabench {version('intrabench')}",
            "script": script,
            "script_hash": base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        }
        page = render(f"{kind}.html.jinja", {**shared, **content}, ("page.css", "board.css"), _PACKAGE)
        path = self._site / f"{address or 'index'}.html"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page, encoding="utf-8")

    def write_json(self, address: str, content: Any) -> None:
        """Write plain data beside a page."""
        path = self._site / f"{address}.json"
        path.write_text(json.dumps(content, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")


_PACKAGE = "intrabench.publishing.board"
_SCRIPTS: Mapping[str, Sequence[str]] = {
    "index": ("packed.js", "page.js", "filters.js"),
    "table": ("packed.js", "page.js", "table.js", "curves.js"),
    "model": ("packed.js", "page.js"),
    "submission": ("packed.js", "page.js"),
}
"""What pages run: the report's scripts, and ours."""
