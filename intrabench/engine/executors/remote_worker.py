"""The other end of `intrabench.engine.executors.remote_model`: a process of another interpreter that owns one model.

It receives messages ``(kind, content)`` one by one and answers each with ``("ok", content)``, or with a failure:
``("error", sentence)`` or ``("oom", sentence)``. Before that it tells of steps, ``("doing", ...)``. The model's memory
of a session stays here; outside it is a number.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from itertools import count
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from intrabench import progress
from intrabench.engine.environment import memory_mb
from intrabench.engine.executors.ipc import array_in, connect, receive_file
from intrabench.errors import IntraBenchError, foreign, in_words
from intrabench.mask import Plane
from intrabench.models.base import Answer, Failure, Model, Predictor, Request, Runtime, failure_of
from intrabench.models.parts.upright import open_in_plane
from intrabench.play.lockstep import ask
from intrabench.volume import Volume


class RemoteWorker:
    """One model, at most one opened image, and the memories of the sessions on it."""

    def __init__(self) -> None:
        self.model: Model
        self.image: Predictor | None = None
        self.memories: dict[int, Any] = {}
        self._numbers = count(1)
        self._opened = ExitStack()

    def answer(self, kind: str, content: Any) -> Any:
        """The answer to a message."""
        answers: dict[str, Callable[..., Any]] = {"load": self.load, "open": self.open, "segment": self.segment}
        answers["memory"] = memory_mb
        return answers[kind](**content)

    def load(self, spec: str, runtime: Runtime, plugins: tuple[Path, ...]) -> str:
        """Make the model of a spec and load its weights; returns their identifier."""
        from intrabench.engine.requirements import check_requirements
        from intrabench.models.weights.registry import identity
        from intrabench.registry import registry

        registry.add_plugins(plugins)
        self.model = registry.make("models", spec)
        check_requirements(self.model)
        self.model.runtime = runtime
        self.model.load()
        return identity(self.model)

    def open(self, file: int | str, dtype: str, shape: tuple[int, ...], plane: Plane, **said: Any) -> None:
        """Open an image whose voxels are in a file, and of which so much is said; the previous image is closed.

        plane: that in which it is read.
        """
        try:
            with foreign():
                self._opened.close()
        except Exception:  # of the previous image, whose rows are kept already
            traceback.print_exc()
        self.memories.clear()
        self._opened = ExitStack()
        volume = Volume(array_in(file, dtype, shape), **said).turned(plane)
        self.image = self._opened.enter_context(open_in_plane(self.model, volume))

    def segment(self, requests: list[Request], forgotten: list[int]) -> list[Answer | Failure]:
        """Answer requests whose memories are numbers; an unknown number means no memory, so the turns are replayed."""
        for number in forgotten:
            self.memories.pop(number, None)
        assert self.image is not None
        known = [replace(request, memory=self.memories.get(request.memory)) for request in requests]
        return [self._numbered(answer) for answer in ask(self.image, known)]

    def _numbered(self, answer: Answer | Failure) -> Answer | Failure:
        if isinstance(answer, Failure) or answer.memory is None:
            return answer
        number = next(self._numbers)
        self.memories[number] = answer.memory
        return replace(answer, memory=number)


def serve(connection: Connection) -> None:
    """Answer messages until the connection is closed."""
    worker = RemoteWorker()
    tell = progress.listen(lambda *now: connection.send(("doing", now)))
    with suppress(EOFError, OSError), tell:
        connection.send(("ok", None))
        while True:
            kind, content = connection.recv()
            if kind == "open":
                content["file"] = receive_file(connection)
            connection.send(_answered(worker, kind, content))


def _answered(worker: RemoteWorker, kind: str, content: Mapping[str, Any]) -> tuple[str, Any]:
    try:
        with foreign():
            return "ok", worker.answer(kind, content)
    except IntraBenchError as error:
        return "error", in_words(error)
    except Exception as error:  # the model may raise anything; the other process decides what it means
        traceback.print_exc()
        failure = failure_of(error, 0.0)
        return failure.status, failure.message.partition(": ")[2] if failure.status == "oom" else failure.message


def main(words: Sequence[str]) -> None:
    """Serve the process that started this one with these words."""
    serve(connect(words))
