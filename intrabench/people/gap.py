"""How real the simulated user is: people and robots that prompted the same model on the same targets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from intrabench.clickability.click_metrics import BOOTSTRAPS, ks, pl1, wd
from intrabench.effort import SECONDS
from intrabench.errors import IntraBenchError, several
from intrabench.mask import Mask
from intrabench.people.annotating.log import read_actions
from intrabench.people.nearness import nearness
from intrabench.people.places import depth_mm
from intrabench.people.playback import Playback, StoredSession
from intrabench.prompters.errors import Errors, deepest
from intrabench.prompters.human import Human
from intrabench.randomness import stream
from intrabench.results import labels
from intrabench.results.current import current
from intrabench.results.selection import EVERYTHING, Selection
from intrabench.results.statuses import ANSWERED
from intrabench.specs.specs import parse
from intrabench.statistics.aggregate import AGGREGATIONS
from intrabench.statistics.coverage import unequal
from intrabench.statistics.infinite import both_infinite
from intrabench.statistics.notes import mean_of
from intrabench.statistics.resample import FEW, as_one_dataset, difference, intervals
from intrabench.statistics.scores import metric as scale_of
from intrabench.statistics.scores import scores
from intrabench.statistics.soundness import check_mixable, some_rows
from intrabench.statistics.steps import steps
from intrabench.target import Target

AT_INTERACTIONS, AT_SECONDS = (1, 3, 5, 10), (10, 30, 60)
"""The efforts at which scores are compared."""

EVERYBODY = "all people"
"""Who stands in the lines that are of all people together; no pseudonym has a space."""
UNNAMED = "recorded people"
"""And in lines of those of whom a recording does not say who they are."""

_LINE = ("model", "robot", "measure", "rater")

_CLICKED = {
    (stage, column): f"{stage}: {what}"
    for stage in ("first clicks", "corrections")
    for column, what in (("depth", "mm inside"), ("centre", "mm from centre"), ("wrong", "share beside"))
}


@dataclass(frozen=True)
class Gap:
    """frame: a line per model, prompter, measure and `rater`, with means over targets of `people` and `simulated` user.

    `rater` is `EVERYBODY`, or one of them. `difference` is paired (simulated minus people), with its interval of 95 %
    over patients, `low` to `high`, and the numbers of targets and patients; `of_targets` is the number of targets that
    any line of the model has of the measure. Where `infinite` differences are among them, `of` how many, `others` is
    the mean over the others; what is infinite on both sides has no difference, and is counted in `both_infinite`.
    Distances between clicks have no two sides, only the difference. `unit` is that of the measure, empty for scores and
    shares. ranking: simulated users by `nearness`. notes: what to know of both.
    """

    frame: pl.DataFrame
    ranking: pl.DataFrame
    notes: Sequence[str]


def gap(folders: Sequence[Path], metric: str = "dice", selection: Selection = EVERYTHING) -> Gap:
    """Compare all simulated users with people, from the results folders together. selection: as of `matched_rows`.

    Raises:
        IntraBenchError: as of `matched_rows`; or the metric is unknown.
    """
    found = matched_rows(folders, selection, metric)
    playbacks = [Playback(folder) for folder in folders]
    clicked = pl.concat(
        [clicks(playback.sessions(found.of(playback.root))) for playback in playbacks], how="vertical"
    ).join(
        found.rows.unique("session").select("session", "model", "robot", "rater", *TARGET, "patient"),
        on="session",
        maintain_order="left",
    )
    scored = _scored(found, metric)
    units = [_paired(scored), *_clicked(clicked)]
    people = pl.col("robot").is_null()
    apart = distances(clicked.filter(people), clicked.filter(~people))
    together = pl.concat([one for one in (*units, apart) if one.height], how="diagonal_relaxed")
    compared = _compared(together, _units(metric))
    ranking, left_out = nearness(scored, TARGET)
    if ranking.is_empty():
        left_out = [f"no target has {metric} of people and of a simulated user, so scores are not compared"]
    notes = [*found.notes, *sorted(set().union(*(one.problems for one in playbacks))), *left_out]
    few = pl.concat([compared["patients"], ranking["patients"]])
    return Gap(compared, ranking, [*notes, *_notes(found, clicked, apart, few.filter(few < FEW))])


def _units(name: str) -> dict[str, str]:
    """All measures in their order, with their units."""
    clicked = {what: "" if column == "wrong" else "mm" for (_, column), what in _CLICKED.items()}
    return dict.fromkeys(_efforts(name), scale_of(name).unit) | clicked | dict.fromkeys(APART, "")


def _scored(found: MatchedRows, name: str) -> pl.DataFrame:
    """A line per session and effort: the value then."""
    played = steps(found.rows, name)
    frames = [
        played.scored(played.at(against, at)).with_columns(measure=pl.lit(what), against=pl.lit(against))
        for what, (against, at) in _efforts(name).items()
    ]
    columns = ("session", "model", "robot", "rater", *TARGET, "patient", "against", "measure", "value")
    return pl.concat(frames).select(columns).drop_nulls("value")


def _efforts(name: str) -> dict[str, tuple[str, float]]:
    """The measures of a metric, each with its kind and amount of effort."""
    interactions = {f"{name} after {several(n, 'interaction')}": ("interactions", float(n)) for n in AT_INTERACTIONS}
    return interactions | {f"{name} after {n} s": ("seconds_human", float(n)) for n in AT_SECONDS}


def _clicked(clicked: pl.DataFrame) -> list[pl.DataFrame]:
    """The same of what is measured on clicks; distances are those of positive first clicks and of corrections."""
    found = []
    with_distance = clicked.filter(pl.col("positive") | (pl.col("stage") == "corrections"))
    for (stage, column), what in _CLICKED.items():
        of = (clicked if column == "wrong" else with_distance).filter(stage=stage)
        found.append(_paired(of.with_columns(measure=pl.lit(what), value=pl.col(column)).drop_nulls("value")))
    return found


def _paired(values: pl.DataFrame) -> pl.DataFrame:
    """Means of `people`, all and each, and of each robot (`simulated`) on the same targets; `value`: the difference."""
    keys = ["model", *TARGET, "measure"]
    persons = values.filter(pl.col("robot").is_null())
    everybody = pl.concat([persons.with_columns(rater=pl.lit(EVERYBODY)), persons])
    people = everybody.group_by(*keys, "rater").agg(people=pl.col("value").mean())
    robots = values.filter(pl.col("robot").is_not_null()).group_by(*keys, "robot", "patient")
    both = robots.agg(simulated=pl.col("value").mean()).join(people, on=keys)
    both = both.sort(*keys, "robot", "rater")  # sums are the same to the last bit, whenever asked
    values_apart = difference(both["simulated"].to_numpy(), both["people"].to_numpy())
    known = both.with_columns(value=pl.Series(values_apart, dtype=pl.Float64))
    return known.with_columns(value=pl.when(~both_infinite("simulated", "people")).then("value"))


def _compared(units: pl.DataFrame, measures: Mapping[str, str]) -> pl.DataFrame:
    """Means over targets with intervals over patients, of all data sets together. measures: in their order."""
    for name in ("people", "simulated"):
        if name not in units.columns:
            units = units.with_columns(pl.lit(None, pl.Float64).alias(name))
    sides = units.group_by(_LINE).agg(
        pl.col("people", "simulated").mean(), both_infinite=pl.col("value").is_null().sum()
    )
    flat = as_one_dataset(units).with_columns(failed=False, not_applicable=False)
    found = intervals(flat, _LINE, AGGREGATIONS["pooled"]).filter(pl.col("dataset") == "all")
    every = units.group_by("model", "measure").agg(of_targets=pl.struct(TARGET).n_unique())
    places = pl.col("measure").replace_strict({name: place for place, name in enumerate(measures)})
    found = found.join(sides, on=_LINE).join(every, on=["model", "measure"])
    found = found.sort("model", "robot", places, pl.col("rater") != EVERYBODY, "rater")
    found = found.rename({"robot": "prompter", "value": "difference"})
    return found.select(
        *("model", "prompter", "measure", pl.col("measure").replace_strict(measures).alias("unit"), "rater"),
        *("people", "simulated", "difference", "low", "high", "targets", "of_targets"),
        *("patients", "infinite", "of", "others", "both_infinite"),
    )


def _notes(found: MatchedRows, clicked: pl.DataFrame, apart: pl.DataFrame, few: pl.Series) -> list[str]:
    """few: the numbers of patients that are too small for intervals."""
    notes = []
    if len(few):
        least, most = int(few.min()), int(few.max())  # type: ignore[arg-type]
        count = several(most, "patient") if least == most else f"{least} to {most} patients"
        notes.append(f"lines of fewer than {FEW} patients have no interval; take them as anecdotes: {count}")
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


TARGET = ("dataset", "case", "label", "target", "target_voxels")
"""Columns that two sessions on the same reference share."""

ROBOT = (
    pl.col("prompter") + pl.when(pl.col("effort") != SECONDS).then(pl.format(" ({})", "effort")).otherwise(pl.lit(""))
).alias("robot")
"""The name of a simulated user, with its table of seconds where that is another one."""

_RECORDED = pl.col("prompter").str.starts_with("recorded:")


@dataclass(frozen=True)
class MatchedRows:
    """Rows of both sides, with the columns `model` (as people call it), `robot` (null for people) and `folder`.

    `rater` is who prompted, null for robots. notes: sentences on what they are.
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


