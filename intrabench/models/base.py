"""The contract between `play` and a model: open an image once, then answer many requests at once."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from intrabench.errors import WrongType, foreign, in_words, passes, traced
from intrabench.mask import Box, Index, Mask, Region
from intrabench.prompts import Abilities, Derived, PromptKind, StrokePoints
from intrabench.specs.component import Component
from intrabench.specs.values import expect
from intrabench.superpixels.partitions.partition import Partition
from intrabench.turns import Turn, counting
from intrabench.volume import Volume

WHOLE = Region()
"""Valid everywhere."""


@dataclass(frozen=True)
class Runtime:
    """Where and how a model runs. Apart from `dtype`, this must not change its answers.

    batch: "fixed" pads every batch to a constant size so that answers do not depend on what else is asked;
    "auto" lets the size vary; a number sets it. memory_mb bounds the embeddings kept in memory, and about as much what
    models remember of the sessions that are played together. weights names a checkpoint file brought by hand; random
    takes random weights instead. embeddings is a folder that keeps embeddings across runs, up to embeddings_gb.
    compile has torch compile the image encoder.
    """

    device: str = "cpu"
    dtype: str = "float32"
    batch: str = "fixed"
    memory_mb: int = 512
    weights: Path | None = None
    random: bool = False
    embeddings: Path | None = None
    embeddings_gb: float = 20.0
    compile: bool = False


@dataclass(frozen=True, eq=False)
class Request:
    """One session asks for the mask of its target.

    turns: the whole history, oldest first, the new one last, adapted to what the model takes, in canonical voxels.
    mask: the answer so far. memory: what the model's last answer left for this session (None at first; a model that
    gets None with a history rebuilds it from the turns). scores: whether the answer needs `Answer.scores`. last: no
    other request of this session is expected, so that the answer needs no memory. partition: nobody prompts; the answer
    needs `Answer.partition`. label: what is to be segmented, in the word of the data set; names: what people call it,
    as the data set's card says.
    """

    session: str
    turns: tuple[Turn, ...]
    mask: Mask = field(default_factory=Mask.empty)
    memory: Any = None
    scores: bool = False
    last: bool = False
    partition: bool = False
    label: str = ""
    names: tuple[str, ...] = ()

    @property
    def given(self) -> tuple[Turn, ...]:
        """The turns that the model must use: all, or those since the user last began afresh."""
        return tuple(counting(self.turns))


@dataclass(frozen=True, eq=False)
class Answer:
    """The mask that a model returns, and where it is valid; the session overwrites its mask there.

    reach: the box in which it can answer this session at all, such as a crop around the first prompts; None: anywhere.
    Prompts outside of it are noted in `adapted`, and corrections with ``reachable=true`` keep to it. notes: what the
    model had to assume or change, in a few words each, such as ``assumed CT``; rows show them in `adapted`. seconds and
    encode_seconds are this request's share of the batch's wall time; batch is its size. scores: how sure the model is
    of each voxel of the update's array, more is surer; it decides between targets of a joint session (overlap=score).
    partition: the superpixels of the image, of a model that `divides_images`.
    """

    update: Mask
    valid: Region = WHOLE
    memory: Any = None
    seconds: float = 0.0
    encode_seconds: float = 0.0
    batch: int = 1
    notes: tuple[str, ...] = ()
    reach: Box | None = None
    scores: NDArray[np.floating[Any]] | None = None
    partition: Partition | None = None


@dataclass(frozen=True, eq=False)
class JointRequest:
    """All targets of a joint session ask for one label map.

    requests: of the targets, each with its own history; the label of a target is its place, from 1. new: whether the
    last turn of each is new. memory: what the last `JointAnswer` left for this joint session.
    """

    session: str
    requests: tuple[Request, ...]
    new: tuple[bool, ...]
    memory: Any = None


@dataclass(frozen=True, eq=False)
class JointAnswer:
    """A label map ``(z, y, x)`` of whole numbers that begins at the voxel `start`; everything else is as in `Answer`.

    0 is background, and i the i-th target of the joint session.
    """

    start: Index
    labels: NDArray[np.integer[Any]]
    valid: Region = WHOLE
    memory: Any = None
    seconds: float = 0.0
    encode_seconds: float = 0.0
    batch: int = 1
    notes: tuple[str, ...] = ()
    reach: Box | None = None


AnyRequest = TypeVar("AnyRequest", Request, JointRequest)
AnyAnswer = TypeVar("AnyAnswer", Answer, JointAnswer)
FailureStatus = Literal["error", "oom", "timeout"]


@dataclass(frozen=True)
class Failure:
    """A request that could not be answered: `status` and one sentence.

    passing: the same request may succeed later (`errors.passes`). traceback: where it happened; empty if unknown.
    """

    status: FailureStatus
    message: str
    seconds: float = 0.0
    passing: bool = False
    traceback: str = ""


class Predictor(ABC):
    """One image, which is encoded at most once for all requests.

    costly_calls: a call costs much more than a request, such as the start of a program; then there are few calls.
    """

    costly_calls: ClassVar[bool] = False

    @abstractmethod
    def segment(self, requests: Sequence[Request]) -> list[Answer | Failure]:
        """Answer all requests, in their order; one bad request never fails the others."""

    def segment_jointly(self, requests: Sequence[JointRequest]) -> list[JointAnswer | Failure]:
        """Answer joint sessions, if the model is `joint`."""
        raise NotImplementedError


class Model(Component):
    """Base of all models. A subclass is a dataclass with a `name`, accepted prompts, its parameters, and `open`.

    `version` changes whenever the same prompts could get another answer. `requires` lists the modules of the extra
    named `extra`. `grey_only`: images with channels are not applicable. `devices` and `dtypes` are those it can compute
    on and in. `threads`: with so many cores it is worth computing alone; with more, ``--workers auto`` starts another
    worker. `encodes`: opening an image costs more than reading it, so that only one worker plays it. `joint`: in joint
    sessions it answers for all targets at once, by `Predictor.segment_jointly`. `unprompted`: it also answers
    when the user has given no prompts yet (`Turn.waits`); others are not asked then. `one_box`: a slice can have one
    2D box only, which is then the tight box of several. `handles`: how many, such as those of a threshold, the user
    sets anew with each prompt, at the price of `SetHandle`. `divides_images`: it gives the
    superpixels of an image when it is asked for them (`Request.partition`). takes_mask: it starts from `Request.mask`
    wherever that comes from, so that it can correct the answers of another model. reads_names: it looks at
    `Request.names`. title, citation, homepage: its name for people, its paper, and the address of its code
    (`models.card`).

    derived: whether it also gets what is computed from the user's prompts, such as interpolated boxes: all, or none.
    strokes: the points that it gets for a stroke, if it takes no strokes: all of a positive and one of a negative one
    (one_negative), one of either, or all.
    """

    version = "1"
    dims: ClassVar[int] = 3
    accepts: ClassVar[frozenset[PromptKind]]
    extra: str | None = None
    requires: tuple[str, ...] = ()
    grey_only: ClassVar[bool] = False
    devices: ClassVar[tuple[str, ...]] = ("cpu",)
    dtypes: ClassVar[tuple[str, ...]] = ("float32",)
    threads: ClassVar[int] = 1
    encodes: ClassVar[bool] = True
    joint: ClassVar[bool] = False
    unprompted: ClassVar[bool] = False
    one_box: ClassVar[bool] = False
    handles: ClassVar[int] = 0
    divides_images: ClassVar[bool] = False
    takes_mask: ClassVar[bool] = False
    reads_names: bool = False
    title: ClassVar[str] = ""
    citation: ClassVar[str] = ""
    homepage: ClassVar[str] = ""
    runtime: Runtime = Runtime()

    @property
    def weights(self) -> str | None:
        """The id of the model's weights in the registry; None if it has no weights."""
        return None

    @property
    def weights_file(self) -> Path | None:
        """The file of weights that are not in the registry, which a parameter names; None if there is none."""
        return None

    @property
    def abilities(self) -> Abilities:
        """What the adaptation has to know."""
        takes = (self.dims, self.accepts, self.derived, self.feeds_back, self.unprompted)
        return Abilities(*takes, self.strokes or Abilities.strokes, self.one_box, self.handles)

    @property
    def any_plane(self) -> bool:
        """Whether it takes a scan as the user reads it, slices first (`Volume.turned`), because no axis means more.

        Models of slices and of videos do. Others get canonical axes, as networks of volumes learnt them.
        """
        return self.abilities.dims == 2

    @property
    def covers(self) -> str:
        """In words, where it can answer."""
        return "slices with a prompt" if self.dims == 2 else "the whole volume"

    @property
    def derived(self) -> Derived:
        """Which derived prompts a model of volumes gets; those that ship have it as a parameter, ``derived=all``."""
        return "none"

    @property
    def strokes(self) -> StrokePoints | None:
        """Which points of strokes a model of volumes gets that takes no strokes; None: as `Abilities` has it.

        Those that ship have it as a parameter, ``strokes=all``.
        """
        return None

    @property
    def feeds_back(self) -> bool:
        """Whether its own last answer is an input, as a mask or as its memory.

        Else it gets no corrections without the earlier prompts (``previous=drop``), unless it takes neither points nor
        scribbles: then they become boxes around its last answer.
        """
        return False

    def notes(self, volume: Volume) -> tuple[str, ...]:
        """What it has to assume about a scan, such as ``("assumed CT",)``; with ``--strict`` it then does not open it.

        Rows show what its answers note (`Answer.notes`), which `SliceModel` and `CropModel` copy from here.
        """
        return ()

    def check_runnable(self) -> None:
        """Refuse parameters with which it cannot run; called before a run is planned.

        Raises:
            IntraBenchError: the sentence.
        """

    def load(self) -> None:
        """Load the weights now instead of with the first image; refuses a file that does not fit."""

    def unload(self) -> None:
        """Drop from memory what `load` loaded: here the values of cached properties, which come again when needed."""
        for cls in type(self).__mro__:
            for name, value in vars(cls).items():
                if isinstance(value, cached_property):
                    vars(self).pop(name, None)

    @abstractmethod
    def open(self, volume: Volume) -> AbstractContextManager[Predictor]:
        """Open one image in canonical geometry; closing it releases its memory."""


