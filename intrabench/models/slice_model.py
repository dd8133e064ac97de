"""From an encoder and a decoder of 2D slices to a model of volumes: which slices, which prompts, batches, memory."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from intrabench.mask import Mask, Region
from intrabench.models import weights
from intrabench.models.base import Answer, Failure, Model, OpenImage, Request, failure_of
from intrabench.models.embeddings import EmbeddingStore, content_key
from intrabench.prompts import Ints
from intrabench.specs import full_spec
from intrabench.volume import Volume

Floats = NDArray[np.float32]
Box2D = tuple[int, int, int, int]
"""Half-open, in pixels of the slice: ``y0, x0, y1, x1``."""
Logits = dict[int, NDArray[np.float16]]
"""What a session remembers: the last low-resolution logits of each slice z."""

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class SliceItem:
    """One slice to be decoded for one request, with all prompts that the slice has so far.

    embedding: what `encode` gave for the slice. shape: ``(y, x)``. points: rows ``y, x, label`` (1 target, 0
    background), oldest first. box: the last one given, inside the slice, or None. previous: the slice's own last
    logits for this request, or None.
    """

    embedding: Floats
    shape: tuple[int, int]
    points: Ints
    box: Box2D | None
    previous: Floats | None = None


@dataclass(frozen=True, eq=False)
class SliceResult:
    """The answer for a slice: a boolean mask ``(y, x)`` of the slice's shape, and logits to be fed back next time."""

    mask: NDArray[np.bool_]
    logits: Floats | None = None


class SliceModel(Model):
    """Base of 2D models: a subclass writes `slice_images`, `encode` and `decode`, and accepts points and 2D boxes.

    `feeds_back` says that `decode` wants `previous`. `encode_batch` and `decode_batch` are the constant sizes of the
    default ``batch="fixed"``: with padding to one size, an answer does not depend on what else is asked, because
    networks round differently for different sizes, but (this has to be tested) not for different company. ``"auto"``
    takes up to `max_batch` without padding; a number is a constant size for both.
    """

    dims = 2
    feeds_back: ClassVar[bool] = False
    encode_batch: ClassVar[int] = 1
    decode_batch: ClassVar[int] = 1
    max_batch: ClassVar[int] = 32

    @abstractmethod
    def slice_images(self, volume: Volume) -> Callable[[int], NDArray[Any]]:
        """The function from z to what the network sees of that slice; called once for each opened image."""

    @abstractmethod
    def encode(self, images: Sequence[NDArray[Any]]) -> Sequence[Floats]:
        """One embedding for each slice, arrays of any one shape."""

    @abstractmethod
    def decode(self, items: Sequence[SliceItem]) -> Sequence[SliceResult]:
        """One result for each item. Raise ValueError for prompts that cannot be answered; only they will fail."""

    def open(self, volume: Volume) -> AbstractContextManager[OpenImage]:
        """Open one image; nothing is encoded before it is asked for."""
        return self._opened(volume)

    @contextmanager
    def _opened(self, volume: Volume) -> Iterator[OpenImage]:
        runtime = self.runtime
        folder = None if runtime.embeddings is None else runtime.embeddings / self._embeddings_key(volume)
        with EmbeddingStore(runtime.memory_mb, folder) as store:
            yield OpenSlices(self, volume, store)

    def _embeddings_key(self, volume: Volume) -> str:
        """Names everything that an embedding depends on, to the last bit: so the device and batches are in it, too."""
        sha256 = weights.sha256_of(self.weights, self.runtime.weights) if self.weights else ""
        runtime = self.runtime
        made_by = (full_spec(self), self.version, sha256, runtime.dtype, runtime.device, runtime.batch)
        return content_key(volume.array, *made_by)