def matched_rows(folders: Sequence[Path], selection: Selection = EVERYTHING, metric: str = "dice") -> MatchedRows:
    """The rows of targets that people and simulated users did with the same model, from all folders together.

    Where people prompted a model themselves, what they gave to another one is not taken from `recorded`. selection: of
    which sessions; its prompters are simulated users.

    Raises:
        IntraBenchError: no person did anything, no simulated user did the same, or protocols cannot be combined.
    """
    rows, notes = _together(folders, replace(selection, prompter=()))
    persons = rows.filter(labels.BY_PEOPLE | _RECORDED)
    if persons.is_empty():
        raise IntraBenchError(
            f"{_listed(folders)} has no sessions of people; `intrabench annotate` makes some, and `intrabench run "
            "--prompter recorded:FOLDER` gives them to other models"
        )
    key = ["model", *TARGET]
    live = rows.filter(labels.BY_PEOPLE)
    recorded = rows.filter(_RECORDED).join(live, on=key, how="anti")
    who = {prompter: _rater(prompter) for prompter in persons["prompter"].unique()}
    persons = pl.concat([live, recorded]).with_columns(
        robot=pl.lit(None, pl.String), rater=pl.col("prompter").replace_strict(who)
    )
    simulated = rows.filter(~labels.BY_PEOPLE & ~_RECORDED)
    if selection.prompter and len(simulated):
        chosen = Selection(prompter=selection.prompter).of(simulated.with_columns(model="spec"), *folders)
        simulated = simulated.join(chosen, on="session", how="semi", maintain_order="left")
    robots = simulated.join(persons, on=key, how="semi").with_columns(ROBOT)
    if robots.is_empty():
        models = ", ".join(persons["spec"].unique().sort())
        raise IntraBenchError(
            f"no simulated user did what people did in {_listed(folders)} with {models}; run some, such as `intrabench "
            "run --prompter points_volume+click_center --hand FILE`, on the same data set and give that folder, too"
        )
    both = pl.concat([persons.join(robots, on=key, how="semi"), robots], how="diagonal")
    check_mixable(both, metric)
    ends = recorded.filter(pl.col("adapted").str.contains("diverged:"))["session"].n_unique()
    notes += [f"{several(ends, 'recorded session')} ended where a correction fitted no more"] if ends else []
    few = unequal(scores(robots, metric), ["model", "robot"])
    notes += [
        f"{robot} with {name}: {mean_of(note)} (of {dataset})"
        for name, robot, dataset, note in few.select("model", "robot", "dataset", "note").sort(pl.all()).iter_rows()
    ]
    return MatchedRows(both, [*filter(None, [selection.words]), *notes])


