"""A training-free model: the image is divided into supervoxels once, and prompts select or deselect them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from intrabench.identity.versions import version_of
from intrabench.mask import Array, Mask
from intrabench.models.base import Answer, Failure, Model, Predictor, Request, failure_of
from intrabench.models.parts.embedding_cache import cache_for
from intrabench.models.parts.intensity import Intensity, assumed, slice_images
from intrabench.prompts import Derived, Prompts
from intrabench.registry import registry
from intrabench.specs.specs import Reach, build, parse, switch
from intrabench.specs.values import Voxels
from intrabench.superpixels.base import Picture, Superpixels, partition
from intrabench.superpixels.partitions.partition import Partition
from intrabench.superpixels.tuned import tuned_parameters
from intrabench.volume import Volume

EXACT = 2**24
"""Labels below it survive in the floats of the cache."""
Votes = dict[int, int]
"""For and against supervoxels, by their labels."""


@dataclass(eq=False)
class Supervoxels(Model):
    """Click supervoxels: positive points and strokes select those that they touch, negative ones deselect them.

    A box selects those of which it holds more than half; a box on a slice those of which it holds more than half there.
    What a later prompt says counts.

    method: spec of a method that divides the image (`intrabench list superpixels`). segments: how many it is asked for.
    intensity: how scans become the grey values that it sees. derived: which derived prompts it gets. least_voxels:
    smaller supervoxels join the most similar neighbour. tuned: parameters of the method by number of supervoxels, as
    `intrabench superpixels tune` chooses them: 400/1200;compactness=5/10 is linear between 400 and 1200.
    """

    name = "supervoxels"
    extra = "superpixels"
    dims = 3
    accepts = frozenset({"point", "box2d", "box3d", "scribble"})
    feeds_back = True
    divides_images = True
    any_plane = True

    method: Annotated[str, Reach(room="superpixels")] = "slic"
    segments: Voxels = 5000
    intensity: Intensity = "modality"
    derived: Derived = "all"
    least_voxels: Voxels = switch(1)
    tuned: Annotated[str, Reach()] = switch("")

    def __post_init__(self) -> None:
        self.method, self.requires = self._made({}).short_spec, self.divides.requires
        self.version = f"2/{version_of(self.divides)}"

    @cached_property
    def divides(self) -> Superpixels:
        """The method, with the parameters for the number."""
        cls = registry.find("superpixels", parse(self.method)[0]).load()
        return self._made(tuned_parameters(cls, self.tuned, self.segments) if self.tuned else {})

    def _made(self, parameters: Mapping[str, str]) -> Superpixels:
        """The method with these parameters besides its own."""
        name, arguments = parse(self.method)
        found: Superpixels = build(registry.find("superpixels", name).load(), {**arguments, **parameters}, self.method)
        return found

    def notes(self, volume: Volume) -> tuple[str, ...]:
        """What `intensity` assumes about the scan."""
        return assumed(volume, self.intensity)

    @contextmanager
    def open(self, volume: Volume) -> Iterator[PartitionPredictor]:
        """Divide the image, or read how an earlier run divided it."""
        started = time.perf_counter()
        found = self.divided(volume)
        notes = [*self.notes(volume)]
        if not self.segments / 2 <= found.count <= self.segments * 2:
            notes.append(f"{found.count} supervoxels instead of {self.segments}")
        yield PartitionPredictor(found, time.perf_counter() - started, tuple(notes))

    def divided(self, volume: Volume) -> Partition:
        """The supervoxels of an image; those of the last method that was asked are kept as long as the image is."""
        entry = _DIVIDED.get(volume)
        if entry is None or entry[0] != self._made_by:
            entry = _DIVIDED[volume] = self._made_by, self._kept(volume)
        return entry[1]

    @property
    def _made_by(self) -> tuple[str, str, str, int]:
        return self.divides.spec, self.version, f"{self.segments} {self.intensity}", self.least_voxels

    def _kept(self, volume: Volume) -> Partition:
        """The supervoxels from the cache, or new ones."""
        cache = cache_for(self, volume)
        labels, other = (cache.read("labels"), cache.read("other")) if cache else (None, None)
        if labels is not None and other is not None and labels.shape == volume.shape:
            return Partition(labels.astype(np.int32), volume.spacing_mm, int(other[0]), float(other[1]), volume.array)
        started = time.perf_counter()
        picture = picture_of(volume, self.intensity)
        found = partition(self.divides, picture, self.segments, self.least_voxels)
        seconds = time.perf_counter() - started
        if cache is not None and max(found.count, found.extra) < EXACT:
            cache.write("labels", found.labels.astype(np.float32), seconds)
            cache.write("other", np.array([found.extra, found.cpu_s], np.float32), seconds)
        return found


_DIVIDED: WeakKeyDictionary[Volume, tuple[tuple[str, str, str, int], Partition]] = WeakKeyDictionary()
"""Model and prompter of the bound divide the same image."""


def picture_of(volume: Volume, intensity: Intensity) -> Picture:
    """What a method sees of an image."""
    images = slice_images(volume, intensity)
    array = np.stack([np.asarray(images(z), np.float32) for z in range(volume.shape[0])]) / np.float32(255)
    return Picture(array if array.ndim == 4 else array[..., None], volume)


class PartitionPredictor(Predictor):
    """An image that is divided. encode_s: the seconds that took, shared by the first requests."""

    def __init__(self, partition: Partition, encode_s: float, notes: tuple[str, ...]) -> None:
        self.partition, self._encode_s, self._notes = partition, encode_s, notes

    def segment(self, requests: Sequence[Request]) -> list[Answer | Failure]:
        """The union of the supervoxels that are selected."""
        share, self._encode_s = self._encode_s / max(1, len(requests)), 0.0
        return [self._answer(request, share, len(requests)) for request in requests]

    def _answer(self, request: Request, encode_s: float, batch: int) -> Answer | Failure:
        started = time.perf_counter()
        try:
            if request.partition:
                return Answer(Mask.empty(), encode_seconds=encode_s, notes=self._notes, partition=self.partition)
            turns = request.given
            selected: Mask = Mask.empty() if request.memory is None else request.memory
            for turn in turns if request.memory is None else turns[-1:]:
                selected = self.choose(selected, turn.prompts)
        except Exception as error:
            return failure_of(error, started)
        seconds = time.perf_counter() - started
        return Answer(
            selected, memory=selected, seconds=seconds, encode_seconds=encode_s, batch=batch, notes=self._notes
        )

    def choose(self, selected: Mask, prompts: Prompts) -> Mask:
        """What is selected after these prompts, which came after `selected`."""
        votes: Votes = {}
        for label in self._boxed(prompts):
            votes[label] = 1
        by_hand: Votes = {}
        for at, positive in _touched(prompts):
            for label, count in zip(*np.unique(self._at(at), return_counts=True), strict=True):
                by_hand[int(label)] = by_hand.get(int(label), 0) + (int(count) if positive else -int(count))
        votes |= {label: vote for label, vote in by_hand.items() if vote}  # a point is surer than a box
        selected = Mask.union([selected, *(self.partition.region(label) for label, vote in votes.items() if vote > 0)])
        for label, vote in votes.items():
            selected = selected.without(self.partition.region(label)) if vote < 0 else selected
        return selected

    def _at(self, at: Array) -> NDArray[np.int32]:
        """The labels of those of the voxels, rows ``z, y, x``, that are in the image."""
        z, y, x = at[((at >= 0) & (at < self.partition.shape)).all(axis=1)].T
        return self.partition.labels[z, y, x]

    def _boxed(self, prompts: Prompts) -> Iterator[int]:
        """The supervoxels that lie in boxes."""
        for number, box in enumerate(prompts.blocks.clip(0).tolist()):
            z0, y0, x0, z1, y1, x1 = box
            labels, inside = np.unique(self.partition.labels[z0:z1, y0:y1, x0:x1], return_counts=True)
            flat = number < len(prompts.boxes2d)  # the 3D box is the last
            whole = self._on_slice(z0, labels) if flat else self.partition.sizes[labels]
            yield from labels[2 * inside > whole].tolist()

    def _on_slice(self, z: int, labels: NDArray[np.int32]) -> NDArray[np.int64]:
        """How many voxels of a slice supervoxels have; labels are ascending."""
        values, counts = np.unique(self.partition.labels[z], return_counts=True)
        found: NDArray[np.int64] = counts[np.searchsorted(values, labels)]
        return found


def _touched(prompts: Prompts) -> Iterator[tuple[Array, bool]]:
    """Voxels ``z, y, x`` under points and strokes, and whether they are positive."""
    for positive in (True, False):
        points = prompts.points[prompts.points[:, 3] == positive, :3]
        if len(points):
            yield points, positive
    for stroke in prompts.scribbles:
        yield stroke.points, bool(stroke.label)
