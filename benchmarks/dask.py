"""What a Dask cluster on this machine costs beside worker processes: whole commands in pairs, and groups of no work."""

from __future__ import annotations

import os
import statistics
import tempfile
from functools import partial
from pathlib import Path

from benchmarks.commands import pairs, ratio, run, without
from benchmarks.comparison import MINIATURE

PAIRS = 1 if MINIATURE else 3
MANY = "-m random_walker -p box_interp:n=3 -p point_interp:n=3 -d phantom:shape=48x128x128,instances=3,scans="
SCANS = 2 if MINIATURE else 48
SMALL = "-m box_fill -p box_volume -d phantom:shape=8x16x16,instances=1,scans="
GROUPS = 4 if MINIATURE else 500
"""Cases of one session each; give another number as INTRABENCH_BENCH_GROUPS, such as 10000."""


def main() -> None:
    """Print the start, the ratio of whole commands and of what is left without the start, and the time per group."""
    groups = int(os.environ.get("INTRABENCH_BENCH_GROUPS", GROUPS))
    two, dask = " --workers 2", " --dask local:2"
    with tempfile.TemporaryDirectory() as place:
        os.environ["INTRABENCH_DATA"] = place + "/data"
        folder = Path(place)
        run(f"{MANY}{SCANS}{two}", folder / "ready")
        starts = pairs(partial(run, f"{SMALL}2{dask}"), partial(run, f"{SMALL}2{two}"), folder, PAIRS)
        print(f"start, a Dask cluster of two and two workers: {ratio(starts)}", flush=True)
        found = pairs(partial(run, f"{MANY}{SCANS}{dask}"), partial(run, f"{MANY}{SCANS}{two}"), folder, PAIRS)
        print(f"random_walker on {SCANS} scans: {ratio(found)}", flush=True)
        print(f"the same without the start: {ratio(without(found, starts))}", flush=True)
        run(f"{SMALL}{groups}{two}", folder / "small")
        for name, way, begun in (("workers", two, 1), ("dask", dask, 0)):
            start = statistics.median(pair[begun] for pair in starts)
            seconds = run(f"{SMALL}{groups}{way}", folder / name) - start
            print(f"{way.strip()}: {1e3 * seconds / groups:.1f} ms per group of one session", flush=True)


if __name__ == "__main__":
    main()
