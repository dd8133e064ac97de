"""The prompts that people gave to one model, given to another."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from intrabench.errors import NotApplicable
from intrabench.mask import Mask
from intrabench.prompters.base import Prompter
from intrabench.prompters.errors import Errors
from intrabench.prompters.user import Turns, User
from intrabench.prompts import Prompts, turns_by_round
from intrabench.randomness import stream
from intrabench.registry import recorded_masks, recorded_sessions
from intrabench.specs import switch
from intrabench.target import Target


@dataclass(frozen=True)
class Recorded(Prompter):
    """Gives the prompts again that a person gave for the target, `recorded:FOLDER`, whatever model is run.

    The first turn is always the same. The corrections follow as long as they still are ones: each click, and most of
    each stroke, that then lay in what was missed (or wrongly included, if it was negative) must lie in such an error of
    the new answer, and each box that contained missed voxels must contain some. At the first correction for which that
    does not hold, the person would have done something else, so the session ends there. The row of the answer to which
    it did not fit has the note ``diverged:N`` in `adapted`, where N is the number of recorded turns that were left.

    folder: results in which people prompted. rater: takes only what that person gave; without,
    the seed chooses one of those who did the target. A target that nobody did is not applicable.
    """

    name: ClassVar[str] = "recorded"
    folder: str = ""
    rater: str = switch("")

    def __post_init__(self) -> None:
        if not self.folder:
            raise ValueError("it needs results in which people prompted; write recorded:FOLDER")
        people = {session["rater"] for session in self.sessions}
        if self.rater and self.rater not in people:
            raise ValueError(f"rater={self.rater} gave no prompts in {self.folder}; give {', '.join(sorted(people))}")

    @cached_property
    def sessions(self) -> list[dict[str, Any]]:
        """What people did: `session`, `rater`, `dataset`, `case`, `target`, `target_voxels`, `model` and `turns`."""
        return recorded_sessions(self.folder)

    @property
    def version(self) -> str:  # type: ignore[override]
        """Its own, and a hash of what people did."""
        return f"1/{self._content}"

    @cached_property
    def _content(self) -> str:
        columns = ("session", "rater", "dataset", "case", "target", "target_voxels")
        each = [
            (*(one[name] for name in columns), *((turn["round"], turn["given"]) for turn in one["turns"]))
            for one in self.sessions
        ]
        return hashlib.sha256(repr(sorted(each)).encode()).hexdigest()[:8]

    def interact(self, user: User) -> Turns:
        """The turns of the person, as long as they fit."""
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
