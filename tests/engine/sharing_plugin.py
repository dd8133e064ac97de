"""A model that waits for other runs, or never ends; and, if asked, a mount on which everybody gets every lease."""

import itertools
import os
import time
from dataclasses import dataclass
from pathlib import Path

from intrabench.engine import task_queue
from intrabench.files import locks
from intrabench.models.box_fill import BoxFill

REQUESTS = itertools.count(1)
ROLE = os.environ.get("ROLE", "")
task_queue.PAUSE_SECONDS = 0.1

if ROLE == "without":
    claim = locks._tried
    locks._tried = lambda path: claim(path.with_name(f"{path.name}.{os.getpid()}"))


@dataclass(eq=False)
class Sharing(BoxFill):
    """Box fill. As a victim it stops for ever in its third request; without locks, two of them meet before each."""

    name = "sharing"

    def segment_one(self, volume, request):
        number = next(REQUESTS)
        if ROLE == "victim" and number == 3:
            Path("reached").touch()
            time.sleep(10**6)
        if ROLE == "without":
            Path(f"{number}.{os.getpid()}").touch()
            while len(list(Path().glob(f"{number}.*"))) < 2:
                time.sleep(0.01)
        return super().segment_one(volume, request)
