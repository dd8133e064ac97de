"""What models that are programs of others share: their parameters, and runs of the program on waves of requests."""

from __future__ import annotations

import shlex
import time
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar, Generic, TypeVar

import numpy as np

from intrabench.errors import IntraBenchError, foreign
from intrabench.mask import Array
from intrabench.models.base import Answer, Failure, JointAnswer, JointRequest, Model, Predictor, Request, failure_of
from intrabench.models.outside.launchers import Inside, Launcher, Limits, launcher
from intrabench.models.outside.output_files import WrongAnswer
from intrabench.models.outside.programs import Durations, Program, program
from intrabench.prompts import PromptKind, Prompts
from intrabench.specs.specs import Reach, switch
from intrabench.specs.values import NotNegative
from intrabench.volume import Volume

Asked = Request | JointRequest
T = TypeVar("T")
MOST_BYTES = 2_000_000_000
"""Of the files of one run of a program on several cases."""
MOST_REQUESTS = 64
"""In one run, unless ``--batch`` says another number."""


@dataclass(eq=False)
class ProgramModel(Model):
    """Base of models that are programs of others; a subclass says in which files prompts and answers are.

    command: what is run, on this machine or, with an image, in its container. docker, apptainer: the image. takes: the
    prompts that it is given, ``"point,box3d"``; empty: those of the format. stay: keep the container up between rounds,
    and start only the program in each. memory_gb: of a container; 0: unlimited. network: whether a container has one.
    options: further words for Docker or Apptainer. time_limit_s: of one run on one case; 0: only ``--timeout``.
    """

    devices = ("cpu", "cuda")
    threads = 4
    inside: ClassVar[Inside]
    possible: ClassVar[frozenset[PromptKind]]

    command: Annotated[str, Reach("program")] = ""
    docker: Annotated[str, Reach("program")] = switch("")
    apptainer: Annotated[str, Reach("program")] = switch("")
    takes: Annotated[str, Reach()] = switch("")
    stay: bool = switch(False)
    memory_gb: NotNegative = switch(32.0)
    network: bool = switch(False)
    options: Annotated[str, Reach("program")] = switch("")
    time_limit_s: NotNegative = switch(0.0)

    def __post_init__(self) -> None:
        kinds = {kind.strip() for kind in self.takes.split(",") if kind.strip()}
        if wrong := sorted(kinds - self.possible):
            raise ValueError(f"takes has {wrong[0]!r}; {self.name} can give {', '.join(sorted(self.possible))}")
        vars(self)["accepts"] = frozenset(kinds) or type(self).accepts

    @cached_property
    def launcher(self) -> Launcher:
        """How the program is started.

        Raises:
            IntraBenchError: the parameters name none, or several.
        """
        try:
            options = tuple(shlex.split(self.options))
        except ValueError as error:
            raise IntraBenchError(f"{self.name}: options={self.options!r} cannot be read ({error})") from None
        limits = Limits(self.memory_gb, self.network, self.runtime.device.startswith("cuda"), options)
        return launcher(self.command, self.docker, self.apptainer, self.inside, limits)

    @cached_property
    def version(self) -> str:  # type: ignore[override]
        """With what is run: the files that a command names, the id of an image."""
        named = self.command or self.docker or self.apptainer
        return f"{self.format_version}/{self.launcher.identity}" if named else self.format_version

    format_version: ClassVar[str] = "1"

    def check_runnable(self) -> None:
        """Refuse parameters that name no program, or one that is not here."""
        if self.stay and not (self.docker or self.apptainer):
            raise IntraBenchError(f"{self.name}: only containers can stay up; omit stay, or give docker=IMAGE")
        self.launcher.check()

    @contextmanager
    def open(self, volume: Volume) -> Iterator[Predictor]:
        """Write the image; a container that stays is up from the first request until the image is closed."""
        with program(self.launcher, self.stay, self.time_limit_s) as running:
            began = time.perf_counter()
            image = self.opened(volume, running)
            image.spent = time.perf_counter() - began
            yield image

    @abstractmethod
    def opened(self, volume: Volume, running: Program) -> ProgramImage[Any]:
        """The image for a program."""


