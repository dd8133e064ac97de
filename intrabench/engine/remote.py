"""A model in a process of another interpreter, for packages that cannot live together: same code, same answers.

The other interpreter needs the model's packages, numpy, nibabel and pydantic. It uses this copy of intrabench, whether
or not one is installed there.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from multiprocessing.connection import Connection
from multiprocessing.reduction import send_handle
from pathlib import Path
from typing import IO, Any

from intrabench.errors import IntraBenchError
from intrabench.models.base import Answer, Failure, Predictor, Request, Runtime
from intrabench.temporary import sweep
from intrabench.volume import Array, Volume

_BOOTSTRAP = """
import sys
sys.path = [folder for folder in sys.path if folder]
import importlib.util
spec = importlib.util.spec_from_file_location("intrabench", sys.argv[1], submodule_search_locations=[sys.argv[2]])
package = importlib.util.module_from_spec(spec)
sys.modules["intrabench"] = package
spec.loader.exec_module(package)
from intrabench.engine.worker import main
main(int(sys.argv[3]), int(sys.argv[4]))
"""
"""Imports this copy of the package by its path; a search path would also expose its neighbours.

As for the command `intrabench`, no module comes from the current folder, which may be one of results."""

START_SECONDS = 120.0
PATIENCE = 2
SHARED_MEMORY = Path("/dev/shm")


class WorkerDied(Exception):
    """The process ended without an answer."""


class RemoteModel:
    """A model that another interpreter runs; `open` is that of `intrabench.models.base.Model`.

    Raises:
        IntraBenchError: the interpreter does not start, lacks a package, or the model cannot be loaded there.
    """

    def __init__(self, python: Path, spec: str, runtime: Runtime, plugins: Sequence[Path] = ()) -> None:
        self.python = python
        self._loading: dict[str, Any] = {"spec": spec, "runtime": runtime, "plugins": tuple(plugins)}
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._lifeline: IO[bytes] | None = None  # open as long as this process lives; see `ends_with`
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
        array = volume.array
        with _shared(array) as voxels:
            like = {"dtype": array.dtype.str, "shape": array.shape, "grid": volume.grid, "modality": volume.modality}
            image = RemotePredictor(self, voxels, like)
            image.open()
            yield image

    def ask(self, kind: str, file: IO[bytes] | None = None, **content: Any) -> Any:
        """Send a message, perhaps with a file, and wait for its answer; the process is started if it is not running.

        Raises:
            IntraBenchError: the process reported an error.
            MemoryError: the process ran out of memory.
            WorkerDied: the process ended.
        """
        if self._connection is None:
            self._start()
            if kind != "load":
                self.ask("load", **self._loading)
        assert self._connection is not None
        assert self._process is not None
        try:
            self._connection.send((kind, content))
            if file is not None:
                send_handle(self._connection, file.fileno(), self._process.pid)
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
            _end_group(self._process)
        for file in (self._said, self._lifeline):
            if file is not None:
                file.close()
        self._connection = self._process = self._said = self._lifeline = None

    def _start(self) -> None:
        import intrabench

        package = Path(intrabench.__file__)
        ours, theirs = socket.socketpair()
        their_end, lifeline = os.pipe()
        self._connection, self._lifeline = Connection(ours.detach()), os.fdopen(lifeline, "wb")
        self._said = tempfile.TemporaryFile()  # noqa: SIM115
        inherited = theirs.fileno(), their_end
        command = [str(self.python), "-c", _BOOTSTRAP, str(package), str(package.parent), *map(str, inherited)]
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=self._said,
                stderr=self._said,
                pass_fds=inherited,
                start_new_session=True,  # Ctrl-C goes to this process, which closes the connection
            )
        except OSError as error:
            self.close()
            raise IntraBenchError(
                f"--python {self.python} cannot be started ({error.strerror}); give the path of an interpreter, "
                "such as ENV/bin/python"
            ) from error
        finally:
            theirs.close()
            os.close(their_end)
        self._greeted()
        self.generation += 1
        sweep()

    def _greeted(self) -> None:
        """Wait for the first word of the new process."""
        assert self._connection is not None
        with suppress(EOFError, OSError):
            if self._connection.poll(START_SECONDS):
                self._connection.recv()
                return
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
        _end_group(process)
        if self._lifeline is not None:
            self._lifeline.close()
        with self._said as file:
            file.seek(0)
            said = file.read().decode(errors="replace").strip().splitlines()
        how = f"signal {-code}" + (", perhaps out of memory" if code == -9 else "") if code < 0 else f"exit code {code}"
        return f"the worker process ended with {how}" + (f": {said[-1]}" if said else "")


class RemotePredictor(Predictor):
    """An image that is opened in the other process."""

    def __init__(self, model: RemoteModel, voxels: IO[bytes], like: dict[str, Any]) -> None:
        self.model, self._voxels, self._like, self._forgotten = model, voxels, like, list[int]()
        self._generation = 0

    def open(self) -> None:
        """Open the image there."""
        self.model.ask("open", self._voxels, **self._like)
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


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """End what a process that ended has started."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


@contextmanager
def _shared(array: Array) -> Iterator[IO[bytes]]:
    """A file with the voxels of an array, in memory if there is room.

    It has no name, so that nothing is left of it however the processes end.
    """
    roomy = SHARED_MEMORY.is_dir() and shutil.disk_usage(SHARED_MEMORY).free > array.nbytes
    place = SHARED_MEMORY if roomy else Path(tempfile.gettempdir())
    with tempfile.TemporaryFile(dir=place) as file:
        try:
            array.tofile(file)
        except OSError as error:
            raise IntraBenchError(
                f"{place} has no room for the {array.nbytes / 1e6:.0f} MB of a scan that --python shares; free some "
                "space there, or set TMPDIR to another folder"
            ) from error
        yield file
