"""The plan of a run: its cases prepared, and the sessions on them grouped by case and model."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

from intrabench.datasets.base import Dataset, NotFetched
from intrabench.datasets.cases import store as cases
from intrabench.datasets.cases.get import fetch_shared
from intrabench.datasets.cases.notes import notes_on
from intrabench.datasets.cases.selection import check_targets
from intrabench.datasets.cases.stored_case import CaseIndex
from intrabench.engine.job import Job
from intrabench.engine.progress import Reporter
from intrabench.engine.units import Runner, Unit
from intrabench.errors import foreign, in_words


@dataclass(frozen=True, eq=False)
class Group:
    """The units that share one opened image: one case and one model."""

    dataset: Dataset
    case: str
    runner: Runner
    units: Sequence[Unit]

    @property
    def lock_name(self) -> str:
        """Name of the lock of the run that plays the group."""
        parts = (self.dataset.short_spec, self.case, *self.runner.identity)
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:16] + ".lock"


@dataclass
class Plan:
    """The plan of a run.

    unprepared: units of cases that cannot be prepared, each with the reason.
    whole: units that stand for whole cases that were prepared. Failures stored for them by earlier runs are repaired.
    """

    groups: list[Group] = field(default_factory=list)
    unprepared: list[tuple[Unit, str]] = field(default_factory=list)
    whole: list[Unit] = field(default_factory=list)

    @property
    def units(self) -> list[Unit]:
        """All units, including those that cannot be played."""
        return [unit for group in self.groups for unit in group.units] + [unit for unit, _ in self.unprepared]


def make_plan(job: Job, reporter: Reporter) -> Plan:
    """Prepare all cases of a job and list their units.

    Raises:
        IntraBenchError: the job names cases or targets that do not exist.
    """
    plan = Plan()
    indexes: dict[str, list[CaseIndex]] = {dataset.spec: [] for dataset in job.datasets}
    _fetch_lists(job, reporter)
    for dataset, case in job.selected():
        index, problem = _prepare(dataset, case, reporter)
        indexes[dataset.spec] += [index] if index else []
        for runner in job.runners:
            units = job.units(dataset, case, runner, index)
            if index is None:
                plan.unprepared += [(unit, problem) for unit in units]
                continue
            plan.groups += [Group(dataset, case, runner, units)] if units else []
            plan.whole += job.units(dataset, case, runner, None)
    for dataset in job.datasets:
        for line in notes_on(dataset, indexes[dataset.spec]):
            reporter.say(line)
    if not plan.unprepared:
        check_targets([index for found in indexes.values() for index in found], job.targets)
    return plan


def _fetch_lists(job: Job, reporter: Reporter) -> None:
    """Download the archives that define the cases of a data set."""
    for dataset in job.datasets:
        try:
            with foreign():
                dataset.cases()
        except NotFetched:
            fetch_shared(dataset, reporter.watch)
        except Exception:  # `select_cases` reports the error
            continue


def _prepare(dataset: Dataset, case: str, reporter: Reporter) -> tuple[CaseIndex | None, str]:
    """The index of a case, or None and the reason."""
    try:
        with foreign():
            found, damaged = cases.look(dataset, case)
            if damaged:
                reporter.say(f"{dataset.short_spec}, case {case}: {damaged} is damaged; the case is converted again")
            if found is None:
                for source in cases.to_download(dataset, [case]):
                    reporter.say(f"{dataset.short_spec}: needs {source.title} ({source.megabytes:.1f} MB)")
            index = cases.prepare(dataset, case, watch=reporter.watch)
    except Exception as error:  # a damaged file must not stop the other cases
        problem = in_words(error)
        reporter.say(f"{dataset.short_spec}, case {case}: {problem}")
        return None, problem
    if not index.targets:
        reporter.say(f"{dataset.short_spec}, case {case} has no targets and is left out")
    return index, ""
