"""Models that misbehave in a process of their own, a ``--plugin`` for tests of ``--python``."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from intrabench.mask import Mask
from intrabench.models.base import Answer, Model, Predictor, Request, VolumeModel
from intrabench.models.box_fill import BoxFill
from intrabench.progress import encoding, loading
from intrabench.volume import Volume


def note(name: str, text: object) -> None:
    with Path(name).open("a") as file:
        file.write(f"{text}\n")


@dataclass(eq=False)
class Killer(VolumeModel):
    """Fills boxes, and ends its process at a box that begins at a certain row, or (-1) at any."""

    name = "killer"
    accepts = frozenset({"box3d"})
    row: int = -2
    code: int = -9

    def load(self) -> None:
        note("starts", os.getpid())

    def segment_one(self, volume: Volume, request: Request) -> Answer:
        box = request.turns[0].prompts.box3d
        if box is not None and self.row in (-1, int(box[1])):
            print("last words", flush=True)
            if self.code > 0:
                os._exit(self.code)
            os.kill(os.getpid(), signal.SIGKILL)
        return Answer(BoxFill().segment_one(volume, request).update)


@dataclass(eq=False)
class Sleeping(VolumeModel):
    """Takes its time, asleep or (busy) in a computation that lets no other Python code run; so does its child."""

    name = "sleeping"
    accepts = frozenset({"box3d"})
    busy: bool = False

    def segment_one(self, volume: Volume, request: Request) -> Answer:
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        note("asleep", f"{os.getpid()} {child.pid}")
        if self.busy:
            re.match("(a+)+$", "a" * 32 + "b")
        else:
            time.sleep(60)
        return Answer(Mask.empty())


@dataclass(eq=False)
class Stepping(VolumeModel):
    """Encodes something, for which it loads something."""

    name = "stepping"
    accepts = frozenset({"box3d"})

    def segment_one(self, volume: Volume, request: Request) -> Answer:
        with encoding("encoding slice 1 of 2"), loading("loading stepping"):
            return Answer(Mask.empty())


class Memory:
    """What is left of a session."""


@dataclass(eq=False)
class Counting(VolumeModel):
    """Notes how many of its memories are alive, of which number the request's own is, and prints a lot."""

    name = "counting"
    accepts = frozenset({"box3d"})

    def __post_init__(self) -> None:
        self.alive: weakref.WeakSet[Memory] = weakref.WeakSet()

    def segment_one(self, volume: Volume, request: Request) -> Answer:
        note("alive", f"{len(self.alive)} {'none' if request.memory is None else type(request.memory).__name__}")
        print("x" * 200_000)
        memory = Memory()
        self.alive.add(memory)
        return Answer(Mask.empty(), memory=memory)


@dataclass(eq=False)
class Looking(VolumeModel):
    """Says what it sees, with an exception."""

    name = "looking"
    accepts = frozenset({"box3d"})

    def segment_one(self, volume: Volume, request: Request) -> Answer:
        seen = volume.shape, volume.spacing_mm, str(volume.array.dtype), int(volume.array.sum()), volume.modality
        seen += volume.case, volume.notes, volume.original
        raise TimeoutError(f"{seen} {volume.affine.tolist()} {request.turns[-1].prompts.to_json()} {request.mask.box}")


@dataclass(eq=False)
class Wanting(VolumeModel):
    """Needs a module that only the other interpreter has."""

    name = "wanting"
    accepts = frozenset({"box3d"})
    extra = "there"
    requires = ("only_there",)

    def segment_one(self, volume: Volume, request: Request) -> Answer:
        assert find_spec("only_there") is not None
        return Answer(BoxFill().segment_one(volume, request).update)


@dataclass(eq=False)
class Exhausted(Model):
    """Runs out of memory as a whole, and notes which images it opens and closes."""

    name = "exhausted"
    accepts = frozenset({"box3d"})
    opening: bool = False

    @contextmanager
    def open(self, volume: Volume) -> Iterator[Predictor]:
        if self.opening:
            raise MemoryError("no room to open it")
        note("images", f"open {volume.shape[0]}")
        yield Full()
        note("images", f"close {volume.shape[0]}")


class Full(Predictor):
    """Has no room for any request."""

    def segment(self, requests: Sequence[Request]) -> list[Any]:
        raise MemoryError("no room for an answer")
