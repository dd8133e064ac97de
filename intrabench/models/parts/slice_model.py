"""From an encoder and a decoder of 2D slices to a model of volumes: which slices, which prompts, batches, memory."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from intrabench.errors import WrongType, kind
from intrabench.mask import Array, Floats32, Mask, Region, plain
from intrabench.models.base import Answer, Failure, Model, Predictor, Request, failure_of
from intrabench.models.parts.batching import Outcome, batched, portions
from intrabench.models.parts.embeddings import EmbeddingStore, opened
from intrabench.models.parts.precision import half, larger, single
from intrabench.models.parts.replay import memory_of
from intrabench.models.parts.slice_scores import SliceScores
from intrabench.progress import encoding
from intrabench.prompts import counting_boxes2d
from intrabench.specs.values import expect
from intrabench.volume import Volume

Box2D = tuple[int, int, int, int]
"""Half-open, in pixels of the slice: ``y0, x0, y1, x1``."""
Logits = dict[int, Any]
"""What a session remembers: the last low-resolution logits of each slice z, of several boxes their maximum.

In half precision: arrays, or torch tensors where `decode` returned those, which stay on their device."""


@dataclass(frozen=True, eq=False)
class SliceItem:
    """One slice to be decoded for one request, with all prompts that the slice has so far.

    embedding: what `encode` gave for the slice. shape: ``(y, x)``. points: rows ``y, x, label`` (1 target, 0
    background), oldest first (but see `SliceModel.predicts_all`). box: inside the slice, or None; each of several
    is an item of its own. previous: the slice's own last logits for this request, or None: an array in float32, or
    a tensor in float16 if `decode` returned a tensor. scores, logits: whether the result needs them.
    """

    embedding: Floats32
    shape: tuple[int, int]
    points: Array
    box: Box2D | None
    previous: Any = None
    scores: bool = False
    logits: bool = True


@dataclass(frozen=True, eq=False)
class SliceResult:
    """The answer for a slice: a boolean mask ``(y, x)`` of the slice's shape, and logits to be fed back next time.

    logits: an array in float32, or a torch tensor, which stays on its device; None: there are none, or none are needed.
    scores: how sure the model is of each pixel, ``(y, x)``, as in `Answer.scores`; None: it does not say.
    """

    mask: NDArray[np.bool_]
    logits: Any = None
    scores: Floats32 | None = None


class SliceModel(Model):
    """Base of 2D models: a subclass writes `slice_images`, `encode` and `decode`, and accepts points and 2D boxes.

    Networks round differently for different sizes of batches, but (this has to be tested) not for different company.
    So the default ``batch="fixed"`` encodes slices in batches padded to `encode_batch`. On a CPU, where padding costs
    as much as items, it decodes the slices of one request together, up to `decode_batch`. On a GPU, where calls cost,
    it decodes those of all requests in batches of the sizes `gpu_batches`: the alike slices of each request are divided
    into `portions` of these sizes, and only the smallest are filled with those of others, the last one with itself. So
    an answer does not depend on what else is asked. A number is the size for all, to which only decoding is padded, and
    ``"auto"`` fills batches of any size across requests, up to what `auto_batch` finds room for. A batch holds only
    items that are `alike`.
    """

    dims = 2
    encode_batch: ClassVar[int] = 1
    decode_batch: ClassVar[int] = 16
    gpu_batches: ClassVar[tuple[int, ...]] = (8, 16, 32, 64)

    @property
    def feeds_back(self) -> bool:
        """Whether `decode` wants the `previous` logits."""
        return False

    @property
    def predicts_all(self) -> bool:
        """Whether a round is one prediction, as in RadioActive; else every turn is one.

        A round answers for all slices that have a prompt, not only for those with a new one, and only slices that the
        round before answered for have a mask prompt. A turn without actions adds its own slices to its round, without
        mask prompts. Points come newest first.
        """
        return False

    def alike(self, points: int, box: bool, previous: bool) -> Hashable:
        """What items must have in common to be decoded in one batch: by default which prompts there are."""
        return points, box, previous

    def auto_batch(self, encoding: bool) -> int:
        """The largest batch for ``batch="auto"``."""
        return 32

    @abstractmethod
    def slice_images(self, volume: Volume) -> Callable[[int], NDArray[Any]]:
        """The function from z to what the network sees of that slice; called once for each opened image."""

    @abstractmethod
    def encode(self, images: Sequence[NDArray[Any]]) -> Sequence[Floats32]:
        """One embedding for each slice, arrays of any one shape."""

    @abstractmethod
    def decode(self, items: Sequence[SliceItem]) -> Sequence[SliceResult]:
        """One result for each item. Raise ValueError for prompts that cannot be answered; only they will fail."""

    def open(self, volume: Volume) -> AbstractContextManager[Predictor]:
        """Open one image, after loading the weights if there are any; nothing is encoded before it is asked for."""
        self.load()
        return opened(OpenSlices, self, volume)


class OpenSlices(Predictor):
    """An opened image of a `SliceModel`: `store` holds the embeddings of its slices."""

    def __init__(self, model: SliceModel, volume: Volume, store: EmbeddingStore) -> None:
        self.model, self.volume, self.store = model, volume, store
        self._image, self._notes = model.slice_images(volume), model.notes(volume)

    def segment(self, requests: Sequence[Request]) -> list[Answer | Failure]:
        """Answer for the slices with a new prompt, using all their prompts so far."""
        works = [self._begin(request) for request in requests]
        self._encode_for([work for work in works if work.failure is None])
        for jobs, size, pad in self._alike([work for work in works if work.failure is None]):
            for job, outcome in zip(jobs, batched(self._decode, jobs, size, pad), strict=True):
                job.work.take(job.z, outcome)
        answers = [work.answer(self._notes) for work in works]
        for work in works:
            work.jobs.clear()  # they know their work, and a circle would keep all logits until Python looks for circles
        return answers

    def _begin(self, request: Request) -> _Work:
        work = _Work(time.perf_counter(), request.scores, self.model.feeds_back and not request.last)
        try:
            if self.model.feeds_back:
                memory = memory_of(request, lambda earlier: self.segment([earlier])[0]) or {}
                by_round, free = self.model.predicts_all, _free(request)
                work.previous = {} if by_round and free else memory
                work.logits = {} if by_round and not free else dict(memory)
            work.jobs = self._jobs(request, work)
        except Exception as error:  # bad prompts fail only this request
            work.fail(error)
        work.seconds = time.perf_counter() - work.started
        return work

    def _jobs(self, request: Request, work: _Work) -> list[_Job]:
        prompts = [turn.prompts for turn in request.given]
        if unknown := {kind for one in prompts for kind in one.kinds} - {"point", "box2d"}:
            raise ValueError(f"a slice model takes points and 2D boxes, not {', '.join(sorted(unknown))}")
        depth, *size = self.volume.shape
        jobs = []
        by_round = self.model.predicts_all
        asked = prompts if by_round and not _free(request) else prompts[-1:]
        points = np.vstack([one.points for one in (prompts[::-1] if by_round else prompts)])
        wrong = ((points[:, 1:3] < 0) | (points[:, 1:3] >= size)).any(axis=1)
        points_of, outside = _by_slice(points), set(points[wrong, 0].tolist())
        boxes_of = _by_slice(counting_boxes2d(prompts)[0])
        for z in sorted({z for one in asked for z in one.slices()}):
            if not 0 <= z < depth:
                raise ValueError(f"slice {z} is not in the volume, which has the slices 0 to {depth - 1}")
            if z in outside:
                raise ValueError(f"slice {z} has a point outside of its {size[0]} x {size[1]} pixels")
            here = points_of.get(z, _NO_POINTS)
            boxes = [clipped(box, size, z) for box in boxes_of.get(z, ())]
            jobs += [_Job(work, z, own, box) for box, own in _by_box(here, boxes)]
        return jobs

    def _alike(self, works: Sequence[_Work]) -> list[tuple[list[_Job], int, bool]]:
        """The jobs that may share batches, the size of these, and whether they are padded to it."""
        groups: dict[tuple[int, bool, int | None, Hashable], list[_Job]] = {}
        for number, work in enumerate(works):
            by_kind: dict[Hashable, list[_Job]] = {}
            for job in work.jobs:
                kind = self.model.alike(len(job.points), job.box is not None, job.z in work.previous)
                by_kind.setdefault(kind, []).append(job)
            for kind, jobs in by_kind.items():
                for size, pad, apart, part in self._decoding(jobs):
                    groups.setdefault((size, pad, number if apart else None, kind), []).extend(part)
        # one slice after the other, so that embeddings in files are read once
        return [(sorted(jobs, key=lambda job: job.z), size, pad) for (size, pad, *_), jobs in groups.items()]

    def _decoding(self, jobs: list[_Job]) -> Iterator[tuple[int, bool, bool, list[_Job]]]:
        """How alike jobs of one request are decoded: as `_size`, whether without those of others, and which of them."""
        model = self.model
        if model.runtime.batch != "fixed":
            yield *self._size(0, encoding=False), False, jobs
        elif model.runtime.device == "cpu":
            yield model.decode_batch, False, True, jobs
        else:
            left = iter(jobs)
            for size, count in portions(len(jobs), model.gpu_batches):
                yield size, True, False, [*islice(left, count)]

    def _encode_for(self, works: Sequence[_Work]) -> None:
        users: dict[int, list[_Work]] = {}
        for work in works:
            for job in work.jobs:
                users.setdefault(job.z, []).append(work)
        missing = [z for z in sorted(users) if z not in self.store]
        size, pad = self._size(self.model.encode_batch, encoding=True)
        pad = pad and self.model.runtime.batch == "fixed"  # a slice that only fills a batch takes as long as another
        encode = partial(self._encode, {z: number for number, z in enumerate(missing, 1)})
        for z, outcome in zip(missing, batched(encode, missing, size, pad), strict=True):
            for work in users[z]:
                work.encode_seconds += outcome.seconds / len(users[z])
                if isinstance(outcome.result, Exception):
                    work.fail(outcome.result)

    def _encode(self, numbers: Mapping[int, int], slices: Sequence[int]) -> list[None]:
        """Encode `slices`, which have these numbers among all that are missing."""
        first, last = numbers[slices[0]], numbers[slices[-1]]
        which = f"slice {first}" if first == last else f"slices {first} to {last}"
        with encoding(f"encoding {which} of {len(numbers)}"):
            images, started = {z: self._image(z) for z in set(slices)}, time.perf_counter()
            embeddings = self._one_each(self.model.encode([images[z] for z in slices]), len(slices), "encode")
        seconds = (time.perf_counter() - started) / len(images)
        for z, embedding in dict(zip(slices, embeddings, strict=True)).items():
            self.store.put(z, embedding, seconds)
        return [None] * len(slices)

    def _decode(self, jobs: Sequence[_Job]) -> list[_Decoded]:
        embeddings = {z: self.store.get(z) for z in {job.z for job in jobs}}
        _, height, width = self.volume.shape
        items = dict[_Job, SliceItem]()  # a job that fills the batch up is there several times
        for job in set(jobs):
            logits = job.work.previous.get(job.z)
            previous = None if logits is None else single(logits)
            wanted = job.work.scored, job.work.remembers
            items[job] = SliceItem(embeddings[job.z], (height, width), job.points, job.box, previous, *wanted)
        results = self._one_each(self.model.decode([items[job] for job in jobs]), len(jobs), "decode")
        for result in results:
            self._check(result, (height, width))
        return _reduced(jobs, results)

    def _one_each(self, found: Any, count: int, method: str) -> Any:
        """What a method of the model returned, if it is one thing for each slice."""
        if not hasattr(found, "__len__") or len(found) != count:
            actual = f"{kind(found)} of {len(found)}" if hasattr(found, "__len__") else kind(found)
            raise WrongType(f"{self.model.name}.{method} returned {actual} for {count} slices, expected one for each")
        return found

    def _check(self, result: Any, shape: tuple[int, int]) -> None:
        method = f"{self.model.name}.decode"
        expect(SliceResult, result, f"{method} returned", "a SliceResult", " for a slice")
        expect(np.ndarray, result.mask, f"{method} returned", "an array", " as the mask of a slice")
        if result.mask.shape != shape:
            raise WrongType(f"{method} returned a mask of shape {result.mask.shape} for a slice of {shape}")
        if result.scores is not None and np.shape(result.scores) != shape:
            raise WrongType(f"{method} returned scores of shape {np.shape(result.scores)} for a slice of {shape}")

    def _size(self, constant: int, encoding: bool) -> tuple[int, bool]:
        """The largest batch, and whether smaller ones are padded to it; `constant` if it is fixed."""
        wanted = self.model.runtime.batch
        if wanted == "auto":
            return self.model.auto_batch(encoding), False
        return constant if wanted == "fixed" else int(wanted), True


def _by_slice(rows: Array) -> dict[int, Array]:
    """Rows ``z, ...`` by their slice, without z; those of one slice stay in their order."""
    rows = rows[np.argsort(rows[:, 0], kind="stable")]
    slices, first = np.unique(rows[:, 0], return_index=True)
    return dict(zip(slices.tolist(), np.split(np.ascontiguousarray(rows[:, 1:]), first[1:]), strict=False))


_NO_POINTS = np.zeros((0, 3), np.int64)


def _by_box(points: Array, boxes: Sequence[Box2D]) -> list[tuple[Box2D | None, Array]]:
    """Each box of a slice, or None if it has none, with its points, rows ``y, x, label``.

    Networks take one box at a time, and the union of the answers counts. A positive point goes with the nearest box,
    because it would have the network look for its part in the others, too; a negative one goes with all.
    """
    if len(boxes) < 2:
        return [(boxes[0] if boxes else None, points)]
    low, high = np.array(boxes)[:, None, :2], np.array(boxes)[:, None, 2:] - 1
    beyond = np.maximum(np.maximum(low - points[:, :2], points[:, :2] - high), 0)
    nearest = (beyond**2).sum(axis=2).argmin(axis=0)
    return [(box, points[(points[:, 2] == 0) | (nearest == number)]) for number, box in enumerate(boxes)]


def _free(request: Request) -> bool:
    """Whether the newest turn was derived from the model's own answer."""
    return not request.turns[-1].actions