def failure_of(error: Exception, started: float) -> Failure:
    """The failure for an exception; running out of memory has its own status."""
    # by its name: that of torch is a RuntimeError, and torch need not be installed
    out_of_memory = isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"
    status: FailureStatus = "error"
    if out_of_memory:
        status = "oom"
    elif isinstance(error, TimeoutError):
        status = "timeout"
    return Failure(status, in_words(error), time.perf_counter() - started, passes(error), traced(error))


@contextmanager
def open_image(model: Model, volume: Volume) -> Iterator[Predictor]:
    """An image, open while the context lasts.

    Raises:
        WrongType: `model.open` returned anything but a context manager that gives a `Predictor`.
    """
    context: Any = model.open(volume)
    write = "a context manager that gives a Predictor; write @contextmanager above it and yield the Predictor"
    expect(AbstractContextManager, context, f"{model.name}.open returned", write)
    with context as image:
        expect(Predictor, image, f"{model.name}.open gave", "a Predictor")
        yield image


def checked(answer: Any, method: str) -> Answer:
    """The answer that `method` returned.

    Raises:
        WrongType: it is not an `Answer` with a `Mask` and a `Region`, or has notes that no row can hold.
    """
    expect(Answer, answer, f"{method} returned", "an Answer, such as Answer(Mask.of(array))")
    subject = f"{method} returned an Answer whose"
    expect(Mask, answer.update, f"{subject} update is", "a Mask, such as Mask.of(array)")
    expect(Region, answer.valid, f"{subject} valid is", "a Region, such as Region(slices=(3,))")
    expect(tuple[str, ...], answer.notes, f"{subject} notes are", 'a tuple of texts, such as ("assumed CT",)')
    for note in answer.notes:
        if not note or not note.isprintable() or "," in note:
            raise WrongType(f"{method} returned an Answer with the note {note[:40]!a}, expected words without a comma")
    box = "a half-open box of six whole numbers (z0, y0, x0, z1, y1, x1), or None"
    expect(Box | None, answer.reach, f"{subject} reach is", box)
    return answer


