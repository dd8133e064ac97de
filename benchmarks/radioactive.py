"""Static prompters and whole commands against RadioActive's own prompters, with a model that answers at once.

A whole command is a fresh process that imports what it needs, and plays three prompters on six targets. RadioActive's
goes through the steps of its `run_experiments_organ`, but imports no networks and does not evaluate the files that it
wrote. Ours plays a plug-in, by default and without workers, on a scan that is prepared; and on one that is not.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from pathlib import Path

import nibabel as nib
import numpy as np

from benchmarks import painter
from benchmarks.comparison import compare, cpu, whole
from benchmarks.overhead import ours
from benchmarks.painter import SIZES, VOXELS, Painter, Six, ellipsoids
from benchmarks.peers import RADIOACTIVE
from benchmarks.radioactive_run import play, prompters
from intrabench.datasets.cases import store as cases

PROMPTERS = {
    "box_slice": "BoxPer2DSlicePrompter",
    "box_interp:n=3": "ThreeBoxInterpolationPrompter",
    "point_interp:n=3": "ThreePointInterpolationPrompter",
}
PRESETS = {"Dice and IoU": "overlap@1", "default metrics": "basic@1"}


def main() -> None:
    """Print CPU milliseconds per instance at both sizes, then of whole commands, and the ratios."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # users do not set it, and starts would take longer
    peers = prompters([*PROMPTERS.values()])
    if peers is None:
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["INTRABENCH_DATA"] = str(folder / "data")
        for shape in SIZES:
            dataset, size = Six(shape), "x".join(map(str, shape))
            cases.prepare(dataset, "six")
            image, labels, affine = folder / f"{size}.nii", folder / f"{size}.nii.gz", np.diag([0.8, 0.8, 1.5, 1])
            nib.save(nib.Nifti1Image(ellipsoids(shape).transpose(2, 1, 0), affine), labels)
            nib.save(nib.Nifti1Image(np.zeros(shape[::-1], np.int16), affine), image)
            for prompter, cls in PROMPTERS.items():
                peer = peers[cls]
                peer.inferer.set_image(image)
                for what, preset in PRESETS.items():
                    compare(
                        f"{prompter}, {size}, {what}",
                        str(RADIOACTIVE),
                        cpu(partial(play, [peer], image, labels, folder, len(VOXELS))),
                        partial(all_of, dataset, prompter, folder / preset / size / cls, preset),
                        targets=len(VOXELS),
                        times=2,
                    )
        commands(folder, "x".join(map(str, SIZES[0])))


def all_of(dataset: Six, prompter: str, folder: Path, preset: str) -> float:
    """CPU seconds of ours for all instances, with the same painter, slice by slice."""
    return ours(dataset, prompter, folder, Painter(), 0, preset) * len(VOXELS)


def commands(folder: Path, size: str) -> None:
    """Whole commands on the scan of this size."""
    numbers = count()
    theirs = [str(folder / f"{size}.nii"), str(folder / f"{size}.nii.gz"), str(folder), str(len(VOXELS))]

    def run(*more: str, fresh: bool = False) -> Sequence[str]:
        if fresh:
            shutil.rmtree(os.environ["INTRABENCH_DATA"], ignore_errors=True)
        options = [*(f"--prompter={one}" for one in PROMPTERS), *more, f"--out={folder / f'run{next(numbers)}'}"]
        return ["intrabench", "run", "--plugin", painter.__file__, "-m", "painter", "-d", f"six:shape={size}", *options]

    ways: dict[str, Callable[[], Sequence[str]]] = {
        "whole command": run,
        "whole command, --workers 0": partial(run, "--workers=0"),
        "whole command, --workers 0, the scan is converted": partial(run, "--workers=0", fresh=True),
    }
    for what, command in ways.items():
        compare(
            f"{what}, {len(PROMPTERS)} prompters x {len(VOXELS)} targets, {size}, default metrics",
            str(RADIOACTIVE),
            whole(lambda: ["benchmarks.radioactive_run", *theirs, *PROMPTERS.values()]),
            whole(command),
            times=2,
        )


if __name__ == "__main__":
    main()
