"""Work in a worker process that is supervised: what it dies of fails, and everything else is finished."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from intrabench.datasets.base import Dataset
from intrabench.datasets.cases import store as cases
from intrabench.datasets.cases.stored_case import CaseIndex
from intrabench.engine.executors.executor import Stopped
from intrabench.engine.executors.worker_process import TaskFailed, WorkerDeath, WorkerProcess
from intrabench.engine.job import Job
from intrabench.engine.plan import ImageTask
from intrabench.engine.result_batches import ResultBatch, failed
from intrabench.engine.session_spec import ModelRunner, SessionSpec
from intrabench.engine.write_buffer import Take
from intrabench.identity.versions import ships
from intrabench.models.base import Failure

LEAST_SHARE = 0.1
"""The least part of ``--timeout`` that a part of a batch gets."""


class ProcessExecutor:
    """Plays tasks and prepares cases in a worker process.

    A process that dies costs only the sessions at fault: the batch that it was playing is played again in halves, until
    the session that kills it is alone. One that was alone from the beginning is played once more.

    Code that does not ship may change what all code of its process shares, such as a function of numpy. So a process
    that has played with such code plays no other model, and if it is of a prompter or a data set, nothing without it;
    and one that has converted with it converts no other data set.
    """

    def __init__(self, job: Job, worker: WorkerProcess) -> None:
        self.job, self.worker, self.name = job, worker, worker.name
        self.runner: ModelRunner | None = None
        self._only: object = None  # all that the process may still be used for

    def play(self, task: ImageTask, specs: Sequence[SessionSpec], take: Take) -> None:
        """Play the specs of a task; `take` gets each of them once, finished or failed.

        Raises:
            Stopped: it was stopped.
            IntraBenchError: the worker refuses the job.
        """
        self.runner = task.runner
        for parts, some in _by_code(task, specs):
            self._use_for((task.runner, *parts), not parts and self.job.shipped(task.runner))
            self._play(task, some, take)

    def _play(self, task: ImageTask, specs: Sequence[SessionSpec], take: Take) -> None:
        bisection = CrashBisection(task, specs, take)
        while bisection.left:
            try:
                self.worker.ask("play", {**self._numbers(task), **bisection.batches()}, bisection.take, bisection.share)
                bisection.fail(list(bisection.left), _changed("its code or data changed during the run"), of_data=True)
            except WorkerDeath as death:
                self.worker.reporter.say(f"{task.title}: {death.message}")
                bisection.died(death)
            except TaskFailed as error:  # the case cannot be read there
                bisection.fail(list(bisection.left), error.failure, of_data=True)

    def prepare(self, dataset: Dataset, case: str) -> CaseIndex | Failure:
        """Download and convert a case; if the process dies over it, once more in a fresh one.

        Raises:
            Stopped: it was stopped.
            IntraBenchError: the worker refuses the job.
        """
        self._use_for(dataset, ships(dataset))
        try:
            try:
                self._prepare(dataset, case)
            except WorkerDeath as death:
                if death.status == "timeout":
                    raise
                self._prepare(dataset, case)
        except TaskFailed as failed:
            return failed.failure
        except WorkerDeath as death:
            return death.failure
        found = cases.look(dataset, case)[0]
        return found or _changed("its files changed while it was converted")

    def _use_for(self, what: object, shipped: bool) -> None:
        """Have a fresh process if this one has run code that does not ship for something else."""
        if self._only not in (None, what):
            self.worker.rest()
            self._only = None
        if not shipped:
            self._only = what

    def _prepare(self, dataset: Dataset, case: str) -> None:
        try:
            self.worker.ask("prepare", {"dataset": self.job.datasets.index(dataset), "case": case})
        except (WorkerDeath, Stopped):
            cases.tidy(dataset, case)
            raise

    def stop(self) -> None:
        """End the current task soon; called from another thread."""
        self.worker.stop()

    def rest(self) -> None:
        """End the process until the next task."""
        self.worker.rest()

    def close(self) -> None:
        """End the process."""
        self.worker.close()

    def _numbers(self, task: ImageTask) -> dict[str, Any]:
        """The task as the worker knows it, which has made the same job."""
        runner = self.job.runners.index(task.runner)
        return {"dataset": self.job.datasets.index(task.dataset), "case": task.case, "runner": runner}


def _by_code(task: ImageTask, specs: Sequence[SessionSpec]) -> Iterable[tuple[tuple[str, ...], list[SessionSpec]]]:
    """Specs by what does not ship of their data set and prompter; those of which all ships come first."""
    data = () if ships(task.dataset) else (task.dataset.name,)  # the same code, whatever its parameters
    prompters = {spec.prompter.spec: spec.prompter for spec in specs}
    own = {name: () if ships(prompter) else (name,) for name, prompter in prompters.items()}
    found: dict[tuple[str, ...], list[SessionSpec]] = {data: []}
    for spec in specs:
        found.setdefault((*data, *own[spec.prompter.spec]), []).append(spec)
    return [(parts, some) for parts, some in found.items() if some]


def _changed(what: str) -> Failure:
    return Failure("error", f"{what}; run the command again", passing=True)


class CrashBisection:
    """What is left of a task, and the batches of it of which some session is fatal.

    left: specs by their keys. suspects: batches as keys, with the part of the patience that each gets.
    """

    def __init__(self, task: ImageTask, specs: Sequence[SessionSpec], take: Take) -> None:
        self.task, self.left, self._take = task, {spec.key: spec for spec in specs}, take
        self._spec_of = {key: spec.key for spec in specs for key in spec.sessions}
        self._suspects: list[tuple[tuple[str, ...], float]] = []

    def take(self, part: ResultBatch) -> None:
        """Sessions are finished.

        Raises:
            WorkerDeath: the process answers for sessions that it was not given.
        """
        said = {*part.summary.keys, *part.masks, *(row["session"] for row in (*part.rows, *part.turns))}
        if not said <= self._spec_of.keys():
            problem = "the worker process answered for sessions that it was not given"
            raise WorkerDeath("error", problem, tuple(self.left))
        self._take(part)
        for key in part.summary.keys:
            self.left.pop(self._spec_of[key], None)

    def fail(self, keys: Sequence[str], failure: Failure, of_data: bool = False) -> None:
        """Sessions failed."""
        if keys:
            self.take(failed([self.left[key] for key in keys], failure, of_data))

    def batches(self) -> Mapping[str, Any]:
        """The keys of what is left, and apart from them those of suspects."""
        suspects = [[key for key in batch if key in self.left] for batch, _ in self._suspects]
        apart = {key for batch in suspects for key in batch}
        return {
            "keys": [key for key in self.left if key not in apart],
            "suspects": [batch for batch in suspects if batch],
        }

    def share(self, batch: Sequence[str]) -> float:
        """The part of the patience for a batch: a half of one that took too long gets half of its time."""
        return next((share for suspects, share in self._suspects if set(batch) <= set(suspects)), 1.0)

    def _suspected(self, batch: Sequence[str]) -> bool:
        return any(set(batch) <= set(suspects) for suspects, _ in self._suspects)

    def died(self, death: WorkerDeath) -> None:
        """The worker died: narrow down which session it was, or fail that one; after too many deaths fail the rest."""
        batch = tuple(key for key in death.batch if key in self.left)
        if not self.left:  # of closing the image, after all was stored
            return
        again = death.status != "timeout" and not self._suspected(batch)  # it may have been the machine
        # Several sessions are halved, and each half is played alone. A single one fails, but only after it was played
        # twice if it was not too slow, for the first death may have been the machine's.
        if len(batch) > 1 or (batch and again):
            share = self.share(batch)
            if death.status == "timeout":
                share = max(share / 2, LEAST_SHARE)
            self._suspects = [one for one in self._suspects if not set(batch) <= set(one[0])]
            middle = len(batch) // 2
            self._suspects += [(half, share) for half in (batch[:middle], batch[middle:]) if half]
            return
        self.fail(batch, death.failure)
        self.task.died(death.failure, opening=not batch and death.status == "timeout")
        if self.task.verdict:
            self.fail(list(self.left), self.task.verdict)
