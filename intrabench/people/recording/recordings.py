"""Recordings as files, ``RESULTS/people/recordings/*.jsonl``: one for each target that somebody segmented.

The first line says who, where, and of which image; each further line is a turn, or that one was taken back. A line is
on the disk before its answer goes on to the person, so a kill costs nothing but a half-written last line.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
import secrets
import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from intrabench.errors import IntraBenchError
from intrabench.files.atomic import writing
from intrabench.mask import Mask
from intrabench.people.images import packed
from intrabench.people.recording.orientation import Placing, Profiles
from intrabench.play.gestures import Gesture, turn_of
from intrabench.turns import Turn

FORMAT = 1


def folder_of(root: Path) -> Path:
    """Where the recordings of a results folder are."""
    return root / "people" / "recordings"


@dataclass
class Recorder:
    """Writes what one client does, target after target. about: of the first lines. clock: seconds since 1970."""

    folder: Path
    about: dict[str, Any]
    clock: Callable[[], float] = time.time
    image: Profiles | None = None
    _path: Path | None = None
    _pending: list[Gesture] = field(default_factory=list)
    _mask: Mask = field(default_factory=Mask.empty)
    _masks: list[Mask] = field(default_factory=list)  # before each turn
    _with_mask: bool = False
    _since: float | None = None

    def next_target(self, image: Profiles | None = None, with_mask: bool = False) -> None:
        """What follows is of another target. image: of another image, too. with_mask: the client began with a mask."""
        self.image = image or self.image
        self._path, self._pending, self._mask, self._masks = None, [], Mask.empty(), []
        self._with_mask, self._since = with_mask, self.clock()

    def drawn(self, gesture: Gesture, at: float) -> None:
        """Something was drawn; its seconds are those since the last answer, or since what was drawn before."""
        self._pending.append(replace(gesture, seconds=self._seconds(at), at=at))

    def answered(self, mask: Callable[[Mask], Mask], model_s: float) -> None:
        """The model answered what was drawn. mask: what the answer made of the mask before."""
        self._masks.append(self._mask)
        self._mask, gestures = mask(self._mask), [vars(one) for one in self._pending]
        self._write({"kind": "turn", "gestures": gestures, "model_s": round(model_s, 4), "mask": packed(self._mask)})
        self._pending, self._since = [], self.clock()

    def ended(self) -> None:
        """What was drawn since the last answer is a turn that had its answer before; the client only gives it again."""
        if self._pending:
            self.answered(lambda before: before, 0.0)

    def undone(self, at: float) -> None:
        """The last thing that was drawn was taken back, with its answer if it had one."""
        if self._pending:
            self._pending.pop()
        elif self._masks:
            self._write({"kind": "undo", "seconds": self._seconds(at), "at": at})
            self._mask = self._masks.pop()
        self._since = self.clock()

    def _seconds(self, at: float) -> float:
        seconds = round(min(max(at - (self._since if self._since is not None else at), 0.0), 86_400.0), 3)
        self._since = at
        return seconds

    def _write(self, line: dict[str, Any]) -> None:
        """Add a line; the first one makes the file."""
        lines = [line]
        if self._path is None:
            now = datetime.fromtimestamp(self.clock(), UTC)  # in the order of time, also within a second
            name = f"{now:%Y%m%dT%H%M%S.%f}-{secrets.token_hex(4)}"
            self._path = self.folder / f"{name}.jsonl"
            began = {"format": FORMAT, **self.about, "image": self.image, "with_mask": self._with_mask}
            lines.insert(0, began)
        with writing(self._path):
            self.folder.mkdir(parents=True, exist_ok=True)
            with self._path.open("a", encoding="utf-8") as file:
                file.write("".join(json.dumps(one, separators=(",", ":")) + "\n" for one in lines))
                file.flush()
                os.fsync(file.fileno())


@dataclass(frozen=True, eq=False)
class Recording:
    """What somebody gave for one target, in the axes of their program. turns: those that were not taken back,
    each with the answer to it. digest: of all that the file has. with_mask: the client began with a mask.
    """

    session: str
    rater: str
    upstream: str
    image: Profiles
    turns: Sequence[tuple[Sequence[Gesture], Mask]]
    digest: str
    with_mask: bool = False

    def continues(self, other: Recording) -> bool:
        """Whether it first gives again all that the other one has, as a client does that comes back to a target."""
        count = len(other.turns)
        if count >= len(self.turns) or (self.rater, self.image) != (other.rater, other.image):
            return False
        return list(map(_gestures, self.turns[:count])) == list(map(_gestures, other.turns))

    def after(self, other: Recording) -> Recording:
        """The other one, and what this one adds."""
        digest = hashlib.sha256(f"{other.digest} {self.digest}".encode()).hexdigest()
        return replace(other, turns=[*other.turns, *self.turns[len(other.turns) :]], digest=digest)

    def placed(self, placing: Placing) -> tuple[list[Turn], list[Mask]]:
        """The turns and the answers in our axes.

        Raises:
            Refused: what was given is nothing that a hand can give us at once.
        """
        turns = [turn_of([placing.gesture(one) for one in gestures]) for gestures, _ in self.turns]
        return turns, [placing.mask(mask) for _, mask in self.turns]


def read_recordings(root: Path) -> list[Recording]:
    """The recordings in a results folder; those that began with a mask, or have no turn, are left out.

    What a client gave when it came back to a target is joined to what it gave before.

    Raises:
        IntraBenchError: a file is no recording.
    """
    found = [_read(path) for path in sorted(folder_of(root).glob("*.jsonl"))]
    whole = list[Recording]()
    for one in found:  # in the order of time
        before = [number for number, other in enumerate(whole) if one and one.continues(other)]
        if one and before:
            whole[before[-1]] = one.after(whole[before[-1]])
        elif one:
            whole.append(one)
    return [one for one in whole if not one.with_mask]


def _gestures(turn: tuple[Sequence[Gesture], Mask]) -> list[tuple[str, Any, int]]:
    return [(one.kind, one.place, one.label) for one in turn[0]]


def _read(path: Path) -> Recording | None:
    lines = path.read_bytes().split(b"\n")[:-1]  # what was not written to its end does not count
    try:
        about, *events = [json.loads(line) for line in lines]
        if about["format"] != FORMAT:
            raise IntraBenchError(f"{path} is of a newer version of intrabench; update it")
        digest = hashlib.sha256(b"\n".join(lines)).hexdigest()
        turns = list[tuple[Sequence[Gesture], Mask]]()
        for event in events:
            if event["kind"] == "undo":
                turns.pop()
            else:
                turns.append(([Gesture(**one) for one in event["gestures"]], _unpacked(event["mask"])))
        if not turns or not about["image"]:
            return None
        facts = about["rater"], about["upstream"], about["image"]
        return Recording(path.stem, *facts, turns, digest, bool(about["with_mask"]))
    except (ValueError, LookupError, TypeError, zlib.error) as error:
        raise IntraBenchError(
            f"{path} is no recording of intrabench record ({type(error).__name__}); move it away"
        ) from error


def _unpacked(stored: Any) -> Mask:
    box = stored["box"]
    shape = [box[axis + 3] - box[axis] for axis in range(3)]
    most = -(-math.prod(shape) // 8) + 1  # no more memory than the mask needs
    bits = zlib.decompressobj().decompress(base64.b64decode(stored["bits"]), most)
    return Mask.unpack(box[:3], shape, np.frombuffer(bits, np.uint8))
