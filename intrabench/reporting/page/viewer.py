"""The viewer's data: targets from the worst to the best, with their scan, prompts and answers of each round."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from io import BytesIO
from itertools import chain, groupby
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from intrabench.datasets.base import Dataset
from intrabench.datasets.cases import store
from intrabench.errors import IntraBenchError
from intrabench.identity.versions import version_of
from intrabench.mask import TURNED, Index, Mask, Plane, reordered
from intrabench.play.validate import Refused, check_prompts
from intrabench.reporting.page.views import BUDGET, TOTAL, Window, marks, mask_text, view
from intrabench.reporting.pictures import Picture
from intrabench.results.masks import read_masks
from intrabench.results.parts import read_turns
from intrabench.results.schema import plane_of
from intrabench.target import WHOLE_CASE, Target
from intrabench.turns import Turn, turns_by_round
from intrabench.volume import Volume

VIEWS = 12
"""Number of targets per data set, unless another is asked for."""
SESSIONS = 12
"""Maximum number of sessions shown per target."""
SIDE = 150
"""The longer side of the small picture of a target, in pixels."""


@dataclass(frozen=True)
class Sample:
    """A target, its rank in its data set by final Dice, and sessions on it, the best first.

    played: number of sessions on the target.
    """

    dataset: str
    case: str
    target: str
    place: str
    dice: float
    sessions: tuple[dict[str, Any], ...]
    played: int


def samples(scored: pl.DataFrame, per_dataset: int) -> list[Sample]:
    """Targets spread evenly over the ranks of each data set, from the worst to the best, by the mean of all sessions.

    scored: `scores`; ties are ordered by name. Of many sessions on a target, some between best and worst are chosen.
    """
    scored = scored.filter((pl.col("target") != WHOLE_CASE) & pl.col("value").is_not_null())
    means = scored.group_by("dataset", "case", "target").agg(pl.col("value").mean(), pl.len().alias("played"))
    found = []
    for ranked in means.sort("dataset", "value", "case", "target").partition_by("dataset", maintain_order=True):
        for number in spread(ranked.height, per_dataset):
            one = ranked.row(number, named=True)
            here = [pl.col(name) == one[name] for name in ("dataset", "case", "target")]
            sessions = scored.filter(*here).sort(["value", "session"], descending=[True, False]).to_dicts()
            kept = tuple(sessions[index] for index in spread(len(sessions), SESSIONS))
            place = _place(number, ranked.height)
            found.append(Sample(one["dataset"], one["case"], one["target"], place, one["value"], kept, one["played"]))
    return found


def spread(count: int, most: int) -> Sequence[int]:
    """Evenly spaced numbers from 0 to `count`, including the first and the last."""
    indices: list[int] = np.linspace(0, count - 1, min(count, most)).round().astype(int).tolist()
    return indices


def _place(number: int, count: int) -> str:
    """A rank in words."""
    if count == 1:
        return "only target"
    ends = {0: "worst", count - 1: "best"}
    middle = {round((count - 1) / 2): "median"}
    return (middle | ends).get(number, f"{number + 1} of {count} from the worst")


def views(
    results: Path, rows: pl.DataFrame, targets: Sequence[Sample], datasets: Mapping[str, Dataset | str]
) -> Iterator[dict[str, Any]]:
    """Plain data for each target; if it cannot be shown, `problem` says why; `unread` names masks that cannot be read.

    datasets: data sets of the rows by spec, or why they are not available.
    """
    shown = [session["session"] for one in targets for session in one.sessions]
    turns, played = read_turns(results, shown).sort("session", "turn"), rows.filter(pl.col("session").is_in(shown))
    members = rows.filter(pl.col("joint").is_in(played["joint"].drop_nulls())).group_by("joint")
    joint = dict(members.agg(pl.col("session").unique().sort()).iter_rows())
    budget = min(BUDGET, TOTAL // max(len(targets), 1))
    for _, group in groupby(targets, lambda one: (one.dataset, one.case)):
        here = list(group)
        versions = {session["dataset_version"] for session in here[0].sessions}
        stored = stored_case(here[0].dataset, here[0].case, versions, datasets[here[0].dataset])
        for one in here:
            about = {
                "dataset": one.dataset,
                "case": one.case,
                "target": one.target,
                "place": one.place,
                "dice": one.dice,
                "played": one.played,
            }
            try:
                if isinstance(stored, str):
                    raise IntraBenchError(stored)
                volume, target = stored.volume, stored.targets([one.target])[0]
            except IntraBenchError as error:
                yield about | {"problem": str(error)}
                continue
            data, answer = _target_view(results, one, volume, target, turns, played, joint, budget)
            best = one.sessions[0]["value"] if answer is not None else None
            thumbnail = {"label": target.label, "picture": picture(volume, target, answer, SIDE), "best": best}
            yield about | data | {"thumbnail": about | thumbnail}


def picture(volume: Volume, target: Target, answer: Mask | None, side: int = 260) -> str:
    """The address in the page of a picture of the target, and an answer if it was kept, on the largest slice.

    side: its longer one in pixels, at most.
    """
    content, drawn = BytesIO(), Picture(volume, target, answer=answer).image(tiles=1)
    drawn.thumbnail((side, side))
    drawn.save(content, "JPEG", quality=90)
    return f"data:image/jpeg;base64,{base64.b64encode(content.getvalue()).decode()}"


def stored_case(name: str, case: str, versions: Set[str], dataset: Dataset | str) -> Any:
    """A case of a data set, or why it is not available. versions: those that sessions were played on."""
    if isinstance(dataset, str):
        return dataset
    version = version_of(dataset)
    if versions - {version}:
        return f"{name} has since changed to version {version}"
    try:
        return store.open_case(dataset, case)
    except IntraBenchError as error:
        return str(error)


def _target_view(
    results: Path,
    one: Sample,
    volume: Volume,
    target: Target,
    turns: pl.DataFrame,
    rows: pl.DataFrame,
    joint: Mapping[str, Sequence[str]],
    budget: int,
) -> tuple[dict[str, Any], Mask | None]:
    """A target in the smallest window that contains it and all its sessions, and the last answer of the best of these.

    joint: the members of joint sessions.
    """
    masks, by_session, unread = dict[str, list[Mask]](), dict[str, dict[int, list[_Given]]](), list[str]()
    planes = dict.fromkeys((session["session"] for session in one.sessions), "axial")
    read_in = {row["session"]: row for row in rows.select("session", "plane").unique().iter_rows(named=True)}
    for session in [session["session"] for session in one.sessions]:
        try:
            masks[session] = read_masks(results, session)
        except IntraBenchError as error:  # shown without the answers
            masks[session] = []
            unread.append(str(error))
        try:
            stored = turns.filter(pl.col("session") == session)
            planes[session] = plane = plane_of(read_in[session])
            by_session[session] = _given(stored, session, volume.shape, plane)
        except IntraBenchError as error:  # shown without the prompts
            by_session[session] = {}
            unread.append(str(error))
    window = Window.around(
        target,
        [mask for listed in masks.values() for mask in listed],
        [given.drawn for rounds in by_session.values() for listed in rounds.values() for given in listed],
        volume,
        budget,
    )
    sessions = []
    for session in one.sessions:
        key = session["session"]
        played = rows.filter(pl.col("session") == key).sort("round").iter_rows(named=True)
        rounds = [_round(row, masks[key], by_session[key].get(row["round"], []), window) for row in played]
        others = [member for member in joint.get(session["joint"] or "", ()) if member != key]
        if others:
            _add_others(rounds, results, others, window, unread)
        sessions.append(
            {
                "line": session["line"],
                "plane": planes[key],
                "seed": session["seed"],
                "others": len(others),
                "rounds": rounds,
            }
        )
    best = masks[one.sessions[0]["session"]]
    return view(volume, target, window) | {"sessions": sessions, "unread": unread}, best[-1] if best else None


@dataclass(frozen=True)
class _Given:
    """What a turn gives, as the page shows it: `marks` on the scan, what was typed, whether it takes something back."""

    drawn: dict[str, Any]
    typed: str | None
    undoes: bool

    @classmethod
    def of(cls, turn: Turn, plane: Plane = "axial") -> _Given:
        return cls(marks(turn.prompts, plane), turn.prompts.text, turn.undoes)


def _given(stored: pl.DataFrame, session: str, shape: Index, plane: Plane) -> dict[int, list[_Given]]:
    """What a session's turns gave, by round; anybody may have written them, so they are checked as in play.

    shape: of the canonical scan, which was read in `plane`.
    """
    found = turns_by_round(stored.iter_rows(named=True))
    try:
        for turn in chain.from_iterable(found.values()):
            check_prompts(turn.prompts, reordered(shape, TURNED[plane]))
    except Refused as error:
        raise IntraBenchError(f"the turns of session {session} do not fit its scan ({error}); run it again") from error
    return {number: [_Given.of(turn, plane) for turn in turns] for number, turns in found.items()}


def _round(row: Mapping[str, Any], masks: Sequence[Mask], given: Sequence[_Given], window: Window) -> dict[str, Any]:
    """A round: its scores, the user's prompts, and the answer after it if masks were kept."""
    number = row["round"]
    return {
        "round": number,
        **{name: row[name] for name in ("status", "error", "dice", "interactions", "seconds_human")},
        "too_much": row["fp_voxels"],
        "missed": row["fn_voxels"],
        "answer": mask_text(window.mask(masks[number])) if number < len(masks) else None,
        "given": [one.drawn for one in given],
        "undoes": any(one.undoes for one in given),
        "typed": [one.typed for one in given if one.typed is not None],
    }


def _add_others(
    rounds: Sequence[dict[str, Any]], results: Path, others: Sequence[str], window: Window, unread: list[str]
) -> None:
    """Add to each round what the other targets of its joint session have by then; None: it was not kept."""
    try:
        answers = [masks for other in others if (masks := read_masks(results, other))]
    except IntraBenchError as error:  # shown without them
        answers = []
        unread.append(str(error))
    for one in rounds:
        kept = [
            masks[min(one["round"], len(masks) - 1)].within(window.box) for masks in answers
        ]  # the last of ended ones
        one["others"] = mask_text(window.mask(Mask.union(kept))) if kept else None
