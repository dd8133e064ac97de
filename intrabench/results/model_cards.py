"""The cards of the models of rows: as the records of their runs have them, and before that, as the workspace does.

Rows have specs. Whoever reads the rows of a folder learns its cards, so that all outputs call a model the same.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from intrabench.models.base import Model
from intrabench.models.card import ModelCard, card_from, card_of, of_workspace, stated_here
from intrabench.registry import registry
from intrabench.results.runs import read_records

_known: dict[str, ModelCard] = {}


def card(spec: str) -> ModelCard:
    """The card of a model by its spec in rows; empty if nobody states one."""
    return of_workspace(spec) or _known.get(spec, ModelCard())


def called(spec: str) -> str:
    """What people call the model of a spec: its title, with the spec if another model has it, too; else the spec."""
    title = card(spec).title
    if not title or title in registry.entries("models"):  # nobody takes the name of a model that ships
        return spec
    others = {other for other, one in list(_known.items()) if one.title == title} - {spec, _outside(spec)}
    return f"{title} ({spec})" if any(_outside(other) != spec for other in others) else title


def learn(root: Path) -> None:
    """Learn the cards in the records of a results folder.

    Raises:
        IntraBenchError: the workspace states a wrong one.
    """
    stated_here()
    try:
        changed = (root / "runs").stat().st_mtime_ns
    except OSError:
        return
    for spec, one in _of_records(root.resolve(), changed).items():
        learn_card(spec, one)


def learn_model(model: Model) -> ModelCard:
    """Learn the card of a model that is run; returns it.

    Raises:
        IntraBenchError: it is wrong.
    """
    found = card_of(model)
    learn_card(model.short_spec, found)
    return found


def learn_card(spec: str, one: ModelCard) -> None:
    """Learn a card, also under the spec as it leaves this machine."""
    if one:
        _known[spec] = _known[_outside(spec)] = one


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
            if isinstance(spec := stated.get("model"), str) and (one := card_from(stated)):
                found[spec] = one
    return found
