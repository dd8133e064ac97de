"""The prompts that people gave to one model, given to another."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np

from intrabench.errors import NotApplicable
from intrabench.mask import TURNED, Box, Mask, Plane, intersection
from intrabench.prompters.base import Prompter
from intrabench.prompters.click_deepest import click
from intrabench.prompters.errors import Errors
from intrabench.prompters.user import Turns, User
from intrabench.prompts import Prompts
from intrabench.randomness import stream
from intrabench.registry.registry import placing_in, recorded_masks, recorded_sessions, recordings
from intrabench.specs.specs import Reach, switch
from intrabench.target import Target
from intrabench.turns import Turn, turns_by_round

if TYPE_CHECKING:
    from intrabench.clickability.first_clicks import FirstClicks


@dataclass(frozen=True)
class Recorded(Prompter):
    """Gives the prompts again that a person gave for the target, `recorded:FOLDER` or `recorded:FILE.csv`.

    From a folder of results, the first turn is always the same, whatever model is run. The corrections follow as long
    as they still correct something: each click, and most of each stroke, that lay in what was missed (or wrongly
    included, if it was negative) must lie in such an error of the new answer, and each box that contained missed
    voxels must contain some. At the first correction for which that does not hold, the person would have done
    something else, so the session ends there. The row of the answer that it did not fit has the note ``diverged:N`` in
    `adapted`, where N is the number of recorded turns that were left.

    A file has clicks on photographs, as RClicks' clicks.csv. It gives one first click: that whose number is the seed,
    from 0 in the file's order. The click is positive, wherever it lies.

    A folder may also have recordings of `intrabench record`. They say neither case nor target. Their scan is the one
    whose planes have the same means, whatever the order of the axes; their target is the one in which the first prompt
    lies (for boxes and lassos: whose box in these slices has an IoU of at least 0.5 with theirs).

    folder: results in which people prompted. rater: takes only what that person gave; without, the seed chooses one of
    those who did the target. clicks: a file of clicks instead. device: takes only clicks with pc or mobile.
    A target that nobody did, or without a click of the seed's number, is not applicable.
    """

    name: ClassVar[str] = "recorded"
    folder: Annotated[str, Reach("read")] = switch("")
    rater: Annotated[str, Reach()] = switch("")
    clicks: Annotated[str, Reach("read")] = switch("")
    device: Annotated[str, Reach()] = switch("")

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
        people = {session["rater"] for session in self.sessions} | {one.rater for one in self.recordings}
        if not people:
            raise ValueError(f"{self.folder} has no prompts of people; give a results folder of intrabench annotate")
        if self.rater and self.rater not in people:
            raise ValueError(f"rater={self.rater} gave no prompts in {self.folder}; give {', '.join(sorted(people))}")

    @cached_property
    def sessions(self) -> list[dict[str, Any]]:
        """What people did: `session`, `rater`, `dataset`, `case`, `target`, `target_voxels`, `model` and `turns`."""
        return recorded_sessions(self.folder)

    @cached_property
    def recordings(self) -> Sequence[Any]:
        """What people gave to servers (`people.recording.tape.Recording`); nobody said for which targets."""
        return recordings(self.folder)

    @cached_property
    def first_clicks(self) -> FirstClicks:
        """The first clicks of the file."""
        from intrabench.clickability.first_clicks import first_clicks

        return first_clicks(Path(self.clicks), self.device)

    @property
    def version(self) -> str:  # type: ignore[override]
        """Its own, and a hash of what people did."""
        return f"2/{self._content}"

    @cached_property
    def _content(self) -> str:
        if self.clicks:
            return self.first_clicks.identity[:8]
        columns = ("session", "rater", "dataset", "case", "target", "target_voxels")
        each = [
            (*(one[name] for name in columns), *((turn["round"], turn["given"]) for turn in one["turns"]))
            for one in self.sessions
        ]
        each += [(one.session, one.rater, one.digest) for one in self.recordings]
        return hashlib.sha256(repr(sorted(each)).encode()).hexdigest()[:8]

    def interact(self, user: User) -> Turns:
        """The turns of the person, as long as they fit."""
        if self.clicks:
            yield self._first_click(user)
            return
        turns, masks = self._record(user)
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

    def _record(self, user: User) -> tuple[Sequence[Turn], Sequence[Mask]]:
        """The turns to give again, and the answers to them."""
        where = user.dataset, user.target.case, user.target.id, user.target.mask.voxels
        found = [
            _Found(one["rater"], one["model"], one["session"], one["plane"], partial(self._stored, one))
            for one in self.sessions
            if (one["dataset"], one["case"], one["target"], one["target_voxels"]) == where
        ]
        found += self._aimed(user)
        found = [one for one in found if self.rater in ("", one.rater)]
        if not found:
            raise NotApplicable(f"there is no record of this target by {self.rater or 'anybody'} in {self.folder}")
        read = [one for one in found if user.image is None or one.plane == user.image.plane]
        if not read and user.image is not None:
            raise NotApplicable(
                f"the prompts in {self.folder} were given in {found[0].plane} slices, and this scan is read in "
                f"{user.image.plane} ones; give --protocol basic@2:plane={found[0].plane}"
            )
        draws = stream(user.seed, *where[:3], self.name)
        raters = sorted({one.rater for one in read})
        rater = raters[draws.integers(len(raters))]
        records = sorted((one for one in read if one.rater == rater), key=lambda one: (one.model, one.session))
        return records[draws.integers(len(records))].read()

    def _stored(self, session: Mapping[str, Any]) -> tuple[list[Turn], list[Mask]]:
        """What a session in the results has."""
        rounds = turns_by_round(session["turns"])
        turns = [turn for number in sorted(rounds) for turn in rounds[number]]
        axes = TURNED[session["plane"]]
        return turns, [mask.reordered(axes) for mask in recorded_masks(self.folder, session["session"])]

    def _aimed(self, user: User) -> Iterator[_Found]:
        """The recordings on this scan that were meant for this target."""
        if user.image is None:  # in a preview
            return
        for one in self.recordings:
            placing = placing_in(one, user.image)
            if placing is not None and aims(one.placed(placing)[0][0].prompts, user.target):
                yield _Found(one.rater, one.upstream, one.session, user.image.plane, partial(one.placed, placing))


@dataclass(frozen=True)
class _Found:
    """A record of a target. model: that answered. plane: in which the scan was read."""

    rater: str
    model: str
    session: str
    plane: Plane
    read: Callable[[], tuple[list[Turn], list[Mask]]]


def aims(prompts: Prompts, target: Target) -> bool:
    """Whether first prompts are meant for a target: most of each positive one lies in it, or each box fits it.

    A box, or the box of a lasso, fits if it overlaps that of the target in its slices by half of both together.
    """
    found = [bool(target.mask.contains(np.array([voxel])).all()) for *voxel, label in prompts.points.tolist() if label]
    strokes = [stroke for stroke in prompts.strokes if stroke.label]
    found += [bool(target.mask.contains(one.points).mean() > 0.5) for one in strokes if not one.closed]
    boxes = [*prompts.blocks.tolist(), *(one.extent.tolist() for one in strokes if one.closed)]
    found += [_overlap(tuple(box), target.mask) >= 0.5 for box in boxes]
    return bool(found) and all(found)


def _overlap(box: Box, mask: Mask) -> float:
    """How much a box overlaps the box of a mask in the same slices: common voxels by those of both together."""
    there = mask.within((box[0], *mask.box[1:3], box[3], *mask.box[4:])).box
    common = intersection(box, there)
    sizes = [
        math.prod(b - a for a, b in zip(one[:3], one[3:], strict=True)) for one in (box, there, common or (0,) * 6)
    ]
    return sizes[2] / (sizes[0] + sizes[1] - sizes[2])


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
    for stroke in prompts.strokes:
        found.append(bool(wrong(stroke.label).contains(stroke.points).mean() >= 0.5))
    return found + [bool(errors.negatives.crop(tuple(box)).any()) for box in prompts.blocks.tolist()]
