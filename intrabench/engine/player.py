"""Play the groups of a run: under a lock, with the image opened once, wave by wave."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack

from filelock import FileLock, Timeout

from intrabench.datasets.base import Dataset
from intrabench.datasets.cases import store as cases
from intrabench.datasets.cases.stored_case import StoredCase
from intrabench.engine.held import Held
from intrabench.engine.job import Job
from intrabench.engine.plan import Group
from intrabench.engine.progress import Reporter
from intrabench.engine.rows import RowWriter
from intrabench.engine.seal import REMEDY, Seal, Witness
from intrabench.engine.units import Unit
from intrabench.errors import IntraBenchError, NotApplicable, foreign, in_words
from intrabench.models.base import Failure, Predictor, failure_of
from intrabench.play.adapt import refuse
from intrabench.play.lockstep import play, waves
from intrabench.play.session import Session
from intrabench.target import Target
from intrabench.volume import Volume


class Player:
    """Plays the sessions of groups that the results folder lacks."""

    def __init__(self, job: Job, writer: RowWriter, reporter: Reporter) -> None:
        self.job, self.writer, self.store, self.reporter = job, writer, writer.store, reporter
        self._stored: tuple[Dataset, str, StoredCase] | None = None  # the last case, which the next model needs too

    def missing(self, group: Group) -> list[Unit]:
        """The units to be played."""
        done = self.store.finished(self.job.rounds)
        return [unit for unit in group.units if unit.key not in done or self._lacks_masks(unit)]

    def play(self, group: Group, wait: bool) -> bool:
        """Play a group under its lock; False if another run holds the lock and `wait` is False."""
        missing = self.missing(group)
        if not missing:
            return True
        lock = FileLock(self.store.root / "locks" / group.lock_name)
        try:
            held = lock.acquire(timeout=-1 if wait else 0)
        except Timeout:
            return False
        except OSError as error:
            raise IntraBenchError(
                f"{lock.lock_file} cannot be locked ({error.strerror}); delete it, or choose another folder with --out"
            ) from error
        with held:
            still = self.missing(group)
            self.reporter.advance(len(missing) - len(still), 0)  # another run finished these meanwhile
            self._play(group, still)
        return True

    def _lacks_masks(self, unit: Unit) -> bool:
        return self.job.save_masks and not self.store.has_masks(unit.key)

    def _play(self, group: Group, units: Sequence[Unit]) -> None:
        """Open the image once and play the units in waves.

        If somebody changes the scan or a target, the sessions since then do not count. They are played again with fresh
        copies, one by one, so that only those fail who did it.
        """
        for damaged in filter(None, (self.store.bad_masks(unit.key) for unit in units)):
            self.reporter.say(damaged)
        apart = False
        while units:
            units = self._play_opened(group, units, apart)
            apart = True

    def _play_opened(self, group: Group, units: Sequence[Unit], apart: bool) -> Sequence[Unit]:
        """Read and open the image and play the units; returns those that are left because somebody changed the scan."""
        stack, held, left = ExitStack(), None, list[Unit]()
        try:
            started = time.perf_counter()
            try:
                with foreign():
                    stored = self._opened(group)
                    volume = stored.volume  # read here, once
                    if volume.array.ndim > 3 and group.runner.model.grey_only:
                        raise NotApplicable("the model takes one grey value per voxel, this image has channels")
                    targets = {target.id: target for target in stored.targets(_ids(units))}
                    held = Held(self.writer, Seal(volume, targets.values()))
                    if self.job.strict:  # before the image is encoded
                        refuse(group.runner.model.notes(volume))
                    image = stack.enter_context(group.runner.open(volume))
                    if apart and held.seal.broken:
                        raise IntraBenchError(f"model: on opening, it changed the scan, {REMEDY}")
            except NotApplicable as reason:
                self.writer.not_applicable(units, in_words(reason))
            except IntraBenchError as error:
                self._fail(group, units, Failure("error", in_words(error)))
            except Exception as error:  # out of memory, a failing network: rows with a status, then the next image
                self._fail(group, units, failure_of(error, started))
            else:
                left += self.play_waves(group, units, targets, image, volume, held, apart)
        finally:  # Ctrl-C keeps the sessions that are complete
            self._close(group, stack)
            if held is not None:
                left[:0] = held.settle()
                if held.broken:
                    self._stored = None  # the next model gets a fresh copy
        if left and not apart:
            self.reporter.say(f"{_who(group)}: the scan or a target was changed; what played since is played again")
        return left

    def _close(self, group: Group, stack: ExitStack) -> None:
        """Close the image."""
        try:
            with foreign():
                stack.close()
        except Exception as error:  # the model's own code may raise anything
            self.reporter.say(f"{_who(group)}: closing the image failed ({in_words(error)})")

    def _opened(self, group: Group) -> StoredCase:
        """The case of a group; groups of one image follow each other, so it is read once."""
        if self._stored is None or self._stored[:2] != (group.dataset, group.case):
            self._stored = None  # keep only one volume in memory
            self._stored = group.dataset, group.case, cases.open_case(group.dataset, group.case)
        return self._stored[2]

    def _fail(self, group: Group, units: Sequence[Unit], failure: Failure) -> None:
        """Rows for units whose image could not be opened."""
        self.reporter.say(f"{_who(group)}: {failure.message}")
        self.writer.failed([(unit, failure.status, failure.message) for unit in units])

    def play_waves(
        self,
        group: Group,
        units: Sequence[Unit],
        targets: Mapping[str, Target],
        image: Predictor,
        volume: Volume,
        held: Held,
        apart: bool = False,
    ) -> Sequence[Unit]:
        """Play units against their opened image, wave by wave; the last waves may still be held at the end.

        If somebody breaks the seal, what is held does not count, and this ends; apart, each unit is a wave, and that
        one fails. Returns the units that are left.
        """
        costs, done = [unit.target.slices if unit.target else 1 for unit in units], 0
        for wave in ([unit] for unit in units) if apart else waves(units, costs):
            done += len(wave)
            started, witness = time.perf_counter(), Witness(image, held.seal)
            try:
                with foreign():
                    sessions = [self._session(unit, targets[unit.target.id], volume) for unit in wave if unit.target]
            except Exception as error:  # of a property of the user's own, such as a model's abilities
                self._fail(group, wave, failure_of(error, started))
                continue
            try:
                play(sessions, witness if apart else image)
            finally:
                held.add(wave, sessions)
            if (apart or held.due) and (again := held.settle()):
                if apart:
                    self.writer.failed([(unit, "error", witness.message) for unit in wave])
                return [*([] if apart else again), *units[done:]]
        return []

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
            metrics=job.metrics,
        )


def _who(group: Group) -> str:
    return f"{group.dataset.short_spec}, case {group.case}, {group.runner.label}"


def _ids(units: Sequence[Unit]) -> list[str]:
    return sorted({unit.target.id for unit in units if unit.target})
