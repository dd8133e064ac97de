"""What is missing of image tasks, and the locks under which it is played and stored."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

from intrabench.engine import signals
from intrabench.engine.executors.executor import Stopped
from intrabench.engine.job import Job
from intrabench.engine.plan import ImageTask
from intrabench.engine.progress.reporter import Reporter
from intrabench.engine.result_batches import ResultBatch, failed
from intrabench.engine.session_spec import SessionSpec
from intrabench.engine.write_buffer import Take
from intrabench.engine.writer import ResultWriter
from intrabench.errors import several
from intrabench.files.locks import ATTEMPTS, locked
from intrabench.models.base import Failure


class TaskLocks:
    """What is missing of tasks in a results folder, and the locks under which it is played and stored.

    ended: whether somebody has ended this process, which may be code of the user's own that sends it a signal each time
    it is played.
    """

    def __init__(
        self, job: Job, writer: ResultWriter, reporter: Reporter, ended: Callable[[], bool] = signals.asked
    ) -> None:
        self.job, self.writer, self.reporter, self.store, self._ended = job, writer, reporter, writer.store, ended

    def unfinished(self, task: ImageTask) -> set[str]:
        """The sessions of a task to be played; those of a joint session are played together."""
        done, keys = self.store.finished(self.job.rounds), task.keys
        found = {key for key in keys if key not in done or self._lacks_masks(key)}
        size = task.joint
        for first in range(0, len(keys), size) if size > 1 and found else ():
            one = keys[first : first + size]
            found.update(() if found.isdisjoint(one) else one)
        return found

    def missing(self, task: ImageTask) -> list[SessionSpec]:
        """The specs of a task that are to be played."""
        keys = self.unfinished(task)
        return [spec for spec in task.specs if not keys.isdisjoint(spec.sessions)] if keys else []

    @contextmanager
    def lock(self, task: ImageTask) -> Iterator[tuple[int, Sequence[SessionSpec], Take]]:
        """Take the lock of a task: how many sessions are missing, what is to be played, and who stores the results.

        Nothing is to be played of a task over which one run after the other has died; its sessions fail.

        Raises:
            Busy: another run has the lock.
        """
        with ExitStack() as stack:
            lock = stack.enter_context(locked(self.store.root / "locks" / task.lock_name))
            specs = self.missing(task)
            missing = sum(len(spec.sessions) for spec in specs)
            for damaged in filter(None, (self.store.bad_masks(key) for spec in specs for key in spec.sessions)):
                self.reporter.say(damaged)
            if lock.attempts >= ATTEMPTS:
                problem = f"{several(lock.attempts, 'run')} in a row died or were ended while they played this image"
                self.writer.take(failed(specs, Failure("error", problem)))
                specs = []

            def take(part: ResultBatch) -> None:
                self.writer.take(part)
                if part.rows:  # none of a batch that was cut off
                    self.writer.once_written(lock.progressed)

            try:
                yield missing, specs, take
            except BaseException as error:
                stack.callback(self.writer.flush)  # before the lock is given back
                if isinstance(error, Stopped | KeyboardInterrupt) and self._ended():
                    lock.ended()
                raise
            self.writer.once_written(stack.pop_all().close)

    def _lacks_masks(self, session: str) -> bool:
        return self.job.save_masks and not self.store.has_masks(session)
