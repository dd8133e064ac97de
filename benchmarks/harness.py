"""The share of a run's wall time in which its network computes: the rest is ours, Python's and that of imports.

Of the networks of MODELS, which have random weights here, only the time from their first call to their last counts:
building them takes longer than loading.
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

RUNS = 1 if MINIATURE else 3
WORDS = (
    "-m litemedsam -p box_slice -p box_interp:n=3 -p point_interp:n=3 -d spine_ct -d spine_mr --workers 0"
    " --no-cache-embeddings"
)
SLICES = "--weights random --workers 0 --no-cache-embeddings -d phantom:shape=8x256x256,instances=1"
MODELS = {
    "hf, SAM 2 t": f"-m hf:repo={{hf}} -p box_slice -p point_interp:n=3+click_center --rounds 2 {SLICES}",
    "hf_video, SAM 2 t": f"-m hf_video:repo={{hf}} -p box_interp:n=1+click_slice --rounds 2 {SLICES}",
    "medsam2": f"-m medsam2 -p box_interp:n=1+click_slice --rounds 2 {SLICES}",
    "medsam2:workflow=mask": f"-m medsam2:workflow=mask -p box_interp:n=1+click_slice --rounds 2 {SLICES}",
    "segvol by text": f"-m segvol -p name+click_volume --rounds 2 {SLICES.replace('8x', '48x')}",
    "vista3d": f"-m vista3d -p points_volume:n=1+click_volume --rounds 2 {SLICES.replace('8x256x256', '48x96x96')}",
}
if MINIATURE:
    WORDS = "-m litemedsam -p box_slice -d phantom:shape=1x64x64,instances=1 --workers 0 --no-cache-embeddings"
    MODELS = {"litemedsam again": WORDS}
"""Networks of real size; hf: a folder with the configuration of SAM 2 t."""

CHILD = """
import atexit, sys, time
import torch
real, depth, spent, times = torch.nn.Module.__call__, [0], [0.0], []
def call(self, *args, **options):
    depth[0] += 1
    started = time.perf_counter()
    times or times.append(started)
    try:
        return real(self, *args, **options)
    finally:
        depth[0] -= 1
        if not depth[0]:
            times[1:] = [time.perf_counter()]
            spent[0] += times[-1] - started
torch.nn.Module.__call__ = call
atexit.register(lambda: print(spent[0], times[-1] - times[0], file=sys.stderr))
from intrabench.cli.main import main
main()
"""
"""Times the outermost calls of torch modules."""


def shares(words: str, out: Path) -> tuple[float, float, float]:
    """Wall time of a run, and the shares of its network: of all that time, and from its first call to its last."""
    command = [sys.executable, "-c", CHILD, "run", *words.split(), "--out", str(out)]
    started = time.perf_counter()
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    taken = time.perf_counter() - started
    spent, between = map(float, done.stderr.split()[-2:])
    return taken, spent / taken, spent / between


def main() -> None:
    """Print shares."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["INTRABENCH_DATA"] = folder + "/data"
        found = [shares(WORDS, Path(folder, f"out{number}")) for number in range(RUNS + 1)][1:]  # the first converts
        wall, parts = statistics.median(one[0] for one in found), sorted(one[1] for one in found)
        print(f"litemedsam on spine_ct and spine_mr: {wall:.1f} s, of which the network takes", end=" ")
        print(f"{statistics.median(parts):.3f} ({parts[0]:.3f} to {parts[-1]:.3f})", flush=True)
        hf = Path(folder, "sam2_t")
        hf.mkdir()
        (hf / "config.json").write_text('{"model_type": "sam2_video"}')
        for number, (name, words) in enumerate(MODELS.items()):
            wall, _, part = shares(words.format(hf=hf), Path(folder, f"model{number}"))
            print(f"{name}: {wall:.1f} s, of which after its first call the network takes {part:.3f}", flush=True)


if __name__ == "__main__":
    main()
