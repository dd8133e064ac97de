"""Growth of resident memory in a run on 512 x 512 x 300 voxels with 100 targets, against the volume as float32.

Two runs in fresh processes: one that converts the case first and fills boxes, one of a slice model without a network
whose embeddings (4 MiB per slice, 1.2 GiB in all) do not fit into ``--memory 256`` and go to disk. Then one of 117
targets and 6 rounds with a model that leaves logits, against its ``--memory``; and the peak of `table` and `report` of
1,008,000 rows, imports included.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import polars as pl

from benchmarks import statistics
from benchmarks.comparison import MINIATURE
from benchmarks.size import REPORT, TABLE, measure

SLICES, SIDE = (24, 64) if MINIATURE else (300, 512)
DATASET = f"phantom:shape={SLICES}x{SIDE}x{SIDE},spacing=1x0.8x0.8,instances={2 if MINIATURE else 100}"
MANY = "phantom:shape=24x32x32,instances=4" if MINIATURE else "phantom:shape=300x300x300,spacing=1x1x1,instances=117"
FLOAT32_MB = SLICES * SIDE**2 * 4 / 2**20

PLUGIN = '''
from dataclasses import dataclass

import numpy as np

from intrabench.models.parts.slice_model import SliceItem, SliceModel, SliceResult


@dataclass(eq=False)
class Heavy(SliceModel):
    """Boxes, from embeddings as large as those of SAM."""

    name = "heavy"
    accepts = frozenset({"box2d"})

    def slice_images(self, volume):
        return lambda z: volume.array[z].astype(np.float32)

    def encode(self, images):
        return [np.full((256, 64, 64), image.mean(), np.float32) for image in images]

    def decode(self, items):
        results = []
        for item in items:
            mask = np.zeros(item.shape, bool)
            y0, x0, y1, x1 = item.box
            mask[y0:y1, x0:x1] = True
            results.append(SliceResult(mask))
        return results


@dataclass(eq=False)
class Logits(Heavy):
    """The same without embeddings, with logits as large as those of SAM, which it is given again."""

    name = "logits"
    accepts = frozenset({"point", "box2d"})
    encodes = False
    feeds_back = True

    def encode(self, images):
        return [np.zeros(1, np.float32) for _ in images]

    def decode(self, items):
        return [SliceResult(np.ones(item.shape, bool), np.zeros((256, 256), np.float32)) for item in items]
'''

CHILD = """
import sys
import intrabench
from pathlib import Path
from intrabench.engine import environment
if sys.argv[1] == "heavy":
    import torch  # what real slice models import before they run
import scipy.ndimage, scipy.spatial, polars, nibabel, intrabench.engine.run, intrabench.metrics.parts.surface
before = environment.peak_memory_mb()
model, prompter, dataset, memory, plugin = sys.argv[1:]
out = f"{model}-{memory}"  # a run must not find what another has played
rows = intrabench.run(model, prompter, dataset, rounds=5, memory=int(memory), workers=0, plugin=[Path(plugin)], out=out)
assert set(rows["status"]) == {"ok"}, rows["error"].to_list()[:3]
print(len(rows), environment.peak_memory_mb() - before)
"""


def growth_mb(model: str, folder: str, prompter: str, dataset: str, memory: int) -> tuple[int, float]:
    """Rows and growth of the peak resident memory of one run in a fresh process."""
    with open(f"{folder}/plugin.py", "w") as file:
        file.write(PLUGIN)
    words = [sys.executable, "-c", CHILD, model, prompter, dataset, str(memory), f"{folder}/plugin.py"]
    said = subprocess.run(words, cwd=folder, check=True, capture_output=True, text=True).stdout.split()
    return int(said[0]), float(said[1])


def store_rows(folder: Path) -> int:
    """A results folder ``out`` with the rows of the benchmark of statistics, with what real rows have besides."""
    rows = statistics.rows().with_columns(pl.col("session").map_elements(_key, pl.String))
    same = {"metrics": "dice@1 iou@1 nsd_2mm@1 hd95_mm@1", "dtype": "float32"}
    same |= dict.fromkeys(("error", "adapted", "weights", "fits_better"), "")
    same |= dict.fromkeys(("dataset_version", "model_version", "prompter_version"), "1")
    rows = rows.with_columns(**{name: pl.lit(text) for name, text in same.items()}, patient="case")
    (folder / "out" / "rows").mkdir(parents=True)
    rows.write_parquet(folder / "out" / "rows" / "run-0001.parquet")
    return len(rows)


def _key(session: str) -> str:
    return hashlib.sha256(session.encode()).hexdigest()[:32]


def main() -> None:
    """Print growth and ratio."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["INTRABENCH_DATA"] = folder + "/data"
        for model, what in (("box_fill", "conversion, then box_fill"), ("heavy", "slice model, embeddings on disk")):
            rows, grown = growth_mb(model, folder, "box_slice", DATASET, 256)
            print(f"{what:34} {rows} rows, {grown:7.0f} MiB more, {grown / FLOAT32_MB:.2f} x the volume as float32")
        for memory in (128, 512):
            rows, grown = growth_mb("logits", folder, "box_interp:n=3+scribble", MANY, memory)
            print(f"{f'117 targets, --memory {memory}':34} {rows} rows, {grown:7.0f} MiB more", flush=True)
        count = store_rows(Path(folder))
        for name, step in (("table", TABLE), ("report", REPORT)):
            seconds, processor, peak = measure(Path(folder), step)
            print(f"{name:34} {count} rows, {peak:7.0f} MiB, {seconds:.1f} s, {processor:.1f} s CPU")


if __name__ == "__main__":
    main()
