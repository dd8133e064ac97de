"""A model in a process of another interpreter, for packages that cannot live together: same code, same answers.

The other interpreter needs the model's packages, numpy, nibabel and pydantic. It uses this copy of intrabench, whether
or not one is installed there.
"""

from __future__ import annotations

import os
import secrets
import subprocess
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from multiprocessing.connection import Listener
from pathlib import Path
from typing import Any

import numpy as np

from intrabench.engine.worker import KEY
from intrabench.errors import IntraBenchError
from intrabench.models.base import Answer, Failure, Predictor, Request, Runtime
from intrabench.volume import Volume

_BOOTSTRAP = """
import sys
sys.path = [folder for folder in sys.path if folder]
import importlib.util
spec = importlib.util.spec_from_file_location("intrabench", sys.argv[2], submodule_search_locations=[sys.argv[3]])
package = importlib.util.module_from_spec(spec)
sys.modules["intrabench"] = package
spec.loader.exec_module(package)
from intrabench.engine.worker import main
main(sys.argv[1])
"""
"""Imports this copy of the package by its path; a search path would also expose its neighbours.

As for the command `intrabench`, no module comes from the current folder, which may be one of results."""

START_SECONDS = 120.0
PATIENCE = 2


class WorkerDied(Exception):
    """The process ended without an answer."""


class RemoteModel:
    """A model that another interpreter runs; `open` is that of `intrabench.models.base.Model`.

    Raises:
        IntraBenchError: the interpreter does not start, lacks a package, or the model cannot be loaded there.
    """

    def __init__(self, python: Path, spec: str, runtime: Runtime, plugins: Sequence[Path] = ()) -> None:
        self.python, self._loading = python, {"spec": spec, "runtime": runtime, "plugins": tuple(plugins)}
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Any = None
        self._said: Any = None  # a file for its output; an unread pipe would block it
        self.generation = 0
        """The number of the process, counted from 1."""
        try:
            self.weights_sha256: str = self.ask("load", **self._loading)
        except WorkerDied as error:
            raise IntraBenchError(f"--python {python}: {error} while it loaded {spec}") from error
        except BaseException:
            self.close()
            raise

    @property
    def alive(self) -> bool:
        """Whether the process is running."""
        return self._connection is not None

    @contextmanager
    def open(self, volume: Volume) -> Iterator[Predictor]:
        """Open one image in the other process; its voxels are shared, not sent."""
        memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
        with tempfile.TemporaryDirectory(prefix="intrabench-", dir=memory) as folder:
            path = Path(folder) / "volume.npy"
            np.save(path, volume.array)
            image = RemotePredictor(self, {"array": path, "grid": volume.grid, "modality": volume.modality})
            image.open()
            yield image

    def ask(self, kind: str, **content: Any) -> Any:
        """Send a message and wait for its answer; the process is started if it is not running.

        Raises:
            IntraBenchError: the process reported an error.
            MemoryError: the process ran out of memory.
            WorkerDied: the process ended.
        """
        if self._connection is None:
            self._start()
            if kind != "load":
                self.ask("load", **self._loading)
        try:
            self._connection.send((kind, content))
            self._connection.poll(None)  # Ctrl-C ends this, but not a read: polars has the system restart those
            said, answer = self._connection.recv()
        except (EOFError, OSError) as error:
            raise WorkerDied(self._ended()) from error
        if said == "oom":
            raise MemoryError(answer)
        if said != "ok":
            raise IntraBenchError(f"{self.python}: {answer}")
        return answer

    def close(self) -> None:
        """Close the connection and wait for the process to end."""
        if self._connection is not None:
            self._connection.close()
        if self._process is not None:
            try:
                self._process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        if self._said is not None:
            self._said.close()
        self._connection = self._process = self._said = None

    def _start(self) -> None:
        import intrabench

        package = Path(intrabench.__file__)
        key = secrets.token_bytes(32)
        with Listener(authkey=key) as listener:
            command = [str(self.python), "-c", _BOOTSTRAP, str(listener.address), str(package), str(package.parent)]
            self._said = tempfile.TemporaryFile()  # noqa: SIM115
            try:
                self._process = subprocess.Popen(
                    command,
                    env={**os.environ, KEY: key.hex()},
                    stdin=subprocess.DEVNULL,
                    stdout=self._said,
                    stderr=self._said,
                    start_new_session=True,  # Ctrl-C goes to this process, which closes the connection
                )
            except OSError as error:
                raise IntraBenchError(
                    f"--python {self.python} cannot be started ({error.strerror}); give the path of an interpreter, "
                    "such as ENV/bin/python"
                ) from error
            self._connection = self._accepted(listener)
        self.generation += 1

    def _accepted(self, listener: Listener) -> Any:
        """The connection of the new process, unless it ends before it calls."""
        assert self._process is not None
        waiting: Any = listener._listener._socket  # type: ignore[attr-defined]
        waiting.settimeout(0.2)
        for _ in range(int(START_SECONDS / 0.2)):
            with suppress(TimeoutError):
                return listener.accept()
            if self._process.poll() is not None:
                break
        raise IntraBenchError(
            f"--python {self.python} cannot run intrabench ({self._ended()}); install the missing packages there"
        )

    def _ended(self) -> str:
        """Describe how the process ended, and forget it."""
        process, self._process, self._connection = self._process, None, None
        if process is None:
            return "the worker process is gone"
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=5)
        if process.poll() is None:
            process.kill()
            process.wait()
        code = process.returncode
        with self._said as file:
            file.seek(0)
            said = file.read().decode(errors="replace").strip().splitlines()
        how = f"signal {-code}" + (", perhaps out of memory" if code == -9 else "") if code < 0 else f"exit code {code}"
        return f"the worker process ended with {how}" + (f": {said[-1]}" if said else "")


