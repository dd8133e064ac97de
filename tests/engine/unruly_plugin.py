"""A data set whose cases are converted in the way that their names say, and a model that tells that it plays."""

import ctypes
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from intrabench import Dataset
from intrabench.datasets.phantom import Phantom
from intrabench.fetch.download import DownloadError
from intrabench.models.box_fill import BoxFill
from intrabench.registry.registry import make

PLAYED = Path("played")
"""Is there as soon as the model has played."""


@dataclass(frozen=True)
class Unruly(Dataset):
    """Phantoms.

    kinds: the cases, each named after what its conversion does.
    """

    name = "unruly"
    version = "1"
    card = Phantom.card
    kinds: str = "good"

    def cases(self):
        return self.kinds.split("/")

    def load(self, case, files):
        with Path("loaded").open("a") as file:
            file.write(f"{case} {os.getpid()}\n")
        if case == "segv":
            ctypes.string_at(0)
        elif case == "exit":
            os._exit(3)
        elif case == "sysexit":
            sys.exit("no more")
        elif case == "loop":
            while True:
                time.sleep(0.01)
        elif case == "memory":
            raise MemoryError("no room")
        elif case == "leak":
            kept = []
            while True:
                kept.append(bytearray(os.urandom(2**20)) * 64)
                time.sleep(0.01)  # else it takes gigabytes until somebody looks
        elif case == "once" and not Path("once").exists():
            Path("once").touch()
            os.kill(os.getpid(), 9)
        elif case.startswith("gone"):
            raise DownloadError("there is no network")
        elif case == "after":
            while not PLAYED.exists():
                time.sleep(0.02)
        return make("datasets", "phantom:shape=8x24x24").load("case-1", files)


@dataclass(eq=False)
class Telling(BoxFill):
    """Box fill that tells that it plays."""

    name = "telling"

    def segment_one(self, volume, request):
        PLAYED.touch()
        return super().segment_one(volume, request)
