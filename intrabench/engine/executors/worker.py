"""A worker process: it makes the job of its supervisor's options, and then plays tasks and prepares cases for it.

It receives tasks and answers each with messages, of which the last one ends the task: ``done`` with its result,
``failed`` with a `Failure`, or ``stopped``. Finished sessions go to the supervisor, which acknowledges
them.
"""

from __future__ import annotations

import faulthandler
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing.connection import Connection
from threading import RLock, current_thread, main_thread
from typing import Any

from intrabench import progress
from intrabench.datasets.cases import store as cases
from intrabench.engine.executors.ipc import connect
from intrabench.engine.job import Job
from intrabench.engine.make_job import make_preparation, make_run
from intrabench.engine.options import Options
from intrabench.engine.plan import ImageTask, preparation_failure, prepare
from intrabench.engine.player import Player
from intrabench.engine.progress.reporter import Silent
from intrabench.engine.result_batches import ResultBatch
from intrabench.errors import foreign

TELL_SECONDS = 0.2
"""The least time between two messages about a download."""


class _WorkerConnection:
    """The connection to the supervisor. Ctrl-C never cuts a message in two, but waits until it is sent.

    Threads of the user's code may send something, too.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection, self._sending, self._interrupted = connection, 0, False
        self._lock = RLock()
        signal.signal(signal.SIGINT, self._interrupt)  # a shell's background jobs ignore it

    def send(self, kind: str, content: Any = None) -> None:
        """Send a message."""
        # Python handles signals in the main thread only, so no other thread's message can be cut in two
        ours = current_thread() is main_thread()
        self._sending += ours
        try:
            with self._lock:
                self._connection.send((kind, content))
        finally:
            self._sending -= ours
        if ours and self._interrupted:
            self._interrupted = False
            raise KeyboardInterrupt

    def receive(self) -> Any:
        """Wait for a message."""
        return self._connection.recv()

    def _interrupt(self, *_: Any) -> None:
        if not self._sending:
            raise KeyboardInterrupt
        self._interrupted = True


class _RelayReporter(Silent):
    """A reporter that passes everything on to that of the run."""

    def __init__(self, line: _WorkerConnection) -> None:
        self.line = line

    def say(self, text: str) -> None:
        """One plain line."""
        self.line.send("say", text)

    @contextmanager
    def watch(self, name: str) -> Iterator[Callable[[int, int | None], None]]:
        """The progress of a download, at most every so often."""
        spoke = 0.0

        def tell(done: int, total: int | None) -> None:
            nonlocal spoke
            if time.monotonic() - spoke > TELL_SECONDS or done == total:
                spoke = time.monotonic()
                self.line.send("download", (name, done, total))

        yield tell
        self.line.send("downloaded", name)


class Worker:
    """The job, and what is done for it."""

    def __init__(self, line: _WorkerConnection) -> None:
        self.line, self.reporter = line, _RelayReporter(line)
        self.job: Job
        self.player: Player

    def answer(self, kind: str, content: dict[str, Any]) -> Any:
        """Do a task and return its result."""
        tasks: dict[str, Callable[..., Any]] = {"job": self.make, "play": self.play, "prepare": self.prepare}
        return tasks[kind](**content)

    def make(self, options: Options, plays: bool) -> None:
        """Make the job. plays: else it only prepares cases, which needs no model."""
        self.job = make_run(options) if plays else make_preparation(options)
        self.player = Player(self.job, self.reporter.say, partial(self.line.send, "batch"))

    def play(
        self, dataset: int, case: str, runner: int, keys: Sequence[str], suspects: Sequence[Sequence[str]]
    ) -> None:
        """Play sessions of a task, given by their keys; the case is prepared if this machine lacks it."""
        where, model = self.job.datasets[dataset], self.job.runners[runner]
        with foreign():
            index = cases.look(where, case)[0] or prepare(where, case, self.reporter)
        task = ImageTask(self.job, where, case, model, index)
        specs = {spec.key: spec for spec in task.specs}
        batches = [[specs[key] for key in batch if key in specs] for batch in (keys, *suspects)]
        self.player.play(task, batches[0], self._take, [batch for batch in batches[1:] if batch])

    def prepare(self, dataset: int, case: str) -> None:
        """Download and convert a case."""
        prepare(self.job.datasets[dataset], case, self.reporter)

    def _take(self, part: ResultBatch) -> None:
        """Hand a part over, and wait until the run has it."""
        self.line.send("part", part)
        self.line.receive()


def serve(line: _WorkerConnection) -> None:
    """Do tasks until the connection is closed."""
    child = Worker(line)
    line.send("ready")
    with progress.listen(lambda *now: line.send("doing", now)):
        while True:
            kind, content = line.receive()
            try:
                line.send(*_done(child, kind, content))
            except KeyboardInterrupt:
                line.send("stopped")
                return


def _done(child: Worker, kind: str, content: dict[str, Any]) -> tuple[str, Any]:
    started = time.perf_counter()
    try:
        with foreign():
            return "done", child.answer(kind, content)
    except Exception as error:  # of the user's code; a damaged file
        return "failed", preparation_failure(error, started)


def main(words: Sequence[str]) -> None:
    """Serve the process that started this one with these words."""
    connection = connect(words)
    faulthandler.enable()
    with suppress(KeyboardInterrupt, EOFError, OSError):
        serve(_WorkerConnection(connection))