class OpenSlices(OpenImage):
    """An opened image of a `SliceModel`: `store` holds the embeddings of its slices."""

    def __init__(self, model: SliceModel, volume: Volume, store: EmbeddingStore) -> None:
        self.model, self.volume, self.store = model, volume, store
        self._image = model.slice_images(volume)

    def segment(self, requests: Sequence[Request]) -> list[Answer | Failure]:
        """Answer for the slices with a new prompt (or `Request.want`), from all prompts that these slices ever had."""
        works = [self._begin(request) for request in requests]
        self._encode_for([work for work in works if work.failure is None])
        jobs = [job for work in works if work.failure is None for job in work.jobs]
        jobs.sort(key=lambda job: job.z)  # one slice after the other, so that embeddings in files are read once
        for job, outcome in zip(jobs, self._batched(self._decode, jobs, self.model.decode_batch), strict=True):
            job.work.take(job.z, outcome)
        return [work.answer(self.model.feeds_back) for work in works]

    def _begin(self, request: Request) -> _Work:
        work = _Work(time.perf_counter())
        try:
            if self.model.feeds_back:
                work.logits = self._replayed(request) if request.memory is None else dict(request.memory)
            work.jobs = self._jobs(request, work)
        except Exception as error:  # prompts that make no sense are this request's failure alone
            work.fail(error)
        work.seconds = time.perf_counter() - work.started
        return work

    def _replayed(self, request: Request) -> Logits:
        """The logits that the earlier turns left, computed again turn by turn."""
        logits: Logits = {}
        for count in range(1, len(request.turns)):
            earlier = Request(request.session, request.turns[:count], memory=logits)
            (answer,) = self.segment([earlier])
            if isinstance(answer, Failure):
                raise RuntimeError(f"turn {count} of {len(request.turns)} could not be replayed: {answer.message}")
            logits = answer.memory
        return logits

    def _jobs(self, request: Request, work: _Work) -> list[_Job]:
        prompts = [turn.prompts for turn in request.given]
        if unknown := {kind for given in prompts for kind in given.kinds} - {"point", "box2d"}:
            raise ValueError(f"a slice model takes points and 2D boxes, not {', '.join(sorted(unknown))}")
        depth, *size = self.volume.shape
        jobs = []
        for z in sorted(set(prompts[-1].slices() if request.want is None else request.want)):
            if not 0 <= z < depth:
                raise ValueError(f"slice {z} is not in the volume, which has the slices 0 to {depth - 1}")
            points = np.vstack([given.points[given.points[:, 0] == z, 1:] for given in prompts])
            boxes = np.vstack([given.boxes2d[given.boxes2d[:, 0] == z, 1:] for given in prompts])
            if len(points) + len(boxes) == 0:
                raise ValueError(f"slice {z} is wanted, but it has no prompt")
            if len(points) and not (points[:, :2].min() >= 0 and (points[:, :2] < size).all()):
                raise ValueError(f"slice {z} has a point outside of its {size[0]} x {size[1]} pixels")
            jobs.append(_Job(work, z, points, _clipped(boxes[-1], size, z) if len(boxes) else None))
        return jobs

    def _encode_for(self, works: Sequence[_Work]) -> None:
        users: dict[int, list[_Work]] = {}
        for work in works:
            for job in work.jobs:
                users.setdefault(job.z, []).append(work)
        missing = [z for z in sorted(users) if z not in self.store]
        for z, outcome in zip(missing, self._batched(self._encode, missing, self.model.encode_batch), strict=True):
            for work in users[z]:
                work.encode_seconds += outcome.seconds / len(users[z])
                if isinstance(outcome.result, Exception):
                    work.fail(outcome.result)

    def _encode(self, slices: Sequence[int]) -> list[None]:
        images = {z: self._image(z) for z in set(slices)}
        embeddings = self.model.encode([images[z] for z in slices])
        for z, embedding in dict(zip(slices, embeddings, strict=True)).items():
            self.store.put(z, embedding)
        return [None] * len(slices)

    def _decode(self, jobs: Sequence[_Job]) -> list[_Decoded]:
        embeddings = {z: self.store.get(z) for z in {job.z for job in jobs}}
        _, height, width = self.volume.shape
        items = []
        for job in jobs:
            logits = job.work.logits.get(job.z)
            previous = None if logits is None else logits.astype(np.float32)
            items.append(SliceItem(embeddings[job.z], (height, width), job.points, job.box, previous))
        results = self.model.decode(items)
        if wrong := [result.mask.shape for result in results if result.mask.shape != (height, width)]:
            raise ValueError(f"the model answered with the shape {wrong[0]} for a slice of {height} x {width} pixels")
        return [_Decoded.of(job.z, result) for job, result in zip(jobs, results, strict=True)]

    def _batched(
        self, call: Callable[[Sequence[Item]], Sequence[Result]], items: Sequence[Item], constant: int
    ) -> Iterator[_Outcome[Result]]:
        """One outcome for each item, in order; batches are padded by their last item up to the constant size."""
        wanted = self.model.runtime.batch
        size = {"fixed": constant, "auto": self.model.max_batch}.get(wanted) or int(wanted)
        for first in range(0, len(items), size):
            yield from _run(call, items[first : first + size], 0 if wanted == "auto" else size)


