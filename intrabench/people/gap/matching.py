"""The two sides that are compared: rows of people, and rows of simulated users of the same model and targets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from intrabench.effort import SECONDS
from intrabench.errors import IntraBenchError, several
from intrabench.people.annotating.actions import read_actions
from intrabench.people.playback import ANSWERED, PEOPLE
from intrabench.results import labels
from intrabench.results.current import current
from intrabench.specs.specs import nearest
from intrabench.statistics.soundness import check_mixable, some_rows

TARGET = ("dataset", "case", "label", "target", "target_voxels")
"""Columns that two sessions on the same reference share."""

ROBOT = (
    pl.col("prompter") + pl.when(pl.col("effort") != SECONDS).then(pl.format(" ({})", "effort")).otherwise(pl.lit(""))
).alias("robot")
"""The name of a simulated user, with its table of seconds where that is another one."""

_RECORDED = pl.col("prompter").str.starts_with("recorded:")


@dataclass(frozen=True)
class Sides:
    """Rows of both sides, with the columns `model` (as people call it), `robot` (null for people) and `folder`.

    notes: sentences on what they are.
    """

    rows: pl.DataFrame
    notes: Sequence[str]

    @property
    def people(self) -> pl.DataFrame:
        """Rows of people."""
        return self.rows.filter(pl.col("robot").is_null())

    def of(self, folder: Path) -> pl.DataFrame:
        """The rows that stand in a results folder."""
        return self.rows.filter(folder=str(folder))


def sides(folders: Sequence[Path], model: str = "", metric: str = "dice") -> Sides:
    """The rows of targets that people and simulated users did with the same model, from all folders together.

    Where people prompted a model themselves, what they gave to another one is not taken from `recorded`. model: only
    this one, as tables or specs name it.

    Raises:
        IntraBenchError: no person did anything, no simulated user did the same, or protocols cannot be combined.
    """
    rows, notes = _together(folders)
    persons = rows.filter(PEOPLE | _RECORDED)
    if persons.is_empty():
        raise IntraBenchError(
            f"{_listed(folders)} has no sessions of people; `intrabench annotate` makes some, and `intrabench run "
            "--prompter recorded:FOLDER` gives them to other models"
        )
    if model:
        known = persons.select("model", "spec").unique()
        if model not in (names := [*known["model"], *known["spec"]]):
            raise IntraBenchError(
                f"nobody prompted --model {model!r}{nearest(model, names)}; give one of {', '.join(sorted({*names}))}"
            )
        rows = rows.filter((pl.col("model") == model) | (pl.col("spec") == model))
    key = ["model", *TARGET]
    own = rows.filter(PEOPLE)
    given = rows.filter(_RECORDED).join(own, on=key, how="anti")
    persons = pl.concat([own, given]).with_columns(robot=pl.lit(None, pl.String))
    robots = rows.filter(~PEOPLE & ~_RECORDED).join(persons, on=key, how="semi").with_columns(ROBOT)
    if robots.is_empty():
        models = ", ".join(persons["spec"].unique().sort())
        raise IntraBenchError(
            f"no simulated user did what people did in {_listed(folders)} with {models}; run some, such as `intrabench "
            "run --prompter points_volume+click_center --hand FILE`, on the same data set and give that folder, too"
        )
    both = pl.concat([persons.join(robots, on=key, how="semi"), robots])
    check_mixable(both, metric)
    ends = given.filter(pl.col("adapted").str.contains("diverged:"))["session"].n_unique()
    notes += [f"{several(ends, 'recorded session')} ended where a correction fitted no more"] if ends else []
    return Sides(both, notes)


def _together(folders: Sequence[Path]) -> tuple[pl.DataFrame, list[str]]:
    """Rows of all folders, each session once, with measured seconds of people where these are known."""
    found, notes = list[pl.DataFrame](), list[str]()
    for folder in folders:
        rows, left_out = current(some_rows(folder))
        rows = rows.filter(pl.col("status").is_in(["not_applicable"]).not_())
        for earlier in found:
            rows = rows.join(earlier, on="session", how="anti")
        found.append(_timed(rows, read_actions(folder)).with_columns(folder=pl.lit(str(folder))))
        notes += left_out
    rows = pl.concat(found, how="diagonal_relaxed").with_columns(spec="model").with_columns(labels.MODEL)
    persons = rows.filter(PEOPLE, pl.col("status").is_in(ANSWERED)).group_by("session").agg(pl.col("measured").all())
    if persons.height:
        count = int(persons["measured"].sum())
        notes.append(
            f"seconds of people are measured in {count} of {several(persons.height, 'session')}, with what they took "
            "back, and without waiting for the model; all others are estimates of the effort table"
        )
    return rows, notes


def _timed(rows: pl.DataFrame, actions: pl.DataFrame) -> pl.DataFrame:
    """The rows with the seconds that people really took up to each, and whether they are `measured`."""
    spent = actions.group_by("session", "event").agg(pl.col("seconds").sum(), pl.col("round").first())
    spent = spent.sort("session", "event").with_columns(pl.col("seconds").cum_sum().over("session").alias("_took"))
    spent = spent.drop_nulls("round").select("session", "round", "_took")
    joined = rows.join(spent, on=["session", "round"], how="left", maintain_order="left")
    measured = pl.col("_took").is_not_null()
    seconds = pl.coalesce("_took", "seconds_human")
    return joined.with_columns(seconds_human=seconds, measured=measured).drop("_took")


def _listed(folders: Sequence[Path]) -> str:
    return ", ".join(map(str, folders))