class RemotePredictor(Predictor):
    """An image that is opened in the other process."""

    def __init__(self, model: RemoteModel, image: dict[str, Any]) -> None:
        self.model, self._image, self._forgotten = model, image, list[int]()
        self._generation = 0

    def open(self) -> None:
        """Open the image there."""
        self.model.ask("open", **self._image)
        self._generation = self.model.generation
        self._forgotten.clear()

    def segment(self, requests: Sequence[Request]) -> list[Answer | Failure]:
        """Answer the requests together. If the process dies, each request is tried alone, until it dies twice more.

        So only a request that kills it fails, and a model that always dies is not started for every request.
        """
        answers = self._together(requests)
        deaths = 0
        if len(requests) > 1 and isinstance(answers[0], Died):
            answers = []
            for request in requests:
                answers += self._together([request]) if deaths < PATIENCE else [answers[-1]]
                deaths += isinstance(answers[-1], Died)
        return answers

    def _together(self, requests: Sequence[Request]) -> list[Answer | Failure]:
        try:
            if not self.model.alive or self._generation != self.model.generation:
                self.open()
            asked = [replace(request, memory=self._number(request.memory)) for request in requests]
            forgotten, self._forgotten = self._forgotten, []
            answers = self.model.ask("segment", requests=asked, forgotten=forgotten)
        except WorkerDied as error:
            return [Died("error", f"{error}; the next request gets a fresh one") for _ in requests]
        return [self._remembered(answer) for answer in answers]

    def _remembered(self, answer: Answer | Failure) -> Answer | Failure:
        if isinstance(answer, Failure) or answer.memory is None:
            return answer
        memory = Remembered(self._generation, answer.memory)
        weakref.finalize(memory, self._forget, self._generation, answer.memory)
        return replace(answer, memory=memory)

    def _number(self, memory: Remembered | None) -> int | None:
        return memory.number if memory is not None and memory.generation == self._generation else None

    def _forget(self, generation: int, number: int) -> None:
        if generation == self._generation:
            self._forgotten.append(number)


class Died(Failure):
    """The failure of requests during which the process ended."""


class Remembered:
    """A handle of a session's memory in the other process, which is released with the handle."""

    def __init__(self, generation: int, number: int) -> None:
        self.generation, self.number = generation, number
