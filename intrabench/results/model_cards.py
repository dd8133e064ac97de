"""The cards of the models of rows: as the records of their runs have them, and before that, as the workspace does.

Rows have specs. Whoever reads the rows of a folder notes its cards, so that all outputs call a model the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path

from intrabench.models.base import Model
from intrabench.models.card import ModelCard, card_from, card_of, stated_here
from intrabench.registry import registry
from intrabench.results.runs import read_records
from intrabench.specs.specs import comparable

_stated: dict[Path | None, Mapping[str, ModelCard]] = {}
"""The cards of the folders that were read, also empty ones; None: of the models that this process runs."""

_agreed: dict[str, ModelCard] = {}
"""The cards on which all these folders agree: no folder names the models of another, as on a board."""


def card(spec: str) -> ModelCard:
    """The card of a model by its spec in rows; empty if nobody states one, or folders state different ones."""
    return _card(spec, stated_here())


def title_of(spec: str) -> str:
    """What people call the model of a spec: its title, with the spec if another model has it, too; else the spec."""
    here = stated_here()
    title = _card(spec, here).title
    if not title or title in registry.entries("models"):  # nobody takes the name of a model that ships
        return spec
    others = {*here, *_agreed} - {spec, _outside(spec), comparable(spec)}
    twins = [other for other in others if _card(other, here).title == title and _outside(other) != spec]
    return f"{title} ({spec})" if twins else title


def _card(spec: str, here: Mapping[str, ModelCard]) -> ModelCard:
    return here.get(comparable(spec)) or _agreed.get(spec, ModelCard())


def note_cards(root: Path) -> None:
    """Note the cards in the records of a results folder.

    Raises:
        IntraBenchError: the workspace states a wrong one.
    """
    stated_here()
    try:
        changed = (root / "runs").stat().st_mtime_ns
    except OSError:
        return
    note(root.resolve(), _of_records(root.resolve(), changed))


def note_models(models: Iterable[Model]) -> dict[str, ModelCard]:
    """Note the cards of the models that are run; returns them by spec.

    Raises:
        IntraBenchError: one is wrong.
    """
    found = {model.short_spec: card_of(model) for model in models}
    note(None, {**_stated.get(None, {}), **found})
    return found


def note(where: Path | None, cards: Mapping[str, ModelCard]) -> None:
    """Note the cards of a folder, also by the specs as they leave this machine."""
    if _stated.get(where) == cards:
        return
    _stated[where] = cards
    found: dict[str, ModelCard] = {}
    for place, stated in sorted(_stated.items(), key=lambda item: item[0] is None):
        for spec, one in stated.items():
            for name in {spec, _outside(spec)}:
                agrees = found.get(name, one) == one or (place is None and name == spec)
                found[name] = one if agrees else ModelCard()
    _agreed.update({**dict.fromkeys(_agreed, ModelCard()), **found})


def _outside(spec: str) -> str:
    """The spec as it leaves this machine."""
    from intrabench.results.private import without_paths  # which imports polars, that no process needs to play

    return without_paths(spec)


@lru_cache(maxsize=64)
def _of_records(root: Path, changed: int) -> dict[str, ModelCard]:
    """changed: when the folder of records was."""
    found: dict[str, ModelCard] = {}
    for record in read_records(root):
        for stated in record.get("models", ()):
            if isinstance(spec := stated.get("model"), str):
                found[spec] = card_from(stated)
    return found
