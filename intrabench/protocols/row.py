"""A row of a published table, as a prompter that can be run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from intrabench.prompts import Abilities, PromptKind
from intrabench.specs import split


@dataclass(frozen=True)
class Row:
    """One row of a published table.

    name: as printed. table: its number. prompter: the full spec that it means. dims: 2 for models that answer slice by
    slice, 3 for those that answer the volume, None for both. kind: what the first turn gives. note: what was decided,
    and where the published numbers come from something else.
    """

    name: str
    table: int
    prompter: str
    dims: Literal[2, 3] | None
    kind: PromptKind = "point"
    note: str = ""

    @property
    def needs(self) -> frozenset[PromptKind]:
        """What a model takes itself, without adaptation: the first prompts, and points where corrections follow."""
        corrections: set[PromptKind] = {"point"} if len(split(self.prompter)) > 1 else set()
        return frozenset({self.kind, *corrections})

    def suits(self, abilities: Abilities) -> bool:
        """Whether a model with these abilities belongs in the row."""
        return self.dims in (None, abilities.dims) and self.needs <= abilities.accepts
