"""Work in a worker process that is supervised: what it dies of fails, and everything else is finished."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from intrabench.datasets.base import Dataset
from intrabench.datasets.cases import store as cases
from intrabench.datasets.cases.stored_case import CaseIndex
from intrabench.engine.hand import Stopped
from intrabench.engine.job import Job
from intrabench.engine.plan import Group
from intrabench.engine.player import Take
from intrabench.engine.rows import Part, failed
from intrabench.engine.units import Runner, Unit
from intrabench.engine.workers.watched import Death, Failed, Watched
from intrabench.models.base import Failure
from intrabench.versions import ships

LEAST_SHARE = 0.1
"""The least part of ``--timeout`` that a part of a wave gets."""


class Supervisor:
    """Plays groups and prepares cases in a worker process.

    A process that dies costs only the sessions at fault: the wave that it was playing is played again in halves, until
    the session that kills it is alone. One that was alone from the beginning is played once more.

    Code that does not ship may change what all code of its process shares, such as a function of numpy. So a process
    that has played with such code plays no other model, and if it is of a prompter or a data set, nothing without it;
    and one that has converted with it converts no other data set.
    """

    def __init__(self, job: Job, worker: Watched) -> None:
        self.job, self.worker, self.name = job, worker, worker.name
        self.runner: Runner | None = None
        self._only: object = None  # all that the process may still be used for

    def play(self, group: Group, units: Sequence[Unit], take: Take) -> None:
        """Play the units of a group; `take` gets each of them once, finished or failed.

        Raises:
            Stopped: it was stopped.
            IntraBenchError: the worker refuses the job.
        """
        self.runner = group.runner
        for parts, some in _by_code(group, units):
            self._use_for((group.runner, *parts), not parts and self.job.shipped(group.runner))
            self._play(group, some, take)

    def _play(self, group: Group, units: Sequence[Unit], take: Take) -> None:
        trial = Trial(group, units, take)
        while trial.left:
            try:
                self.worker.ask("play", {**self._numbers(group), **trial.waves()}, trial.take, trial.share)
                trial.fail(list(trial.left), _changed("its code or data changed during the run"), of_data=True)
            except Death as death:
                self.worker.reporter.say(f"{group.title}: {death.message}")
                trial.died(death)
            except Failed as error:  # the case cannot be read there
                trial.fail(list(trial.left), error.failure, of_data=True)

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
            except Death as death:
                if death.status == "timeout":
                    raise
                self._prepare(dataset, case)
        except Failed as failed:
            return failed.failure
        except Death as death:
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
        except (Death, Stopped):
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

    def _numbers(self, group: Group) -> dict[str, Any]:
        """The group as the worker knows it, which has made the same job."""
        runner = self.job.runners.index(group.runner)
        return {"dataset": self.job.datasets.index(group.dataset), "case": group.case, "runner": runner}


def _by_code(group: Group, units: Sequence[Unit]) -> Iterable[tuple[tuple[str, ...], list[Unit]]]:
    """Units by what does not ship of their data set and prompter, as specs; those of which all ships come first."""
    data = () if ships(group.dataset) else (group.dataset.spec,)
    prompters = {unit.prompter.spec: unit.prompter for unit in units}
    own = {spec: () if ships(prompter) else (spec,) for spec, prompter in prompters.items()}
    found: dict[tuple[str, ...], list[Unit]] = {data: []}
    for unit in units:
        found.setdefault((*data, *own[unit.prompter.spec]), []).append(unit)
    return [(parts, some) for parts, some in found.items() if some]


def _changed(what: str) -> Failure:
    return Failure("error", f"{what}; run the command again", passing=True)


class Trial:
    """What is left of a group, and the waves of it of which some session is fatal.

    left: units by their keys. suspects: waves as keys, with the part of the patience that each gets.
    """

    def __init__(self, group: Group, units: Sequence[Unit], take: Take) -> None:
        self.group, self.left, self._take = group, {unit.key: unit for unit in units}, take
        self._unit_of = {key: unit.key for unit in units for key in unit.sessions}
        self._suspects: list[tuple[tuple[str, ...], float]] = []

    def take(self, part: Part) -> None:
        """Sessions are finished.

        Raises:
            Death: the process answers for sessions that it was not given.
        """
        told = {*part.summary.keys, *part.masks, *(row["session"] for row in (*part.rows, *part.turns))}
        if not told <= self._unit_of.keys():
            raise Death("error", "the worker process answered for sessions that it was not given", tuple(self.left))
        self._take(part)
        for key in part.summary.keys:
            self.left.pop(self._unit_of[key], None)

    def fail(self, keys: Sequence[str], failure: Failure, of_data: bool = False) -> None:
        """Sessions failed."""
        if keys:
            self.take(failed([self.left[key] for key in keys], failure, of_data))

    def waves(self) -> Mapping[str, Any]:
        """The keys of what is left, and apart from them those of suspects."""
        suspects = [[key for key in wave if key in self.left] for wave, _ in self._suspects]
        apart = {key for wave in suspects for key in wave}
        return {"keys": [key for key in self.left if key not in apart], "suspects": [wave for wave in suspects if wave]}

    def share(self, wave: Sequence[str]) -> float:
        """The part of the patience for a wave: a half of one that took too long gets half of its time."""
        return next((share for suspects, share in self._suspects if set(wave) <= set(suspects)), 1.0)

    def _suspected(self, wave: Sequence[str]) -> bool:
        return any(set(wave) <= set(suspects) for suspects, _ in self._suspects)

    def died(self, death: Death) -> None:
        """The worker died: narrow down which session it was, or fail that one; after too many deaths fail the rest."""
        wave = tuple(key for key in death.wave if key in self.left)
        if not self.left:  # of closing the image, after all was stored
            return
        again = death.status != "timeout" and not self._suspected(wave)  # it may have been the machine
        if len(wave) > 1 or (wave and again):
            share = self.share(wave)
            if death.status == "timeout":
                share = max(share / 2, LEAST_SHARE)
            self._suspects = [one for one in self._suspects if not set(wave) <= set(one[0])]
            middle = len(wave) // 2
            self._suspects += [(half, share) for half in (wave[:middle], wave[middle:]) if half]
            return
        self.fail(wave, death.failure)
        self.group.blame.died(death.failure, opening=not wave and death.status == "timeout")
        if verdict := self.group.blame.verdict:
            self.fail(list(self.left), verdict)
