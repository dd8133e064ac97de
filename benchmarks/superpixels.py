"""Metrics of superpixels, the bound and a click: against NumPy metric by metric, and against one count of the volume.

Run with `python -m benchmarks superpixels`. The reference computes each metric on its own from the label maps, region
by region where the definition is by region. Both give the same values, which is checked. Runs take turns in one
process, the fastest of each counts.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from benchmarks.comparison import MINIATURE, compare, cpu
from intrabench.mask import Mask
from intrabench.metrics.partition_metric import PartitionMetric
from intrabench.models.base import Request
from intrabench.models.supervoxels import PartitionPredictor
from intrabench.prompts import points
from intrabench.registry import registry
from intrabench.superpixels.baselines import grid_cells
from intrabench.superpixels.partitions.bound import Candidates
from intrabench.superpixels.partitions.pair import PartitionPair
from intrabench.superpixels.partitions.partition import Partition
from intrabench.superpixels.partitions.relabel import relabelled
from intrabench.turns import Turn

Labels = NDArray[np.int32]
TIMES = 1 if MINIATURE else 3
PICTURE, VOLUME = ((1, 80, 120), (32, 96, 96)) if MINIATURE else ((1, 321, 481), (256, 512, 512))
GROUPS = {
    "overlap": ("ue_np", "ue_bergh", "ue_levin", "asa", "oe"),
    "boundary": ("rec", "pre", "cd"),
    "colour": ("ev", "icv", "sse_rgb"),
    "place": ("sse_xy",),
    "shape": ("co", "sp", "sp_size_std"),
    "distance": ("mde",),
}
COMPARED = [name for names in GROUPS.values() for name in names]


def main() -> None:
    """Measure and print."""
    _picture()
    _volume()


def _picture() -> None:
    rng = np.random.default_rng(0)
    labels = relabelled(grid_cells(PICTURE, (1, 25, 40)), PICTURE, "labels")
    truths = [_blobs(rng, PICTURE, count) for count in (8, 12, 20, 30, 40)]
    image = rng.integers(0, 255, (*PICTURE, 3)).astype(np.uint8)
    for one, other in zip(_ours(labels, truths, image), _one_by_one(labels, truths, image), strict=True):
        assert np.allclose(one, other, rtol=1e-9), (one, other)
    what = f"{len(COMPARED)} metrics, {PICTURE[1]}x{PICTURE[2]} pixels, {labels.max() + 1} superpixels, 5 annotations"
    ways = (cpu(partial(measure, labels, truths, image)) for measure in (_one_by_one, _ours))
    compare(what, "our restatement, metric by metric in NumPy", *ways, times=2)


def _volume() -> None:
    rng = np.random.default_rng(0)
    labels = relabelled(grid_cells(VOLUME, (25, 44, 46)), VOLUME, "labels")
    truth, image = _blobs(rng, VOLUME, 12), rng.standard_normal(VOLUME, dtype=np.float32)
    count = _fastest(lambda: np.bincount(labels.ravel()))[0]
    print(f"{VOLUME} voxels, {labels.max() + 1} supervoxels: one np.bincount takes {count:.2f} s")
    for group, names in GROUPS.items():
        seconds = _fastest(partial(_values, labels, truth, image, names), times=2)[0]
        print(f"  {group}: {seconds:.2f} s, {seconds / count:.1f} times that")
    print(f"  peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.1f} GiB; labels have "
          f"{labels.nbytes / 2**30:.2f} GiB")  # fmt: skip
    partition = Partition(labels, (1.0, 1.0, 1.0))
    _ = partition.boxes
    targets = [Mask.of(truth == value) for value in (1, 2)]
    for target in targets:
        seconds, _found = _fastest(partial(_bound, partition, target))
        print(f"  bound of a target of {target.voxels} voxels: {seconds * 1e3:.0f} ms")
    opened, at = PartitionPredictor(partition, 0.0, ()), rng.integers(0, VOLUME, (200, 3))
    memory: Any = Mask.empty()
    spent = []
    for z, y, x in at.tolist():
        turns = (Turn(points([(z // 4, y // 4, x // 4)])),)
        started = time.perf_counter()
        (answer,) = opened.segment([Request("click", turns, memory, memory)])
        spent.append(time.perf_counter() - started)
        memory = answer.update  # type: ignore[union-attr]
    print(f"  a click on a supervoxel: {np.median(spent) * 1e3:.2f} ms (median), {max(spent) * 1e3:.1f} ms at most")


def _bound(partition: Partition, target: Mask) -> float:
    found = Candidates.of(partition, target)
    return found.dice(found.best())


def _values(labels: Labels, truth: Labels, image: NDArray[Any], names: tuple[str, ...]) -> list[float]:
    pair = PartitionPair(Partition(labels, image=image), Partition(truth))
    return [_metric(name).compare(pair) or 0.0 for name in names]


def _ours(labels: Labels, truths: list[Labels], image: NDArray[Any]) -> list[list[float]]:
    partition = Partition(labels, image=image)
    pairs = [PartitionPair(partition, Partition(truth)) for truth in truths]
    return [[_metric(name).compare(pair) or 0.0 for name in COMPARED] for pair in pairs]


@cache
def _metric(name: str) -> PartitionMetric:
    found: Any = registry.make("metrics", name)
    return found


def _blobs(rng: np.random.Generator, shape: tuple[int, ...], count: int) -> Labels:
    """Regions with smooth boundaries."""
    small = tuple(max(1, length // 16) for length in shape)
    fields = ndimage.gaussian_filter(rng.standard_normal((count, *small)), (0, 1, 2, 2)).argmax(axis=0)
    for axis, length in enumerate(shape):
        fields = np.repeat(fields, -(-length // small[axis]), axis=axis).take(np.arange(length), axis=axis)
    return relabelled(fields, shape, "annotation")


def _fastest(call: Callable[[], Any], times: int = TIMES) -> tuple[float, Any]:
    spent, found = [], None
    for _ in range(times):
        started = time.perf_counter()
        found = call()
        spent.append(time.perf_counter() - started)
    return min(spent), found


def _one_by_one(labels: Labels, truths: list[Labels], image: NDArray[Any]) -> list[list[float]]:
    return [[REFERENCE[name](labels[0], truth[0], image[0]) for name in COMPARED] for truth in truths]


def _edges(labels: Labels) -> NDArray[np.bool_]:
    found = np.zeros(labels.shape, bool)
    for axis in (0, 1):
        differ = np.diff(labels, axis=axis) != 0
        for side in ((0, 1), (1, 0)):
            pad = [(0, 0), (0, 0)]
            pad[axis] = side
            found |= np.pad(differ, pad)
    return found


def _near(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    reach = int(0.0025 * np.hypot(*mask.shape) + 0.5)
    return ndimage.maximum_filter(mask, 2 * reach + 1, mode="constant")


def _table(labels: Labels, truth: Labels) -> NDArray[np.int64]:
    found = np.zeros((labels.max() + 1, truth.max() + 1), np.int64)
    np.add.at(found, (labels, truth), 1)
    return found


def _rec(labels: Labels, truth: Labels) -> float:
    drawn = _edges(truth)
    return float((drawn & _near(_edges(labels))).sum() / drawn.sum())


def _pre(labels: Labels, truth: Labels) -> float:
    ours, drawn = _edges(labels), _edges(truth)
    hits = (drawn & _near(ours)).sum()
    return float(hits / (hits + (ours & ~_near(drawn)).sum()))


def _residuals(labels: Labels, values: NDArray[Any]) -> NDArray[np.float64]:
    """The sum of squares around its mean of each region."""
    found = np.zeros(labels.max() + 1)
    for label in range(len(found)):
        inside = values[labels == label].astype(np.float64)
        found[label] = ((inside - inside.mean(axis=0)) ** 2).sum()
    return found


def _places(labels: Labels) -> NDArray[np.int64]:
    return np.moveaxis(np.indices(labels.shape), 0, -1)


def _roundness(labels: Labels) -> float:
    padded, total = np.pad(labels, 1, constant_values=-1), 0.0
    for label in range(labels.max() + 1):
        inside = padded == label
        perimeter = sum(np.abs(np.diff(inside.astype(np.int8), axis=axis)).sum() for axis in (0, 1))
        total += inside.sum() * 4 * np.pi * inside.sum() / perimeter**2
    return float(total / labels.size)


def _levin(labels: Labels, truth: Labels) -> float:
    sizes, found = np.bincount(labels.ravel()), []
    for segment in range(truth.max() + 1):
        inside = truth == segment
        found.append(sizes[np.unique(labels[inside])].sum() / inside.sum() - 1)
    return float(np.mean(found))


def _ue(labels: Labels, truth: Labels) -> float:
    table = _table(labels, truth)
    return float(
        np.where(table > 0, np.minimum(table, table.sum(axis=1, keepdims=True) - table), 0).sum() / labels.size
    )


REFERENCE: dict[str, Callable[[Labels, Labels, NDArray[Any]], float]] = {
    "ue_np": lambda s, g, _: _ue(s, g),
    "ue_bergh": lambda s, g, _: float((_table(s, g).sum(axis=1) - _table(s, g).max(axis=1)).sum() / s.size),
    "ue_levin": lambda s, g, _: _levin(s, g),
    "asa": lambda s, g, _: float(_table(s, g).max(axis=1).sum() / s.size),
    "oe": lambda s, g, _: float((_table(s, g).sum(axis=0) - _table(s, g).max(axis=0)).sum() / s.size),
    "rec": lambda s, g, _: _rec(s, g),
    "pre": lambda s, g, _: _pre(s, g),
    "cd": lambda s, g, _: float(_edges(s).mean()),
    "ev": lambda s, g, i: float(1 - _residuals(s, i).sum() / ((i - i.mean(axis=(0, 1))) ** 2).sum()),
    "icv": lambda s, g, i: float(np.sqrt(_residuals(s, i) / np.bincount(s.ravel())).mean()),
    "sse_rgb": lambda s, g, i: float(_residuals(s, i).sum() / s.size),
    "sse_xy": lambda s, g, _: float(_residuals(s, _places(s)).sum() / s.size),
    "co": lambda s, g, _: _roundness(s),
    "sp": lambda s, g, _: float(len(np.unique(s))),
    "sp_size_std": lambda s, g, _: float(np.bincount(s.ravel()).std()),
    "mde": lambda s, g, _: float(ndimage.distance_transform_edt(~_edges(s))[_edges(g)].mean()),
}


if __name__ == "__main__":
    main()
