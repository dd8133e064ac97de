"""What it costs that files are on the disk before they count: whole runs, with and without waiting for the disk.

Each pair are two fresh processes that play the same sessions with ``--save-masks``, one after the other, in turns of
which comes first; in one of them `os.fsync` does nothing. The ratio is that of the medians. On a machine with other
work single pairs differ by more than what is measured, so the time inside of `os.fsync` is measured, too.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.comparison import MINIATURE

PAIRS = 1 if MINIATURE else 8
RUNS = {
    "random_walker, 2 scans, 4 rounds": "-m random_walker -p box_interp:n=3 -p point_interp:n=3 --refine scribble "
    "--rounds 3 -d phantom:shape=48x96x96,instances=4,scans=2",
    "box_fill, 12 small scans": "-m box_fill -p box_slice -p box_interp:n=3 -d phantom:shape=24x48x48,scans=12",
}
CHILD = """
import atexit, os, sys, time
how, real, waited = sys.argv.pop(1), os.fsync, [0.0]
def fsync(handle):
    started = time.perf_counter()
    if how == "on":
        real(handle)
    waited.append(time.perf_counter() - started)
os.fsync = fsync
atexit.register(lambda: print(sum(waited), file=sys.stderr))
from intrabench.cli.main import main
main()
"""


def seconds(how: str, words: str, out: Path) -> tuple[float, float]:
    """Wall time of a run into a new folder, and the share of it inside of `os.fsync`; how: on, or off."""
    command = [sys.executable, "-c", CHILD, how, "run", *words.split(), "--save-masks", "--out", str(out)]
    started = time.perf_counter()
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    taken = time.perf_counter() - started
    return taken, float(done.stderr.split()[-1]) / taken


def main() -> None:
    """Print seconds, ratios and shares."""
    for name, words in RUNS.items():
        with tempfile.TemporaryDirectory() as folder:
            os.environ["INTRABENCH_DATA"] = folder + "/data"
            seconds("on", words, Path(folder, "first"))  # converts the scans
            taken: dict[str, list[tuple[float, float]]] = {"on": [], "off": []}
            for pair in range(PAIRS):
                for how in ("on", "off") if pair % 2 else ("off", "on"):
                    taken[how].append(seconds(how, words, Path(folder, f"{how}{pair}")))
        on, off = (statistics.median(wall for wall, _ in taken[how]) for how in ("on", "off"))
        pairs = sorted(one / two for (one, _), (two, _) in zip(taken["on"], taken["off"], strict=True))
        share = statistics.median(waited for _, waited in taken["on"])
        print(f"{name}: {on:.2f} s, {off:.2f} s without waiting for the disk, {on / off:.3f} times", end=" ")
        print(f"(single pairs {pairs[0]:.3f} to {pairs[-1]:.3f}); {share:.2%} of the time waiting", flush=True)


if __name__ == "__main__":
    main()
