"""Writes datasets.md from the classes of the data sets and the registry of weights; `make docs` runs it."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from pathlib import Path

from intrabench import registry
from intrabench.cli.describe import data_size
from intrabench.datasets.base import Dataset
from intrabench.models.weights import registry as weights

FOLDER = Path(__file__).parent
HEAD = """# Data sets

Written by `make docs` from the classes. Do not edit it.

`intrabench run --dataset NAME` fetches what it needs; `intrabench data get NAME` does it beforehand, several cases at
once with `--jobs`, some of them with `--cases`. Everything downloaded is checked (against published checksums, those of
the bucket, or, where nobody publishes one, against that of the first download) and goes on where it stopped.
`intrabench data verify NAME` reads all of it again, `data urls NAME` prints the addresses, `data remove NAME` frees the
space. Data lie in the folder that `INTRABENCH_DATA` or `--root` names, else in the user's cache folder.

`--cases` takes names, globs, `first:5`, `subset:NAME` (every data set has `smoke`, its first two cases unless it says
otherwise) and `@FILE`; `--targets` takes globs of labels and ids, and bounds: `'ml>=1'`, `'slices>5'`, `'voxels<500'`.

Folders of your own: [your_own_data.md](your_own_data.md); a class of your own:
[adding_a_dataset.md](adding_a_dataset.md).

D1 to D10 are the data sets of the IntraBench paper. **None of the sets that are not "in a package" was ever downloaded
where IntraBench was made**, which has no way there: their conversions are proven on miniatures of their formats that
tests make. Their case lists are pinned; how many targets they give is told by the first who convert them.
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
    for name, told in (("Targets", card.labels), ("Instances", card.instances), ("Licence", card.licence)):
        if told:
            yield f"- {name}: {told}."
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
        told = [f"`{name}` ({len(cases)})" for name, cases in dataset.subsets().items()]
        yield f"- Subsets: {', '.join(told)}."


if __name__ == "__main__":
    (FOLDER / "datasets.md").write_text(page(), encoding="utf-8")
