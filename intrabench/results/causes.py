"""The causes of failures: sentences that differ only in numbers, paths and addresses are about the same cause.

Every output that lists or counts what went wrong groups it here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import polars as pl

from intrabench.errors import MOST

_PLACE = re.compile(r", in line \d+ of \S+$")
"""Where in the user's code it happened, as `errors.in_words` ends its sentences: two lines are two causes."""

_MASKS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\b[a-z][a-z0-9+.-]{0,20}+://[^\s'\"()<>,;]*[^\s'\"()<>,;:.]"), "ADDRESS"),
    (re.compile(r"(['\"])(?:~|\.{1,2}|[A-Za-z]:)?[/\\][^'\"]*\1"), "PATH"),  # quoted, perhaps with spaces
    (re.compile(r"(?<![\w/.])(?:~|\.{1,2}|[A-Za-z]:)?[/\\][^\s'\"()<>,;]*[^\s'\"()<>,;:.]"), "PATH"),
    (re.compile(r"(?<![\w/.+-])[\w.+-]++(?:/[\w.+-]++)*/[\w.+-]*\.\w++(?![\w/])"), "PATH"),  # relative, with a suffix
    (re.compile(r"(?<![\w/.+-])[\w.+-]++(?:/\.*+[\w+-]++(?:\.++[\w+-]++)*+){2,}+"), "PATH"),
    (re.compile(r"\b0x[0-9a-fA-F]+\b"), "ADDRESS"),  # of memory
    (re.compile(r"\b(?=[0-9a-f-]{0,35}[0-9])[0-9a-f]{8,}(?:-[0-9a-f]{4,})*\b"), "N"),  # keys and hashes
    (re.compile(r"(?:(?<!\w)[-+])?\d+(?:[.,:]\d+)*(?:e[-+]?\d+)?"), "N"),
)


def cause(error: str) -> str:
    """The sentence with N for numbers, PATH for paths, and ADDRESS for addresses of networks and of memory.

    What ``--trust`` would allow stays as it is: who allows it must see all of it, not one example.
    """
    if "--trust" in error:
        return error
    place = _PLACE.search(error)
    text = error[: place.start() if place else MOST]  # anybody may have written it
    for pattern, word in _MASKS:
        text = pattern.sub(word, text)
    return text + (place[0] if place else "")


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
    errors: Iterable[str] = rows["error"].drop_nulls().unique()
    causes = {error: cause(error) for error in errors}
    return rows.with_columns(cause=pl.col("error").replace_strict(causes, default=None, return_dtype=pl.String))