class ProgramImage(Predictor, Generic[T]):
    """One image, and a program that is run on it.

    several: how many requests a run may answer. spent: seconds of writing the image, which the next answers report.
    """

    costly_calls = True
    several: int = 1
    spent: float = 0.0

    def __init__(self, running: Program, batch: str) -> None:
        """batch: as of `Runtime`."""
        self.program = running
        self.most = int(batch) if batch.isdecimal() else MOST_REQUESTS

    def segment(self, requests: Sequence[Request]) -> list[Answer | Failure]:
        """Answer all requests, as many in one run as fit; if that fails, each alone."""
        return self._in_runs(requests)

    def segment_jointly(self, requests: Sequence[JointRequest]) -> list[JointAnswer | Failure]:
        """The same for joint sessions."""
        return self._in_runs(requests)

    def _in_runs(self, requests: Sequence[Any]) -> list[Any]:
        answers: list[Any] = []
        size = max(1, min(self.several, self.most))
        for first in range(0, len(requests), size):
            answers += self._run(requests[first : first + size])
        return answers

    def _run(self, requests: Sequence[Asked]) -> list[Any]:
        """The answers of one run, whose time they share."""
        began = time.perf_counter()
        try:
            self.program.forget()
            names = self.write(requests)
            took = self.program.run(len(requests))
        except Exception as error:
            if len(requests) > 1:  # which of them it was must not depend on their company
                return [answer for request in requests for answer in self._run([request])]
            return [failure_of(error, began)]
        found = [self._answered(request, name) for request, name in zip(requests, names, strict=True)]
        return self._timed(found, took, time.perf_counter() - began)

    def _answered(self, request: Asked, name: T) -> Any:
        try:
            with foreign():
                return self.read(request, name)
        except WrongAnswer as error:
            launcher, words = self.program.launcher, self.program.last_words
            return failure_of(WrongAnswer(f"{launcher.words}: {error}{launcher.hint}{words}"), time.perf_counter())
        except Exception as error:
            return failure_of(error, time.perf_counter())

    def _timed(self, found: Sequence[Any], took: Durations, seconds: float) -> list[Any]:
        """Answers with their share: the program itself is work, starting it and our files are encoding."""
        share = len(found)
        around, self.spent = (self.spent + seconds - took.running) / share, 0.0
        working = took.running / share
        return [
            replace(one, seconds=working)
            if isinstance(one, Failure)
            else replace(one, seconds=working, encode_seconds=around, batch=share)
            for one in found
        ]

    @abstractmethod
    def write(self, requests: Sequence[Asked]) -> list[T]:
        """Write the files of requests; gives what `read` needs to find each answer."""

    @abstractmethod
    def read(self, request: Asked, name: T) -> Answer | JointAnswer:
        """The answer that the program wrote.

        Raises:
            WrongAnswer: it is none.
        """


def requests_of(asked: Asked) -> tuple[Request, ...]:
    """The requests of the targets: one, or those of a joint session."""
    return asked.requests if isinstance(asked, JointRequest) else (asked,)


def clicks_of(prompts: Prompts) -> Array:
    """The points of a turn, and those of its strokes, rows ``z, y, x, label``."""
    strokes = [stroke.rows for stroke in prompts.scribbles]
    return np.vstack([prompts.points, *strokes])


def boxes_of(requests: Sequence[Request]) -> list[Array | None]:
    """The newest 3D box of each request."""
    found: list[Array | None] = []
    for request in requests:
        boxes = [turn.prompts.box3d for turn in request.given if turn.prompts.box3d is not None]
        found.append(boxes[-1] if boxes else None)
    return found
