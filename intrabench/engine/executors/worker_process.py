"""A worker process that is listened to, and ended when it takes too long or too much memory."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from threading import Lock
from typing import Any

from intrabench.engine.environment import rss_mb
from intrabench.engine.executors.child_process import ChildProcess
from intrabench.engine.executors.executor import Stopped
from intrabench.engine.executors.timeout import Timeout
from intrabench.engine.options import Options
from intrabench.engine.progress.reporter import Reporter
from intrabench.engine.result_batches import ResultBatch
from intrabench.engine.write_buffer import Take
from intrabench.errors import IntraBenchError, several
from intrabench.models.base import Failure, FailureStatus
from intrabench.progress import joined

LISTEN_SECONDS = 0.25
GRACE_SECONDS = 10.0
"""How long a worker that is stopped may take to hand over what is complete."""

STARTS = 3
"""So many processes in a row that do not start end the run: it is not the fault of what they should play."""


class WorkerDeath(Exception):
    """The process died, or was ended because it took too much. batch: the sessions that it was playing."""

    def __init__(self, status: FailureStatus, message: str, batch: Sequence[str]) -> None:
        super().__init__(message)
        self.status, self.message, self.batch = status, message, batch

    @property
    def failure(self) -> Failure:
        """The failure of what it was doing; it may have been the machine that ended the process."""
        return Failure(self.status, self.message, passing="perhaps out of memory" in self.message)


class TaskFailed(IntraBenchError):
    """The process could not do its task, and says why."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class WorkerProcess:
    """One worker process, which is started when it is needed, and again after it died.

    environment: its variables that differ from those here. patience: seconds, see `Timeout`. plays: else it prepares
    cases, for which it needs neither torch nor a model. memory_mb: what it may take together with its children.
    option: of the command, that says how many workers there are; messages name it.
    """

    def __init__(
        self,
        name: str,
        options: Options,
        reporter: Reporter,
        environment: Mapping[str, str],
        patience: float,
        plays: bool = True,
        memory_mb: float = float("inf"),
        option: str = "--workers",
    ) -> None:
        self.name, self.options, self.reporter = name, options, reporter
        self.environment, self.timeout = environment, Timeout(patience)
        self.plays, self.memory_mb, self.option = plays, memory_mb, option
        self._process: ChildProcess | None = None
        self._stopping, self._stopped_at, self._looked, self._in_vain = False, 0.0, 0.0, 0
        self._batch: Sequence[str] = ()
        self._start_s, self._ready_at = 0.0, math.inf  # of its first process
        self._lock = Lock()
        self._downloads: dict[str, Download] = {}

    def ask(
        self,
        kind: str,
        content: Mapping[str, Any],
        take: Take = lambda part: None,
        share: Callable[[Sequence[str]], float] = lambda batch: 1.0,
    ) -> None:
        """Have the process do a task, and listen until it is done. share: the part of the patience that a batch gets.

        Raises:
            WorkerDeath: it died or was ended.
            TaskFailed: it could not do the task.
            IntraBenchError: it cannot make the job of these options; no other process could.
            Stopped: it was stopped; what it had finished was taken.
        """
        self._batch = ()
        try:
            if self._process is None:
                self._start()
            self._converse(kind, content, take, share)
            self._relay()
        except TaskFailed:
            self._relay()
            raise
        except BaseException:
            self._end()
            raise
        finally:
            for download in self._downloads.values():
                download.close()
            self._downloads.clear()
            self.reporter.doing(self.name, "")

    @property
    def outworked_its_start(self) -> bool:
        """Whether it has been at work for longer than its first process took to start."""
        return time.monotonic() - self._ready_at > self._start_s

    def stop(self) -> None:
        """End the current task: what is complete is handed over first. Called from another thread."""
        with self._lock:
            if not self._stopping and self._process is not None:
                self._process.interrupt()
            self._stopping, self._stopped_at = True, time.monotonic()

    def rest(self) -> None:
        """End the process; the next task starts another one."""
        self._leave(self._stopping)

    def close(self) -> None:
        """End the process, at once if it was stopped; no other one is started."""
        with self._lock:
            stopped, self._stopping = self._stopping, True
        self._leave(stopped)

    def _leave(self, at_once: bool) -> None:
        with self._lock:
            process, self._process = self._process, None
        if process is not None:
            (process.kill if at_once else process.close)()

    def _start(self) -> None:
        began = time.monotonic()
        # under the lock, so that `stop` either finds the process or keeps it from being started
        with self._lock:
            if self._stopping:
                raise Stopped
            try:
                self._process = ChildProcess(
                    Path(sys.executable), "intrabench.engine.executors.worker", self.environment
                )
            except OSError as error:
                raise IntraBenchError(
                    f"a worker process cannot be started ({error.strerror}); use fewer {self.option}, or 0"
                ) from error
        self.timeout.begins("", "starting a worker")
        try:
            while self._next()[0] != "ready":
                pass
            self._converse("job", {"options": self.options, "plays": self.plays})
        except TaskFailed as error:
            raise IntraBenchError(str(error)) from error
        except WorkerDeath as death:
            self._in_vain += 1
            if self._in_vain == STARTS:
                raise IntraBenchError(
                    f"{STARTS} worker processes in a row could not start: {death.message}; "
                    f"{self.option} 0 may tell more"
                ) from death
            raise
        self._in_vain = 0
        if self._ready_at == math.inf:
            self._ready_at = time.monotonic()
            self._start_s = self._ready_at - began

    def _converse(
        self,
        kind: str,
        content: Mapping[str, Any],
        take: Take = lambda part: None,
        share: Callable[[Sequence[str]], float] = lambda batch: 1.0,
    ) -> None:
        """Send a task, and heed what the process says until it is done."""
        self.timeout.begins("", "starting")
        self._send((kind, content))
        while True:
            said, about = self._next()
            if said == "part":
                take(about)
                # the worker waits for this, so a session that kills it later costs none that it has finished
                self._send("stored")
            elif said == "batch":
                self._batch = about
                self.timeout.batch(share(about))
            elif said == "doing":
                phase, what, title = about
                self.timeout.begins(phase, what)
                self.reporter.doing(self.name, joined(what, title))
            elif said == "download":
                self._download(*about)
            elif said == "downloaded":
                if about in self._downloads:
                    self._downloads.pop(about).close()
            elif said == "say":
                self.reporter.say(about)
            elif said == "failed":
                raise TaskFailed(about)
            elif said == "stopped":
                if self._stopping:
                    raise Stopped
                raise self._death("error", "the worker process was interrupted")  # by whoever sent it a signal
            else:
                return

    def _next(self) -> tuple[str, Any]:
        """The next message."""
        process = self._process
        if process is None:  # closed from another thread
            raise Stopped
        while True:
            before = time.monotonic()
            if before - self._looked >= LISTEN_SECONDS:  # also at one that never stops talking
                self._looked = before
                self._look(process)
            try:
                message = process.receive(LISTEN_SECONDS)
            except Exception as error:  # it ended, perhaps in the middle of a message
                raise self._ended(process) from error
            self.timeout.tick(time.monotonic() - before)
            if message is not None:
                if not _is_said(message):  # foreign code, or what it started, has written into the connection
                    raise self._death("error", "the worker process said what no worker says")
                return message

    def _look(self, process: ChildProcess) -> None:
        """See to a process: that it lives, and takes neither too long nor too much."""
        self._relay()
        if self._stopping and time.monotonic() - self._stopped_at > GRACE_SECONDS:
            raise Stopped
        if process.gone:
            raise self._ended(process)
        what = (
            several(len(self._batch), "session") if self.timeout.phase == "playing" else self.timeout.what or "a worker"
        )
        if self.timeout.expired:
            option = " (--timeout)" if self.timeout.phase != "preparing" else ""
            raise self._death("timeout", f"{what} took longer than {self.timeout.allowed:g} s{option}")
        if rss_mb(process.pid) > self.memory_mb:
            most = f"{self.memory_mb * 2**20 / 1e9:.1f} GB of memory"
            raise self._death(
                "oom", f"{what} took more than {most}, a worker's share; use fewer {self.option} or a machine with more"
            )

    def _relay(self) -> None:
        """Pass on what the process printed."""
        if self._process is not None:
            for line in self._process.output():
                self.reporter.say(line)

    def _send(self, message: Any) -> None:
        process = self._process
        if process is None:
            raise Stopped
        try:
            process.send(message)
        except OSError as error:
            raise self._ended(process) from error

    def _ended(self, process: ChildProcess) -> WorkerDeath | Stopped:
        """The exception for a process that ended, which it should if it was stopped."""
        return Stopped() if self._stopping else self._death("error", process.ended())

    def _death(self, status: FailureStatus, message: str) -> WorkerDeath:
        return WorkerDeath(status, message, self._batch)

    def _end(self) -> None:
        """End the process now."""
        self._leave(at_once=True)

    def _download(self, name: str, done: int, total: int | None) -> None:
        """Show a download; if it goes on, that is a sign of life."""
        if name not in self._downloads:
            self._downloads[name] = Download(self.reporter, name)
        if self._downloads[name].proceeds(done, total):
            self.timeout.begins(self.timeout.phase, self.timeout.what)


def _is_said(message: Any) -> bool:
    """Whether that is something a worker says."""
    match message:
        case ("ready" | "done" | "stopped", _) | ("part", ResultBatch()) | ("failed", Failure()):
            return True
        case ("say" | "downloaded", str()) | ("doing", (str(), str(), str())) | ("download", (str(), int(), _)):
            return True
        case ("batch", [*keys]):
            return all(isinstance(key, str) for key in keys)
    return False


class Download:
    """A download in a worker process, which is shown here."""

    def __init__(self, reporter: Reporter, name: str) -> None:
        self._context, self._done = ExitStack(), -1
        self._tell = self._context.enter_context(reporter.watch(name))

    def proceeds(self, done: int, total: int | None) -> bool:
        """Show how far it is; returns whether that is farther than before."""
        self._tell(done, total)
        before, self._done = self._done, done
        return done > before

    def close(self) -> None:
        """It ended."""
        self._context.close()
