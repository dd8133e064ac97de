"""The plan of a run: its cases, and the sessions on them grouped by case and model."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from intrabench import progress
from intrabench.datasets.base import Dataset, NotFetched
from intrabench.datasets.cases import store as cases
from intrabench.datasets.cases.notes import notes_on
from intrabench.datasets.cases.selection import check_targets
from intrabench.datasets.cases.store import fetch_shared
from intrabench.datasets.cases.stored_case import CaseIndex
from intrabench.engine.job import Job
from intrabench.engine.progress.reporter import Reporter
from intrabench.engine.session_spec import ModelRunner, SessionSpec
from intrabench.errors import IntraBenchError, foreign, several
from intrabench.fetch.transfer import DownloadError
from intrabench.files.atomic import CannotWrite
from intrabench.mask import Plane
from intrabench.models.base import Failure, failure_of

DEATHS = 3
"""Deaths of one task that end it, not counting those that only narrow down who is at fault."""


@dataclass(eq=False)
class ImageTask:
    """The specs that share one opened image: one case and one model. They are made when they are asked for.

    deaths: of workers that played it in this run, in whatever portions. verdict: the failure of all that is left of it,
    once it is clear that they died of the image.
    """

    job: Job
    dataset: Dataset
    case: str
    runner: ModelRunner
    index: CaseIndex
    deaths: int = 0
    verdict: Failure | None = None

    @property
    def plane(self) -> Plane:
        """The plane in which users read the image."""
        return self.job.plane(self.index)

    @property
    def specs(self) -> list[SessionSpec]:
        """All specs."""
        return self.job.specs(self.dataset, self.case, self.runner, self.index)

    @property
    def keys(self) -> list[str]:
        """The keys of the sessions of all specs, in their order."""
        return self.job.keys(self.dataset, self.case, self.runner, self.index)

    @property
    def joint(self) -> int:
        """How many sessions each spec has: one, or all targets of a joint session."""
        return self.job.joint(self.index)

    @property
    def title(self) -> str:
        """The task in words."""
        return f"{self.dataset.short_spec}, case {self.case}, {self.runner.label}"

    @cached_property
    def lock_name(self) -> str:
        """Name of the lock of the run that plays the task."""
        parts = (self.dataset.short_spec, self.case, *self.runner.identity)
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:16] + ".lock"

    def died(self, failure: Failure, opening: bool) -> None:
        """A worker died of a session or of the image; opening: it takes too long to open, and would again."""
        self.deaths += 1
        if opening:
            self.verdict = failure
        elif self.deaths >= DEATHS:
            died = f"{failure.message}; {several(DEATHS, 'worker')} died of this image"
            self.verdict = replace(failure, message=died)


Selected = tuple[Dataset, str]
"""A case of a data set."""


@dataclass
class Plan:
    """The cases of a run.

    ready: prepared cases. waiting: cases that must be downloaded or converted first. lost: cases that could not be
    prepared. unlisted: a sentence for each data set whose cases are unknown, because its files cannot be had.
    """

    job: Job
    ready: dict[Selected, CaseIndex] = field(default_factory=dict)
    waiting: list[Selected] = field(default_factory=list)
    lost: list[Selected] = field(default_factory=list)
    unlisted: list[str] = field(default_factory=list)

    def tasks(self, dataset: Dataset, case: str, index: CaseIndex) -> list[ImageTask]:
        """The tasks of a prepared case, one per model that has sessions on it."""
        return [
            ImageTask(self.job, dataset, case, runner, index)
            for runner in self.job.runners
            if index.targets and self.job.prompters_for(runner.model)
        ]

    def begin_at(self, share: float) -> None:
        """Let that share of the cases come last, so that runs beside each other meet less often.

        share: 0 to 1.
        """
        ready = list(self.ready.items())
        first, waiting = int(share * len(ready)), int(share * len(self.waiting))
        self.ready = dict(ready[first:] + ready[:first])
        self.waiting = self.waiting[waiting:] + self.waiting[:waiting]

    def whole(self, dataset: Dataset, case: str) -> list[SessionSpec]:
        """The specs that stand for a whole case."""
        return [spec for runner in self.job.runners for spec in self.job.specs(dataset, case, runner, None)]

    def notes(self) -> list[str]:
        """Lines on what is unusual about the data, once all cases are ready or lost.

        Raises:
            IntraBenchError: a part of ``--targets`` matches no target of any case.
        """
        if not self.lost:
            check_targets(self.ready.values(), self.job.targets)
        indexes: dict[Dataset, list[CaseIndex]] = {dataset: [] for dataset in self.job.datasets}
        for (dataset, _), index in self.ready.items():
            indexes[dataset].append(index)
        lines = [
            f"{dataset.short_spec}, case {case} has no targets and is left out"
            for (dataset, case), index in self.ready.items()
            if not index.targets
        ]
        return lines + [line for dataset in self.job.datasets for line in notes_on(dataset, indexes[dataset])]


def make_plan(job: Job, reporter: Reporter) -> Plan:
    """Look at all cases of a job; none is prepared.

    Raises:
        IntraBenchError: the job names cases that do not exist.
    """
    plan = Plan(job)
    told = _fetch_lists(job, reporter)
    unlisted = {dataset: why for dataset, why in told.items() if why}
    plan.unlisted += [f"data set {dataset.argument} is left out: {why}" for dataset, why in unlisted.items()]
    for line in plan.unlisted:
        reporter.say(line)
    for dataset, case in job.selected(without=unlisted):
        if (index := find_prepared(dataset, case, reporter)) is None:
            plan.waiting.append((dataset, case))
        else:
            plan.ready[dataset, case] = index
    for dataset in dict.fromkeys(dataset for dataset, _ in plan.waiting if dataset not in told):
        if _downloads(dataset, [case for one, case in plan.waiting if one == dataset]):
            reporter.note(_licence(dataset))
    return plan


def _licence(dataset: Dataset) -> str:
    return f"{dataset.argument} is downloaded: licence {dataset.card.licence}"


def _downloads(dataset: Dataset, waiting: Sequence[str]) -> bool:
    """Whether cases that wait need a download."""
    try:
        with foreign():
            return bool(cases.to_download(dataset, waiting))
    except Exception:  # preparing them will tell
        return False


def find_prepared(dataset: Dataset, case: str, reporter: Reporter) -> CaseIndex | None:
    """The index of a case that is ready; None if it must be prepared."""
    try:
        with foreign():
            index, damaged = cases.look(dataset, case)
    except Exception:  # preparing it will tell
        return None
    if damaged:
        reporter.say(f"{dataset.short_spec}, case {case}: {damaged} is damaged; the case is converted again")
    return index


def _fetch_lists(job: Job, reporter: Reporter) -> dict[Dataset, str]:
    """Download the archives that define the cases of data sets; returns their data sets, and why one cannot be had.

    Raises:
        IntraBenchError: none of the data sets of the job can be had.
    """
    told = dict[Dataset, str]()
    for dataset in job.datasets:
        try:
            with foreign():
                dataset.cases()
        except NotFetched:
            reporter.note(_licence(dataset))
            try:
                fetch_shared(dataset, reporter.watch)
                told[dataset] = ""
            except IntraBenchError as error:
                told[dataset] = str(error)
                if all(told.get(one) for one in job.datasets):
                    raise
        except Exception:  # `select_cases` reports the error
            continue
    return told


def prepare(dataset: Dataset, case: str, reporter: Reporter) -> CaseIndex:
    """Download and convert a case. Whatever goes wrong is raised."""
    with progress.step("preparing", "converting", f"{dataset.short_spec}, case {case}"), foreign():
        return cases.prepare(dataset, case, watch=reporter.watch)


class Unavailable(Failure):
    """A case that cannot be downloaded or stored, for which it is not to blame."""


def preparation_failure(error: Exception, started: float) -> Failure:
    """The failure for what `prepare` raised; started: when it began, `time.perf_counter`."""
    failure = failure_of(error, started)
    return Unavailable(**vars(failure)) if isinstance(error, DownloadError | CannotWrite) else failure
