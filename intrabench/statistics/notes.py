"""What is to be noted at numbers: prompts that were converted or refused, sessions cut short, infinite values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl

from intrabench.results.statuses import NO_DATA
from intrabench.statistics.infinite import MISSED, Infinite
from intrabench.statistics.measures import Measure, summary
from intrabench.statistics.scores import FailurePolicy, one_per_image, played
from intrabench.statistics.steps import Steps, steps
from intrabench.target import WHOLE_CASE

INAPPLICABLE = "n/a: "
"""How a note begins that says why a session is not applicable."""

FEWER = "fewer targets: "
"""How a note begins that says of how many targets a mean is, ``4 of 8``, where other lines have more."""

MEAN_OF = "mean of "
"""How it begins in words."""


def mean_of(note: str) -> str:
    """A note of `FEWER` in words."""
    return f"{MEAN_OF}{note.removeprefix(FEWER)} targets that lines here have"


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
    rows = played(rows, round, column).filter(pl.col("target") != WHOLE_CASE, pl.col("status") != NO_DATA)
    rows = one_per_image(rows)
    refused = rows.filter(pl.col("status") == "not_applicable")
    taken = rows.join(refused.select("session").unique(), on="session", how="anti") if len(refused) else rows
    reason = pl.format(INAPPLICABLE + "{}", pl.col("error").fill_null("the model does not take the prompts"))
    return pl.concat(
        [
            _counted(taken, _converted(taken), by),
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


CUT_SHORT = "cut short: "
"""How a note begins that says so."""


def cut_short(
    rows: pl.DataFrame, by: Sequence[str], spec: str, round: int | None = None, policy: FailurePolicy | None = None
) -> pl.DataFrame:
    """A line per group of `by` and what is to be said of it, as `adapted` has them: sessions whose number is no fact.

    The cap of a number of clicks counts for a session that did not reach the threshold within it. If fewer clicks were
    played, perhaps it would have. spec: the metric or summary; of others than those with a cap nothing is said.
    """
    measure = summary(spec)
    rows = rows if round is None else rows.filter(pl.col("round") <= round)
    if measure is None or not measure.capped or rows.is_empty():
        return pl.DataFrame(schema={**{name: rows.schema[name] for name in by}, **_KINDS})
    return cut_short_of(steps(rows, measure.metric, policy), by, measure)


def cut_short_of(played: Steps, by: Sequence[str], measure: Measure) -> pl.DataFrame:
    """The same of sessions whose steps are known; `measure` has a cap."""
    ended = ~pl.col("failed") & (pl.col("target") != WHOLE_CASE) & pl.col("value").is_not_null()
    sessions = played.sessions.with_columns(_short=pl.Series(measure.cut_short(played)) & ended)
    found = sessions.group_by(by).agg(pl.len().alias("of"), pl.col("_short").sum().alias("sessions"))
    notes = found.filter(pl.col("sessions") > 0).with_columns(
        note=pl.lit(CUT_SHORT + measure.capped), corrections=pl.lit(0), turns=pl.lit(0)
    )
    return notes.select(*by, *_KINDS).cast(_KINDS)  # type: ignore[arg-type]


def infinite(means: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """What is to be noted at infinite means, and at those of misses, as `adapted` has it. means: with `BESIDE`."""
    found = means.filter((pl.col("infinite") > 0) | (pl.col(MISSED) > 0))
    beside = [Infinite.beside(row) for row in found.iter_rows(named=True)]
    words = pl.Series("note", [one.words() if one else one.misses for one in beside], pl.String)
    sessions, none = pl.col("infinite") + pl.col(MISSED), pl.lit(0)
    noted = found.with_columns(words, sessions=sessions, turns=none, corrections=none)
    return noted.select(*by, *_KINDS).cast(_KINDS)  # type: ignore[arg-type]
