"""Writes sources.md from sources.toml: what each source describes, and where it is here; `make docs` runs it."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from typing import Any

from short_pages import FOLDER, store, table

PAGE = "sources.md"
DATA = FOLDER / "sources.toml"
HERE = ("equal", "different", "impossible", "absent")
INTRODUCTION = """# Sources

What the papers and challenges behind IntraBench describe, and the command that gives it. *Equal* is the definition; to
get the published number, you also need its data and weights, and not all of them have run here ([limits](limits.md)).
*Different* is deliberate, *impossible* only here, *absent* not built. `make docs` writes this page from
`docs/sources.toml`.
"""


def sources() -> list[dict[str, Any]]:
    """The sources with their items.

    Raises:
        ValueError: an item does not say whether it is equal here, or why not.
    """
    found: list[dict[str, Any]] = tomllib.loads(DATA.read_text(encoding="utf-8"))["source"]
    for item in (item for source in found for item in source["items"]):
        if item["here"] not in HERE or ("why" in item) == (item["here"] == "equal"):
            raise ValueError(
                f"docs/sources.toml: {item['what']}: expected here = {', '.join(HERE)}, and why if it is not equal"
            )
    return found


def _row(item: dict[str, str]) -> tuple[str, ...]:
    command = f"`intrabench {item['command']}`" if "command" in item else "–"
    return item["where"], item["what"], command, ": ".join(item[key] for key in ("here", "why") if key in item)


def _lines() -> Iterator[str]:
    yield INTRODUCTION
    for source in sources():
        yield from [f"## {source['name']}", "", f"{source['paper']}. More: [{source['page']}]({source['page']}).", ""]
        yield from table(("where", "what", "command", "here"), map(_row, source["items"]))


def index() -> str:
    """The page."""
    return "\n".join(_lines())


if __name__ == "__main__":
    store(PAGE, index())
