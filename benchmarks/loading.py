"""Seconds to convert a case and to load it, against reading its source; and growth of memory while converting DICOM.

The source is a phantom of 512 x 512 x 300 voxels with 100 targets: an image and a label map, packed by gzip. Runs take
turns in one process, the fastest of each counts. The growth is that of a fresh process that converts a DICOM series of
200 slices of 512 x 512 with a structure set, in multiples of the volume as it is stored.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np

from benchmarks.comparison import MINIATURE
from intrabench.datasets.base import Files
from intrabench.datasets.cases import store
from intrabench.datasets.folder.folder import open_folder
from intrabench.datasets.phantom import Phantom
from intrabench.mask import box_slices
from intrabench.volume import write_nifti

SIDE, SLICES = (64, 40) if MINIATURE else (512, 300)
PHANTOM = Phantom((SLICES, SIDE, SIDE), spacing=(1.0, 0.8, 0.8), instances=2 if MINIATURE else 100, orientation="LPS")
CASE = "scan"
ROUNDS = 1 if MINIATURE else 4

CHILD = """
import sys
from pathlib import Path
from intrabench.engine import environment
import pydicom, highdicom, nibabel, scipy.ndimage
import intrabench.datasets.cases.store as store, intrabench.registry.registry as registry
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
    array = rng.integers(-1000, 1000, (SLICES * 2 // 3, SIDE, SIDE), dtype=np.int16)
    images = files.write_ct(folder, array, (1.5, 0.8, 0.8))
    angles = np.linspace(0, 2 * np.pi, 100, endpoint=False)
    contours = [
        np.column_stack(
            [SIDE * (0.4 + 0.08 * np.cos(angles)), SIDE * (0.4 + 0.08 * np.sin(angles)), np.full(100, 1.5 * z)]
        )
        for z in range(len(array) * 3 // 10, len(array) * 6 // 10)
    ]
    files.write_rtstruct(folder / "contours.dcm", images, {"tumour": contours})
    return array.nbytes / 2**20


def write_source(folder: Path) -> tuple[Path, Path]:
    """Write the phantom as a user's folder: an image and a label map."""
    volume, targets = PHANTOM.load("case-1", Files(folder, folder))
    labels = np.zeros(volume.shape, np.uint8)
    for number, target in enumerate(targets, start=1):
        labels[box_slices(target.mask.box)][target.mask.array] = number
    image, drawn = folder / "images" / f"{CASE}.nii.gz", folder / "labels" / f"{CASE}.nii.gz"
    write_nifti(image, volume.array, volume.grid)
    write_nifti(drawn, labels, volume.grid)
    return image, drawn


def read(path: Path) -> Any:
    """The voxels of a file."""
    loaded: Any = nib.load(path)
    return loaded.dataobj.get_unscaled()


def measured(folder: Path) -> dict[str, float]:
    """The least seconds that it takes to read the source, to convert it, and to load the case."""
    image, labels = write_source(folder)
    dataset = open_folder(str(folder))
    cases = Path(os.environ["INTRABENCH_DATA"], "cases")

    def convert() -> None:
        shutil.rmtree(cases, ignore_errors=True)
        store.prepare(dataset, CASE)

    turns: dict[str, Callable[[], Any]] = {
        "image": lambda: read(image),
        "labels": lambda: read(labels),
        "conversion": convert,
        "stored image": lambda: store.open_case(dataset, CASE).volume,
        "targets": lambda: store.open_case(dataset, CASE).targets(),
    }
    best = dict.fromkeys(turns, np.inf)
    for _ in range(ROUNDS):
        for name, work in turns.items():
            started = time.perf_counter()
            work()
            best[name] = min(best[name], time.perf_counter() - started)
    return best


def main() -> None:
    """Print seconds, ratios and growth."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["INTRABENCH_DATA"] = folder + "/data"
        best = measured(Path(folder, "source"))
        print(", ".join(f"{name} {seconds:.2f} s" for name, seconds in best.items()))
        print(f"the stored image is read {best['image'] / best['stored image']:.1f} times faster than its source")
        ratio = best["conversion"] / (best["image"] + best["labels"])
        print(f"a conversion takes {ratio:.1f} times one read of its source")
        megabytes = write_dicom(Path(folder) / "dicom")
        words = [sys.executable, "-c", CHILD, folder + "/dicom"]
        grown = float(subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()[0])
        print(
            f"converting DICOM: {grown:.0f} MiB more, {grown / megabytes:.1f} times the volume of {megabytes:.0f} MiB"
        )


if __name__ == "__main__":
    main()
