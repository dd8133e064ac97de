"""Seconds to encode a slice with LiteMedSAM on the CPU, with and without memory being kept between slices."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.comparison import MINIATURE

CHILD = """
import sys, time
import numpy as np
import intrabench
from intrabench.models.parts import allocator
if sys.argv[1] == "without":
    allocator.keep_freed_memory = lambda: None
image = np.random.default_rng(0).integers(0, 255, (256, 256)).astype(np.float32)
model = intrabench.model("litemedsam")
model.encode([image])
times = []
for _ in range({times}):
    started = time.perf_counter()
    model.encode([image])
    times.append(time.perf_counter() - started)
print(sorted(times)[len(times) // 2])
"""


def seconds(how: str) -> float:
    """Median seconds per slice in a fresh process."""
    command = [sys.executable, "-c", CHILD.replace("{times}", "1" if MINIATURE else "6"), how]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return float(said)


def main() -> None:
    """Print both, taken in turn, and the ratio."""
    pairs = [(seconds("without"), seconds("with")) for _ in range(1 if MINIATURE else 3)]
    without, kept = min(pair[0] for pair in pairs), min(pair[1] for pair in pairs)
    print(f"memory handed back {without:.2f} s per slice, kept {kept:.2f} s: {without / kept:.2f} times faster")


if __name__ == "__main__":
    main()
