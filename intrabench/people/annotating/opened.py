"""An opened image, on which people play: under the lease of its group, so that no run plays the same meanwhile."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from pathlib import Path

from intrabench.datasets.cases import store as cases
from intrabench.engine.integrity import REMEDY, IntegrityCheck
from intrabench.engine.job import Job
from intrabench.engine.plan import ImageTask
from intrabench.engine.result_batches import ResultBatch, SessionBatch, memory, played
from intrabench.engine.session_spec import SessionSpec
from intrabench.errors import IntraBenchError, NotApplicable, foreign, in_words
from intrabench.files.locks import Busy, locked
from intrabench.people.annotating.sitting import Sitting
from intrabench.play.adapt import refuse
from intrabench.play.scorer import Scorer
from intrabench.play.session import Session
from intrabench.target import Target


class Opened:
    """A case, encoded once for all people. sittings: their sessions, by key. used: when, by the monotonic clock."""

    def __init__(self, group: ImageTask, root: Path, scorer: Scorer) -> None:
        """Take the lease, read the scan and open it.

        Raises:
            IntraBenchError: a run plays this case, or the scan or the model cannot be opened.
        """
        self.group, self.sittings, self._scorer = group, dict[str, Sitting](), scorer
        self.used, self._stack = 0.0, ExitStack()
        try:
            self._stack.enter_context(locked(root / "locks" / group.lock_name))
            self._open(group)
        except Busy as busy:
            self.close()
            raise IntraBenchError(f"this scan is played elsewhere, by {busy}; try again later") from busy
        except IntraBenchError:
            self.close()
            raise
        except Exception as error:  # out of memory, a failing network
            self.close()
            raise IntraBenchError(f"the scan cannot be opened ({in_words(error)}); see the terminal") from error
        except BaseException:
            self.close()
            raise

    def _open(self, group: ImageTask) -> None:
        with foreign():
            self._stored = cases.open_case(group.dataset, group.case)
            self.volume, model = self._stored.volume, group.runner.model
            if self.volume.array.ndim > 3 and model.grey_only:
                raise NotApplicable("the model takes one grey value per voxel, this image has channels")
            if group.job.strict:
                refuse(model.notes(self.volume))
            self._seal, self._targets = IntegrityCheck(self.volume), dict[str, Target]()
            self._image = self._stack.enter_context(group.runner.open(self.volume))

    def sitting(self, unit: SessionSpec) -> Sitting:
        """The session of a unit, begun if it is not open.

        Raises:
            IntraBenchError: its target cannot be read, or there is nothing to segment.
        """
        if unit.key not in self.sittings:
            id = unit.targets[0].id
            begun = partial(_session, self.group.job, unit, self.target(id), self)
            sitting = Sitting(begun, self._image, self._scorer)
            if sitting.session.ended:
                raise IntraBenchError(f"{id} cannot be prompted here: {sitting.problem}")
            self.sittings[unit.key] = sitting
        return self.sittings[unit.key]

    def target(self, id: str) -> Target:
        """A target of the case."""
        if id not in self._targets:
            (self._targets[id],) = self._stored.targets([id])
        return self._targets[id]

    def part(self, unit: SessionSpec) -> ResultBatch:
        """The rows of a finished session, with turns and masks.

        Raises:
            IntraBenchError: somebody has changed the scan, so that no answer counts.
        """
        if self._seal.broken:
            raise IntraBenchError(f"the model changed the scan, {REMEDY}; restart after that")
        return played([SessionBatch([unit], [[self.sittings[unit.key].session]], memory())])

    def close(self) -> None:
        """Close the image and give the lease back."""
        self.sittings.clear()
        with foreign():
            self._stack.close()


def _session(job: Job, unit: SessionSpec, target: Target, opened: Opened) -> Session:
    return Session(
        unit.key,
        target,
        unit.prompter,
        unit.runner.model.abilities,
        job.protocol,
        dataset=unit.dataset.stored_as.short_spec,
        seed=unit.seed,
        rounds=job.rounds,
        image=opened.volume,
        strict=job.strict,
        keep_masks=True,
        metrics=job.metrics,
        scorer=opened._scorer,
    )
