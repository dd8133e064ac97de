"""An opened image, on which people play: under the lock of its task, so that no run plays the same meanwhile."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from pathlib import Path

from intrabench.datasets.cases import store as cases
from intrabench.engine.integrity import REMEDY, IntegrityCheck
from intrabench.engine.opened_image import make_session, opened_image
from intrabench.engine.plan import ImageTask
from intrabench.engine.result_batches import ResultBatch, SessionBatch, memory, played
from intrabench.engine.session_spec import SessionSpec
from intrabench.errors import IntraBenchError, foreign, in_words
from intrabench.files.locks import Busy, locked
from intrabench.people.annotating.person_session import PersonSession
from intrabench.play.scorer import Scorer
from intrabench.target import Target


class SharedImage:
    """A case, encoded once for all people. sessions: their sessions, by key. used: when, by the monotonic clock."""

    def __init__(self, image_task: ImageTask, root: Path, scorer: Scorer) -> None:
        """Take the lock, read the scan and open it.

        Raises:
            IntraBenchError: a run plays this case, or the scan or the model cannot be opened.
        """
        self.image_task, self.sessions, self._scorer = image_task, dict[str, PersonSession](), scorer
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
            self.volume, job = self._stored.volume, image_task.job
            self._integrity, self._targets = IntegrityCheck(self.volume), dict[str, Target]()
            self._image = self._stack.enter_context(opened_image(image_task.runner, self.volume, job.strict))

    def session(self, spec: SessionSpec) -> PersonSession:
        """The session of a spec, begun if it is not open.

        Raises:
            IntraBenchError: its target cannot be read, or there is nothing to segment.
        """
        if spec.key not in self.sessions:
            id = spec.targets[0].id
            job, target = self.image_task.job, self.target(id)
            begun = partial(make_session, job, spec, spec.key, target, self.volume, self._scorer, keep_masks=True)
            session = PersonSession(begun, self._image, self._scorer)
            if session.session.ended:
                raise IntraBenchError(f"{id} cannot be prompted here: {session.problem}")
            self.sessions[spec.key] = session
        return self.sessions[spec.key]

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
        return played([SessionBatch([spec], [[self.sessions[spec.key].session]], memory())])

    def close(self) -> None:
        """Close the image and give the lock back."""
        self.sessions.clear()
        with foreign():
            self._stack.close()
