"""What the answers of the page are made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import polars as pl

from intrabench.reporting.page.leading_score import Lead
from intrabench.reporting.page.sentences import Names
from intrabench.statistics.budgets import AtBudgets, Budget
from intrabench.statistics.click_groups import clicks_of


@dataclass(frozen=True)
class Given:
    """What answers are made from. rows: of all `names.lines`. found: at all `budgets`. modalities: by data set. speed:
    `speeds`."""

    lead: Lead
    rows: pl.DataFrame
    names: Names
    found: AtBudgets
    budgets: Mapping[str, Sequence[Budget]]
    modalities: Mapping[str, str]
    speed: pl.DataFrame

    def noted(self, notes: Mapping[int, str]) -> Given:
        """The same with these marks at the names of lines."""
        return replace(self, names=replace(self.names, notes=notes))

    @cached_property
    def compared(self) -> set[int]:
        """The lines that are compared: groups of clicks are none that a user may choose."""
        lines = self.names.lines
        return {line for line, prompter in lines.select("line", "prompter").iter_rows() if clicks_of(prompter) is None}
