"""How many sessions got other prompts than their prompter gave, or none: what the column `adapted` says, counted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl

from intrabench.results.statuses import NO_DATA
from intrabench.statistics.scores import played as played_rows
from intrabench.target import WHOLE_CASE

INAPPLICABLE = "n/a: "
"""How a note begins that says why a session is not applicable."""


_SAYS = pl.col("adapted").fill_null("") != ""
_KINDS = {"note": pl.String, "sessions": pl.UInt32, "turns": pl.UInt32, "of": pl.UInt32, "corrections": pl.UInt32}


def conversions(adapted: str) -> list[str]:
    """What happened to the prompts of a row: ``ignored,scribble->box`` is that scribbles were ignored."""
    notes = list(filter(None, adapted.split(",")))
    through = next((note for note in notes if note == "scribble->box"), "")
    last = next((note for note in notes if note == "ignored" or note.startswith("point->box")), "")
    if last and through:  # its points went the way of clicks
        notes = [note for note in notes if note not in (through, last)]
        notes.append("ignored: scribble" if last == "ignored" else last.replace("point", "scribble"))
    return sorted("ignored: click" if note == "ignored" else note.partition(":")[0] + _rest(note) for note in notes)


def _rest(note: str) -> str:
    """What follows a colon, unless it is a number, which differs from row to row."""
    _, colon, rest = note.partition(":")
    return "" if rest.strip().isdigit() else colon + rest


def adapted(rows: pl.DataFrame, by: Sequence[str], round: int | None = None, column: str = "dice") -> pl.DataFrame:
    """A line per group of `by` and `note`: in how many `sessions` `of` all, and `turns` of `corrections`.

    A note is one of `conversions`, or why sessions are not applicable (`INAPPLICABLE`); of the former, only sessions
    that count are counted. rows: as for `scores`, of which those up to `round` count, of the newest sessions with
    `column`.
    """
    if not rows.select(_SAYS.any() | (pl.col("status") == "not_applicable").any()).item():  # as nearly always
        return pl.DataFrame(schema={**{name: rows.schema[name] for name in by}, **_KINDS})
    rows = played_rows(rows, round, column).filter(pl.col("target") != WHOLE_CASE, pl.col("status") != NO_DATA)
    refused = rows.filter(pl.col("status") == "not_applicable")
    played = rows.join(refused.select("session").unique(), on="session", how="anti") if len(refused) else rows
    reason = pl.format(INAPPLICABLE + "{}", pl.col("error").fill_null("the model does not take the prompts"))
    return pl.concat(
        [
            _counted(played, _converted(played), by),
            _counted(rows, refused.with_columns(note=reason), by).with_columns(turns=pl.lit(0, pl.UInt32)),
        ]
    ).sort(*by, "note", nulls_last=True)


def _converted(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with something in `adapted`, once for each `note`."""
    noted = rows.filter(_SAYS)
    words = {text: conversions(text) for text in noted["adapted"].unique()}
    named = pl.col("adapted").replace_strict(words, return_dtype=pl.List(pl.String))
    return noted.with_columns(note=named).explode("note")


def _counted(rows: pl.DataFrame, noted: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    correction = (pl.col("round") > 0).sum()
    if noted.is_empty():  # as nearly always: groups of a million rows take long
        rows = rows.clear()
    whole = rows.group_by(by).agg(pl.col("session").n_unique().alias("of"), correction.alias("corrections"))
    found = noted.group_by(*by, "note").agg(pl.col("session").n_unique().alias("sessions"), correction.alias("turns"))
    return found.join(whole, on=list(by), nulls_equal=True)


def shares(found: Iterable[float]) -> str:
    """The least and the largest of some shares of sessions, in words."""
    low, high = min(ends := list(found)), max(ends)
    if low == 1:
        return "all sessions"
    ends_in_words = dict.fromkeys((_percent(low), _percent(high)))
    return f"{' to '.join(ends_in_words)} % of the sessions"


def _percent(part: float) -> str:
    """A share in percent; what is neither nothing nor all is not rounded to it."""
    return "<1" if 0 < part < 0.01 else ">99" if 0.99 < part < 1 else f"{100 * part:.0f}"
