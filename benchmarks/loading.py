"""Seconds to load a converted case, against reading its image file alone; and growth of memory while converting DICOM.

The case is a phantom of 512 x 512 x 300 voxels with 100 targets. Runs take turns in one process, the fastest of each
counts. The growth is that of a fresh process that converts a DICOM series of 200 slices of 512 x 512 with a structure
set, in multiples of the volume as it is stored.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np

from intrabench.datasets.cases import store
from intrabench.datasets.phantom import Phantom

PHANTOM = Phantom((300, 512, 512), spacing=(1.0, 0.8, 0.8), instances=100)
CASE = "case-1"
ROUNDS = 4

CHILD = """
import sys
from pathlib import Path
from intrabench.engine import environment
import pydicom, highdicom, nibabel, scipy.ndimage
import intrabench.datasets.cases.store as store, intrabench.registry as registry
import intrabench.datasets.convert.dicom_series, intrabench.datasets.convert.rtstruct
dataset = registry.make("datasets", sys.argv[1])
before = environment.peak_memory_mb()
index = store.prepare(dataset, dataset.cases()[0])
print(environment.peak_memory_mb() - before, len(index.targets))
"""


def write_dicom(folder: Path) -> float:
    """Write a CT with a structure set of one ball; returns the size of the volume in MiB."""
    files: Any = import_module("tests.datasets.convert.dicom_files")
    rng = np.random.default_rng(0)
    array = rng.integers(-1000, 1000, (200, 512, 512), dtype=np.int16)
    images = files.write_ct(folder, array, (1.5, 0.8, 0.8))
    angles = np.linspace(0, 2 * np.pi, 100, endpoint=False)
    contours = [
        np.column_stack([200 + 40 * np.cos(angles), 200 + 40 * np.sin(angles), np.full(100, 1.5 * z)])
        for z in range(60, 120)
    ]
    files.write_rtstruct(folder / "contours.dcm", images, {"tumour": contours})
    return array.nbytes / 2**20


def image_alone(path: Path) -> Any:
    """The voxels of the image file."""
    loaded: Any = nib.load(path)
    return loaded.dataobj.get_unscaled()


def whole_case() -> Any:
    """The canonical volume and all targets."""
    scene = store.open_case(PHANTOM, CASE)
    return scene.volume.array, scene.targets()


def main() -> None:
    """Print seconds, ratio and growth."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["INTRABENCH_DATA"] = folder + "/data"
        store.prepare(PHANTOM, CASE)
        (image,) = Path(folder).glob("data/cases/*/*/image.nii.gz")
        turns: dict[str, Callable[[], Any]] = {"image": partial(image_alone, image), "case": whole_case}
        best = dict.fromkeys(turns, np.inf)
        for _ in range(ROUNDS):
            for name, work in turns.items():
                started = time.perf_counter()
                work()
                best[name] = min(best[name], time.perf_counter() - started)
        targets, ratio = len(whole_case()[1]), best["case"] / best["image"]
        print(f"image file alone {best['image']:.2f} s, with {targets} targets {best['case']:.2f} s, {ratio:.2f} times")
        megabytes = write_dicom(Path(folder) / "dicom")
        words = [sys.executable, "-c", CHILD, folder + "/dicom"]
        grown = float(subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()[0])
        print(
            f"converting DICOM: {grown:.0f} MiB more, {grown / megabytes:.1f} times the volume of {megabytes:.0f} MiB"
        )


if __name__ == "__main__":
    main()
