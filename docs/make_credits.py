"""Writes the lists of credits.md from the registry of weights and the cards of data sets; `make docs` runs it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from make_models import weights_of
from short_pages import prose, short, store, table

from intrabench.models.weights import registry as weights
from intrabench.models.weights.registry import Weights
from intrabench.registry import registry

PAGE = "credits.md"
Row = tuple[str, str, str, str]
"""Names, citation, home page and licence, as cells of a table."""


def index() -> str:
    """The page in git: a publication is its DOIs and arXiv numbers, if it has any."""
    models, datasets = (((row[0], _identifiers(row[1]), row[3]) for row in rows) for rows in (_models(), _datasets()))
    heads = "publication", "licence"
    lines = [*table(("model", *heads), models), "## Data sets", "", *table(("data set", *heads), datasets)]
    return short(PAGE, lines)


def pages() -> dict[str, str]:
    """The page of the site."""
    heads = "publication", "home page"
    models = table(("model", *heads, "licence of the weights"), _models())
    datasets = table(("data set", *heads, "licence"), _datasets())
    return {PAGE: "\n".join([prose(PAGE), *models, "## Data sets", "", *datasets])}


def _models() -> Iterator[Row]:
    models: dict[tuple[str, str, str], list[str]] = {}
    for entry in registry.entries("models").values():
        if entry.origin == "intrabench":
            for file in weights_of(entry.load()):
                models.setdefault(_about(file), [])
                if entry.name not in models[_about(file)]:
                    models[_about(file)].append(entry.name)
    for name in ("rclicks", "transalnet"):
        models[_about(weights.get(name))] = [f"clickability:model={name}"]
    models[_about(weights.get("clip_merges"))] = ["texts of segvol"]
    for about, names in models.items():
        yield ", ".join(f"`{name}`" for name in names), *about


def _about(file: Weights) -> tuple[str, str, str]:
    return linked(file.citation), ", ".join(f"<{place}>" for place in file.pages), file.licence


def _datasets() -> Iterator[Row]:
    for entry in registry.entries("datasets").values():
        if entry.origin == "intrabench" and entry.name != "phantom":
            card = entry.load()().card
            home = f"<{card.homepage}>" if card.homepage else ""
            yield f"`{entry.name}`", linked(card.citation), home, card.licence


def linked(citation: str) -> str:
    """A citation whose DOIs and arXiv numbers are links."""
    citation = re.sub(r"doi:(10\.[^\s;,]*[^\s;,.)])", r"[doi:\1](https://doi.org/\1)", citation)
    return re.sub(r"arXiv[ :](\d{4}\.\d{5})", r"[arXiv \1](https://arxiv.org/abs/\1)", citation)


def _identifiers(citation: str) -> str:
    return ", ".join(re.findall(r"\[[^]]*\]\([^)]*\)", citation)) or citation


if __name__ == "__main__":
    store(PAGE, index())
