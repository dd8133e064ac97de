"""Rows of published tables, each as a prompter that can be run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from intrabench.specs.specs import parse, split

if TYPE_CHECKING:
    from intrabench.prompts import Abilities, PromptKind


@dataclass(frozen=True)
class Row:
    """One row of a published table.

    name: as printed. table: its number, None if it was not printed. prompter: the full spec that it means. dims: 2 for
    models that answer slice by slice, 3 for those that answer the volume, None for both. kind: the kind of prompts of
    the first turn. note: our decisions, and differences from how the published numbers were made. unprompted: it is
    only for models that also answer without prompts.
    """

    name: str
    table: int | None
    prompter: str
    dims: Literal[2, 3] | None
    kind: PromptKind = "point"
    note: str = ""
    unprompted: bool = False

    @property
    def needs(self) -> frozenset[PromptKind]:
        """The prompts that a model must take without adaptation: the first ones, and points if corrections follow."""
        corrections: set[PromptKind] = {"point"} if len(split(self.prompter)) > 1 else set()
        return frozenset({self.kind, *corrections})

    @property
    def drops(self) -> bool:
        """Whether corrections are given without the earlier prompts, so that a model must build on its last answer."""
        return any(parse(part)[1].get("previous") == "drop" for part in split(self.prompter))

    def suits(self, abilities: Abilities) -> bool:
        """Whether a model with these abilities belongs in the row."""
        if (self.drops and not abilities.builds_on_mask) or (self.unprompted and not abilities.unprompted):
            return False
        return self.dims in (None, abilities.dims) and self.needs <= abilities.accepts
