"""Numbers of clicks and areas of sessions that ended before the clicks that they are of: a bound, or a guess."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from intrabench.statistics.measures import Measure, summary
from intrabench.statistics.scores import FailurePolicy
from intrabench.statistics.steps import Steps, steps
from intrabench.target import WHOLE_CASE

CUT_SHORT = "cut short: "
"""How a note begins that says so."""
_KINDS = {"note": pl.String, "of": pl.UInt32, "corrections": pl.UInt32, "sessions": pl.UInt32, "turns": pl.UInt32}


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
    told = found.filter(pl.col("sessions") > 0).with_columns(
        note=pl.lit(CUT_SHORT + measure.capped), corrections=pl.lit(0), turns=pl.lit(0)
    )
    return told.select(*by, *_KINDS).cast(_KINDS)  # type: ignore[arg-type]
