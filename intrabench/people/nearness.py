"""Which simulated user is nearest to people: how far their scores are apart on the same target at equal effort."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from intrabench.statistics.aggregate import AGGREGATIONS
from intrabench.statistics.coverage import on_shared
from intrabench.statistics.evaluation import NOTHING_SHARED
from intrabench.statistics.ranking import ranking
from intrabench.statistics.resample import as_one_dataset, difference, intervals

AMONG = "people among themselves"
"""What stands beside the simulated users, without a rank: sessions of two people on the same target."""

_LINE = ("model", "against")
_POOLED = AGGREGATIONS["pooled"]
_SCHEMA = {
    **{"model": pl.String, "against": pl.String, "rank": pl.Int64, "rank_low": pl.Int64, "rank_high": pl.Int64},
    **{"prompter": pl.String, "apart": pl.Float64, "low": pl.Float64, "high": pl.Float64},
    **{"targets": pl.UInt32, "patients": pl.UInt32, "infinite": pl.UInt32, "of": pl.UInt32, "others": pl.Float64},
}


def nearness(values: pl.DataFrame, reference: Sequence[str]) -> tuple[pl.DataFrame, list[str]]:
    """The simulated users of each model, the nearest to people first; and sentences on what is not compared.

    `apart` is the mean absolute difference of the scores of two sessions, one of either side, on the same target after
    the same effort: the mean over efforts and pairs of sessions, then over the targets that all simulated users of a
    model share (`on_shared`). So more sessions make nobody nearer. `low` to `high` is its interval of 95 %, and
    `rank_low` to `rank_high` that of the rank, over patients. Where `infinite` of the targets, `of` how many, are
    infinitely apart, `others` is the mean over the others. Below them `AMONG`, as far as two people did a target.

    values: a line per session and effort: `model`, `robot` and `rater` (one of them null), `patient`, `session`,
    `against` (kind of effort), `measure` (which effort), `value`. reference: columns of the target.
    """
    found, notes = [pl.DataFrame(schema=_SCHEMA)], dict[str, None]()
    people = pl.col("robot").is_null()
    apart = _apart(values.filter(~people), values.filter(people), reference)
    among = _apart(values.filter(people), values.filter(people), reference)
    for (model, against), part in apart.partition_by(_LINE, as_dict=True, maintain_order=True).items():
        kept, sentences = on_shared(part, part, ["robot"])
        if kept.is_empty():
            sentences = [NOTHING_SHARED]
        else:
            own = among.filter(model=model, against=against)
            own = own.join(kept.select(reference).unique(), on=list(reference), how="semi", nulls_equal=True)
            found.append(_ranked(kept, own).with_columns(model=pl.lit(model), against=pl.lit(against)))
        notes |= dict.fromkeys(f"{model}: {sentence}" for sentence in sentences)
    return pl.concat([one.select(*_SCHEMA).cast(_SCHEMA) for one in found]), list(notes)  # type: ignore[arg-type]


def _apart(robots: pl.DataFrame, people: pl.DataFrame, reference: Sequence[str]) -> pl.DataFrame:
    """How far sessions of two sides, or of two people, are apart: a line per simulated user, kind of effort, target."""
    keys = ["model", "against", "measure", *reference]
    pairs = robots.join(people.select(*keys, "rater", other="value"), on=keys, nulls_equal=True, suffix="_other")
    pairs = pairs.filter(pl.col("rater").is_null() | (pl.col("rater") < pl.col("rater_other")))
    apart = np.abs(difference(pairs["value"].to_numpy(), pairs["other"].to_numpy()))
    each = pairs.with_columns(pl.col("robot").fill_null(AMONG), value=pl.Series(apart, dtype=pl.Float64))
    found = each.group_by("model", "against", "robot", "patient", *reference).agg(pl.col("value").mean())
    found = found.with_columns(protocol=pl.lit(""))  # of whatever protocol, as `on_shared` has to know
    return found.sort("model", "against", "robot", *reference)  # sums are the same to the last bit, whenever asked


def _ranked(robots: pl.DataFrame, among: pl.DataFrame) -> pl.DataFrame:
    """The lines of one model and kind of effort; both are of the same targets, as far as people have them."""
    flat = as_one_dataset(pl.concat([robots, among])).with_columns(failed=False, not_applicable=False)
    found = intervals(flat, ["robot"], _POOLED).filter(pl.col("dataset") == "all")
    ranked = ranking(flat.filter(pl.col("robot") != AMONG), ["robot"], _POOLED, best="low").table
    ranks = ranked.select("robot", "rank", rank_low="low", rank_high="high")
    found = found.join(ranks, on="robot", how="left").sort("rank", "robot", nulls_last=True)
    return found.rename({"robot": "prompter", "value": "apart"})
