"""What the site has beside the pages of docs/, for mkdocs: pages made from code, and links that leave the folder.

Of some of these pages git has a short list (`short_pages`)."""

from __future__ import annotations

import os
import re
import sys
from fnmatch import fnmatchcase
from importlib import import_module
from pathlib import Path
from typing import Any

from markdown import Markdown
from markdown.extensions import Extension
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

DOCS = Path(__file__).parent
ROOT = DOCS.parent
CODE = "https://github.com/intrabench/intrabench/blob/main"
_FENCED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"(\]\()([^)\s#:]+)((?:#[^)]*)?\))")
_TABLE = "<!-- the README's table -->"
_LEFT_OUT = ("decisions.md", "speed.md", "scale.md", "project/changelog.md", "protocols/*-*.md")
"""Pages that the search leaves out: reasons, changes, numbers by the hundred."""
_LAST = (
    *("reference/*", "commands/*", "project/*", "notebooks/*", "tutorials/README.md", "README.md"),
    *("architecture.md", "limits.md", "sources.md", "credits.md", "intrabench_paper.md", "environment.md"),
)
"""Pages that the search finds after those that explain."""
_TYPED = {
    "board.md": ["leaderboard"],
    "clusters.md": ["Slurm", "LSF", "PBS", "Kubernetes"],
    "datasets.md": ["data set"],
    "installing.md": ["Docker", "GPU"],
    "people.md": ["inter-rater agreement"],
    "results.md": ["paired test", "p-value", "confidence interval", "surface Dice tolerance", "Hausdorff distance"],
    "troubleshooting.md": ["proxy"],
    "tutorials/reader_study.md": ["blind rating"],
    "use.md": ["exit code", "out of memory", "resume", "window level"],
    "your_model.md": ["own model"],
    "your_own_data.md": ["my own data", "own data", "NIfTI", "DICOM", "nnUNet"],
}
"""What people type for what a page has, where its headings have other words."""


class _AsOnTheCodeHost(Extension):
    """Lists in lists are indented by two columns, as GitHub has them."""

    def extendMarkdown(self, md: Markdown) -> None:
        md.tab_length = 2


def on_config(config: Any) -> Any:
    """Add the extension."""
    config.markdown_extensions.append(_AsOnTheCodeHost())
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the pages of commands, of Python's names, of notebooks, of the files beside this folder, and whole pages."""
    # not above: mkdocs puts the path back after it has loaded this file
    sys.path[:0] = [str(ROOT), str(DOCS), str(DOCS / "site")]
    import commands
    import notebook
    import python_pages
    import short_pages

    made = {f"commands/{name}": text for name, text in commands.pages().items()}
    made |= {f"reference/{name}": text for name, text in python_pages.pages().items()}
    made |= {f"notebooks/{path.stem}.md": notebook.markdown(path) for path in DOCS.glob("notebooks/*.ipynb")}
    made |= {_project(path): path.read_text(encoding="utf-8") for path in ROOT.glob("*.md")}
    for place, script in short_pages.SCRIPTS.items():
        if page := files.get_file_from_path(place):
            files.remove(page)
            made |= import_module(script).pages()
    for place, text in made.items():
        files.append(File.generated(config, place, content=text))
    named = set(_named(config.nav))
    _fill(config.nav, sorted(file.src_uri for file in files.documentation_pages() if file.src_uri not in named))
    return files


def _project(path: Path) -> str:
    """The page of a file such as README.md."""
    return f"project/{path.name.lower()}"


def _named(nav: Any) -> list[str]:
    if isinstance(nav, str):
        return [nav]
    return [name for one in (nav.values() if isinstance(nav, dict) else nav) for name in _named(one)]


def _fill(nav: Any, places: list[str]) -> None:
    """Put all pages of a folder in for ``FOLDER/*``; its README.md comes first."""
    for item in nav.values() if isinstance(nav, dict) else nav:
        if not isinstance(item, str):
            _fill(item, places)
    if isinstance(nav, list):
        filled: list[Any] = []
        for item in nav:
            if isinstance(item, str) and item.endswith("/*"):
                found = [place for place in places if fnmatchcase(place, item)]
                filled += sorted(found, key=lambda place: (not place.endswith("README.md"), place))
            else:
                filled.append(item)
        nav[:] = filled


def on_page_markdown(text: str, page: Any, config: Any, files: Files) -> str:
    """Put the README's table in, and turn links to files outside of this folder."""
    place = page.file.src_uri
    page.meta |= {"search": _searched(place), "tags": _TYPED.get(place, [])}
    pages = {_project(path): path for path in ROOT.glob("*.md")}
    here = pages.get(place, DOCS / place)
    if _TABLE in text:
        text = text.replace(_TABLE, _table_of((ROOT / "README.md").read_text(encoding="utf-8")))
    parts, start = [], 0
    for fenced in _FENCED.finditer(text):
        parts += [_turned(text[start : fenced.start()], here, place), fenced[0]]
        start = fenced.end()
    return "".join([*parts, _turned(text[start:], here, place)])


def _searched(place: str) -> dict[str, Any]:
    """How the search takes a page."""
    if any(fnmatchcase(place, one) for one in _LEFT_OUT):
        return {"exclude": True}
    return {"boost": 0.5 if any(fnmatchcase(place, one) for one in _LAST) else 1}


def _table_of(readme: str) -> str:
    """The first printed table of a page as Markdown, with its footnotes."""
    printed = re.search(r"^```text\n(┏.*?)^```$", readme, re.DOTALL | re.MULTILINE)
    if not printed:
        raise PluginError("README.md has no printed table for the front page; docs/README.md asks for it")
    lines = printed[1].splitlines()
    rows = [re.split(r"\s*[┃│]\s*", line)[1:-1] for line in lines if line[0] in "┃│"]
    rows.insert(1, ["---"] * len(rows[0]))
    notes = [line for line in lines if line[0] not in "┏┃┡│└├"]
    return "\n".join([*(f"| {' | '.join(row)} |" for row in rows), "", "<br>\n".join(notes)])


def _turned(text: str, here: Path, place: str) -> str:
    """Links as the site has them: from a page at `place` that is the file `here`."""

    def turn(link: re.Match[str]) -> str:
        there = Path(os.path.normpath(here.parent / link[2]))
        if there.is_relative_to(DOCS):
            found = there.relative_to(DOCS).as_posix()
            found = re.sub(r"\.ipynb$", ".md", found)
        elif there.parent == ROOT and there.suffix == ".md":
            found = _project(there)
        elif there.is_relative_to(ROOT) and there.exists():
            return f"{link[1]}{CODE}/{there.relative_to(ROOT).as_posix()}{link[3]}"
        else:
            return link[0]
        return f"{link[1]}{os.path.relpath(found, os.path.dirname(place) or '.')}{link[3]}"

    return _LINK.sub(turn, text)


def on_post_build(config: Any) -> None:
    """List the addresses outside of the site; they are not fetched."""
    site = Path(config.site_dir)
    found: dict[str, set[str]] = {}
    for path in sorted(site.rglob("*.html")):
        for address in re.findall(r'href="(https?://[^"]+)"', path.read_text(encoding="utf-8")):
            found.setdefault(address, set()).add(path.relative_to(site).as_posix())
    lines = (f"{address}\t{' '.join(sorted(pages))}\n" for address, pages in sorted(found.items()))
    (site / "external_links.txt").write_text("".join(lines), encoding="utf-8")
