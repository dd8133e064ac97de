"""Failures by their causes. Every output that lists or counts what went wrong groups it here, by `errors.cause`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from intrabench.errors import cause

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Group:
    """Sentences about one cause. count: of what they are about. error: one of them; distinct: how many differ."""

    cause: str
    count: int
    error: str
    distinct: int

    @property
    def sentence(self) -> str:
        """The sentence if all are the same, else the masked one."""
        return self.error if self.distinct == 1 else self.cause

    @property
    def example(self) -> str:
        """One of the sentences as it is, if they differ."""
        return self.error if self.distinct > 1 else ""

    def lines(self, beginning: str) -> list[str]:
        """The sentence after its beginning, and an example if sentences differ."""
        more = [f"  for example: {self.example}"] if self.example else []
        return [f"{beginning}: {self.sentence}", *more]


def by_cause(counts: Mapping[str, int]) -> list[Group]:
    """Counted sentences as groups, the most frequent first, equal ones in their order."""
    found: dict[str, dict[str, int]] = {}
    for error, count in counts.items():
        found.setdefault(cause(error), {})[error] = count
    groups = [Group(one, sum(errors.values()), min(errors), len(errors)) for one, errors in found.items()]
    return sorted(groups, key=lambda group: -group.count)


def with_causes(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows with a column `cause` beside their `error`."""
    import polars as pl

    errors: Iterable[str] = rows["error"].drop_nulls().unique()
    causes = {error: cause(error) for error in errors}
    return rows.with_columns(cause=pl.col("error").replace_strict(causes, default=None, return_dtype=pl.String))
