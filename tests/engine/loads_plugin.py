"""A model that notes when it loads and drops something, and a data set that takes its time."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from intrabench.datasets.phantom import Phantom
from intrabench.models.base import Answer, Request
from intrabench.models.box_fill import BoxFill
from intrabench.volume import Volume


@dataclass(eq=False)
class Loads(BoxFill):
    """Fills boxes with what it has loaded."""

    name = "loads"
    encodes = True

    who: str = ""

    def note(self, what: str) -> None:
        """A line in a file, which all processes see."""
        with Path("loads.txt").open("a") as file:
            file.write(f"{what} {self.who}\n")

    @cached_property
    def network(self) -> str:
        """What it loads."""
        self.note("load")
        return self.who

    def unload(self) -> None:
        """Drop it."""
        if "network" in vars(self):
            self.note("drop")
        super().unload()

    def segment_one(self, volume: Volume, request: Request) -> Answer:
        """Fill the box."""
        assert self.network == self.who
        return super().segment_one(volume, request)


@dataclass(frozen=True)
class Slow(Phantom):
    """Its cases take longer to be made than to be played."""

    name = "slow"

    def load(self, case: str, files: Any) -> Any:
        """Make a case."""
        time.sleep(0.5)
        return super().load(case, files)
