"""Synthetic scans of any size, spacing, orientation and number of instances, the same on every machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from annotated_types import Interval
from numpy.typing import NDArray

from intrabench.datasets.base import Dataset, DatasetCard, Files
from intrabench.errors import IntraBenchError
from intrabench.mask import Index, Mask
from intrabench.randomness import stream
from intrabench.specs.specs import Reach
from intrabench.specs.values import Count, NotNegative
from intrabench.target import Target
from intrabench.volume import Grid, Volume

AIR, BODY = -1000, 40  # Hounsfield units
CONTRAST = (60.0, 140.0)  # of the blobs relative to the body
GAP = 2  # voxels between neighbours, at least
_WORLD = ("LR", "PA", "IS")  # the two directions of each RAS axis: negative, positive


Length = Annotated[int, Interval(ge=1, le=4096)]
Spacing = Annotated[float, Interval(gt=0, le=1000)]
Voxels = tuple[Length, Length, Length]
Millimetres = tuple[Spacing, Spacing, Spacing]


@dataclass(frozen=True)
class Phantom(Dataset):
    """Synthetic blobs in a body, with noise: any size, spacing, orientation and number of instances.

    shape, spacing: of the scan, in voxels and mm, canonical, (z, y, x). instances: the number of blobs. orientation:
    that of the stored file, three letters such as RAS; it changes nothing else. scans: the number of cases. seed: of
    the random shapes and the noise. noise: standard deviation in Hounsfield units.
    """

    name = "phantom"
    version = "1"
    card = DatasetCard(
        title="Synthetic blobs in a body",
        modality="synthetic, CT-like intensities",
        licence="computed; no restrictions",
        citation="none; it comes with IntraBench",
        labels="label blob, instances 1 to n, which never touch; exact by construction",
        caveats=("there is no anatomy in it; use it for tests and speed measurements, not for claims about a model",),
    )
    shape: Voxels = (64, 96, 96)
    spacing: Millimetres = (2.0, 1.0, 1.0)
    orientation: Annotated[str, Reach()] = "RAS"
    instances: Annotated[int, Interval(ge=0, le=1000)] = 3
    scans: Count = 1
    seed: int = 0
    noise: NotNegative = 30.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "spacing", tuple(float(value) for value in self.spacing))  # 1 and 1.0: one spec
        if len(self.orientation) != 3 or not all(any(c in pair for c in self.orientation) for pair in _WORLD):
            raise ValueError(f"orientation={self.orientation}, expected three letters, one each of RL, AP and SI")

    def cases(self) -> tuple[str, ...]:
        """``case-1``, ``case-2``, ..."""
        return tuple(f"case-{number}" for number in range(1, self.scans + 1))

    def load(self, case: str, files: Files) -> tuple[Volume, list[Target]]:
        """Make one scan; work and memory beyond the int16 scan itself follow the blobs, not the volume."""
        array = self._background(case)
        rng = stream(self.name, self.version, self.seed, case, "blobs")
        targets = []
        for instance, cell in enumerate(self._cells(rng), start=1):
            mask, rise = _blob(rng, *cell)
            z, y, x = mask.start
            depth, height, width = mask.array.shape
            array[z : z + depth, y : y + height, x : x + width] += rise
            targets.append(Target(case, "blob", instance, mask, self.shape, self.spacing))
        return Volume(array, _grid(self.shape, self.spacing, self.orientation)), targets

    def _background(self, case: str) -> NDArray[np.int16]:
        """The body, a rounded block along z, in air, with noise; made slice by slice to stay small."""
        _, height, width = self.shape
        y, x = (np.abs(np.arange(size) - (size - 1) / 2) / (0.48 * size) for size in (height, width))
        y4, x4 = (square * square for square in (y * y, x * x))
        body = np.where(y4[:, None] + x4 <= 1, BODY, AIR).astype(np.float32)
        rng = stream(self.name, self.version, self.seed, case, "noise")
        array = np.empty(self.shape, dtype=np.int16)
        for plane in array:
            grain = rng.standard_normal((height, width), dtype=np.float32) * np.float32(self.noise)
            plane[:] = np.rint(np.clip(body + grain, -32000, 32000))
        return array

    def _cells(self, rng: np.random.Generator) -> list[tuple[Index, Index]]:
        """First voxel and size of the boxes for one blob each: some cells of a lattice inside the body."""
        low = [
            0,
            round(0.1 * self.shape[1]),
            round(0.1 * self.shape[2]),
        ]  # margin inside of which a box lies in the body
        size = [self.shape[axis] - 2 * low[axis] for axis in range(3)]
        counts = [1, 1, 1]
        while counts[0] * counts[1] * counts[2] < self.instances:
            room = [axis for axis in range(3) if size[axis] // (counts[axis] + 1) > GAP]
            if not room:
                raise IntraBenchError(
                    f"{self.short_spec}: {self.instances} instances do not fit into shape={self.shape}; "
                    "ask for fewer or for a larger shape"
                )
            counts[max(room, key=lambda axis: size[axis] * self.spacing[axis] / counts[axis])] += 1
        chosen = np.sort(rng.choice(counts[0] * counts[1] * counts[2], self.instances, replace=False))
        cells = []
        for place in np.stack(np.unravel_index(chosen, counts), axis=1).tolist():
            edges = [[low[a] + size[a] * (place[a] + more) // counts[a] for a in range(3)] for more in (0, 1)]
            spare = [GAP if counts[axis] > 1 else 0 for axis in range(3)]
            z, y, x = (edges[1][axis] - edges[0][axis] - spare[axis] for axis in range(3))
            cells.append(((edges[0][0], edges[0][1], edges[0][2]), (z, y, x)))
        return cells


def _blob(rng: np.random.Generator, start: Index, size: Index) -> tuple[Mask, NDArray[np.int16]]:
    """A smooth blob somewhere in a box: its tight mask, and what it adds to the intensities there.

    The blob is an ellipsoid with dents: the left side of ``r^2 + (c r^2 (d.v) (d.w))^2 < 1`` grows with r along each
    direction d, so the blob has no holes and no islands. Only sums and products are used, so that every machine finds
    the same voxels.
    """
    scale = rng.uniform(0.35, 1.0)
    extent = [max(1, round(scale * rng.uniform(0.75, 1.0) * length)) for length in size]
    first = [begin + int(rng.integers(length - e + 1)) for begin, length, e in zip(start, size, extent, strict=True)]
    v, w = rng.uniform(-1, 1, (2, 3))
    # axes z, y, x; the middle of the box is a voxel or a corner of voxels, and its rim lies just outside
    z, y, x = np.ix_(*((np.arange(e) - (e - 1) / 2) / (e / 2) for e in extent))
    dents = 1.5 * (v[0] * z + v[1] * y + v[2] * x) * (w[0] * z + w[1] * y + w[2] * x)
    level = z * z + y * y + x * x + dents * dents
    mask = Mask.of(level < 1, first)
    inner = level[tuple(slice(a - f, a - f + n) for a, f, n in zip(mask.start, first, mask.array.shape, strict=True))]
    profile = 0.5 + 0.5 * np.clip((1 - inner) / 0.3, 0, 1)  # half the contrast at the rim, full contrast inside
    rise = np.rint(rng.uniform(*CONTRAST) * profile * mask.array)
    return mask, rise.astype(np.int16)


def _grid(shape: Sequence[int], spacing: Sequence[float], orientation: str) -> Grid:
    """The grid of a file with the axes of `orientation` around the same canonical scan."""
    sizes, steps = shape[::-1], spacing[::-1]  # of the axes of RAS
    affine = np.eye(4)
    affine[:3, :3] = 0
    axes = [next(axis for axis, pair in enumerate(_WORLD) if letter in pair) for letter in orientation]
    for column, (letter, axis) in enumerate(zip(orientation, axes, strict=True)):
        forward = letter == _WORLD[axis][1]
        affine[axis, column] = steps[axis] if forward else -steps[axis]
        affine[axis, 3] = 0 if forward else (sizes[axis] - 1) * steps[axis]
    first, second, third = (sizes[axis] for axis in axes)
    return Grid((first, second, third), affine)
