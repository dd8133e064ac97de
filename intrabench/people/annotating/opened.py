"""An opened image, on which people play: under the lock of its task, so that no run plays the same meanwhile."""

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

    def __init__(self, image_task: ImageTask, root: Path, scorer: Scorer) -> None:
        """Take the lock, read the scan and open it.

        Raises:
            IntraBenchError: a run plays this case, or the scan or the model cannot be opened.
        """
        self.image_task, self.sittings, self._scorer = image_task, dict[str, Sitting](), scorer
        self.used, self._stack = 0.0, ExitStack()
        try:
            self._stack.enter_context(locked(root / "locks" / image_task.lock_name))
            self._open(image_task)
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

    def _open(self, image_task: ImageTask) -> None:
        with foreign():
            self._stored = cases.open_case(image_task.dataset, image_task.case)
            self.volume, model = self._stored.volume, image_task.runner.model
            if self.volume.array.ndim > 3 and model.grey_only:
                raise NotApplicable("the model takes one grey value per voxel, this image has channels")
            if image_task.job.strict:
                refuse(model.notes(self.volume))
            self._integrity, self._targets = IntegrityCheck(self.volume), dict[str, Target]()
            self._image = self._stack.enter_context(image_task.runner.open(self.volume))

    def sitting(self, spec: SessionSpec) -> Sitting:
        """The session of a spec, begun if it is not open.

        Raises:
            IntraBenchError: its target cannot be read, or there is nothing to segment.
        """
        if spec.key not in self.sittings:
            id = spec.targets[0].id
            begun = partial(_session, self.image_task.job, spec, self.target(id), self)
            sitting = Sitting(begun, self._image, self._scorer)
            if sitting.session.ended:
                raise IntraBenchError(f"{id} cannot be prompted here: {sitting.problem}")
            self.sittings[spec.key] = sitting
        return self.sittings[spec.key]

    def target(self, id: str) -> Target:
        """A target of the case."""
        if id not in self._targets:
            (self._targets[id],) = self._stored.targets([id])
        return self._targets[id]

    def part(self, spec: SessionSpec) -> ResultBatch:
        """The rows of a finished session, with turns and masks.

        Raises:
            IntraBenchError: somebody has changed the scan, so that no answer counts.
        """
        if self._integrity.broken:
            raise IntraBenchError(f"the model changed the scan, {REMEDY}; restart after that")
        return played([SessionBatch([spec], [[self.sittings[spec.key].session]], memory())])

    def close(self) -> None:
        """Close the image and give the lock back."""
        self.sittings.clear()
        with foreign():
            self._stack.close()


def _session(job: Job, spec: SessionSpec, target: Target, opened: Opened) -> Session:
    return Session(
        spec.key,
        target,
        spec.prompter,
        spec.runner.model.abilities,
        job.protocol,
        dataset=spec.dataset.stored_as.short_spec,
        seed=spec.seed,
        rounds=job.rounds,
        image=opened.volume,
        strict=job.strict,
        keep_masks=True,
        metrics=job.metrics,
        scorer=opened._scorer,
    )
