"""The documentation as a site: built from this folder, without dead links, and without anything of other hosts."""

from __future__ import annotations

import html
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag

import pytest

import intrabench
from intrabench.protocols import PROTOCOLS
from intrabench.registry import registry
from intrabench.registry.contract import Room
from tests.conftest import get_command
from tests.documented import ROOT
from tests.tabs import Tabs

pytest.importorskip("mkdocs", reason="the extra docs is not installed")

LOOKED_AT = ("index.html", "tutorials/my_model.html", "reference/models.html", "prompters.html")


def build(site: Path, *more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--site-dir", site, *more],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built strictly: a warning, as of a page that is not in the navigation, is a failure."""
    folder = tmp_path_factory.mktemp("site")
    done = build(folder)
    assert done.returncode == 0, done.stderr
    return folder


class Page(HTMLParser):
    """Anchors, links, and what a browser fetches."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.anchors |= {given[name] or "" for name in ("id", "name") if name in given}
        if tag == "a" and given.get("href"):
            self.links.append(given["href"] or "")
        elif tag == "link" and given.get("rel") != "canonical":
            self.fetched.append(given.get("href") or "")
        elif given.get("src"):
            self.fetched.append(given["src"] or "")


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {path: Page(path) for path in sorted(site.rglob("*.html")) if path.name != "404.html"}


def test_no_link_and_no_anchor_is_dead(pages: dict[Path, Page]) -> None:
    dead = []
    for path, page in pages.items():
        for link in page.links + page.fetched:
            place, anchor = urldefrag(unquote(link))
            if not re.match(r"[a-z]+:", place):
                there = (path.parent / place).resolve() if place else path
                there = there / "index.html" if there.is_dir() else there
                known = there in pages and anchor not in pages[there].anchors
                if not there.exists() or (anchor and not anchor.startswith("__") and known):
                    dead.append(f"{path.name}: {link}")
    assert dead == []
    assert sum(len(page.links) for page in pages.values()) > 2000


def test_nothing_is_fetched_from_other_hosts_and_their_links_are_listed(site: Path, pages: dict[Path, Page]) -> None:
    assert [one for page in pages.values() for one in page.fetched if re.match(r"(https?:)?//", one)] == []
    listed = {line.partition("\t")[0] for line in (site / "external_links.txt").read_text().splitlines()}
    assert {link for page in pages.values() for link in page.links if link.startswith("http")} <= listed
    assert "https://arxiv.org/abs/2411.07885" in listed


def test_the_front_page_has_a_picture_and_the_table_of_the_readme(site: Path) -> None:
    front = (site / "index.html").read_text(encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8").partition("```text\n")[2].partition("```")[0]
    measured = [[cell.strip() for cell in line[1:-1].split("│")] for line in readme.splitlines() if line[0] == "│"]
    shown = [re.findall(r"<td>(.*?)</td>", row) for row in re.findall(r"<tr>(.*?)</tr>", front, re.DOTALL)]
    assert [row for row in shown if row] == measured
    assert len(measured) > 5
    assert all(line in html.unescape(front) for line in readme.splitlines() if line[0] not in "┏┃┡│└")
    assert front.count("<img") == 1


def test_every_command_and_every_public_name_has_its_place(pages: dict[Path, Page], site: Path) -> None:
    from intrabench.cli.main import app

    program: Any = get_command(app)
    for name, command in program.commands.items():
        text = (site / "commands" / f"{name}.html").read_text(encoding="utf-8")
        parts = getattr(command, "commands", {name: command}).values()
        for one in (one for part in parts for one in part.params):
            assert all(given in text for given in one.opts if given.startswith("--")), (name, one.opts)
    anchors = {anchor for path, page in pages.items() if path.parent.name == "reference" for anchor in page.anchors}
    assert {name for name in dir(intrabench) if name[0] != "_"} <= {name.rpartition(".")[2] for name in anchors}


def test_what_git_only_lists_is_whole_here(pages: dict[Path, Page], site: Path) -> None:
    rooms: tuple[Room, ...] = ("models", "datasets", "prompters")
    for room in rooms:
        ours = {entry.name for entry in registry.entries(room).values() if entry.origin == "intrabench"}
        assert ours <= pages[site / f"{room}.html"].anchors, room
    text = {name: (site / f"{name}.html").read_text(encoding="utf-8") for name in ("models", "prompters", "credits")}
    assert "third party uploaded" in text["models"]
    assert "Effort: 1 x box3d; interactions 3, dof 6, seconds 12" in text["prompters"]
    assert "https://github.com/facebookresearch/sam2" in text["credits"]
    for id in PROTOCOLS:
        page = site / "protocols" / f"{id.replace('@', '-')}.html"
        assert page in pages, id
        assert page.name in pages[site / "protocols" / "index.html"].links
    numbers = (site / "protocols" / "rclicks-1.html").read_text(encoding="utf-8")
    assert numbers.count("<tr>") > 160


def test_links_between_pages_and_files_of_the_project_are_turned(site: Path) -> None:
    readme = (site / "project" / "readme.html").read_text(encoding="utf-8")
    assert 'href="../use.html#pictures"' in readme
    assert 'src="../pictures/brain_tumour_round0.png"' in readme
    assert 'href="https://github.com/intrabench/intrabench/blob/main/CITATION.cff"' in readme
    assert 'href="project/readme.html#quick-start"' in (site / "index.html").read_text(encoding="utf-8")


def test_a_page_outside_of_the_navigation_ends_the_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lost = ROOT / "docs" / "lost_page_of_a_test.md"
    monkeypatch.setattr(sys.modules[__name__], "ROOT", _copy(tmp_path, lost.name))
    done = build(tmp_path / "site")
    assert done.returncode == 1
    assert "lost_page_of_a_test.md" in done.stderr
    assert "no_such_page.md" in done.stderr
    assert "no-such-heading" in done.stderr


def _copy(folder: Path, lost: str) -> Path:
    """The documentation with a page that nothing names, which has dead links."""
    for path in ("docs", "intrabench", "README.md"):
        (folder / path).symlink_to(ROOT / path)
    (folder / "docs").unlink()
    (folder / "docs").mkdir()
    for path in ("hooks.py", "short_pages.py", "site", "README.md", "use.md", "pictures"):
        (folder / "docs" / path).symlink_to(ROOT / "docs" / path)
    (folder / "docs" / lost).write_text("# Lost\n\n[a](no_such_page.md), [b](use.md#no-such-heading)\n")
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    text = re.sub(r"^plugins:.*?^\n", "plugins: []\n\n", text, flags=re.DOTALL | re.MULTILINE)  # faster
    (folder / "mkdocs.yml").write_text(text[: text.index("nav:\n  - Start")] + "nav: [README.md, use.md]\n")
    return folder


SEARCHES = {
    "blind rating": "tutorials/reader_study.html",
    "confidence interval": "results.html",
    "config file": "use.html",
    "cost": "costs.html",
    "data set": "datasets.html",
    "dicom": "your_own_data.html",
    "docker": "installing.html",
    "environment variable": "environment.html",
    "exit code": "use.html",
    "export csv": "exports.html",
    "hausdorff": "results.html",
    "how many patients": "results.html",
    "install": "installing.html",
    "inter-rater agreement": "people.html",
    "jupyter": "python.html",
    "leaderboard": "board.html",
    "my own data": "your_own_data.html",
    "napari": "servers.html",
    "nnunet": "your_own_data.html",
    "offline": "files.html",
    "out of memory": "use.html",
    "own metric": "adding_a_metric.html",
    "own model": "your_model.html",
    "paired test": "results.html",
    "proxy": "troubleshooting.html",
    "reader study": "tutorials/reader_study.html",
    "resume": "use.html",
    "shell completion": "installing.html",
    "slurm": "clusters.html",
    "surface dice tolerance": "results.html",
    "troubleshooting": "troubleshooting.html",
    "window level": "use.html",
}
"""What newcomers type, and the page that has it."""
SEARCH = """async (queries) => {
  const { search } = JSON.parse(document.querySelector("#__config").textContent);
  const { config, docs } = await (await fetch("search/search_index.json")).json();
  const worker = new Worker(new URL(search, location));
  const told = (type) => new Promise((done) => {
    worker.onmessage = ({ data }) => data.type === type && done(data.data);
  });
  const ready = told(1);
  worker.postMessage({ type: 0, data: { config, docs, options: {} } });
  await ready;
  const found = {};
  for (const query of queries) {
    const answer = told(3);
    worker.postMessage({ type: 2, data: query });
    found[query] = (await answer).items.map(([best]) => best.location.split("#")[0]);
  }
  return found;
}"""
"""The theme's own search, asked as its input box asks it: the pages found for each query, the best first."""


class _Silent(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


@pytest.fixture
def address(site: Path) -> Iterator[str]:
    """The site from a server: browsers start no worker of a page that was opened from disk."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Silent, directory=site)) as server:
        threading.Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def test_what_newcomers_search_is_found_first(address: str, tabs: Tabs) -> None:
    found = tabs.open(f"{address}index.html", home=address).evaluate(SEARCH, list(SEARCHES))
    assert {query: pages[0] if pages else "" for query, pages in found.items()} == SEARCHES
    assert tabs.reset() == []


def test_reasons_changes_and_published_numbers_are_not_searched(site: Path) -> None:
    entries = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))["docs"]
    searched = {entry["location"].partition("#")[0] for entry in entries}
    left_out = {"decisions.html", "speed.html", "scale.html", "project/changelog.html", "protocols/rclicks-1.html"}
    assert all((site / page).is_file() for page in left_out)
    assert not left_out & searched
    assert {"use.html", "protocols/index.html", "commands/run.html", "reference/models.html"} <= searched


def test_the_front_page_says_how_to_install(site: Path) -> None:
    front = (site / "index.html").read_text(encoding="utf-8")
    assert "pip install" in html.unescape(re.sub(r"<[^>]+>", "", front)).partition("Begin with a tutorial")[0]


@pytest.mark.parametrize(
    ("name", "width", "scheme"),
    [
        pytest.param(name, *look, marks=[pytest.mark.slow] * ((page + way) % 2))  # each page in one of two ways, and
        for page, name in enumerate(LOOKED_AT)  # slowly in the other
        for way, look in enumerate(((360, "dark"), (1280, "light")))
    ],
)
def test_nothing_keeps_people_from_using_the_pages(
    site: Path, tabs: Tabs, axe: Any, name: str, width: int, scheme: str
) -> None:
    page = tabs.open((site / name).as_uri(), width, scheme, home=site.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    found = axe(page).response["violations"]
    assert [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in ("serious", "critical")] == []
    tabs.reset()
