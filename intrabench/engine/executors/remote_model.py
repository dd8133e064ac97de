"""A model in a process of another interpreter, for packages that cannot live together: same code, same answers.

The other interpreter needs the model's packages, numpy, nibabel and pydantic. It uses this copy of intrabench, whether
or not one is installed there.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from intrabench import progress
from intrabench.engine.executors import ipc
from intrabench.engine.executors.child_process import ChildProcess
from intrabench.errors import IntraBenchError
from intrabench.files.temporary import temporary_folder
from intrabench.mask import Array
from intrabench.models.base import Answer, Failure, JointAnswer, JointRequest, Predictor, Request, Runtime
from intrabench.volume import Volume

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
        self._process: ChildProcess | None = None
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
        return self._process is not None

    @contextmanager
    def open(self, volume: Volume) -> Iterator[Predictor]:
        """Open one image in the other process; its voxels are shared, not sent."""
        plane, volume = volume.plane, volume.upright
        array = volume.array
        with _shared(array) as voxels:
            said = {"grid": volume.grid, "modality": volume.modality, "notes": volume.notes}
            said |= {"case": volume.case, "original": volume.original, "plane": plane}
            image = RemotePredictor(self, voxels, {"dtype": array.dtype.str, "shape": array.shape, **said})
            image.open()
            yield image

    def ask(self, kind: str, file: IO[bytes] | None = None, **content: Any) -> Any:
        """Send a message, perhaps with a file, and wait for its answer; the process is started if it is not running.

        Raises:
            IntraBenchError: the process reported an error.
            MemoryError: the process ran out of memory.
            WorkerDied: the process ended.
        """
        if self._process is None:
            self._process = self._started()
            self.generation += 1
            if kind != "load":
                self.ask("load", **self._loading)
        assert self._process is not None
        try:
            self._process.send((kind, content), file)
            said, answer = self._answer(self._process)
        except (EOFError, OSError) as error:
            process, self._process = self._process, None
            raise WorkerDied(process.ended()) from error
        except BaseException:  # nobody waits for its answer any more
            process, self._process = self._process, None
            process.kill()
            raise
        if said == "oom":
            raise MemoryError(answer)
        if said != "ok":
            raise IntraBenchError(f"{self.python}: {answer}")
        return answer

    def _answer(self, process: ChildProcess) -> tuple[str, Any]:
        """The answer of the process; until it comes, the steps that it takes count as taken here."""
        with ExitStack() as step:
            while True:
                said, answer = process.receive()
                if said != "doing":
                    return said, answer
                step.close()
                phase, what, _ = answer
                if phase:
                    step.enter_context(progress.step(phase, what))

    def close(self) -> None:
        """Close the connection and wait for the process to end."""
        process, self._process = self._process, None
        if process is not None:
            process.close()

    def _started(self) -> ChildProcess:
        try:
            process = ChildProcess(self.python, "intrabench.engine.executors.remote_worker")
        except OSError as error:
            raise IntraBenchError(
                f"--python {self.python} cannot be started ({error.strerror}); give the path of an interpreter, "
                "such as ENV/bin/python"
            ) from error
        try:
            process.greeted()
        except EOFError:
            raise IntraBenchError(
                f"--python {self.python} cannot run intrabench ({process.ended()}); install the missing packages there"
            ) from None
        except BaseException:
            process.kill()
            raise
        return process


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

    def segment_jointly(self, requests: Sequence[JointRequest]) -> list[JointAnswer | Failure]:
        """Answer joint sessions in the same way."""
        return self.segment(requests)  # type: ignore[arg-type, return-value]  # the other process knows which they are

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
        # This may happen at any moment, even while a message is sent, so the number is only noted; the next request
        # tells the process.
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


@contextmanager
def _shared(array: Array) -> Iterator[IO[bytes]]:
    """A file with the voxels of an array, in memory if there is room.

    Where it can be handed on it has no name, so that nothing is left of it however the processes end.
    """
    roomy = SHARED_MEMORY.is_dir() and shutil.disk_usage(SHARED_MEMORY).free > array.nbytes
    place = SHARED_MEMORY if roomy else Path(tempfile.gettempdir())
    with tempfile.TemporaryFile(dir=place) if ipc.INHERITS else _named() as file:
        try:
            array.tofile(file)
        except OSError as error:
            raise IntraBenchError(
                f"{place} has no room for the {array.nbytes / 1e6:.0f} MB of a scan that --python shares; free some "
                "space there, or set TMPDIR to another folder"
            ) from error
        yield file


@contextmanager
def _named() -> Iterator[IO[bytes]]:
    """A file with a name, which is deleted at the end, or by a later process."""
    with temporary_folder() as folder, (folder / "voxels").open("w+b") as file:
        yield file
