"""One session of a person: the turns go to the model one by one, as in any run, but somebody thinks in between."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from intrabench.errors import NotApplicable, in_words
from intrabench.mask import Mask
from intrabench.models.base import Predictor
from intrabench.play.adapt import adapt
from intrabench.play.lockstep import ask
from intrabench.play.scorer import Scorer
from intrabench.play.session import Session
from intrabench.play.validate import Refused
from intrabench.turns import Turn, counting


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
    def given(self) -> Sequence[Turn]:
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
            adapt(turn, session.abilities, self.mask, first=not taken, earlier=earlier, strict=session.strict)
        except NotApplicable as reason:
            raise Refused(f"the model cannot take this: {in_words(reason)}") from reason
        if not session.begun:
            return
        if len(session.history) > session.rounds:
            raise Refused(f"there are no more than {session.rounds} corrections here; finish, or take one back")
        if session.measure() >= stop.dice:
            raise Refused("the answer is good enough for the stop rule; finish, or take the last prompts back")
        if stop.exceeded(session.spent + session.protocol.cost(turn.actions), session.model_s):
            raise Refused("this would be more than the budget of the stop rule; finish, or take something back")

    def give(self, turn: Turn) -> None:
        """Play a turn that was checked: the round before is closed, and the model asked."""
        session, started = self.session, time.perf_counter()
        session.clock_in()
        session.offer(turn, 0.0)
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
