"""The work of a run: cases are prepared and groups played, by as many hands as there are, each at its own pace."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from threading import RLock

from intrabench.datasets.base import Dataset, patient_of
from intrabench.datasets.cases.stored_case import CaseIndex
from intrabench.engine.agenda import Agenda
from intrabench.engine.desk import Desk
from intrabench.engine.hand import Hand, Hands, Table
from intrabench.engine.plan import Group, Plan
from intrabench.engine.player import Take
from intrabench.engine.pool import Pool
from intrabench.engine.progress.reporter import Reporter
from intrabench.engine.rows import failed
from intrabench.engine.together import together
from intrabench.engine.units import Unit
from intrabench.engine.workers.places import MOST
from intrabench.engine.writer import RowWriter
from intrabench.leases import Busy
from intrabench.models.base import Failure

TOLD = 3
"""So many times a run finds all that is left held by other runs, with pauses, before it says for whom it waits."""


class Work:
    """What a plan leaves to be done, and its results."""

    def __init__(self, plan: Plan, writer: RowWriter, reporter: Reporter) -> None:
        self.plan, self.job, self.writer, self.reporter = plan, plan.job, writer, reporter
        self.store, self.summary = writer.store, writer.summary
        self.agenda = Agenda(self.job.runners, plan.waiting, apart=not self.job.ships)
        self.desk = Desk(self.job, writer, reporter, self._share)
        self._expected: dict[Group, int] = {}  # sessions that were missing when it was put on the agenda
        self._lock, self._begun = RLock(), False
        self._waited = 0  # times that all that was left was held by other runs
        self._players = 1
        self._mending = self.store.failed_cases()
        selected = [*plan.ready, *plan.waiting]
        self._patients = {(where.short_spec, case): patient_of(where, case) for where, case in selected}
        self.writer.tell_patients(self._patients)
        for (dataset, case), index in plan.ready.items():
            self._found(dataset, case, index)
        if not plan.waiting:
            self._tell()

    def done_by(self, hands: Hands) -> None:
        """Prepare all cases and play all groups.

        Raises:
            IntraBenchError: a worker refuses the job, or the results cannot be written.
        """
        self.reporter.converting(self.agenda.cases)
        if hands.here:
            self._prepare_all(hands.preparers[0])
            self._begin()
            self._play_all(hands.players[0], self.desk)
        else:
            self._players = len(hands.players)
            self._begin()
            self._together(hands)
        if self.summary.already:
            self.writer.renewed(self._patients)

    @property
    def hands(self) -> int:
        """For how many hands there is work: one per image, or one per session where images are not encoded."""
        if self.agenda.cases and not all(runner.model.encodes for runner in self.job.runners):
            return MOST  # nobody knows yet
        known = sum(1 if group.runner.model.encodes else number for group, number in self._expected.items())
        return known + self.agenda.cases * len(self.job.runners)

    def _begin(self) -> None:
        self.reporter.begin(self.summary.total, self.summary.already)
        self._begun = True

    def _together(self, hands: Hands) -> None:
        """Let all hands work, also those that come later; the first error ends all."""
        desk = hands.desk or self.desk

        def playing(players: Iterable[Hand]) -> list[Callable[[], None]]:
            return [partial(self._play_all, hand, desk) for hand in players]

        preparing = [partial(self._prepare_all, hand) for hand in hands.preparers]
        together([*preparing, *playing(hands.players)], partial(self.stop, hands), lambda: playing(hands.more()))

    def stop(self, hands: Hands) -> None:
        """Have all hands end soon; what is complete is kept. Called from any thread."""
        self.agenda.stop()
        for hand in (*hands.preparers, *hands.players):
            hand.stop()

    def _prepare_all(self, hand: Hand) -> None:
        while (selected := self.agenda.case()) is not None:
            dataset, case = selected
            found = hand.prepare(dataset, case)
            if isinstance(found, Failure):
                self._lost(dataset, case, found)
            else:
                self._found(dataset, case, found)
            last = self.agenda.prepared()
            self.reporter.converting(self.agenda.cases)
            if last:
                self._tell()

    def _play_all(self, hand: Hand, desk: Table) -> None:
        while (found := self.agenda.next(hand.runner)) is not None:
            if isinstance(found, Pool):
                self._help(hand, found)
            else:
                self._play(hand, found, desk)

    def _play(self, hand: Hand, group: Group, desk: Table) -> None:
        """Play a group under its lease; if another run holds it, later."""
        try:
            # another run finished those that are no longer missing
            desk.play(hand, group, lambda missing: self.reporter.advance(self._expected.pop(group) - missing, 0))
        except Busy as busy:
            if self.agenda.later(group):
                self._waited += 1
                if self._waited == TOLD:
                    self.reporter.say(f"waiting for {busy}")

    def _share(self, hand: Hand, group: Group, units: Sequence[Unit], take: Take) -> None:
        """Play units with the help of hands that have nothing else to do."""
        hands = self._players if not group.runner.model.encodes else 1
        pool = Pool(group, units, take, hands, lambda: self.agenda.groups >= hands)
        self.agenda.offer(pool)
        self._help(hand, pool)
        pool.wait()

    def _help(self, hand: Hand, pool: Pool) -> None:
        while units := pool.portion():
            try:
                if verdict := pool.group.blame.verdict:
                    pool.take(failed(units, verdict))
                else:
                    hand.play(pool.group, units, pool.take)
            finally:
                pool.played()

    def _found(self, dataset: Dataset, case: str, index: CaseIndex) -> None:
        """A case is ready: count its sessions, and put those that are missing on the agenda."""
        with self._lock:
            self.plan.ready[dataset, case] = index
            if self._mending:
                self.writer.mended([unit for unit in self.plan.whole(dataset, case) if unit.key in self._mending])
            self._patients[dataset.short_spec, case] = patient_of(dataset, case)
            for group in self.plan.groups(dataset, case, index):
                keys = group.keys
                missing = len(self.desk.unfinished(group))
                self.summary.keys.update(keys)
                self.summary.total += len(keys)
                self.summary.already += len(keys) - missing
                if self._begun:
                    self.reporter.expect(missing)
                if missing:
                    self._expected[group] = missing
                    self.agenda.add(group)

    def _lost(self, dataset: Dataset, case: str, failure: Failure) -> None:
        """A case cannot be prepared."""
        with self._lock:
            self.plan.lost.append((dataset, case))
            self.reporter.say(f"{dataset.short_spec}, case {case}: {failure.message}")
            units = self.plan.whole(dataset, case)
            self.summary.keys.update(unit.key for unit in units)
            self.summary.total += len(units)
            if self._begun:
                self.reporter.expect(len(units))
            self.writer.take(failed(units, failure, of_data=True))

    def _tell(self) -> None:
        """Say what is unusual, now that all cases are known."""
        for line in self.plan.notes():
            self.reporter.say(line)