def _run(
    call: Callable[[Sequence[Item]], Sequence[Result]], items: Sequence[Item], pad_to: int
) -> list[_Outcome[Result]]:
    """Call with one padded batch; if that raises, with each item by itself, so that only the bad ones fail."""
    padded = [*items, *[items[-1]] * (pad_to - len(items))]
    started = time.perf_counter()
    try:
        results = call(padded)
    except Exception as error:  # whatever a network or a bad prompt raises becomes a failed row
        if len(items) == 1:
            return [_Outcome(error, time.perf_counter() - started, len(padded))]
        return [outcome for item in items for outcome in _run(call, [item], pad_to)]
    share = (time.perf_counter() - started) / len(items)
    return [_Outcome(result, share, len(padded)) for result in results[: len(items)]]


def _clipped(box: Ints, size: Sequence[int], z: int) -> Box2D:
    y0, x0, y1, x1 = (int(v) for v in box)
    y1, x1 = max(y1, y0 + 1), max(x1, x0 + 1)  # interpolation, rounding half to even, can close a box of one pixel
    inside = max(y0, 0), max(x0, 0), min(y1, size[0]), min(x1, size[1])
    if inside[0] >= inside[2] or inside[1] >= inside[3]:
        raise ValueError(f"the box {y0, x0, y1, x1} on slice {z} has no pixel in the {size[0]} x {size[1]} slice")
    return inside


def _union(masks: Sequence[Mask]) -> Mask:
    """All voxels of masks that do not overlap, in their joint box."""
    filled = [mask for mask in masks if mask.any()]
    if not filled:
        return Mask.empty()
    corners = np.array([mask.box for mask in filled])
    low, high = corners[:, :3].min(axis=0), corners[:, 3:].max(axis=0)
    array = np.zeros(high - low, dtype=bool)
    for mask in filled:
        first = np.array(mask.start) - low
        z, y, x = (slice(int(a), int(a) + n) for a, n in zip(first, mask.array.shape, strict=True))
        array[z, y, x] |= mask.array
    return Mask((int(low[0]), int(low[1]), int(low[2])), array)


@dataclass(frozen=True, eq=False)
class _Outcome(Generic[Result]):
    """What came of one item: its result or why there is none, its share of the wall time, the size of its batch."""

    result: Result | Exception
    seconds: float
    batch: int


@dataclass(frozen=True, eq=False)
class _Job:
    """One slice of one request."""

    work: _Work
    z: int
    points: Ints
    box: Box2D | None


@dataclass(frozen=True, eq=False)
class _Decoded:
    """A `SliceResult` cut down to what is kept: the tight mask, and logits in half the precision."""

    mask: Mask
    logits: NDArray[np.float16] | None

    @classmethod
    def of(cls, z: int, result: SliceResult) -> _Decoded:
        logits = None if result.logits is None else result.logits.astype(np.float16)
        return cls(Mask.of(result.mask[None], (z, 0, 0)), logits)


@dataclass(eq=False)
class _Work:
    """What becomes of one request while it is answered."""

    started: float
    jobs: list[_Job] = field(default_factory=list)
    logits: Logits = field(default_factory=dict)
    masks: list[Mask] = field(default_factory=list)
    seconds: float = 0.0
    encode_seconds: float = 0.0
    batch: int = 1
    failure: Failure | None = None

    def fail(self, error: Exception) -> None:
        """Note the first reason why there will be no answer."""
        self.failure = self.failure or failure_of(error, self.started)

    def take(self, z: int, outcome: _Outcome[_Decoded]) -> None:
        """Add what came of one slice."""
        self.seconds += outcome.seconds
        self.batch = max(self.batch, outcome.batch)
        if isinstance(outcome.result, Exception):
            self.fail(outcome.result)
            return
        self.masks.append(outcome.result.mask)
        if outcome.result.logits is not None:
            self.logits[z] = outcome.result.logits

    def answer(self, feeds_back: bool) -> Answer | Failure:
        """The answer, valid on the slices of the jobs."""
        if self.failure is not None:
            return replace(self.failure, seconds=self.seconds + self.encode_seconds)
        valid = Region(slices=tuple(job.z for job in self.jobs))
        memory = self.logits if feeds_back else None
        return Answer(_union(self.masks), valid, memory, self.seconds, self.encode_seconds, self.batch)
