"""The prompts that people gave to one model, given to another."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from intrabench.errors import NotApplicable
from intrabench.mask import Mask
from intrabench.prompters.base import Prompter
from intrabench.prompters.click_deepest import click
from intrabench.prompters.errors import Errors
from intrabench.prompters.user import Turns, User
from intrabench.prompts import Prompts, Turn, turns_by_round
from intrabench.randomness import stream
from intrabench.registry import recorded_masks, recorded_sessions
from intrabench.specs import switch
from intrabench.target import Target

if TYPE_CHECKING:
    from intrabench.clickability.first_clicks import FirstClicks


@dataclass(frozen=True)
class Recorded(Prompter):
    """Gives the prompts again that a person gave for the target, `recorded:FOLDER` or `recorded:FILE.csv`.

    From a folder of results, whatever model is run, the first turn is always the same. The corrections follow as long
    as they still are ones: each click, and most of each stroke, that then lay in what was missed (or wrongly included,
    if it was negative) must lie in such an error of the new answer, and each box that contained missed voxels must
    contain some. At the first correction for which that does not hold, the person would have done something else, so
    the session ends there. The row of the answer to which it did not fit has the note ``diverged:N`` in `adapted`,
    where N is the number of recorded turns that were left.

    A file has clicks on photographs, as RClicks' clicks.csv. It gives one first click: that whose number is the seed,
    from 0 in the file's order. The click is positive, wherever it lies.

    folder: results in which people prompted. rater: takes only what that person gave; without, the seed chooses one of
    those who did the target. clicks: a file of clicks instead. device: takes only clicks with pc or mobile.
    A target that nobody did is not applicable, nor is one that has no click with the seed's number.
    """

    name: ClassVar[str] = "recorded"
    folder: str = switch("")
    rater: str = switch("")
    clicks: str = switch("")
    device: str = switch("")

    def __post_init__(self) -> None:
        if bool(self.folder) == bool(self.clicks):
            raise ValueError(
                "it needs either results in which people prompted or a file of clicks; write recorded:FOLDER or "
                "recorded:FILE.csv"
            )
        if self.clicks:
            if self.rater:
                raise ValueError("a file of clicks does not say who clicked; omit rater")
            _ = self.first_clicks  # so that a wrong file is told at once
            return
        if self.device:
            raise ValueError("device is of clicks in a file; omit it")
        people = {session["rater"] for session in self.sessions}
        if self.rater and self.rater not in people:
            raise ValueError(f"rater={self.rater} gave no prompts in {self.folder}; give {', '.join(sorted(people))}")

    @cached_property
    def sessions(self) -> list[dict[str, Any]]:
        """What people did: `session`, `rater`, `dataset`, `case`, `target`, `target_voxels`, `model` and `turns`."""
        return recorded_sessions(self.folder)

    @cached_property
    def first_clicks(self) -> FirstClicks:
        """The first clicks of the file."""
        from intrabench.clickability.first_clicks import first_clicks

        return first_clicks(Path(self.clicks), self.device)

    @property
    def version(self) -> str:  # type: ignore[override]
        """Its own, and a hash of what people did."""
        return f"1/{self._content}"

    @cached_property
    def _content(self) -> str:
        if self.clicks:
            return self.first_clicks.identity[:8]
        columns = ("session", "rater", "dataset", "case", "target", "target_voxels")
        each = [
            (*(one[name] for name in columns), *((turn["round"], turn["given"]) for turn in one["turns"]))
            for one in self.sessions
        ]
        return hashlib.sha256(repr(sorted(each)).encode()).hexdigest()[:8]

    def interact(self, user: User) -> Turns:
        """The turns of the person, as long as they fit."""
        if self.clicks:
            yield self._first_click(user)
            return
        record = self._record(user)
        rounds = turns_by_round(record["turns"])
        turns = [turn for number in sorted(rounds) for turn in rounds[number]]
        masks = recorded_masks(self.folder, record["session"])
        mask = yield turns[0]
        for number, turn in enumerate(turns[1:], start=1):
            then = masks[number - 1] if number <= len(masks) else None
            if not fits(user.target, turn.prompts, then, mask):
                user.note(f"diverged:{len(turns) - number}")
                return
            mask = yield turn

    def _first_click(self, user: User) -> Turn:
        """The click whose number is the seed."""
        clicks = self.first_clicks.on(user.dataset, user.target)
        if not 0 <= user.seed < len(clicks):
            raise NotApplicable(f"{self.clicks} has no first click on this target with the number that is the seed")
        return click(np.array([0, *clicks[user.seed]]), label=1)

    def _record(self, user: User) -> dict[str, Any]:
        """The session to give again."""
        where = user.dataset, user.target.case, user.target.id, user.target.mask.voxels
        found = [
            one
            for one in self.sessions
            if (one["dataset"], one["case"], one["target"], one["target_voxels"]) == where
            and self.rater in ("", one["rater"])
        ]
        if not found:
            raise NotApplicable(f"there is no record of this target by {self.rater or 'anybody'} in {self.folder}")
        draws = stream(user.seed, *where[:3], self.name)
        raters = sorted({one["rater"] for one in found})
        rater = raters[draws.integers(len(raters))]
        theirs = sorted((one["model"], one["session"], n) for n, one in enumerate(found) if one["rater"] == rater)
        return found[theirs[draws.integers(len(theirs))][-1]]


def fits(target: Target, prompts: Prompts, then: Mask | None, now: Mask) -> bool:
    """Whether a correction of the answer `then` corrects the answer `now`, too; None: nobody knows what it was."""
    still = _corrects(prompts, Errors.of(target, now))
    before = [True] * len(still) if then is None else _corrects(prompts, Errors.of(target, then))
    return all(one or not other for one, other in zip(still, before, strict=True))


def _corrects(prompts: Prompts, errors: Errors) -> list[bool]:
    """For each prompt, whether it lies in an error that it would correct."""

    def wrong(label: int) -> Mask:
        return errors.negatives if label else errors.positives

    found = [bool(wrong(label).contains(np.array([voxel])).all()) for *voxel, label in prompts.points.tolist()]
    for stroke in (*prompts.scribbles, *prompts.lassos):
        found.append(bool(wrong(stroke.label).contains(stroke.points).mean() >= 0.5))
    boxes = [(z, y0, x0, z + 1, y1, x1) for z, y0, x0, y1, x1 in prompts.boxes2d.tolist()]
    boxes += [] if prompts.box3d is None else [tuple(prompts.box3d.tolist())]
    return found + [bool(errors.negatives.crop(box).any()) for box in boxes]