class SequentialPredictor(Predictor):
    """Base of images whose requests are answered one after the other: a subclass writes `answer`.

    encode_s: seconds of the current request that were spent on encoding; whoever encodes adds them.
    """

    encode_s: float = 0.0

    @abstractmethod
    def answer(self, request: Request) -> Answer:
        """Answer one request; what it raises becomes the failure of this request alone."""

    def segment(self, requests: Sequence[Request]) -> list[Answer | Failure]:
        """Answer the requests in their order."""
        return [self.answer_or_failure(self.answer, request) for request in requests]

    def answer_or_failure(self, answer: Callable[[AnyRequest], AnyAnswer], request: AnyRequest) -> AnyAnswer | Failure:
        """An answer with its seconds, or the failure that an exception becomes; the run goes on."""
        # An answer may need those to earlier turns, whose memory was lost: what they encode is encoded for it, too.
        started, before, self.encode_s = time.perf_counter(), self.encode_s, 0.0
        try:
            with foreign():
                found = answer(request)
        except Exception as error:
            return failure_of(error, started)
        finally:
            encode_s, self.encode_s = self.encode_s, before + self.encode_s
        # what was encoded on the way is no part of the answer's seconds; a model that does not count it in `encode_s`
        # may say it in its answer
        seconds = time.perf_counter() - started - encode_s
        return replace(found, seconds=seconds, encode_seconds=encode_s or found.encode_seconds)


