"""What propagation and five corrections cost per instance when the model costs nothing, beside the common way.

The six instances and two volume sizes of `benchmarks.overhead`. The stub model answers slice by slice, at once; under
corrections its answer is the target beside its place, a little nearer each round, so that all five really happen.
Timed: prompting, the stub, bookkeeping, Dice, storing rows and turns. Not timed, on either side: loading the image and
the targets, imports, writing masks. The reference does the same steps on whole volumes in the common way.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from benchmarks.comparison import MINIATURE, compare
from benchmarks.overhead import by_protocols, ours
from benchmarks.painter import SIZES, VOXELS, Six, ellipsoids
from intrabench.datasets.cases import store as cases
from intrabench.mask import Bools, Mask, Region
from intrabench.models.base import Answer, Failure, Model, Predictor, Request
from intrabench.prompts import Prompts
from intrabench.results.parts import read_rows
from intrabench.volume import Volume

Bytes = NDArray[np.uint8]

PROPAGATION = ("box_prop", "point_prop")
CORRECTION = ("box_interp:n=3+scribble", "point_interp:n=5+scribble")
ROUNDS = 1 if MINIATURE else 5
FLAW = 0.15


@dataclass(eq=False)
class Stub(Model):
    """Answers on the slices of the newest turn: the target `flaw` of its height beside its place, less each round."""

    name = "stub"
    dims = 2
    accepts = frozenset({"point", "box2d"})
    flaw: float = 0.0
    truths: Sequence[Mask] = field(default=(), init=False)  # no parameter: nobody wants them in the spec

    def open(self, volume: Volume) -> AbstractContextManager[Predictor]:
        """Nothing to encode."""
        return nullcontext(_OpenStub(self.truths, self.flaw))


@dataclass(eq=False)
class _OpenStub(Predictor):
    truths: Sequence[Mask]
    flaw: float

    def segment(self, requests: Sequence[Request]) -> list[Answer | Failure]:
        return [self._answer(request) for request in requests]

    def _answer(self, request: Request) -> Answer:
        """Each slice in the box that was last given there, if any; the memory is the target and those boxes."""
        prompts = request.turns[-1].prompts
        truth, boxes = request.memory or (self._meant(prompts), {})
        boxes = boxes | {z: box for z, *box in prompts.boxes2d.tolist()}
        by = flaw_in_pixels(self.flaw, truth.array.shape[1], sum(bool(turn.actions) for turn in request.turns) - 1)
        (first, top, left), (depth, height, width) = truth.start, truth.array.shape
        slices, corner = prompts.slices(), (top + by, left + by // 2)
        found = np.zeros((slices[-1] - slices[0] + 1, height, width), dtype=bool)
        for z in slices:
            if first <= z < first + depth:
                window = _window(boxes.get(z), *corner)
                found[z - slices[0]][window] = truth.array[z - first][window]
        return Answer(Mask((slices[0], *corner), found), Region(slices=slices), (truth, boxes))

    def _meant(self, prompts: Prompts) -> Mask:
        """The target in the middle of the first prompt."""
        if len(prompts.boxes2d):
            z, y0, x0, y1, x1 = prompts.boxes2d[0].tolist()
            y, x = (y0 + y1) // 2, (x0 + x1) // 2
        else:
            z, y, x, _ = prompts.points[0].tolist()
        return next(mask for mask in self.truths if mask.crop((z, y, x, z + 1, y + 1, x + 1)).any())


_BEYOND = 4  # pixels by which answers leave their boxes, as those of real models do


def flaw_in_pixels(flaw: float, height: int, corrections: int) -> int:
    """How far below its place an answer lies; to the right it is half as much."""
    return max(2, round(flaw * height * (1 - corrections / 10))) if flaw else 0


def _window(box: Sequence[int] | None, top: int, left: int) -> tuple[slice, slice]:
    """What a box, if there is one, leaves of a slice whose first pixel is `top`, `left`."""
    if box is None:
        return slice(None), slice(None)
    y0, x0, y1, x1 = box
    rows = slice(max(y0 - _BEYOND - top, 0), max(y1 + _BEYOND - top, 0))
    return rows, slice(max(x0 - _BEYOND - left, 0), max(x1 + _BEYOND - left, 0))


def common_scribbles(truth: Bools, flaw: float) -> float:
    """Five scribbles on one target in the common way; returns the last Dice. `truth` is oriented as its file."""
    rng = np.random.default_rng(0)
    height = int(np.ptp(np.flatnonzero(truth.any(axis=(0, 2))))) + 1
    answer = _answered(truth, range(len(truth)), np.zeros(truth.shape, np.uint8), flaw_in_pixels(flaw, height, 0))
    for number in range(1, ROUNDS + 1):
        wanted, found = turned(truth.astype(np.float64)), turned(answer.astype(np.float64))
        missed, excess = (wanted > 0) & (found == 0), (wanted == 0) & (found > 0)
        if rng.random() < missed.sum() / (missed.sum() + excess.sum()):
            slices = [z for z, _, _ in _through(missed)]
        else:
            slices = [z for z, _ in _around(wanted > 0, excess)]
        answer = _answered(truth, slices, answer, flaw_in_pixels(flaw, height, number))
        _dice(truth, answer)
    return _dice(truth, answer)


def _answered(truth: Bools, slices: Sequence[int], before: Bytes, by: int) -> Bytes:
    """The stub's answer on some slices, copied into the answer before."""
    image = turned(np.roll(truth, (by, by // 2), axis=(1, 2)).astype(np.uint8))
    merged = turned(before)
    for z in sorted(set(slices)):
        merged[z] = image[z]
    return turned(merged)


def _through(missed: Bools) -> Iterator[tuple[int, float, float]]:
    """The centroids of the largest missed component."""
    labels, _ = ndimage.label(missed, structure=np.ones((3, 3, 3)))
    sizes = np.bincount(labels.ravel())
    sizes[0] = 0
    largest = np.where(labels == sizes.argmax(), 1, 0).astype(np.uint8)
    for z in np.unique(np.argwhere(largest)[:, 0]):
        planes, count = ndimage.label(largest[z], structure=np.ones((3, 3)))
        y, x = ndimage.center_of_mass(planes == np.bincount(planes.ravel())[1:].argmax() + 1) if count else (0, 0)
        yield int(z), y, x


def _around(wanted: Bools, excess: Bools) -> list[tuple[int, int]]:
    """Wrong pixels on the outline of the target dilated by 2, in the coronal plane with most of them."""
    y = int(excess.sum(axis=(0, 2)).argmax())
    disk = np.hypot(*np.mgrid[-2:3, -2:3]) <= 2
    grown = ndimage.binary_dilation(wanted[:, y], disk)
    outline = grown & ~ndimage.binary_erosion(grown)
    return [(int(z), int(x)) for z, x in np.argwhere(outline & excess[:, y])]


def common_propagation(truth: Bools) -> float:
    """Box propagation for one target in the common way; returns the Dice. `truth` is oriented as its file."""
    wanted = turned(truth.astype(np.float64)) > 0
    slices = np.unique(np.argwhere(wanted)[:, 0])
    middle = int(slices[len(slices) // 2])
    boxes = {middle: _box(wanted[middle])}
    for step in (1, -1):
        for z in range(middle, int(slices[-1]) if step == 1 else int(slices[0]), step):
            answer = turned(_in_boxes(wanted, {z: boxes[z]}))  # to the file's order, as a model gives it
            boxes[z + step] = _box(turned(answer)[z])
    return _dice(truth, turned(_in_boxes(wanted, boxes)))


def _in_boxes(wanted: Bools, boxes: dict[int, tuple[int, int, int, int]]) -> Bytes:
    answer = np.zeros(wanted.shape, dtype=np.uint8)
    for z, (y0, x0, y1, x1) in boxes.items():
        window = slice(max(y0 - _BEYOND, 0), y1 + _BEYOND), slice(max(x0 - _BEYOND, 0), x1 + _BEYOND)
        answer[z][window] = wanted[z][window]
    return answer


def _box(plane: NDArray[np.generic]) -> tuple[int, int, int, int]:
    pixels = np.argwhere(plane)
    (y0, x0), (y1, x1) = pixels.min(axis=0), pixels.max(axis=0) + 1
    return int(y0), int(x0), int(y1), int(x1)


def turned(array: NDArray[np.generic]) -> NDArray[Any]:
    """From the orientation of the file to that of the model, or back, as a copy: two axes run the other way."""
    return np.ascontiguousarray(array[:, ::-1, ::-1])


def _dice(truth: Bools, answer: Bytes) -> float:
    predicted = answer > 0
    return float(2 * np.logical_and(truth, predicted).sum() / (truth.sum() + predicted.sum()))


def common(play: Callable[[Bools], float], shape: tuple[int, int, int]) -> float:
    """Seconds per instance in the common way; the whole-volume targets are made before."""
    labels = ellipsoids(shape)
    seconds = 0.0
    for value in range(1, len(VOXELS) + 1):
        truth = turned(labels == value)
        started = process_time()
        dice = play(truth)
        seconds += process_time() - started
        assert 0.3 < dice <= 1
    return seconds / len(VOXELS)


def checked(root: Path, rounds: int) -> None:
    """All rounds were really played, and every answer is wrong enough to need them, or right where it should be."""
    rows = read_rows(root)
    assert len(rows) == len(VOXELS) * (rounds + 1), rows
    assert set(rows["status"]) == {"ok"}, rows
    dice = rows["dice"].to_numpy()
    assert dice.min() > 0.3, rows
    assert dice.max() < 1 if rounds else dice.min() == 1, rows


def at_size(shape: tuple[int, int, int], folder: Path) -> dict[str, float]:
    """Print what all prompters at one size cost, and return CPU milliseconds per instance."""
    dataset = Six(shape)
    cases.prepare(dataset, "six")
    truths = [target.mask for target in cases.open_case(dataset, "six").targets()]
    references: dict[str, Callable[[Bools], float]] = {
        "prop": common_propagation,
        "scribble": lambda truth: common_scribbles(truth, FLAW),
    }
    found = {}
    for prompter in (*PROPAGATION, *CORRECTION):
        rounds = ROUNDS if prompter in CORRECTION else 0
        out = folder / f"{shape[1]}-{prompter.replace(':', '-')}"
        model = Stub(FLAW if rounds else 0.0)
        model.truths = truths
        play = next(play for way, play in references.items() if prompter.endswith(way))
        compared = compare(
            f"{prompter}, {'x'.join(map(str, shape))}" + f", {rounds} rounds" * bool(rounds),
            f"our restatement of the common way (NumPy), {'scribbles' if rounds else 'propagation of a box'}",
            lambda play=play: common(play, shape),  # type: ignore[misc]
            lambda prompter=prompter, model=model, rounds=rounds, out=out: ours(dataset, prompter, out, model, rounds),  # type: ignore[misc]
            times=1,
        )
        checked(next(out.iterdir()), rounds)
        found[prompter] = min(map(min, compared.ours_ms))
        if rounds:
            print(f"  {'':29} {by_protocols(dataset, prompter, out, rounds, 1)}")
    return found


def main() -> None:
    """Print seconds per instance at both sizes, and the ratios."""
    with tempfile.TemporaryDirectory() as name:
        os.environ["INTRABENCH_DATA"] = str(Path(name) / "data")
        seconds = []
        for shape in SIZES:
            print("x".join(str(side) for side in shape))
            seconds.append(at_size(shape, Path(name)))
    small, large = seconds
    for prompter in small:
        print(f"{prompter:31} {SIZES[1]} costs {large[prompter] / small[prompter]:.2f} times {SIZES[0]}")


if __name__ == "__main__":
    main()
