"""Where clicks land: how deep in what they should hit, how far from its centre, and whether beside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from intrabench.clickability.click_metrics import BOOTSTRAPS, ks, pl1, wd
from intrabench.mask import Mask
from intrabench.people.gap.matching import TARGET
from intrabench.people.places import depth_mm
from intrabench.people.playback import Played
from intrabench.prompters.errors import Errors, deepest
from intrabench.randomness import stream
from intrabench.target import Target

CLICKS: dict[str, Any] = {
    **{"session": pl.String, "stage": pl.String, "number": pl.Int64, "positive": pl.Boolean},
    **{"depth": pl.Float64, "centre": pl.Float64, "wrong": pl.Float64},
    **{"y": pl.Int64, "x": pl.Int64, "height": pl.Int64, "width": pl.Int64},
}
"""A line per click. stage: ``first clicks``, before any answer, or ``corrections``. number: among those of the session.
depth: mm from the boundary of what it should hit, negative outside, null where there is no such thing. centre: mm from
the deepest voxel of the component that it hit, else null. wrong: 1 if it lies beside what it should hit. height, width:
of the target's box."""

APART = ("first clicks apart, PL1", "first clicks apart, WD", "first clicks apart, KS")
"""Distances between clicks, of Table 3 of RClicks (`intrabench.clickability.click_metrics`)."""


def clicks(sessions: Iterable[Played]) -> pl.DataFrame:
    """The clicks of sessions; those of corrections only where the answers before them are stored."""
    return pl.DataFrame([line for played in sessions for line in _of_session(played)], schema=CLICKS)


def distances(people: pl.DataFrame, robots: pl.DataFrame) -> pl.DataFrame:
    """How far the first clicks of people and of a robot are apart, for each target with clicks of two people or more.

    Both have the columns of `CLICKS`, `model`, `robot` and those of `TARGET`. In the slice only: y and x. As many
    clicks as those of people are drawn from those of the robot (its seeds), repeatedly. `measure` is one of `APART`.
    """
    lines = []
    firsts = [frame.filter(pl.col("positive"), stage="first clicks").sort("number") for frame in (people, robots)]
    theirs, ours = (frame.unique("session", keep="first").sort("session") for frame in firsts)
    pools = {key: _places(frame) for key, frame in theirs.group_by(*TARGET)}
    for key, frame in ours.group_by("model", "robot", *TARGET, maintain_order=True):
        persons = pools.get(key[2:])
        if persons is None or len(persons) < 2:
            continue
        box = np.array(frame.select("height", "width").row(0), np.float64)
        random = stream("gap", *map(str, key))
        pool = _places(frame)
        drawn = pool[random.integers(len(pool), size=(BOOTSTRAPS, len(persons)))]
        where = dict(zip(("model", "robot", *TARGET), key, strict=True)) | {"patient": frame["patient"][0]}
        values = pl1(drawn, persons, box), wd(drawn, persons, box), _ks(drawn, persons)
        lines += [{**where, "measure": name, "value": value} for name, value in zip(APART, values, strict=True)]
    return pl.DataFrame(lines)


def _ks(drawn: NDArray[np.int64], persons: NDArray[np.int64]) -> float:
    with np.errstate(invalid="ignore", divide="ignore"):
        return ks(drawn, persons)


def _places(frame: pl.DataFrame) -> NDArray[np.int64]:
    return np.asarray(frame.select("y", "x").to_numpy(), np.int64)


def _of_session(played: Played) -> Iterator[dict[str, Any]]:
    target = played.target
    y0, x0, y1, x1 = (target.mask.box[axis] for axis in (1, 2, 4, 5))
    number = 0
    for round, turns in sorted(played.rounds.items()):
        points = np.vstack([turn.prompts.clicked_points for turn in turns])
        if not len(points) or (round > 0 and round > len(played.answers)):
            continue
        errors = None if round == 0 else Errors.of(target, played.answers[round - 1])
        for label in (1, 0):
            own = points[points[:, 3] == label][:, :3]
            for place, found in zip(own, _hits(target, errors, label, own), strict=True):
                about = {"session": played.row["session"], "stage": "corrections" if round else "first clicks"}
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
