"""The simulated user of DAVIS Interactive: scribbles into the errors of one frame after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from intrabench.davis.metrics import f_of_frames, j_of_frames
from intrabench.davis.robot import MENDED, ScribbleRobot, worst_frame
from intrabench.davis.utils.scribbles import drawn
from intrabench.mask import Bools, Ints, Mask
from intrabench.prompters.joint import JointPrompter
from intrabench.prompters.user import JointTurn, JointTurns, User, Users
from intrabench.prompts import Prompts, Scribble, points
from intrabench.turns import Turn, drawing


@dataclass(frozen=True)
class DavisRobot(JointPrompter):
    """Draws scribbles into all errors of one frame: at first of the frame with most of the objects, then of the worst.

    The worst frame has the lowest J&F, the mean of all objects; frames in which it has drawn come last, and those
    where it finds nothing to draw are left out. A scribble into the background is a negative one for the objects that
    are wrongly there.

    start: people begins with what people drew, if the data set has it: the seed is the number of the person (from 0,
    and over again).

    robot: published draws as the service of DAVIS did, ties aside: there may be no scribble where there is an error,
    strokes may leave it, and after one scribble in each frame all frames count again, even those without errors;
    mended draws a click where there would be none, only inside, and only in frames with errors.

    Source: Caelles et al., arXiv:1803.00557.
    """

    name = "davis"
    version = "2"
    robot: Literal["published", "mended"] = "mended"
    start: Literal["people", "robot"] = "people"

    def interact_jointly(self, users: Users) -> JointTurns:
        """One frame in each round, until nothing is wrong or the robot finds nothing to draw in any frame."""
        found, visited, started = self._begin(users), set[int](), set[int]()
        while True:
            frame, turn = next(found, (0, ()))
            if not turn:
                return
            masks = yield turn
            if users.round > 0:
                visited.add(frame)
            elif self.robot == "mended":
                started.add(frame)
            found = self._drawn(users, masks, self._frames(users, masks, visited, started))

    def _begin(self, users: Users) -> Iterator[tuple[int, JointTurn]]:
        """The first turn, and its frame: of a person, or the robot's in the frame with the largest area."""
        sets = max(len(target.scribbles) for target in users.targets)
        if sets and self.start == "people":
            person = users.each[0].seed % sets
            drawn = [list(chain(*target.scribbles[person : person + 1])) for target in users.targets]
            frames = [int(stroke.points[0, 0]) for strokes in drawn for stroke in strokes]
            if frames:
                return iter([(frames[0], _of_person(drawn))])
        area = sum(user.target.mask.voxels_per_slice(user.target.shape[0]) for user in users.each)
        return self._drawn(users, [Mask.empty() for _ in users.targets], [int(np.argmax(area))])

    def _drawn(self, users: Users, masks: Sequence[Mask], frames: Iterable[int]) -> Iterator[tuple[int, JointTurn]]:
        """The frames where there is something to draw, and the turns there."""
        return ((frame, turn) for frame in frames if any(turn := self._turn(users, masks, frame)))

    def _frames(self, users: Users, masks: Sequence[Mask], visited: set[int], started: set[int]) -> Iterator[int]:
        """Frames for the next scribble, the best choice first."""
        each = [_quality(user.target.mask, mask, user.target.shape) for user, mask in _pairs(users, masks)]
        scores = np.sum(each, axis=0)
        left = set(range(len(scores)))
        if self.robot == "mended":
            left = set(np.flatnonzero(scores < len(users.each)).tolist())
        while left:
            yield (frame := worst_frame(scores, visited, sorted(left), started))
            left.remove(frame)

    @cached_property
    def _robot(self) -> ScribbleRobot:
        return MENDED if self.robot == "mended" else ScribbleRobot()

    def _turn(self, users: Users, masks: Sequence[Mask], frame: int) -> JointTurn:
        """Strokes into the errors of a frame: positive ones into what is missed, negative ones into the background."""
        truths = [_plane(user.target.mask, frame, user.target.shape) for user in users.each]
        answers = [_plane(mask, frame, user.target.shape) for user, mask in _pairs(users, masks)]
        rng = users.rng("strokes") if self.robot == "mended" else None
        missed = [truth & ~found for truth, found in zip(truths, answers, strict=True)]
        wrong = np.logical_or.reduce(answers) & ~np.logical_or.reduce(truths)
        *positive, negative = self._strokes([*missed, wrong], rng)
        turns = [_ObjectStrokes([_in(frame, stroke) for stroke in strokes]) for strokes in positive]
        for stroke in negative:
            there = [int(found[stroke[:, 0], stroke[:, 1]].sum()) for found in answers]
            for strokes, count, number in zip(turns, there, range(len(there)), strict=True):
                if count:
                    strokes.negative.append((_in(frame, stroke), number == int(np.argmax(there))))
        return [strokes.turn() for strokes in turns]

    def _strokes(self, errors: Sequence[Bools], rng: np.random.Generator | None) -> list[list[Ints]]:
        """Pixels ``y, x`` of the strokes into each error, in drawing order."""
        found = []
        for error, paths in zip(errors, self._robot.strokes_in(errors, rng), strict=True):
            limits, inside = np.array(error.shape) - 1, error if self.robot == "mended" else None
            strokes = [drawn(path.clip(0, limits), inside) for path in paths]
            found.append([stroke for stroke in strokes if len(stroke)])
        return found


class _ObjectStrokes:
    """Strokes for one object, rows ``z, y, x``; a negative one counts as drawn for one of those that it concerns."""

    def __init__(self, positive: Sequence[Ints]) -> None:
        self.positive, self.negative = positive, list[tuple[Ints, bool]]()

    def turn(self) -> Turn | None:
        """The turn, if there is something to say. A stroke of one pixel is a click."""
        strokes = [(stroke, 1, True) for stroke in self.positive] + [(one, 0, costs) for one, costs in self.negative]
        if not strokes:
            return None
        rows = [np.column_stack([one, [label]]) for one, label, _ in strokes if len(one) == 1]
        drawn = [Scribble(one, label) for one, label, _ in strokes if len(one) > 1]
        actions = tuple(drawing(Scribble(one, label)) for one, label, costs in strokes if costs)
        prompts = Prompts(np.vstack(rows) if rows else points(np.zeros((0, 3))).points, scribbles=tuple(drawn))
        return Turn(prompts, actions)


def _of_person(drawn: Sequence[Sequence[Scribble]]) -> JointTurn:
    """What a person drew for each object; the first of them has the effort of strokes into the background."""
    turns = [_ObjectStrokes([stroke.points for stroke in strokes if stroke.label]) for strokes in drawn]
    for number, (strokes, every) in enumerate(zip(turns, drawn, strict=True)):
        strokes.negative += [(stroke.points, number == 0) for stroke in every if not stroke.label]
    return [strokes.turn() for strokes in turns]


def _in(frame: int, stroke: Ints) -> Ints:
    """Pixels ``y, x`` of a frame as ``z, y, x``."""
    return np.insert(stroke, 0, frame, axis=1)


def _pairs(users: Users, masks: Sequence[Mask]) -> list[tuple[User, Mask]]:
    return list(zip(users.each, masks, strict=True))


def _quality(truth: Mask, answer: Mask, shape: tuple[int, int, int]) -> NDArray[np.float64]:
    """(frames,) J&F."""
    return (j_of_frames(truth, answer, shape[0]) + f_of_frames(truth, answer, shape)) / 2


def _plane(mask: Mask, frame: int, shape: tuple[int, int, int]) -> Bools:
    return mask.crop((frame, 0, 0, frame + 1, shape[1], shape[2]))[0]
