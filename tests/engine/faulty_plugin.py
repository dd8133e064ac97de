"""A model, a prompter and a metric that fail in the ways that the lines of the file ``fault`` say.

A line is ``HOW WHERE [TARGET [CASE]]``, such as ``segv prompter blob.7 case-2``, or ``hang open any case-3``.
"""

import ctypes
import os
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from intrabench import Metric, Prompter, Turn, progress
from intrabench.models.box_fill import BoxFill
from intrabench.prompts import box3d
from intrabench.turns import DrawBox3D


def fail(where: str, target: str = "any") -> None:
    """Fail, if the file says so for this place, target and case, of which steps tell."""
    lines = Path("fault").read_text().splitlines() if Path("fault").exists() else []
    for how, there, which, case in ((*line.split(), "any", "any")[:4] for line in lines):
        here = case == "any" or f"case {case}," in progress._now[2]
        if where == there and here and (which == "any" or which == target):
            misbehave(how)


def misbehave(how: str) -> None:
    if how == "segv":
        ctypes.string_at(0)
    elif how == "exit":
        os._exit(3)
    elif how == "kill":
        os.kill(os.getpid(), 9)
    elif how in ("term", "hup"):
        os.kill(os.getpid(), {"term": 15, "hup": 1}[how])
    elif how == "hang":
        time.sleep(10**6)
    elif how == "slow":
        time.sleep(1)
    elif how == "busy":
        while True:
            pass
    elif how in ("parent", "parent-once"):
        if how == "parent-once":
            Path("fault").unlink()
        os.kill(os.getppid(), 9)
        time.sleep(10)
    elif how == "fork":  # what it started holds the connection open
        if os.fork() == 0:
            time.sleep(10**6)
        os._exit(5)
    elif how == "leak":
        kept = []
        while True:
            kept.append(bytearray(os.urandom(2**20)) * 32)
            time.sleep(0.01)  # else it takes gigabytes until somebody looks
    elif how == "sysexit":
        sys.exit(4)


@dataclass(eq=False)
class Faulty(BoxFill):
    """Box fill with a fault."""

    name = "faulty"

    @contextmanager
    def open(self, volume):
        fail("open")
        with super().open(volume) as image:
            yield image
        fail("close")

    def segment_one(self, volume, request):
        box = request.turns[0].prompts.box3d
        fail("segment", "none" if box is None else str(int(box[2])))
        return super().segment_one(volume, request)


@dataclass(frozen=True)
class Stuck(Prompter):
    """A box, and a fault on one target."""

    name = "stuck"

    def interact(self, user):
        fail("prompter", user.target.id)
        yield Turn(box3d(user.target.mask.box), (DrawBox3D(),))


@dataclass(frozen=True)
class Halting(Metric):
    """One, and a fault."""

    name = "halting"

    def measure(self, pair):
        fail("metric")
        return 1.0
