"""Pages that are a short list in git and whole on the site. Above the mark is what people write, for both of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

FOLDER = Path(__file__).parent
MARK = "<!-- `make docs` writes what follows: a short list in git, the whole page on the site. Do not edit it. -->"
SHORT = """This is a short list. The site that `make docs` builds in `site/` has the whole page, and `intrabench info
NAME` prints what is known of one name.
"""
SCRIPTS = {
    "models.md": "make_models",
    "datasets.md": "make_datasets",
    "prompters.md": "make_prompters",
    "credits.md": "make_credits",
    "protocols/README.md": "make_protocols",
}
"""The script of each short page: its `index()` is the page in git, its `pages()` are those of the site by name."""


def prose(page: str) -> str:
    """What people wrote in a page, with the mark below it.

    Raises:
        ValueError: the page has no mark, so what is written by people cannot be told from what is not.
    """
    text, mark, _ = (FOLDER / page).read_text(encoding="utf-8").partition(MARK)
    if not mark:
        raise ValueError(f"docs/{page} has lost the line {MARK}")
    return f"{text}{mark}\n"


def short(page: str, lines: Iterable[str]) -> str:
    """The page in git: the prose, where the whole page is, and the list."""
    return "\n".join([prose(page), SHORT, *lines])


def store(page: str, text: str) -> None:
    """Write the page in git."""
    (FOLDER / page).write_text(text, encoding="utf-8")


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """The lines of a table in Markdown, and an empty one."""
    yield f"| {' | '.join(heads)} |"
    yield "|" + "---|" * len(heads)
    yield from (f"| {' | '.join(row)} |" for row in rows)
    yield ""