def clipped(box: Array, size: Sequence[int], z: int) -> Box2D:
    """The part of a box inside a slice of `size` ``(y, x)``, at least one pixel.

    Raises:
        ValueError: there is no such part.
    """
    y0, x0, y1, x1 = box.tolist()
    y1, x1 = max(y1, y0 + 1), max(x1, x0 + 1)  # interpolation, rounding half to even, can close a box of one pixel
    inside = max(y0, 0), max(x0, 0), min(y1, size[0]), min(x1, size[1])
    if inside[0] >= inside[2] or inside[1] >= inside[3]:
        raise ValueError(f"the box {y0, x0, y1, x1} on slice {z} is outside of the {size[0]} x {size[1]} slice")
    return inside


@dataclass(frozen=True, eq=False)
class _Job:
    """One slice of one request, or one of its boxes if it has several."""

    work: _Work
    z: int
    points: Array
    box: Box2D | None


@dataclass(frozen=True, eq=False)
class _Decoded:
    """A `SliceResult` reduced to what is kept: the tight mask, and logits in half precision.

    mask: that of the next slices, too, whose own is empty then. scores: with the slice's own mask.
    """

    mask: Mask
    logits: Any
    scores: tuple[Mask, Floats32] | None


def _reduced(jobs: Sequence[_Job], results: Sequence[SliceResult]) -> list[_Decoded]:
    """What is kept of a batch. Neighbouring slices of one request have one mask: dozens of tiny ones take longer."""
    first: dict[_Job, int] = {}  # of jobs that only fill the batch up, nothing is kept
    for number, job in enumerate(jobs):
        first.setdefault(job, number)
    masks, run = [Mask.empty()] * len(jobs), list[_Job]()
    ordered = sorted(first, key=lambda job: (id(job.work), job.z))
    for job, following in zip(ordered, [*ordered[1:], None], strict=True):
        run.append(job)
        if following is None or following.work is not job.work or following.z != job.z + 1:
            masks[first[run[0]]] = Mask.stacked([results[first[one]].mask for one in run], run[0].z)
            run = []
    logits = [
        half(result.logits) if first[job] == number and job.work.remembers and result.logits is not None else None
        for number, (job, result) in enumerate(zip(jobs, results, strict=True))
    ]
    scores = [
        None if result.scores is None else (Mask.of(plain(result.mask)[None], (job.z, 0, 0)), result.scores)
        for job, result in zip(jobs, results, strict=True)
    ]
    return list(map(_Decoded, masks, logits, scores))


