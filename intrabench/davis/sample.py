"""One sample of a session: a sequence with one person's first scribbles, and what was drawn since."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from intrabench.davis.dataset import Davis
from intrabench.davis.metrics import VOID
from intrabench.davis.robot import MENDED, ScribbleRobot, scribbles, worst_frame
from intrabench.davis.utils.scribbles import copied, fuse_scribbles, shares
from intrabench.effort import effort_of_round
from intrabench.errors import IntraBenchError
from intrabench.files.scribble_file import Scribbles, joined, lines_of
from intrabench.randomness import stream
from intrabench.turns import DrawScribble

PUBLISHED = ScribbleRobot()
Labels = NDArray[np.int64]


@dataclass(eq=False)
class Sample:
    """truth: ``(frame, y, x)``; void: pixels that do not count. last: J, F of the last answer ``(frame, object)``."""

    sequence: str
    scribble_idx: int
    truth: Labels
    void: NDArray[np.bool_]
    objects: int
    compat: bool
    seed: int
    clock: Callable[[], float]
    began: float
    last: tuple[NDArray[np.float64], NDArray[np.float64]]
    history: list[Scribbles] = field(default_factory=list)
    drawn: set[int] = field(default_factory=set)
    started: set[int] = field(default_factory=set)
    interaction: int = 0
    spent_s: float = 0.0
    human_s: float = 0.0
    robot_s: float = 0.0
    ended: bool = False

    @classmethod
    def begin(
        cls, davis: Davis, sequence: str, scribble_idx: int, compat: bool, seed: int, clock: Callable[[], float]
    ) -> Sample:
        """A sample with its first scribbles: a person's, or the robot's in the frame with most of the objects."""
        truth = davis.load_annotations(sequence).astype(np.int64)
        void = (truth == VOID) & (not compat)
        truth[void] = 0
        objects = davis.num_objects(sequence)
        nothing = np.zeros((len(truth), objects))
        sample = cls(
            *(sequence, scribble_idx, truth, void, objects, compat, seed, clock),
            began=clock(),
            last=(nothing, nothing),
        )
        found = davis.load_scribble(sequence, scribble_idx)
        if found is None:
            sample._robot(np.zeros_like(truth), int(np.argmax((truth > 0).sum(axis=(1, 2)))))
        else:
            sample._give(found)
        sample.started = set() if compat else {frame for frame, _ in lines_of(sample.history[0])}
        return sample

    def scribbles(self, only_last: bool) -> Scribbles:
        """The last scribbles, or all so far."""
        return copied(self.history[-1]) if only_last else reduce(fuse_scribbles, self.history, self._empty())

    def checked(self, masks: NDArray[np.integer]) -> Labels:
        """The masks of an answer; what is void is background.

        Raises:
            IntraBenchError: another shape, no whole numbers, or objects that there are not.
        """
        labels = np.asarray(masks)
        if labels.shape != self.truth.shape:
            raise IntraBenchError(
                f"{self.sequence}: the masks have the shape {labels.shape}, expected {self.truth.shape} (frame, y, x)"
            )
        if labels.dtype.kind not in "uib":
            raise IntraBenchError(f"{self.sequence}: the masks are {labels.dtype}, expected integers, such as uint8")
        low, high = int(labels.min()), int(labels.max())
        if not self.compat and (low < 0 or high > self.objects):
            wrong = low if low < 0 else high
            raise IntraBenchError(f"{self.sequence}: the masks have object {wrong}, expected 0 to {self.objects}")
        return np.where(self.void, 0, labels).astype(np.int64)

    def candidates(self, frames: Sequence[int] | None) -> list[int] | None:
        """Frames for the next scribbles; in compat without numbers that are no frames.

        Raises:
            IntraBenchError: one of them is no frame, or there are none.
        """
        if frames is None or (self.compat and not len(frames)):
            return None
        found, count = [int(frame) for frame in frames], len(self.truth)
        if not found:
            raise IntraBenchError("next_scribble_frame_candidates is empty; give frames, or None for all")
        wrong = [frame for frame in found if not 0 <= frame < count]
        if wrong and self.compat and len(wrong) < len(found):
            return [frame for frame in found if 0 <= frame < count]
        if wrong:
            raise IntraBenchError(
                f"next_scribble_frame_candidates has frame {wrong[0]}, but {self.sequence} has frames 0 to {count - 1}"
            )
        return found

    def draw(self, answer: Labels, quality: NDArray[np.float64], candidates: Sequence[int] | None) -> None:
        """The robot's scribbles into the worst frame; without compat only where there is an error."""
        if not self.compat:
            wrong = np.flatnonzero((answer != self.truth).any(axis=(1, 2))).tolist()
            self.ended = not wrong
            candidates = [frame for frame in wrong if candidates is None or frame in candidates] or wrong
        if not self.ended:
            frame = worst_frame(quality, self.drawn, candidates, self.started, first=not self.compat)
            self.drawn.add(frame)
            self._robot(answer, frame)

    def _robot(self, answer: Labels, frame: int) -> None:
        began = self.clock()
        rng = None if self.compat else stream(self.seed, self.sequence, self.scribble_idx, self.interaction, "robot")
        robot = PUBLISHED if self.compat else MENDED
        found = scribbles(robot, self.truth[frame], answer[frame], range(1, self.objects + 1), rng)
        made, shape = self._empty(), self.truth.shape
        drawing_ms = int(1000 * effort_of_round([DrawScribble()]).seconds)
        made["annotated_frame"] = frame
        for one, path in found:
            wrong = (self.truth[frame] == one) & (answer[frame] != one)
            for piece in [path] if self.compat else _inside(path, wrong):
                line = {"path": shares(piece, shape[1], shape[2], self.compat), "object_id": one}
                made["scribbles"][frame].append({**line, "start_time": 0, "end_time": drawing_ms})
        self._give(made)
        self.robot_s = self.clock() - began

    def _give(self, made: Scribbles) -> None:
        self.history.append(made)
        lines = [line for _, line in lines_of(made)]
        self.human_s = sum(line.get("end_time", 0) - line.get("start_time", 0) for line in lines) / 1000

    def _empty(self) -> Scribbles:
        return {"sequence": self.sequence, "scribbles": [[] for _ in self.truth]}


def _inside(path: NDArray[np.float64], error: NDArray[np.bool_]) -> list[Labels]:
    """The pieces of a stroke inside of an error, pixel by pixel; a single pixel only if there is nothing else."""
    pixels = joined(np.rint(path).astype(np.int64))
    inside = error[pixels[:, 0], pixels[:, 1]]
    pieces = [part for part in np.split(pixels, np.flatnonzero(np.diff(inside)) + 1) if error[tuple(part[0])]]
    return [part for part in pieces if len(part) > 1] or pieces[:1]
