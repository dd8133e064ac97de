"""Run a job in this process: prepare cases, then play what is missing, image by image and wave by wave."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from typing import Any, Protocol

from filelock import FileLock, Timeout

from intrabench.datasets.base import Dataset, NotFetched
from intrabench.datasets.cases import store as cases
from intrabench.datasets.cases.get import fetch_shared
from intrabench.datasets.cases.selection import check_targets
from intrabench.datasets.cases.stored_case import CaseIndex, StoredCase
from intrabench.engine.environment import peak_gpu_mb, peak_memory_mb, versions_hash
from intrabench.engine.job import Job
from intrabench.engine.units import Runner, Unit
from intrabench.errors import IntraBenchError, NotApplicable
from intrabench.fetch.transfer import Progress
from intrabench.models.base import Failure, Predictor, failure_of
from intrabench.play.lockstep import play, waves
from intrabench.play.session import Session
from intrabench.results.store import FAILED, Store
from intrabench.target import Target
from intrabench.volume import Volume


class Reporter(Protocol):
    """Where a run tells how far it is."""

    def say(self, text: str) -> None:
        """One plain line."""

    def watch(self, name: str) -> AbstractContextManager[Progress]:
        """Shows the progress of the download that is named, while the context lasts."""

    def begin(self, total: int, done: int) -> None:
        """So many sessions are asked for, so many of them were finished before."""

    def advance(self, sessions: int, failed: int) -> None:
        """So many more sessions are finished, so many of them failed."""


@dataclass(frozen=True, eq=False)
class Group:
    """The units that share an opened image: one case and one model."""

    dataset: Dataset
    case: str
    runner: Runner
    units: Sequence[Unit]

    @property
    def lock_name(self) -> str:
        """Name of the lock that says who is playing the group."""
        parts = (self.dataset.short_spec, self.case, *self.runner.identity)
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:16] + ".lock"


@dataclass
class Summary:
    """What a run did. failures: how many sessions failed, by ``status: message``."""

    total: int = 0
    already: int = 0
    computed: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    keys: set[str] = field(default_factory=set)

    @property
    def failed(self) -> int:
        """How many sessions failed."""
        return self.failures.total()


class LocalRun:
    """One run of one job into one results folder."""

    def __init__(self, job: Job, store: Store, reporter: Reporter) -> None:
        self.job, self.store, self.reporter = job, store, reporter
        self.summary = Summary()
        self._unprepared: list[tuple[Unit, str]] = []
        self._stored: tuple[Dataset, str, StoredCase] | None = None  # the last one, which the next model needs too

    def run(self) -> Summary:
        """Play all that is missing; what is finished is kept whenever it ends."""
        groups = self.groups()
        units = [unit for group in groups for unit in group.units] + [unit for unit, _ in self._unprepared]
        self.summary.keys = {unit.key for unit in units}
        self.summary.total = len(units)
        self.summary.already = sum(len(group.units) - len(self._missing(group)) for group in groups)
        self.reporter.begin(self.summary.total, self.summary.already)
        self._write_failed([(unit, "error", problem) for unit, problem in self._unprepared])
        busy = [group for group in groups if not self._claim(group, wait=False)]
        for group in busy:  # another run is at these; what it leaves is ours
            self._claim(group, wait=True)
        return self.summary

    def groups(self) -> list[Group]:
        """Prepare all cases and list their units; cases that cannot be prepared become failed rows."""
        groups: list[Group] = []
        indexes: list[CaseIndex] = []
        failed_before = self.store.failed_cases()
        self._know_cases()
        for dataset, case in self.job.selected():
            index, problem = self._prepare(dataset, case)
            indexes += [index] if index else []
            for runner in self.job.runners:
                units = self.job.units(dataset, case, runner, index)
                if index is None:
                    self._unprepared += [(unit, problem) for unit in units]
                    continue
                groups += [Group(dataset, case, runner, units)] if units else []
                whole = self.job.units(dataset, case, runner, None)
                self._write_mended([unit for unit in whole if unit.key in failed_before])
        if not self._unprepared:
            check_targets(indexes, self.job.targets)
        return groups

    def _know_cases(self) -> None:
        """Fetch the archives that alone say which cases there are."""
        for dataset in self.job.datasets:
            try:
                dataset.cases()
            except NotFetched:
                fetch_shared(dataset, self.reporter.watch)
            except Exception:  # `select_cases` tells what is wrong
                continue

    def _prepare(self, dataset: Dataset, case: str) -> tuple[CaseIndex | None, str]:
        try:
            if cases.index(dataset, case) is None:
                for source in cases.to_download(dataset, [case]):
                    self.reporter.say(f"{dataset.short_spec}: needs {source.title} ({source.megabytes:.1f} MB)")
            index = cases.prepare(dataset, case, watch=self.reporter.watch)
        except Exception as error:  # any file may be broken in any way; the other cases go on
            problem = str(error) if isinstance(error, IntraBenchError) else f"{type(error).__name__}: {error}"
            self.reporter.say(f"{dataset.short_spec}, case {case}: {problem}")
            return None, problem
        if not index.targets:
            self.reporter.say(f"{dataset.short_spec}, case {case} has no targets and is left out")
        return index, ""

    def _claim(self, group: Group, wait: bool) -> bool:
        """Play a group under its lock; False when another run holds it and `wait` is False."""
        missing = self._missing(group)
        if not missing:
            return True
        lock = FileLock(self.store.root / "locks" / group.lock_name)
        try:
            with lock.acquire(timeout=-1 if wait else 0):
                still = self._missing(group)
                self.reporter.advance(len(missing) - len(still), 0)  # another run finished these meanwhile
                self._play(group, still)
        except Timeout:
            return False
        return True

    def _missing(self, group: Group) -> list[Unit]:
        done = self.store.finished(self.job.rounds)
        return [unit for unit in group.units if unit.key not in done or self._lacks_masks(unit)]

    def _lacks_masks(self, unit: Unit) -> bool:
        return self.job.save_masks and not self.store.has_masks(unit.key)

    def _play(self, group: Group, units: Sequence[Unit]) -> None:
        """Open the image once and play the units in waves."""
        if not units:
            return
        with ExitStack() as stack:
            started = time.perf_counter()
            try:
                stored = self._opened(group)
                volume = stored.volume  # read here, once
                if volume.array.ndim > 3 and group.runner.model.grey_only:
                    raise NotApplicable("the model takes one grey value per voxel, this image has channels")
                targets = {target.id: target for target in stored.targets(_ids(units))}
                image = stack.enter_context(group.runner.open(volume))
            except NotApplicable as reason:
                self._write_inapplicable(units, str(reason))
                return
            except IntraBenchError as error:
                self._fail(group, units, Failure("error", str(error)))
                return
            except Exception as error:  # out of memory, a broken network: rows, and on to the next image
                self._fail(group, units, failure_of(error, started))
                return
            self.play_waves(units, targets, image, volume)

    def _opened(self, group: Group) -> StoredCase:
        """The stored of a group; groups of one image follow each other, so it is read once."""
        if self._stored is None or self._stored[:2] != (group.dataset, group.case):
            self._stored = None  # two volumes at once would be one too many
            self._stored = group.dataset, group.case, cases.open_case(group.dataset, group.case)
        return self._stored[2]

    def play_waves(
        self, units: Sequence[Unit], targets: Mapping[str, Target], image: Predictor, volume: Volume
    ) -> None:
        """Play units against their opened image, wave by wave, and keep each wave."""
        for wave in waves(units, [unit.target.slices if unit.target else 1 for unit in units]):
            sessions = [self._session(unit, targets[unit.target.id], volume) for unit in wave if unit.target]
            try:
                play(sessions, image)
            finally:  # Ctrl-C in the middle keeps the sessions that are complete
                self._keep(wave, sessions)

    def _session(self, unit: Unit, target: Target, volume: Volume) -> Session:
        job = self.job
        return Session(
            unit.key,
            target,
            unit.prompter,
            unit.runner.model.abilities,
            job.protocol,
            dataset=unit.dataset.short_spec,
            seed=unit.seed,
            rounds=job.rounds,
            image=volume,
            strict=job.strict,
            keep_masks=job.save_masks,
        )

    def _keep(self, wave: Sequence[Unit], sessions: Sequence[Session]) -> None:
        """Write the sessions of a wave that are complete, as one part."""
        rows, turns, complete, failures = [], [], 0, list[str]()
        for unit, session in zip(wave, sessions, strict=True):
            if session.request is not None:
                continue
            complete += 1
            failures += [f"{row['status']}: {row['error']}" for row in session.rows if row["status"] in FAILED][:1]
            rows += [{**self._columns(unit), **row, "target_ml": session.target.volume_ml} for row in session.rows]
            turns += session.turns
            if session.masks:
                self.store.write_masks(unit.key, session.masks)
        if rows:
            self.store.write_part(rows, turns)
        self._count(complete, failures)

    def _columns(self, unit: Unit) -> dict[str, Any]:
        memory = {"peak_memory_mb": peak_memory_mb(), "peak_gpu_mb": peak_gpu_mb()}
        return {**unit.columns(), **memory, "package_versions_hash": versions_hash()}

    def _fail(self, group: Group, units: Sequence[Unit], failure: Failure) -> None:
        """Rows for units whose image could not be opened."""
        self.reporter.say(
            f"{group.dataset.short_spec}, case {group.case}, {group.runner.short_spec}: {failure.message}"
        )
        self._write_failed([(unit, failure.status, failure.message) for unit in units])

    def _write_failed(self, failed: Sequence[tuple[Unit, str, str]]) -> None:
        rows = [self._bare_row(unit, status, message, dice=0.0) for unit, status, message in failed]
        if rows:
            self.store.write_part(rows, [])
        self._count(len(rows), [f"{status}: {message}" for _, status, message in failed])

    def _write_inapplicable(self, units: Sequence[Unit], reason: str) -> None:
        """Rows for units that mean nothing for their model, because of its kind of images."""
        self.store.write_part([self._bare_row(unit, "not_applicable", reason, dice=None) for unit in units], [])
        self._count(len(units), [])

    def _write_mended(self, units: Sequence[Unit]) -> None:
        """Take back the failure of whole cases that could be prepared this time."""
        rows = [self._bare_row(unit, "not_applicable", "mended", dice=None) for unit in units]
        if rows:
            self.store.write_part(rows, [])

    def _bare_row(self, unit: Unit, status: str, message: str, dice: float | None) -> dict[str, Any]:
        """A row of a session that was never played."""
        scores = {"round": 0, "dice": dice, "iou": dice, "ended": True, "adapted": "", "prompts_hash": ""}
        effort = {"interactions": 0.0, "dof": 0.0, "seconds_human": 0.0}
        return {**self._columns(unit), "session": unit.key, "status": status, "error": message, **scores, **effort}

    def _count(self, complete: int, failures: Sequence[str]) -> None:
        self.summary.computed += complete
        self.summary.failures.update(failures)
        self.reporter.advance(complete, len(failures))


def _ids(units: Sequence[Unit]) -> list[str]:
    return sorted({unit.target.id for unit in units if unit.target})
