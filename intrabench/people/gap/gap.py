"""What differs between people and simulated users on the same targets: Dice at equal effort, and where they click."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from intrabench.errors import several
from intrabench.people.gap.clicks import APART, clicks, distances
from intrabench.people.gap.matching import TARGET, Sides, sides
from intrabench.people.playback import Playback
from intrabench.statistics.aggregate import AGGREGATIONS
from intrabench.statistics.resample import FEW, as_one_dataset, difference, intervals
from intrabench.statistics.steps import steps

INTERACTIONS, SECONDS = (1, 3, 5, 10), (10, 30, 60)
"""The efforts at which scores are compared."""

_LINE = ("model", "robot", "measure")

_CLICKED = {
    (stage, column): f"{stage}, {what}"
    for stage in ("first clicks", "corrections")
    for column, what in (
        ("depth", "mm inside what they should hit"),
        ("centre", "mm from the centre"),
        ("wrong", "share beside what they should hit"),
    )
}


@dataclass(frozen=True)
class Gap:
    """frame: a line per model, prompter and measure, with means over targets of `people` and of the `simulated` user.

    `difference` is paired (simulated minus people), with its interval of 95 % over patients, `low` to `high`, and the
    numbers of targets and patients. Of what has no two sides, as distances between clicks, there is only this one.
    notes: what to know of it.
    """

    frame: pl.DataFrame
    notes: Sequence[str]


def gap(folders: Sequence[Path], metric: str = "dice", model: str = "") -> Gap:
    """Compare all simulated users with people, from the results folders together.

    Raises:
        IntraBenchError: as of `sides`; or the metric is unknown.
    """
    found = sides(folders, model, metric)
    playbacks = [Playback(folder) for folder in folders]
    clicked = pl.concat(
        [clicks(playback.sessions(found.of(playback.root))) for playback in playbacks], how="vertical"
    ).join(
        found.rows.unique("session").select("session", "model", "robot", *TARGET, "patient"),
        on="session",
        maintain_order="left",
    )
    units = [_scored(found, metric), *_clicked(clicked)]
    people = pl.col("robot").is_null()
    apart = distances(clicked.filter(people), clicked.filter(~people))
    together = pl.concat([one for one in (*units, apart) if one.height], how="diagonal_relaxed")
    compared = _compared(together, [*_efforts(metric), *_CLICKED.values(), *APART])
    notes = [*found.notes, *sorted(set().union(*(one.problems for one in playbacks)))]
    return Gap(compared, [*notes, *_notes(found, clicked, apart, compared)])


def _scored(found: Sides, name: str) -> pl.DataFrame:
    """A line per model, robot, effort and target: the value of both sides."""
    played = steps(found.rows, name)
    frames = [
        played.scored(played.at(against, at)).with_columns(measure=pl.lit(what))
        for what, (against, at) in _efforts(name).items()
    ]
    return _paired(pl.concat(frames).drop_nulls("value"))


def _efforts(name: str) -> dict[str, tuple[str, float]]:
    """The measures of a metric, each with its kind and amount of effort."""
    interactions = {f"{name} after {several(n, 'interaction')}": ("interactions", float(n)) for n in INTERACTIONS}
    return interactions | {f"{name} after {n} s": ("seconds_human", float(n)) for n in SECONDS}


def _clicked(clicked: pl.DataFrame) -> list[pl.DataFrame]:
    """The same of what is measured on clicks; distances are those of positive first clicks and of corrections."""
    found = []
    told = clicked.filter(pl.col("positive") | (pl.col("stage") == "corrections"))
    for (stage, column), what in _CLICKED.items():
        of = (clicked if column == "wrong" else told).filter(stage=stage)
        found.append(_paired(of.with_columns(measure=pl.lit(what), value=pl.col(column)).drop_nulls("value")))
    return found


def _paired(values: pl.DataFrame) -> pl.DataFrame:
    """Means of `people` and of each robot (`simulated`) on the same targets, and their difference, `value`."""
    keys = ["model", *TARGET, "measure"]
    means = values.group_by(*keys, "robot", "patient").agg(pl.col("value").mean())
    people = means.filter(pl.col("robot").is_null()).select(*keys, people="value")
    robots = means.filter(pl.col("robot").is_not_null()).rename({"value": "simulated"})
    both = robots.join(people, on=keys).sort(*keys, "robot")  # sums are the same to the last bit, whenever asked
    values_apart = difference(both["simulated"].to_numpy(), both["people"].to_numpy())
    return both.with_columns(value=pl.Series(values_apart, dtype=pl.Float64))


def _compared(units: pl.DataFrame, measures: Sequence[str]) -> pl.DataFrame:
    """Means over targets with intervals over patients, of all data sets together. measures: in their order."""
    for name in ("people", "simulated"):
        if name not in units.columns:
            units = units.with_columns(pl.lit(None, pl.Float64).alias(name))
    sides = units.group_by(_LINE).agg(pl.col("people", "simulated").mean())
    flat = as_one_dataset(units).with_columns(failed=False, not_applicable=False)
    found = intervals(flat, _LINE, AGGREGATIONS["pooled"]).filter(pl.col("dataset") == "all")
    places = pl.col("measure").replace_strict({name: place for place, name in enumerate(measures)})
    found = found.join(sides, on=_LINE).sort("model", "robot", places)
    found = found.rename({"robot": "prompter", "value": "difference"})
    return found.select(
        *("model", "prompter", "measure", "people", "simulated", "difference", "low", "high", "targets", "patients")
    )


def _notes(found: Sides, clicked: pl.DataFrame, apart: pl.DataFrame, compared: pl.DataFrame) -> list[str]:
    notes = []
    few = compared.filter(pl.col("patients") < FEW)
    if few.height:
        least, most = int(few["patients"].min()), int(few["patients"].max())  # type: ignore[arg-type]
        count = several(most, "patient") if least == most else f"{least} to {most} patients"
        notes.append(f"intervals need {FEW} patients or more, not {count}; take differences as anecdotes")
    robots = clicked.filter(pl.col("robot").is_not_null())
    corrected = found.rows.filter(pl.col("robot").is_not_null(), pl.col("round") > 0)
    if corrected.height and robots.filter(stage="corrections").is_empty() and robots.height:
        notes.append(
            "corrections of simulated users are not compared: run them with --save-masks, which stores answers"
        )
    if robots.height and apart.is_empty():
        notes.append("first clicks are not compared as distributions (PL1, WD, KS): no target has those of two people")
    elif apart.height:
        notes.append("PL1, WD and KS see y and x only, not on which slice a click is")
    return notes
