"""What people call a model, how to cite it, and where its code is: one declaration for all outputs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from intrabench import workspace
from intrabench.errors import IntraBenchError
from intrabench.files.documents import read_toml
from intrabench.models.base import Model
from intrabench.specs import specs

FILE = "model.toml"
"""The declaration of a model that is a folder, such as stored predictions."""
LONGEST = 80
"""Characters of a title."""
_TYPES = {"title": str, "citation": str, "homepage": str}
_ADDRESS = re.compile(r"https?://[^\s\"'<>]+")


@dataclass(frozen=True)
class ModelCard:
    """title: its name for people; empty: its spec. citation: its paper. homepage: the address of its code."""

    title: str = ""
    citation: str = ""
    homepage: str = ""

    def __bool__(self) -> bool:
        """Whether it says anything."""
        return bool(self.told)

    @property
    def told(self) -> dict[str, str]:
        """What it says, by field."""
        return {name: text for name, text in asdict(self).items() if text}

    @property
    def problem(self) -> str:
        """What is wrong with it; empty if nothing is."""
        if any(not text.isprintable() for text in asdict(self).values()):
            return "title, citation and homepage must each be one line"
        if len(self.title) > LONGEST:
            return f"the title has {len(self.title)} characters, expected at most {LONGEST}"
        if self.homepage and not _ADDRESS.fullmatch(self.homepage):
            return f"homepage = {self.homepage!r} is no address; write one that begins with https://"
        return ""


def card_of(model: Model) -> ModelCard:
    """The card of a model: as the workspace has it, else the file in its folder, else its class.

    The title of a class is that of the model without parameters; those that were set follow it.

    Raises:
        IntraBenchError: one of them is wrong.
    """
    spec = model.short_spec
    if stated := of_workspace(spec):
        return stated
    for parameter, reach in specs.reach_of(type(model)).items():
        path = Path(str(getattr(model, parameter) or "")) / FILE
        if reach is not None and reach.kind in ("read", "repository") and len(path.parts) > 1 and path.is_file():
            return _checked(read_toml(path, _TYPES), str(path))
    card = _checked({name: getattr(model, name, "") for name in _TYPES}, f"class {type(model).__name__}")
    parameters = spec.partition(":")[2]
    return ModelCard(f"{card.title} ({parameters})", card.citation, card.homepage) if card and parameters else card


def of_workspace(spec: str) -> ModelCard:
    """The card that the workspace states for a spec as tables have it; empty if it has none.

    Raises:
        IntraBenchError: as of `stated_here`.
    """
    cards = stated_here()
    return cards.get(specs.comparable(spec), ModelCard()) if cards else ModelCard()


def stated_here() -> dict[str, ModelCard]:
    """The cards that the workspace states under ``[models."SPEC"]``, by `comparable` spec.

    Raises:
        IntraBenchError: its settings are wrong.
    """
    if (found := workspace.current()) is None:
        return {}
    where = found.root / workspace.FILE
    stated = found.models.items()
    return {specs.comparable(key): _checked(card, f'{where}: [models."{key}"]') for key, card in stated}


def _checked(stated: Mapping[str, Any], where: str) -> ModelCard:
    for name, text in stated.items():
        if name not in _TYPES or not isinstance(text, str):
            raise IntraBenchError(f"{where} has {name} = {text!r}; give texts as {', '.join(_TYPES)}")
    card = ModelCard(**stated)
    if card.problem:
        raise IntraBenchError(f"{where}: {card.problem}")
    return card


def card_from(stated: Mapping[str, Any]) -> ModelCard:
    """The card that a record has, which may be somebody else's; empty if something is wrong with it."""
    names = [field.name for field in fields(ModelCard)]
    texts = {name: stated[name] for name in names if isinstance(stated.get(name), str)}
    card = ModelCard(**texts)
    return ModelCard() if card.problem else card
