"""What worker processes gain and cost: whole commands in pairs."""

from __future__ import annotations

import os
import tempfile
from functools import partial
from pathlib import Path

import polars as pl

from benchmarks.commands import first_row, pairs, ratio, run, without
from benchmarks.comparison import MINIATURE
from intrabench.results.parts import read_rows

PAIRS, NETWORK_PAIRS = (1, 1) if MINIATURE else (5, 3)
MANY = "-m random_walker -p box_interp:n=3 -p point_interp:n=3 -d phantom:shape=48x128x128,instances=3,scans=16"
START = "-m random_walker -p box_interp:n=3 -d phantom:shape=8x16x16,instances=1,scans=2"
NETWORK = "-m litemedsam -p box_slice -p box_interp:n=3 -p point_interp:n=3 -d spine_ct --no-cache-embeddings"
SLICE = "-m litemedsam -p box_slice -d phantom:shape=1x64x64,instances=1 --no-cache-embeddings"
if MINIATURE:
    MANY, NETWORK = START, SLICE.replace("1x64", "2x64")
PASSING = ("run_id", "written_at", "peak_memory_mb", "encode_s", "segment_s", "prompt_s", "batch", "prompting_s")


def lasting(out: Path) -> pl.DataFrame:
    """The rows of a folder but for times and memory."""
    rows = read_rows(out)
    timed = [name for name in rows.columns if name in PASSING or name.endswith("_s")]
    return rows.drop(timed).sort("session", "round")


def main() -> None:
    """Print ratios."""
    with tempfile.TemporaryDirectory() as place:
        os.environ["INTRABENCH_DATA"] = place + "/data"
        folder = Path(place)
        for words in (MANY, NETWORK):  # converts the scans
            run(f"{words} --workers 1", folder / "one")
            run(f"{words} --workers 2", folder / "two")
        for words in (START, SLICE):
            run(f"{words} --workers 1", folder / words.split()[1])
        same = lasting(folder / "one").equals(lasting(folder / "two"))
        print(f"the same rows from one worker and from two: {'yes' if same else 'NO'}")
        one, two, none = (f" --workers {number}" for number in (1, 2, 0))
        starts = pairs(partial(run, START + one), partial(run, START + two), folder, PAIRS)
        found = pairs(partial(run, MANY + one), partial(run, MANY + two), folder, PAIRS)
        print(f"random_walker on 16 scans, one worker and two: {ratio(found)}")
        print(f"the same without the start: {ratio(without(found, starts))}", flush=True)
        found = pairs(partial(first_row, SLICE + one), partial(first_row, SLICE + none), folder, PAIRS)
        print(f"litemedsam until the first row of one slice, one worker and this process: {ratio(found)}", flush=True)
        found = pairs(partial(run, NETWORK + one), partial(run, NETWORK + none), folder, NETWORK_PAIRS)
        print(f"litemedsam on spine_ct, one worker and this process: {ratio(found)}")


if __name__ == "__main__":
    main()
