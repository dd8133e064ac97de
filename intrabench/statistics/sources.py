"""Sources of variation: what differs between sessions that are equal otherwise, so that their scores have a spread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import polars as pl

from intrabench.errors import IntraBenchError
from intrabench.specs.specs import nearest, parse, quoted, split
from intrabench.statistics.scores import TARGET

_CLICKER, _BASELINE, _HAND = "clickability", "click_deepest", "hand"


@dataclass(frozen=True)
class Variant:
    """A prompter as one of those that differ in the source only.

    common: its spec without what differs, which all of them share. base: the spec of what they are compared with; empty
    if there is none. level: which of them it is.
    """

    common: str
    base: str
    level: int | str


@dataclass(frozen=True)
class Source:
    """A source of variation.

    level: what one level is called. variant: of a prompter; None for those that do not vary. command: options of runs
    that make several levels. base: what they are compared with, in words; empty: nothing. complete: the levels are all
    that there are, from the least to the most probable one, and each is the mean over its seeds; else every seed is a
    level of its own, and they are a sample.
    """

    name: str
    level: str
    variant: Callable[[str], Variant | None]
    command: str
    base: str = ""
    complete: bool = False


def group_of(prompter: str) -> Variant | None:
    """The group from which a prompter's clicks are drawn; None for other prompters.

    The base is the baseline clicker, which clicks at the deepest place.
    """
    parts = split(prompter)
    for place, part in enumerate(parts):
        name, parameters = parse(part)
        if name == _CLICKER and parameters.get("group", "all").isdigit():
            group = int(parameters.pop("group"))
            shared = {key: value for key, value in parameters.items() if key in ("previous", "space")}
            others = _spec(name, parameters), _spec(_BASELINE, shared)
            clicks, base = ("+".join([*parts[:place], other, *parts[place + 1 :]]) for other in others)
            return Variant(clicks, base, group)
    return None


def hand_of(prompter: str) -> Variant | None:
    """The errors of a prompter's hand; None if it makes none. The base is the same prompter without errors."""
    *others, last = split(prompter)
    if not others or parse(last)[0] != _HAND:
        return None
    exact = "+".join(others)
    return Variant(exact, exact, last)


SOURCES = {
    one.name: one
    for one in (
        Source("seed", "seed", lambda prompter: Variant(prompter, "", ""), "--seed 0..9"),
        Source("hand", "draw", hand_of, "--hand jitter_mm=2 --seed 0..9", "without errors"),
        Source(
            *("group", "group", group_of, "--prompter clickability:group=1 --prompter clickability:group=10"),
            base="the baseline clicker",
            complete=True,
        ),
    )
}


def source(name: str) -> Source:
    """The source called `name`; an error suggests the nearest name."""
    if name not in SOURCES:
        raise IntraBenchError(f"there is no spread over {name!r}{nearest(name, SOURCES)}; give {', '.join(SOURCES)}")
    return SOURCES[name]


def varied(rows: pl.DataFrame, of: Source, *, base: bool = False) -> pl.DataFrame:
    """The rows of prompters that vary, or of their bases (base), with the ``common`` spec and the ``level``.

    A base may be that of several prompters, and is there once for each. Its level is null.
    """
    variants = [(name, one) for name in rows["prompter"].unique().sort() if (one := of.variant(name))]
    found = [(one.base, one.common, None) if base else (name, one.common, str(one.level)) for name, one in variants]
    names = pl.DataFrame(
        list(dict.fromkeys(found)),
        schema={"prompter": pl.String, "common": pl.String, "level": pl.String},
        orient="row",
    )
    return rows.join(names, on="prompter", how="inner", maintain_order="left")


def levels(scored: pl.DataFrame, by: Sequence[str], of: Source) -> pl.DataFrame:
    """The `value` of each target at each ``level`` of a source, or of the base (null), with its number of ``seeds``.

    scored: `scores`; sessions without a value are left out. by: the columns of a line; ``prompter`` among them is the
    common spec.
    """
    both = pl.concat([varied(scored, of), varied(scored, of, base=True)]).drop_nulls("value")
    level = pl.col("level") if of.complete else pl.format("{} {}", "level", "seed")
    return (
        both.with_columns(level=level, prompter="common")
        .group_by(*dict.fromkeys([*by, *TARGET, "patient"]), "level")
        .agg(pl.col("value").mean(), seeds=pl.col("seed").n_unique(), failed=pl.col("failed").any())
    )


def _spec(name: str, parameters: dict[str, str]) -> str:
    return name + (":" + ",".join(f"{key}={quoted(value)}" for key, value in parameters.items()) if parameters else "")
