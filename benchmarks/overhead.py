"""What the framework costs per instance when the model costs nothing, at two volume sizes, beside the common way.

Six instances of 214 to 112,482 voxels. The stub model answers at once with the target's box. Timed: prompting,
bookkeeping, Dice, storing rows and turns. Not timed, printed apart: loading the image and its target index. The
reference does the same work in the common way: read the label file per instance, whole volumes in float64, reorient,
prompt, Dice, write the mask. Beside it, a plug-in that answers slice by slice is scored by the default protocol, which
also measures surfaces, and by `overlap@1`, which does not. Last, four prompters play in one run, as in real
ones: then the volume is checked, and what is kept of each target is made, once for all of them.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np

from benchmarks.comparison import MINIATURE, compare
from benchmarks.painter import SIZES, VOXELS, Painter, Six, ellipsoids
from intrabench.datasets.base import Dataset
from intrabench.datasets.cases import store as cases
from intrabench.engine.integrity import IntegrityCheck
from intrabench.engine.job import Job
from intrabench.engine.opened_image import other_targets
from intrabench.engine.plan import Plan, prepare
from intrabench.engine.player import OpenedTask, Player, batches_of
from intrabench.engine.progress.reporter import Silent
from intrabench.engine.session_spec import ModelRunner
from intrabench.engine.write_buffer import WriteBuffer
from intrabench.engine.writer import ResultWriter
from intrabench.mask import Mask
from intrabench.metrics.lookup import of_protocol
from intrabench.models.base import Answer, Failure, Model, Predictor, Request
from intrabench.models.box_fill import fill
from intrabench.prompters.combined import make_prompter
from intrabench.protocols import Protocol, protocol
from intrabench.results.store import Store
from intrabench.volume import Volume

TIMES = 1 if MINIATURE else 7
PROMPTERS = ("box_slice", "box_interp:n=3", "point_interp:n=3", "box_volume")


@dataclass(eq=False)
class Instant(Model):
    """Answers at once with the box around the prompts, boxed."""

    name = "instant"
    dims = 2
    accepts = frozenset({"point", "box2d", "box3d"})

    def open(self, volume: Volume) -> AbstractContextManager[Predictor]:
        """Nothing to encode."""
        return nullcontext(_Instant())


class _Instant(Predictor):
    def segment(self, requests: Sequence[Request]) -> list[Answer | Failure]:
        return [Answer(_around(request)) for request in requests]


def _around(request: Request) -> Mask:
    prompts = request.turns[-1].prompts
    if prompts.box3d is not None:
        z0, y0, x0, z1, y1, x1 = (int(v) for v in prompts.box3d)
    else:
        rows = prompts.boxes2d if len(prompts.boxes2d) else prompts.points[:, [0, 1, 2, 1, 2]]
        (z0, y0, x0), (y1, x1) = rows[:, :3].min(axis=0), rows[:, 3:].max(axis=0)
        z1 = rows[:, 0].max() + 1
    return fill([(int(z0), int(y0), int(x0), int(z1), int(y1), int(x1))], (10**6,) * 3)


def ours(
    dataset: Six,
    prompter: str,
    folder: Path,
    model: Model | None = None,
    rounds: int = 0,
    preset: str = "overlap@1",
) -> float:
    """CPU seconds per instance: the play of all sessions and the writing of their part into a new folder."""
    out = folder / str(time.perf_counter_ns())
    return played(dataset, prompter, out, model or Instant(), rounds, protocol(preset), time.process_time) / len(VOXELS)


def played(
    dataset: Dataset,
    prompters: str | Sequence[str],
    folder: Path,
    model: Model,
    rounds: int,
    rules: Protocol,
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    """Seconds for all sessions of the first case, with one or several prompters, and the writing of their parts."""
    runner, case = ModelRunner(model), dataset.cases()[0]
    made = tuple(map(make_prompter, [prompters] if isinstance(prompters, str) else prompters))
    job = Job((runner,), made, (dataset,), (0,), rules, rounds, metrics=of_protocol(rules.metrics))
    writer = ResultWriter(Store(folder, "bench"), Silent())
    player = Player(job, print)
    (task,) = Plan(job).tasks(dataset, case, prepare(dataset, case, Silent()))
    scene = cases.open_case(dataset, case)
    volume = scene.volume
    targets = {target.id: target for target in scene.targets()}
    started = clock()
    with runner.model.open(volume) as image:
        buffer = WriteBuffer(writer.take, IntegrityCheck(volume, targets.values()))
        opened = OpenedTask(task, volume, targets, other_targets(scene, "axial", targets), image, buffer)
        player.play_batches(opened, batches_of(task.specs, ()))
    buffer.flush()
    return clock() - started


def common(label_file: Path, folder: Path) -> float:
    """CPU seconds per instance for box prompts in the common way."""
    started = time.process_time()
    for value in range(1, len(VOXELS) + 1):
        image: Any = nib.load(label_file)
        truth = nib.as_closest_canonical(image).get_fdata() == value
        foreground = np.argwhere(truth.transpose(2, 1, 0))
        boxes = {}
        for z in np.unique(foreground[:, 0]):
            inside = foreground[foreground[:, 0] == z]
            boxes[z] = (*inside[:, 1:].min(axis=0), *(inside[:, 1:].max(axis=0) + 1))
        answer = np.zeros(truth.transpose(2, 1, 0).shape)
        for z, (y0, x0, y1, x1) in boxes.items():
            answer[z, y0:y1, x0:x1] = 1
        predicted = answer.transpose(2, 1, 0) > 0
        2 * np.logical_and(truth, predicted).sum() / (truth.sum() + predicted.sum())
        nib.save(nib.Nifti1Image(predicted.astype(np.uint8), image.affine), folder / f"{value}.nii.gz")
    return (time.process_time() - started) / len(VOXELS)


PRESETS = ("overlap@1", "basic@1")


def by_protocols(dataset: Six, prompter: str, folder: Path, rounds: int = 0, times: int = TIMES) -> str:
    """Milliseconds per instance with the plug-in, without and with surfaces; both take turns."""
    seconds = dict.fromkeys(PRESETS, float("inf"))
    for number in range(times):
        for preset in PRESETS:
            taken = ours(dataset, prompter, folder / f"{preset}-{number}", Painter(), rounds, preset)
            seconds[preset] = min(seconds[preset], taken)
    return "plug-in of slices: " + ", ".join(f"{preset} {1e3 * taken:.2f} ms" for preset, taken in seconds.items())


TOGETHER = (
    (PROMPTERS, 0),
    (("box_slice+scribble", "box_interp:n=3+scribble", "point_interp:n=3+scribble", "point_interp:n=5+scribble"), 5),
)
"""Four prompters in one run, as in real ones, and the rounds that they correct."""


def together(dataset: Six, folder: Path, times: int = TIMES) -> Iterator[str]:
    """Milliseconds per session, on the clock and of processors, if four prompters share the scan and its targets."""
    for prompters, rounds in TOGETHER:
        clocks = (time.perf_counter, time.process_time)
        runs = iter(range(100))
        least = {(preset, clock): float("inf") for preset in PRESETS for clock in clocks}
        for _ in range(times):
            for way in least:
                out = folder / str(rounds) / str(next(runs))
                taken = played(dataset, prompters, out, Painter(), rounds, protocol(way[0]), way[1])
                least[way] = min(least[way], taken / len(VOXELS) / len(prompters))
        for preset in PRESETS:
            wall, processor = (1e3 * least[preset, clock] for clock in clocks)
            yield f"four prompters, {rounds} rounds, {preset}: {wall:.2f} ms, of processors {processor:.2f} ms"


def main() -> None:
    """Print seconds per instance at both sizes, and the ratios."""
    import os

    per_size: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["INTRABENCH_DATA"] = str(folder / "data")
        for shape in SIZES:
            dataset = Six(shape)
            size = "x".join(str(side) for side in shape)
            prepared = time.perf_counter()
            cases.prepare(dataset, "six")
            loaded = time.perf_counter()
            scene = cases.open_case(dataset, "six")
            count = len(scene.targets()) + scene.volume.array.ndim
            print(f"{size}: convert {loaded - prepared:.2f} s, load {time.perf_counter() - loaded:.2f} s ({count - 3})")
            labels = folder / f"{size}.nii.gz"
            nib.save(nib.Nifti1Image(ellipsoids(shape).transpose(2, 1, 0), np.diag([0.8, 0.8, 1.5, 1])), labels)
            for prompter in PROMPTERS:
                out = folder / size / prompter.replace(":", "-")
                found = compare(
                    f"{prompter}, {size}, Dice and IoU",
                    "our restatement of the common way (nibabel, NumPy), a box per slice",
                    lambda labels=labels: common(labels, folder),  # type: ignore[misc]
                    lambda out=out, dataset=dataset, prompter=prompter: ours(dataset, prompter, out),  # type: ignore[misc]
                )
                per_size.setdefault(prompter, []).append(min(map(min, found.ours_ms)))
                print(f"  {'':28} {by_protocols(dataset, prompter, out)}")
            for line in together(dataset, folder / size / "together"):
                print(f"  {line}", flush=True)
    for prompter, (small, large) in per_size.items():
        print(f"{prompter:30} {SIZES[1]} costs {large / small:.2f} times {SIZES[0]}")


if __name__ == "__main__":
    main()
