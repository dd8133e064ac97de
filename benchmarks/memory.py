"""Growth of resident memory in a run on 512 x 512 x 300 voxels with 100 targets, against the volume as float32.

Two runs in fresh processes: one that converts the case first and fills boxes, one of a slice model without a network
whose embeddings (4 MiB per slice, 1.2 GiB in all) do not fit into ``--memory 256`` and go to disk.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

from benchmarks.comparison import MINIATURE

SLICES, SIDE = (24, 64) if MINIATURE else (300, 512)
DATASET = f"phantom:shape={SLICES}x{SIDE}x{SIDE},spacing=1x0.8x0.8,instances={2 if MINIATURE else 100}"
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
rows = intrabench.run(sys.argv[1], "box_slice", sys.argv[2], memory=256, plugin=[Path(sys.argv[3])])
assert set(rows["status"]) == {"ok"}, rows["error"].to_list()[:3]
print(len(rows), environment.peak_memory_mb() - before)
"""


def growth_mb(model: str, folder: str) -> tuple[int, float]:
    """Rows and growth of the peak resident memory of one run in a fresh process."""
    with open(f"{folder}/plugin.py", "w") as file:
        file.write(PLUGIN)
    words = [sys.executable, "-c", CHILD, model, DATASET, f"{folder}/plugin.py"]
    said = subprocess.run(words, cwd=folder, check=True, capture_output=True, text=True).stdout.split()
    return int(said[0]), float(said[1])


def main() -> None:
    """Print growth and ratio."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["INTRABENCH_DATA"] = folder + "/data"
        for model, what in (("box_fill", "conversion, then box_fill"), ("heavy", "slice model, embeddings on disk")):
            rows, grown = growth_mb(model, folder)
            print(f"{what:34} {rows} rows, {grown:7.0f} MiB more, {grown / FLOAT32_MB:.2f} x the volume as float32")


if __name__ == "__main__":
    main()
