"""An opened image on which people play, under the lock of its task; and a person's session on it, turn by turn."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from intrabench.datasets.cases import store as cases
from intrabench.engine.integrity import REMEDY, IntegrityCheck
from intrabench.engine.opened_image import make_session, opened_image, other_targets
from intrabench.engine.plan import ImageTask
from intrabench.engine.result_batches import ResultBatch, SessionBatch, memory, played
from intrabench.engine.session_spec import SessionSpec
from intrabench.errors import IntraBenchError, NotApplicable, foreign, in_words
from intrabench.files.locks import Busy, locked
from intrabench.mask import Mask
from intrabench.models.base import Predictor
from intrabench.play.adapt import adapt
from intrabench.play.lockstep import ask
from intrabench.play.scorer import Scorer
from intrabench.play.session import Session
from intrabench.play.validate import Refused
from intrabench.target import Target
from intrabench.turns import Turn, counting


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
            stored, plane, job = self._stored, image_task.plane, image_task.job
            self.volume = stored.volume.turned(plane)
            self._integrity, self._targets = IntegrityCheck(self.volume), dict[str, Target]()
            self._others = other_targets(stored, plane, self._targets)
            self._image = self._stack.enter_context(opened_image(image_task.runner, self.volume, job.strict))

    def session(self, spec: SessionSpec) -> PersonSession:
        """The session of a spec, begun if it is not open.

        Raises:
            IntraBenchError: its target cannot be read, or there is nothing to segment.
        """
        if spec.key not in self.sessions:
            id = spec.targets[0].id
            job, target = self.image_task.job, self.target(id)
            begun = partial(make_session, job, spec, spec.key, target, self.volume, self._scorer, True, self._others)
            session = PersonSession(begun, self._image, self._scorer)
            if session.session.ended:
                raise IntraBenchError(f"{id} cannot be prompted here: {session.problem}")
            self.sessions[spec.key] = session
        return self.sessions[spec.key]

    def target(self, id: str) -> Target:
        """A target of the case, in the plane in which people read it."""
        if id not in self._targets:
            self._targets[id] = self._stored.targets([id])[0].turned(self.volume.plane)
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


class PersonSession:
    """A session against an opened image. What it refuses changes nothing.

    begin: makes the session, which is driven in steps.
    """

    def __init__(self, begin: Callable[[], Session], image: Predictor, scorer: Scorer) -> None:
        self.session, self._image, self._scorer = begin(), image, scorer
        self.model_s = 0.0
        """Seconds that the model took for the last answer, with all that the session does for it."""

    @property
    def mask(self) -> Mask:
        """The answer so far."""
        return self.session.shown

    @property
    def history(self) -> Sequence[Turn]:
        """The turns so far."""
        return self.session.history

    @property
    def problem(self) -> str:
        """Why there is no answer to the last turn, as a sentence; empty if there is one."""
        return str(self.session.rows[-1]["error"]) if self.session.ended else ""

    def check(self, turn: Turn) -> None:
        """Refuse a turn that cannot be played now.

        Raises:
            Refused: why, and what can be done.
        """
        session, stop = self.session, self.session.protocol.stop
        if session.ended:
            raise Refused(f"the model failed ({self.problem}); take the last prompts back, or finish")
        try:
            session.check(turn)
            taken = session.as_request().turns
            earlier = () if turn.afresh else counting(taken)
            rng, strict = session.user.acting("adapt").rng, session.strict
            adapt(turn, session.abilities, self.mask, rng, first=not taken, earlier=earlier, strict=strict)
        except NotApplicable as reason:
            raise Refused(f"the model cannot take this: {in_words(reason)}") from reason
        if not session.begun:
            return
        if len(session.history) > session.rounds:
            raise Refused(f"there are no more than {session.rounds} corrections here; finish, or take one back")
        if session.measure() >= stop.dice:
            raise Refused("the answer is good enough for the stop rule; finish, or take the last prompts back")
        if stop.exceeded(session.spent + session.cost(turn), session.model_s):
            raise Refused("this would be more than the budget of the stop rule; finish, or take something back")

    def give(self, turn: Turn) -> None:
        """Play a turn that was checked: the round before is closed, and the model asked."""
        session, started = self.session, time.perf_counter()
        session.clock_in()
        session.offer(turn, 0.0)
        # Only a further turn shows that the round before was not the last one, so that round is closed now.
        with session.guarded():
            self._close(last=False)
            session.begin_turn()
            session.make_request()
        if session.request is not None:
            with self._scorer.meanwhile():
                (answer,) = ask(self._image, [session.request])
            session.take(answer)
            session.see(session.claim.mask)
        self.model_s = time.perf_counter() - started

    def finish(self) -> None:
        """End the session after its last answer."""
        with self.session.guarded():
            self.session.offer(None, 0.0)
            self._close(last=True)

    def _close(self, last: bool) -> None:
        if self.session.closes:
            self.session.measure()
            self.session.close_round(last, False)
