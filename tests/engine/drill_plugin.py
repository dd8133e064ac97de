"""A model that tells in its first request that it plays, and then does what HOW says."""

import os
import shutil
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from intrabench.models.box_fill import BoxFill

HOW = os.environ.get("HOW", "")


@dataclass(eq=False)
class Drilled(BoxFill):
    """Box fill."""

    name = "drilled"

    def segment_one(self, volume, request):
        if HOW:
            Path(f"playing.{os.getpid()}").touch()
            if folder := os.environ.get("REMOVE"):
                shutil.rmtree(folder, ignore_errors=True)
        if HOW == "deaf":
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        if HOW in ("deaf", "sleep"):
            time.sleep(10**6)
        if HOW == "slow":
            time.sleep(0.5)
        return super().segment_one(volume, request)
