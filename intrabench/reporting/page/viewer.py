"""The viewer's data: targets with their scan, and the prompts and answers of each round."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, groupby
from pathlib import Path
from typing import Any

import polars as pl

from intrabench.datasets.base import Dataset
from intrabench.datasets.cases import store
from intrabench.errors import IntraBenchError
from intrabench.identity.versions import version_of
from intrabench.mask import Mask
from intrabench.play.validate import Refused, check_prompts
from intrabench.reporting.page.chosen import Chosen
from intrabench.reporting.page.views import BUDGET, TOTAL, Window, marks, mask_text, view
from intrabench.results.masks import read_masks
from intrabench.results.parts import read_turns
from intrabench.target import Target
from intrabench.turns import Turn, turns_by_round
from intrabench.volume import Volume


def views(
    results: Path, rows: pl.DataFrame, targets: Sequence[Chosen], datasets: Mapping[str, Dataset | str]
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
        stored = _stored(here[0], datasets[here[0].dataset])
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
            yield about | _shown(results, one, volume, target, turns, played, joint, budget)


def _stored(one: Chosen, dataset: Dataset | str) -> Any:
    """The case of a target, or why it is not available."""
    if isinstance(dataset, str):
        return dataset
    version = version_of(dataset)
    if any(session["dataset_version"] != version for session in one.sessions):
        return f"{one.dataset} has since changed to version {version}"
    try:
        return store.open_case(dataset, one.case)
    except IntraBenchError as error:
        return str(error)


def _shown(
    results: Path,
    one: Chosen,
    volume: Volume,
    target: Target,
    turns: pl.DataFrame,
    rows: pl.DataFrame,
    joint: Mapping[str, Sequence[str]],
    budget: int,
) -> dict[str, Any]:
    """A target in the smallest window that contains it and all its sessions. joint: the members of joint sessions."""
    masks, given, unread = dict[str, list[Mask]](), dict[str, dict[int, list[Turn]]](), list[str]()
    for session in [session["session"] for session in one.sessions]:
        try:
            masks[session] = read_masks(results, session)
        except IntraBenchError as error:  # shown without the answers
            masks[session] = []
            unread.append(str(error))
        try:
            given[session] = _turns(turns.filter(pl.col("session") == session), session, volume)
        except IntraBenchError as error:  # shown without the prompts
            given[session] = {}
            unread.append(str(error))
    window = Window.around(
        target,
        [mask for listed in masks.values() for mask in listed],
        [turn.prompts for rounds in given.values() for listed in rounds.values() for turn in listed],
        volume,
        budget,
    )
    sessions = []
    for session in one.sessions:
        key = session["session"]
        played = rows.filter(pl.col("session") == key).sort("round").iter_rows(named=True)
        rounds = [_round(row, masks[key], given[key].get(row["round"], []), window) for row in played]
        others = [member for member in joint.get(session["joint"] or "", ()) if member != key]
        if others:
            _add_others(rounds, results, others, window, unread)
        sessions.append({"line": session["line"], "seed": session["seed"], "others": len(others), "rounds": rounds})
    return view(volume, target, window) | {"sessions": sessions, "unread": unread}


def _turns(stored: pl.DataFrame, session: str, volume: Volume) -> dict[int, list[Turn]]:
    """The turns of a session by round; anybody may have written them, so they are checked as in play."""
    found = turns_by_round(stored.iter_rows(named=True))
    try:
        for turn in chain.from_iterable(found.values()):
            check_prompts(turn.prompts, volume.shape)
    except Refused as error:
        raise IntraBenchError(f"the turns of session {session} do not fit its scan ({error}); run it again") from error
    return found


def _round(row: Mapping[str, Any], masks: Sequence[Mask], given: Sequence[Turn], window: Window) -> dict[str, Any]:
    """A round: its scores, the user's prompts, and the answer after it if masks were kept."""
    number = row["round"]
    return {
        "round": number,
        **{name: row[name] for name in ("status", "error", "dice", "interactions", "seconds_human")},
        "too_much": row["fp_voxels"],
        "missed": row["fn_voxels"],
        "answer": mask_text(window.mask(masks[number])) if number < len(masks) else None,
        "given": [marks(turn.prompts) for turn in given],
        "typed": [turn.prompts.text for turn in given if turn.prompts.text is not None],
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
