"""The share of a run's wall time in which its network computes: the rest is ours, Python's and that of imports."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RUNS = 3
WORDS = (
    "-m litemedsam -p box_slice -p box_interp:n=3 -p point_interp:n=3 -d spine_ct -d spine_mr --workers 0"
    " --no-cache-embeddings"
)
CHILD = """
import atexit, sys, time
import torch
real, depth, spent = torch.nn.Module.__call__, [0], [0.0]
def call(self, *args, **options):
    depth[0] += 1
    started = time.perf_counter()
    try:
        return real(self, *args, **options)
    finally:
        depth[0] -= 1
        if not depth[0]:
            spent[0] += time.perf_counter() - started
torch.nn.Module.__call__ = call
atexit.register(lambda: print(spent[0], file=sys.stderr))
from intrabench.cli.main import main
main()
"""
"""Times the outermost calls of torch modules."""


def share(out: Path) -> tuple[float, float]:
    """Wall time of a run, and the share of it inside of the network."""
    command = [sys.executable, "-c", CHILD, "run", *WORDS.split(), "--out", str(out)]
    started = time.perf_counter()
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    taken = time.perf_counter() - started
    return taken, float(done.stderr.split()[-1]) / taken


def main() -> None:
    """Print shares."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["INTRABENCH_DATA"] = folder + "/data"
        found = [share(Path(folder, f"out{number}")) for number in range(RUNS + 1)][1:]  # the first converts the scans
    wall, shares = statistics.median(wall for wall, _ in found), sorted(part for _, part in found)
    print(f"litemedsam on spine_ct and spine_mr: {wall:.1f} s, of which the network takes", end=" ")
    print(f"{statistics.median(shares):.3f} ({shares[0]:.3f} to {shares[-1]:.3f})")


if __name__ == "__main__":
    main()