def _rater(prompter: str) -> str:
    """The pseudonym of the person of a prompter."""
    name, parameters = parse(prompter)
    return parameters.get("rater", Human.rater if name == Human.name else UNNAMED)


def _together(folders: Sequence[Path], selection: Selection) -> tuple[pl.DataFrame, list[str]]:
    """Rows of all folders, each session once, with measured seconds of people where these are known."""
    found, notes = list[pl.DataFrame](), list[str]()
    for folder in folders:
        rows, left_out = current(some_rows(folder), root=folder)
        rows = rows.filter(pl.col("status").is_in(["not_applicable"]).not_())
        for earlier in found:
            rows = rows.join(earlier, on="session", how="anti")
        found.append(_timed(rows, read_actions(folder)).with_columns(folder=pl.lit(str(folder))))
        notes += left_out
    rows = selection.of(pl.concat(found, how="diagonal_relaxed"), *folders)
    rows = rows.with_columns(spec="model").with_columns(labels.MODEL)
    persons = (
        rows.filter(labels.BY_PEOPLE, pl.col("status").is_in(ANSWERED))
        .group_by("session")
        .agg(pl.col("measured").all())
    )
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
    # Added up before turns that were taken back are dropped (they have no round): their seconds count with the next
    # turn.
    spent = spent.sort("session", "event").with_columns(pl.col("seconds").cum_sum().over("session").alias("_took"))
    spent = spent.drop_nulls("round").select("session", "round", "_took")
    joined = rows.join(spent, on=["session", "round"], how="left", maintain_order="left")
    measured = pl.col("_took").is_not_null()
    seconds = pl.coalesce("_took", "seconds_human")
    return joined.with_columns(seconds_human=seconds, measured=measured).drop("_took")


