"""Writes the lists of datasets.md from the classes and the registry of weights; `make docs` runs it."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from contextlib import suppress

from short_pages import prose, short, store, table

from intrabench.datasets.base import Dataset, NotFetched, data_size
from intrabench.models.weights import registry as weights
from intrabench.registry import registry

PAGE = "datasets.md"


def index() -> str:
    """The page in git."""
    summaries = {entry.name: entry.summary for entry in registry.entries("datasets").values()}
    rows = ((f"`{one.name}`", one.card.paper, summaries[one.name]) for one in _listed())
    return short(PAGE, table(("data set", "paper", "what it is"), rows))


def pages() -> dict[str, str]:
    """The page of the site."""
    listed = _listed()
    lines = [prose(PAGE), *_overview(listed), *(line for dataset in listed for line in _section(dataset))]
    return {PAGE: "\n".join(lines)}


def _listed() -> list[Dataset]:
    """The data sets that ship, those of the paper first."""
    entries = registry.entries("datasets").values()
    listed: list[Dataset] = [entry.load()() for entry in entries if entry.origin == "intrabench"]
    return sorted(listed, key=lambda dataset: (int(dataset.card.paper[1:] or 99), dataset.name))


def _overview(listed: Sequence[Dataset]) -> Iterator[str]:
    yield "| data set | paper | modality | cases | targets | size | licence |"
    yield "|---|---|---|---|---|---|---|"
    for dataset in listed:
        card = dataset.card
        counts = f"{card.cases or '?'} | {card.targets or '?'} | {data_size(dataset.megabytes())}"
        yield f"| [{dataset.name}](#{dataset.name}) | {card.paper} | {card.modality} | {counts} | {card.licence} |"
    yield ""


def _section(dataset: Dataset) -> Iterator[str]:
    card = dataset.card
    yield from [f"## {dataset.name}", "", inspect.cleandoc(type(dataset).__doc__ or ""), ""]
    yield from [f"{card.title}.", ""]
    if dataset.extra:
        yield f"- Needs `pip install 'intrabench[{dataset.extra}]'`."
    for name, text in (("Targets", card.labels), ("Instances", card.instances), ("Licence", card.licence)):
        if text:
            yield f"- {name}: {text}."
    yield f"- Cite: {card.citation}."
    if card.homepage:
        yield f"- Home page: <{card.homepage}>"
    yield from _subsets(dataset)
    for title, what in (("Trained on it", "trained_on"), ("Held out by", "held_out")):
        known = [id for id, entry in weights.entries().items() if set(getattr(entry, what)) & set(card.part_of)]
        if known:
            yield f"- {title}: {', '.join(f'`{id}`' for id in known)}."
    yield from (f"- Note: {caveat}." for caveat in card.caveats)
    yield ""


def _subsets(dataset: Dataset) -> Iterator[str]:
    if type(dataset).subsets is not Dataset.subsets:
        with suppress(NotFetched):  # an archive lists them
            sizes = [f"`{name}` ({len(cases)})" for name, cases in dataset.subsets().items()]
            yield f"- Subsets: {', '.join(sizes)}."


if __name__ == "__main__":
    store(PAGE, index())