class VolumeModel(Model):
    """Base of models that answer one request at a time for the whole volume: a subclass writes `segment_one`.

    One that is `joint` also writes `segment_together`. Nothing is encoded for all requests; a subclass that does (in
    its own `open`) sets ``encodes = True``.
    """

    encodes = False

    @abstractmethod
    def segment_one(self, volume: Volume, request: Request) -> Answer:
        """Answer one request. Raise TimeoutError for a time limit; any exception becomes a failed row."""

    def segment_together(self, volume: Volume, request: JointRequest) -> JointAnswer:
        """Answer for all targets of a joint session, with a label map."""
        raise NotImplementedError(f"{self.name} is joint; write its method segment_together")

    def open(self, volume: Volume) -> AbstractContextManager[Predictor]:
        """Open one image without encoding anything."""
        from contextlib import nullcontext

        return nullcontext(_OpenVolume(self, volume))


class _OpenVolume(SequentialPredictor):
    def __init__(self, model: VolumeModel, volume: Volume) -> None:
        self.model, self.volume = model, volume

    def segment_jointly(self, requests: Sequence[JointRequest]) -> list[JointAnswer | Failure]:
        return [self.answer_or_failure(self._together, request) for request in requests]

    def answer(self, request: Request) -> Answer:
        return checked(self.model.segment_one(self.volume, request), f"{self.model.name}.segment_one")

    def _together(self, request: JointRequest) -> JointAnswer:
        answer: Any = self.model.segment_together(self.volume, request)
        method, example = f"{self.model.name}.segment_together", "JointAnswer((0, 0, 0), labels)"
        expect(JointAnswer, answer, f"{method} returned", f"a JointAnswer, such as {example}")
        return answer