def _listed(folders: Sequence[Path]) -> str:
    return ", ".join(map(str, folders))


CLICKS: dict[str, Any] = {
    **{"session": pl.String, "plane": pl.String, "stage": pl.String, "number": pl.Int64, "positive": pl.Boolean},
    **{"depth": pl.Float64, "centre": pl.Float64, "wrong": pl.Float64},
    **{"y": pl.Int64, "x": pl.Int64, "height": pl.Int64, "width": pl.Int64},
}
"""A line per click. stage: ``first clicks``, before any answer, or ``corrections``. number: among those of the session.
depth: mm from the boundary of what it should hit, negative outside, null where there is no such thing. centre: mm from
the deepest voxel of the component that it hit, else null. wrong: 1 if it lies beside what it should hit. height, width:
of the target's box."""

APART = ("first clicks: PL1", "first clicks: WD", "first clicks: KS")
"""Distances between clicks, of Table 3 of RClicks (`intrabench.clickability.click_metrics`)."""


def clicks(sessions: Iterable[StoredSession]) -> pl.DataFrame:
    """The clicks of sessions; those of corrections only where the answers before them are stored."""
    return pl.DataFrame([line for played in sessions for line in _of_session(played)], schema=CLICKS)


def distances(people: pl.DataFrame, robots: pl.DataFrame) -> pl.DataFrame:
    """How far the first clicks of people and of a robot are apart, for each target with clicks of two people or more.

    Both have the columns of `CLICKS`, `model`, `robot` and those of `TARGET`. In the slice only: y and x; so both must
    have read the scan in the same plane. As many clicks as those of people are drawn from those of the robot (its
    seeds), repeatedly. `measure` is one of `APART`.
    """
    lines = []
    firsts = [frame.filter(pl.col("positive"), stage="first clicks").sort("number") for frame in (people, robots)]
    theirs, ours = (frame.unique("session", keep="first").sort("session") for frame in firsts)
    pools = {key: _places(frame) for key, frame in theirs.group_by("plane", *TARGET)}
    for (plane, *key), frame in ours.group_by("plane", "model", "robot", *TARGET, maintain_order=True):
        persons = pools.get((plane, *key[2:]))
        if persons is None or len(persons) < 2:
            continue
        box = np.array(frame.select("height", "width").row(0), np.float64)
        random = stream("gap", *map(str, key))
        pool = _places(frame)
        drawn = pool[random.integers(len(pool), size=(BOOTSTRAPS, len(persons)))]
        where = dict(zip(("model", "robot", *TARGET), key, strict=True))
        where |= {"patient": frame["patient"][0], "rater": EVERYBODY}
        values = pl1(drawn, persons, box), wd(drawn, persons, box), _ks(drawn, persons)
        lines += [{**where, "measure": name, "value": value} for name, value in zip(APART, values, strict=True)]
    return pl.DataFrame(lines)


