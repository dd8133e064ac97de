"""A joint session: the sessions of several targets of a case, which share rounds, clock and stop rule."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from functools import reduce
from operator import add
from typing import Any

from intrabench.errors import NotApplicable, foreign
from intrabench.models.base import JointRequest, Request
from intrabench.play.joint_answer import shares
from intrabench.play.joint_prompts import negatives
from intrabench.play.overlaps import without_overlaps
from intrabench.play.session import Session
from intrabench.prompters.base import Prompter
from intrabench.prompters.joint import joint_dialogue
from intrabench.prompters.user import JointTurn, JointTurns, Users
from intrabench.prompts import Prompts
from intrabench.protocols.joint import JointRules
from intrabench.turns import Turn


class Joint:
    """Driven like a session: `begin` it; while there are `requests`, get an answer for each and pass them to `receive`.

    A round is over once all targets have had their free turns. Then each has a row, also without a prompt of its own,
    because what others claim may have changed its answer. All stop together: after the last turn of any, once the sum
    of their efforts would exceed the budget, or when all are good enough. A target that fails ends alone; its answer
    and its prompts still count for the others.
    """

    def __init__(
        self, key: str, sessions: Sequence[Session], prompter: Prompter, rules: JointRules, *, whole: bool = False
    ) -> None:
        """sessions: not begun, in the order of their targets. whole: the model answers all at once."""
        self.key, self.sessions, self.rules, self.whole = key, list(sessions), rules, whole
        self._prompter, self._dialogue = prompter, self._opened(prompter) if prompter.joint else None
        self._memory: object = None
        self._asked = False  # whether the user of all targets was asked before
        self._seen = [[0] * len(sessions) for _ in sessions]  # how many turns of the others a model knows of

    def _opened(self, prompter: Prompter) -> JointTurns:
        return joint_dialogue(prompter, Users(tuple(session.user for session in self.sessions)))

    @property
    def ours(self) -> bool:
        """As of its sessions."""
        return all(session.ours for session in self.sessions)

    @property
    def round(self) -> int:
        """The number of the round, which is that of the last of its sessions."""
        return min((session.round for session in self._playing), default=0)

    @property
    def rounds(self) -> int:
        """So many corrections are allowed."""
        return self.sessions[0].rounds

    @property
    def ended(self) -> bool:
        """Whether all its sessions have ended."""
        return not self._playing

    @property
    def requests(self) -> Sequence[Request | JointRequest]:
        """One of each target with a new turn; or one of all targets, if the model answers for all at once."""
        new = [session.request for session in self.sessions]
        if not self.whole:
            return [request for request in new if request is not None]
        if not any(new):
            return []
        every = tuple(request or session.as_request() for request, session in zip(new, self.sessions, strict=True))
        return [JointRequest(self.key, every, tuple(map(bool, new)), self._memory)]

    def begin(self) -> None:
        """Ask the user of all targets for the first turns."""
        self._advance()

    def receive(self, *answers: Any) -> None:
        """Take the model's answers to the current requests, and move on to the next."""
        asked = [session for session in self.sessions if session.request is not None]
        if self.whole:
            (answer,) = answers
            asked = [session for session in self.sessions if not session.ended]
            self._memory = getattr(answer, "memory", self._memory)
            places = [self.sessions.index(session) for session in asked]
            answers = tuple(shares(answer, places, len(self.sessions)))
        for session, answer in zip(asked, answers, strict=True):
            session.take(answer)
        self._settle(asked)
        self._advance()

    def _settle(self, answered: Sequence[Session]) -> None:
        """Let the answers be seen, each without the voxels that others get."""
        rule = self.rules.overlap
        if rule == "keep" or self.whole:
            for session in answered:
                session.see(session.claim.mask)
            return
        for session, mask in zip(
            self.sessions, without_overlaps([one.claim for one in self.sessions], rule), strict=True
        ):
            session.see(mask)

    def _advance(self) -> None:
        """Ask the user until there are requests or all sessions have ended."""
        while not any(session.request for session in self.sessions):
            if not (playing := self._playing):
                self._finish()
                return
            free = self._ask(playing)
            begun = [session for session in self._playing if session.begun]
            if begun and not free:
                self._close(begun)
            self._go_on(free or self._playing)

    @property
    def _playing(self) -> list[Session]:
        return [session for session in self.sessions if not session.ended]

    def _ask(self, playing: Sequence[Session]) -> list[Session]:
        """Have the user give the next turns; returns the sessions with free ones, which come before a new round."""
        if self._dialogue is not None:
            return self._ask_jointly(self._dialogue, playing)
        for session in playing:
            with session.guarded():
                session.ask()
        return [session for session in self._playing if session.begun and not session.closes]

    def _ask_jointly(self, dialogue: JointTurns, playing: Sequence[Session]) -> list[Session]:
        """The same with a user who looks at all targets: turns are free only if none has actions."""
        started = time.perf_counter()
        try:
            turns = self._next_turns(dialogue)
        except Exception as error:
            for session in playing:
                with session.next_turn():
                    raise error
            return []
        seconds = (time.perf_counter() - started) / len(playing)
        for session, turn in zip(self.sessions, turns, strict=True):
            if not session.ended:
                with session.next_turn():
                    if turn is not None:
                        session.check(turn)
                    session.offer(turn, seconds)
        opens = not any(turns) or any(turn.opens for turn in turns if turn)
        return [] if opens else [session for session in self._playing if session.turn]

    def _next_turns(self, dialogue: JointTurns) -> JointTurn:
        """What the user gives."""
        for session in self.sessions:
            session.clock_in()
        first, self._asked = not self._asked, True
        try:
            with foreign():
                turns = next(dialogue) if first else dialogue.send([session.shown for session in self.sessions])
        except StopIteration:
            turns = [None] * len(self.sessions)
        if first and not any(turn.opens for turn in turns if turn):
            raise NotApplicable("the prompter gave no prompts")
        return turns

    def _close(self, sessions: Sequence[Session]) -> None:
        """Write the rows of the round that is over."""
        last = not any(session.turn for session in sessions)
        stop, spent = sessions[0].protocol.stop, reduce(add, [session.spent for session in self.sessions])
        dice = []
        for session in sessions:
            with session.guarded():
                dice.append(session.measure())
        model_s = sum(session.model_s for session in self.sessions)
        enough = stop.exceeded(spent, model_s, len(self.sessions)) or all(value >= stop.dice for value in dice)
        for session in sessions:
            with session.guarded():
                session.close_round(last, enough)

    def _go_on(self, sessions: Sequence[Session]) -> None:
        """Make requests from the next turns."""
        for session in sessions:
            with session.guarded():
                session.begin_turn()
        for session in sessions:
            with session.guarded():
                session.make_request(self._others(session), scores=self.rules.overlap == "score")

    def _others(self, session: Session) -> Prompts | None:
        """What prompts for other targets, of which its model knows nothing yet, mean for a session with a new turn."""
        if self.rules.others == "ignore" or session.turn is None:
            return None
        seen, new = self._seen[self.sessions.index(session)], list[Turn]()
        for number, other in enumerate(self.sessions):
            if other is not session:
                new += other.history[seen[number] :]
                seen[number] = len(other.history)
        return negatives(new)

    def _finish(self) -> None:
        self._memory = None
        if self._dialogue is not None:
            with suppress(Exception), foreign():  # all rows are written
                self._dialogue.close()
