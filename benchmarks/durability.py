"""What it costs that files are on the disk before they count: whole runs, with and without waiting for the disk.

Each pair are two fresh processes that play the same sessions with ``--save-masks``, one after the other, in turns of
which comes first; in one of them `os.fsync` does nothing. The ratio is that of the medians.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PAIRS = 10
RUNS = {
    "random_walker, 2 scans, 4 rounds": "-m random_walker -p box_interp:n=3 -p point_interp:n=3 --refine scribble "
    "--rounds 3 -d phantom:shape=64x128x128,instances=6,scans=2",
    "box_fill, 12 small scans": "-m box_fill -p box_slice -p box_interp:n=3 -d phantom:shape=24x48x48,scans=12",
}
CHILD = "import os, sys\nif sys.argv.pop(1) == 'off': os.fsync = lambda handle: None\n"
CHILD += "from intrabench.cli.main import main\nmain()"


def seconds(how: str, words: str, out: Path) -> float:
    """Wall time of a run into a new folder; how: on, or off without waiting."""
    command = [sys.executable, "-c", CHILD, how, "run", *words.split(), "--save-masks", "--out", str(out)]
    started = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - started


def main() -> None:
    """Print seconds and ratios."""
    for name, words in RUNS.items():
        with tempfile.TemporaryDirectory() as folder:
            os.environ["INTRABENCH_DATA"] = folder + "/data"
            seconds("on", words, Path(folder, "first"))  # converts the scans
            taken: dict[str, list[float]] = {"on": [], "off": []}
            for pair in range(PAIRS):
                for how in ("on", "off") if pair % 2 else ("off", "on"):
                    taken[how].append(seconds(how, words, Path(folder, f"{how}{pair}")))
        on, off = (statistics.median(taken[how]) for how in ("on", "off"))
        pairs = sorted(a / b for a, b in zip(taken["on"], taken["off"], strict=True))
        print(f"{name}: {on:.2f} s, {off:.2f} s without waiting for the disk, {on / off:.3f} times", end=" ")
        print(f"(single pairs {pairs[0]:.3f} to {pairs[-1]:.3f})", flush=True)


if __name__ == "__main__":
    main()