def _ks(drawn: NDArray[np.int64], persons: NDArray[np.int64]) -> float:
    with np.errstate(invalid="ignore", divide="ignore"):
        return ks(drawn, persons)


def _places(frame: pl.DataFrame) -> NDArray[np.int64]:
    return np.asarray(frame.select("y", "x").to_numpy(), np.int64)


def _of_session(played: StoredSession) -> Iterator[dict[str, Any]]:
    target = played.target
    y0, x0, y1, x1 = (target.mask.box[axis] for axis in (1, 2, 4, 5))
    number = 0
    for round, turns in sorted(played.rounds.items()):
        points = np.vstack([turn.prompts.clicked_points for turn in turns])
        if not len(points) or (round > 0 and round > len(played.answers)):
            continue
        errors = None if round == 0 else Errors.of(target, played.answers[round - 1])
        for label in (1, 0):
            clicks = points[points[:, 3] == label][:, :3]
            for place, found in zip(clicks, _hits(target, errors, label, clicks), strict=True):
                about = {"session": played.row["session"], "plane": played.plane}
                about |= {"stage": "corrections" if round else "first clicks"}
                spot = {"y": place[1], "x": place[2], "height": y1 - y0, "width": x1 - x0}
                yield {**about, "number": number, "positive": label == 1, **found, **spot}
                number += 1


def _hits(target: Target, errors: Errors | None, label: int, voxels: NDArray[np.int64]) -> list[dict[str, Any]]:
    """`depth`, `centre` and `wrong` of clicks with one label."""
    if not len(voxels):
        return []
    if errors is None and not label:  # background, of which nobody knows the centre
        depth = -depth_mm(target.mask, voxels, target.spacing_mm)
        return [{"depth": float(one), "centre": None, "wrong": float(one < 0)} for one in depth]
    region = target.mask if errors is None else errors.negatives if label else errors.positives
    depth = depth_mm(region, voxels, target.spacing_mm)
    return [
        {
            "depth": float(one) if np.isfinite(one) else None,
            "centre": _from_centre(region, voxel, target.spacing_mm) if one > 0 else None,
            "wrong": float(one <= 0),
        }
        for one, voxel in zip(depth, voxels, strict=True)
    ]


def _from_centre(region: Mask, voxel: NDArray[np.int64], spacing_mm: tuple[float, float, float]) -> float:
    """The distance in mm of a voxel of a mask to the deepest voxel of its 26-connected component."""
    import cc3d

    parts = cc3d.connected_components(np.pad(region.array, 1), connectivity=26)[1:-1, 1:-1, 1:-1]
    here = parts == parts[tuple(voxel - np.array(region.start))]
    centre = deepest(Mask.of(here, region.start), spacing_mm)[0]
    return float(np.linalg.norm((voxel - np.array(centre)) * np.array(spacing_mm)))