@dataclass(eq=False)
class _Work:
    """The state of one request while it is answered: `previous` logits become mask prompts, `logits` the memory."""

    started: float
    scored: bool = False
    remembers: bool = False
    jobs: list[_Job] = field(default_factory=list)
    previous: Logits = field(default_factory=dict)
    logits: Logits = field(default_factory=dict)
    masks: list[Mask] = field(default_factory=list)
    scores: SliceScores = field(default_factory=SliceScores)
    answered: set[int] = field(default_factory=set)
    seconds: float = 0.0
    encode_seconds: float = 0.0
    batch: int = 1
    failure: Failure | None = None

    def fail(self, error: Exception) -> None:
        """Record the first reason for a failure."""
        self.failure = self.failure or failure_of(error, self.started)

    def take(self, z: int, outcome: Outcome[_Decoded]) -> None:
        """Add the result of one slice, or of one of its boxes."""
        self.seconds += outcome.seconds
        self.batch = max(self.batch, outcome.batch)
        if isinstance(outcome.result, Exception):
            self.fail(outcome.result)
            return
        self.masks.append(outcome.result.mask)
        if outcome.result.logits is not None:
            logits = outcome.result.logits
            self.logits[z] = larger(self.logits[z], logits) if z in self.answered else logits
            self.answered.add(z)
        if self.scored and outcome.result.scores is not None:
            self.scores.add(*outcome.result.scores)

    def answer(self, notes: tuple[str, ...]) -> Answer | Failure:
        """The answer, valid on the slices of the jobs."""
        if self.failure is not None:
            return replace(self.failure, seconds=self.seconds + self.encode_seconds)
        valid = Region(slices=tuple(dict.fromkeys(job.z for job in self.jobs)))
        memory = self.logits if self.remembers else None
        update = Mask.union(self.masks)
        times = self.seconds, self.encode_seconds, self.batch
        return Answer(update, valid, memory, *times, notes, scores=self.scores.within(update.box))
