"""Get data sets: download and convert their cases, several at once; one that fails does not stop the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from threading import Lock

from intrabench.datasets.base import Dataset
from intrabench.datasets.cases.selection import select_cases
from intrabench.datasets.cases.store import ask_for_space, fetch_shared, to_download
from intrabench.datasets.cases.stored_case import CaseIndex
from intrabench.datasets.cases.trusted_folders import note_given
from intrabench.engine.executors.executor import Executor, Executors
from intrabench.engine.executors.make import make_preparers
from intrabench.engine.job import Job
from intrabench.engine.options import Options
from intrabench.engine.plan import Selected, Unavailable, find_prepared
from intrabench.engine.progress.reporter import Reporter
from intrabench.engine.task_queue import TaskQueue
from intrabench.errors import IntraBenchError, attempt
from intrabench.fetch.source import Source
from intrabench.models.base import Failure

PATIENCE = 5
"""So many cases in a row that cannot be downloaded or stored, and the others of the data set are not tried."""

Tell = Callable[[Dataset, str, CaseIndex], None]
"""Gets each case that is there."""


def prepare_cases(job: Job, options: Options, reporter: Reporter, tell: Tell) -> bool:
    """Get the cases of a job that the options made (`make_preparation`). Returns whether all of them are there.

    Raises:
        IntraBenchError: a case does not exist, or workers cannot start.
    """
    preparation = _CasePreparation(job, reporter, tell)
    with make_preparers(options, job, preparation.queue.cases, reporter) as executors:
        preparation.run(executors)
    note_given(job.datasets)
    return not preparation.failed


class _CasePreparation:
    """The cases of data sets that are ready, and those on the queue. failed: how many cases and data sets failed."""

    def __init__(self, job: Job, reporter: Reporter, tell: Tell) -> None:
        self.job, self.reporter, self.tell, self.failed = job, reporter, tell, 0
        self._in_vain, self._given_up, self._lock = Counter[Dataset](), set[Dataset](), Lock()
        self._files: dict[Source, None] = {}
        self.ready: dict[Selected, CaseIndex] = {}
        waiting = list[Selected]()
        for selected in [(dataset, case) for dataset in job.datasets for case in self._cases(dataset)]:
            if (index := find_prepared(*selected, reporter)) is None:
                waiting.append(selected)
            else:
                self.ready[selected] = index
        self.queue = TaskQueue((), waiting)

    def run(self, executors: Executors) -> None:
        """Tell what is there, and have the rest prepared."""
        if total := len(self.ready) + self.queue.cases:
            self.reporter.begin(total, len(self.ready), "case")
        for (dataset, case), index in self.ready.items():
            self.tell(dataset, case, index)
        executors.run(partial(self._stop, executors), self._prepare_all)

    def _stop(self, executors: Executors) -> None:
        self.queue.stop()
        executors.stop()

    def _cases(self, dataset: Dataset) -> Sequence[str]:
        """The selected cases; none if what all of them need cannot be had, or if there is no room for them."""
        if not self._tried(dataset, lambda: fetch_shared(dataset, self.reporter.watch)):
            return []
        chosen = select_cases(dataset, self.job.cases)  # what is unknown is a wrong option, which ends the command
        return chosen if self._tried(dataset, lambda: self._ask_for_space(dataset, chosen)) else []

    def _ask_for_space(self, dataset: Dataset, chosen: Sequence[str]) -> None:
        """Refuse a data set for which there is no room besides those before it."""
        files = {**self._files, **dict.fromkeys(to_download(dataset, chosen))}
        ask_for_space(dataset, files)
        self._files = files

    def _tried(self, dataset: Dataset, do: Callable[[], object]) -> bool:
        """Whether something could be done for a data set; else it is said why not."""
        try:
            attempt(do, "its files cannot be listed", "repair its class")
        except IntraBenchError as error:
            self._say(dataset.argument, str(error))
            return False
        return True

    def _prepare_all(self, executor: Executor) -> None:
        while (selected := self.queue.case()) is not None:
            if self._wants(selected[0]):
                self._take(*selected, executor.prepare(*selected))
            self.queue.prepared()

    def _take(self, dataset: Dataset, case: str, found: CaseIndex | Failure) -> None:
        """A case is prepared, or cannot be."""
        with self._lock:
            if isinstance(found, Failure):
                self._say(f"{dataset.argument}, case {case}", found.message)
            else:
                self.tell(dataset, case, found)
            if self._in_vain[dataset] < PATIENCE:
                self._in_vain[dataset] = self._in_vain[dataset] + 1 if isinstance(found, Unavailable) else 0
            self.reporter.advance(1, int(isinstance(found, Failure)))

    def _wants(self, dataset: Dataset) -> bool:
        """Whether it is of use to try another case of a data set."""
        with self._lock:
            if self._in_vain[dataset] < PATIENCE:
                return True
            if dataset not in self._given_up:
                self._given_up.add(dataset)
                problem = f"{PATIENCE} cases in a row could not be downloaded or stored, so the others were not tried"
                self._say(dataset.argument, f"{problem}; run again later")
            self.reporter.expect(-1)
            return False

    def _say(self, name: str, problem: str) -> None:
        self.failed += 1
        self.reporter.say(f"{name}: {problem}")
