"""Writes datasets.md from the classes of the data sets and the registry of weights; `make docs` runs it."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from intrabench.cli.describe import data_size
from intrabench.datasets.base import Dataset, NotFetched
from intrabench.models.weights import registry as weights
from intrabench.registry import registry

FOLDER = Path(__file__).parent
HEAD = """# Data sets

<!-- Written by `make docs` from the classes. Do not edit it. -->

`intrabench run --dataset NAME ...` downloads what it needs. `intrabench data get NAME` does so beforehand, with
`--jobs` several cases at once, with `--cases` only some of them. Every download is compared with a checksum: the
published one, or that of the storage bucket, or else that of the first download. An interrupted download continues
where it stopped. `intrabench data verify NAME` reads all files again, `intrabench data urls NAME` prints the
addresses, and `intrabench data remove NAME` frees the space. Data is stored in the folder that `INTRABENCH_DATA` or
`--root` names, otherwise in the user's cache folder.

`--cases` takes names, globs, `first:5`, `subset:NAME` and `@FILE`. Every data set has the subset `smoke`, which is its
first two cases unless it says otherwise. `--targets` takes globs of labels and ids, and bounds such as `'ml>=1'`,
`'slices>5'` and `'voxels<500'`.

For folders of your own see [your own data](your_own_data.md), for a class of your own
[adding a data set](adding_a_dataset.md).

D1 to D10 are the data sets of the IntRaBench paper. **Only the small sets that come in a Python package have been
downloaded where IntraBench was made**, because it cannot reach the others. The conversion of the others is tested on
miniatures of their formats. Their lists of cases are fixed, but nobody has counted their targets yet ("?").
"""


def page() -> str:
    """The text of datasets.md."""
    entries = registry.entries("datasets").values()
    listed: list[Dataset] = [entry.load()() for entry in entries if entry.origin == "intrabench"]
    listed.sort(key=lambda dataset: (int(dataset.card.paper[1:] or 99), dataset.name))
    return "\n".join([HEAD, *_overview(listed), *(line for dataset in listed for line in _section(dataset))])


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
    (FOLDER / "datasets.md").write_text(page(), encoding="utf-8")
