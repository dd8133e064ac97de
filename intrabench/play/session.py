"""A session: one target, one prompter and one seed with one model. It holds all state of the target."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import cached_property
from typing import Any

from intrabench.effort import Effort
from intrabench.errors import NotApplicable, WrongType, foreign, in_words, legible, passes, traced
from intrabench.identity.versions import ships
from intrabench.mask import Mask
from intrabench.metrics.base import Metric
from intrabench.metrics.lookup import of_protocol
from intrabench.metrics.other_targets import OtherTargets
from intrabench.models.base import Answer, Failure, Request
from intrabench.play.adapt import PROPAGATION, adapt, outside, refuse
from intrabench.play.joint_prompts import on_slices, together
from intrabench.play.overlaps import Claim
from intrabench.play.record import Record
from intrabench.play.scorer import Scorer
from intrabench.play.state import Round, State
from intrabench.play.validate import check_failure, check_free, check_turn, checked_update
from intrabench.prompters.base import CannotCorrect, Prompter, dialogue
from intrabench.prompters.combined import Combined
from intrabench.prompters.user import Clock, Turns, User
from intrabench.prompts import Abilities, Prompts
from intrabench.protocols import Protocol
from intrabench.target import Target
from intrabench.turns import Turn, counting
from intrabench.volume import Volume


class Session:
    """Driven by its owner: `begin` it, and while `request` is not None, get its answer and pass it to `receive`.

    Its `record` has rows, turns and masks; `failure` is the first failure of the session. Rows have only what the
    session knows; its owner adds the rest (model, ...).
    """

    def __init__(
        self,
        key: str,
        target: Target,
        prompter: Prompter,
        abilities: Abilities,
        protocol: Protocol,
        *,
        dataset: str = "",
        seed: int = 0,
        rounds: int = 0,
        image: Volume | None = None,
        strict: bool = False,
        keep_masks: bool = False,
        metrics: Sequence[Metric] | None = None,
        scorer: Scorer | None = None,
        others: OtherTargets | None = None,
    ) -> None:
        """metrics: of each round; None: those of the protocol. scorer: measures what can wait; None: nothing waits.
        others: the other targets of the case, if rows are to say which of them an answer fits better.
        """
        self.key, self.target, self.abilities, self.protocol = key, target, abilities, protocol
        self.target_ml: float | None = target.volume_ml
        self.rounds, self.strict = rounds, strict
        self.metrics = of_protocol(protocol.metrics) if metrics is None else metrics
        self.record = Record(key, target, self.metrics, scorer, keep_masks, others)
        self.failure: Failure | None = None
        self.request: Request | None = None
        self._state, self._clock = State(), Clock()
        self._number = 0
        self._round: Round | None = None
        self._asked_s = 0.0
        self.claim = Claim.none()
        self.turn: Turn | None = None
        self.asked = self.ended = False
        self._prompter = prompter
        self.user = User(target, dataset, seed, image, prompter.spec, self._clock, self._state.history)
        self._dialogue: Turns | None = None
        if not (target.mask.any() or prompter.empty_targets):
            self._end("not_applicable", "the target has no voxels, so it cannot be prompted; check its label map")
        elif prompter.propagates and abilities.dims == 3:
            self._end("not_applicable", PROPAGATION)

    @property
    def round(self) -> int:
        """The number of the round that it is in."""
        return self._number

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One per round."""
        return self.record.rows

    @property
    def turns(self) -> list[dict[str, Any]]:
        """The turns so far."""
        return self.record.turns

    @property
    def masks(self) -> list[Mask]:
        """One per round, if they are kept."""
        return self.record.masks

    @property
    def problems(self) -> set[tuple[str, str]]:
        """The failures of metrics, each a column and the reason."""
        return self.record.problems

    def scored(self, seconds: float | None = 0.0) -> bool:
        """Whether all scores are known, after measuring them for so long at most; None: as long as it takes."""
        return self.record.scored(seconds)

    @cached_property
    def ours(self) -> bool:
        """Whether no code of the user's own prompts or scores it, nor a network; then another thread may do that."""
        parts = self._prompter.parts if isinstance(self._prompter, Combined) else [self._prompter]
        return all(ships(part) and not part.computes for part in parts) and all(map(ships, self.metrics))

    @property
    def sessions(self) -> Sequence[Session]:
        """Itself, as a joint session has several."""
        return [self]

    @property
    def requests(self) -> Sequence[Request]:
        """The request, if there is one."""
        return [] if self.request is None else [self.request]

    def begin(self) -> None:
        """Ask the user for the first turn, unless the owner drives the session in steps, as `Joint` does."""
        self._advance()

    def receive(self, answer: Answer | Failure) -> None:
        """Take the model's answer to the current request, and move on to the next."""
        self.take(answer)
        self.see(self.claim.mask)
        self._advance()

    def take(self, answer: Answer | Failure) -> None:
        """Take the model's answer to the current request into the `claim`."""
        assert self._round is not None
        self.request = None
        # What a model answers is foreign: it is checked before anything of it is kept, so that a bad answer leaves the
        # last good one in place.
        try:
            if isinstance(answer, Failure):
                check_failure(answer)
                self._round.timings.add(answer)
                self._miss(replace(answer, message=legible(answer.message)))
                return
            update = checked_update(answer, self.target.shape)
            self._round.timings.add(answer)
            self.claim = self.claim.overwrite(answer, update)
            self._state.memory, self._clock.reach = answer.memory, answer.reach
            notes = [*answer.notes, *(outside(self._state.taken[-1], answer.reach) if self._state.taken else ())]
            self._round.adapted.update(notes)
            if self.strict:
                refuse(notes)
        except NotApplicable as reason:
            self._end("not_applicable", in_words(reason))
        except Exception as error:  # a model of the user's own may answer anything
            self._miss(_failure(f"model: {in_words(error)}", error))

    def _miss(self, failure: Failure) -> None:
        """An answer is missing: the session ends, or goes on with the last one and a failed row."""
        if self._round is not None and self.protocol.misses == "keep":
            self._round.failure = self._round.failure or (failure.status, failure.message)
            self.failure = self.failure or failure
        else:
            self._fail(failure)

    @property
    def shown(self) -> Mask:
        """The answer so far, as prompters and models see it."""
        return self._state.shown

    def see(self, mask: Mask) -> None:
        """Let `mask` be the answer so far."""
        if not self.ended and mask is not self._state.mask:
            self._state.mask, self._state.shown = mask, mask.copy()

    def _advance(self) -> None:
        """Ask the user and go on with the turn, until there is something to ask the model."""
        # A round is closed only when the user has spoken again: until then it may have further free turns, as those of
        # a propagation. So the prompter is asked first, then the round before is measured and stored, then the turn
        # begins the next one.
        while not self.ended and self.request is None:
            with self.guarded():
                self.ask()
                if self.closes:
                    stop, dice = self.protocol.stop, self.measure()
                    self.close_round(self.turn is None, dice >= stop.dice or stop.exceeded(self.spent, self.model_s))
                self.begin_turn()
                self.make_request()

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Whatever is raised on the user's side ends the session, and a session that has ended does nothing."""
        try:
            yield
        except NotApplicable as reason:
            self._end("not_applicable", in_words(reason))
        except WrongType as error:
            self._fail(_failure(in_words(error), error))
        except Exception as error:  # a prompter of the user's own may fail in any way
            self._fail(_failure(f"prompter: {in_words(error)}", error))

    def ask(self) -> None:
        """Have the user give the next `turn`, if it is not waiting already; None: there is none."""
        if self.ended or self.asked:
            return
        started = time.perf_counter()
        with self.next_turn():
            self.clock_in()
            turn = self._ask_prompter()
            if not self.begun and turn is None:
                raise NotApplicable("the prompter gave no prompts")
            if not self.begun and turn is not None and not turn.opens:
                raise ValueError("the first turn has no actions, but prompting is never free; give its actions")
            self.offer(turn, time.perf_counter() - started)

    @contextmanager
    def next_turn(self) -> Iterator[None]:
        """If the user's side fails, that belongs to the next round; the one before was answered and is closed first."""
        with self.guarded():
            try:
                yield
            except Exception as error:
                if self.begun and (self._number < self.rounds or isinstance(error, CannotCorrect)):
                    self.close_round(False, self.measure() >= self.protocol.stop.dice)
                raise

    def clock_in(self) -> None:
        """Let the user's clock show the round that a turn with actions would begin."""
        self._clock.round = self._number + self.begun

    def offer(self, turn: Turn | None, seconds: float) -> None:
        """Let `turn` be the next one of the user, which took so long."""
        self.turn = None if turn is None else turn.with_handles(self.abilities.handles)
        self._asked_s, self.asked = seconds, True

    def _ask_prompter(self) -> Turn | None:
        """What the user gives, checked."""
        try:
            with nullcontext() if self.ours else foreign():
                if self._dialogue is None:
                    self._dialogue = dialogue(self._prompter, self.user)
                    turn = next(self._dialogue)
                else:
                    turn = self._dialogue.send(self._state.shown)
        except StopIteration:
            return None
        self.check(turn)
        return turn

    def check(self, turn: Turn) -> None:
        """Refuse a turn that nobody can give now."""
        check_turn(turn, self.target.shape, corrected=self._state.corrected)
        if self._round is not None and not turn.opens:
            self._round.free += 1
            check_free(self._round.free, self.target.shape[0])

    @property
    def begun(self) -> bool:
        """Whether a round is open."""
        return self._round is not None

    @property
    def closes(self) -> bool:
        """Whether the round is over, because the next turn begins another one, or because there is none."""
        return not self.ended and self.begun and (self.turn is None or self.turn.opens)

    @property
    def spent(self) -> Effort:
        """The effort so far, that of the next turn included."""
        return self._state.effort + (self.cost(self.turn) if self.asked and self.turn else Effort())

    def cost(self, turn: Turn) -> Effort:
        """The effort of a turn, with the handles that the user sets for this model."""
        return self.protocol.cost(turn.with_handles(self.abilities.handles).actions)

    @property
    def model_s(self) -> float:
        """Seconds that the model has computed so far."""
        return self.record.model_s + (self._round.timings.model_s if self._round else 0.0)

    @property
    def history(self) -> Sequence[Turn]:
        """The turns of the user so far."""
        return self._state.history

    def begin_turn(self) -> None:
        """Log the next turn; if no round is open, it begins one."""
        if self.ended:
            return
        if self._round is None:
            self._state.effort, self._round = self.spent, Round()
            if self.turn is not None and self.turn.undoes:
                self.claim = self._state.take_back()
                self.see(self.claim.mask)
            else:
                self._state.before = self.claim, len(self._state.taken)
        self._round.timings.prompt_s += self._asked_s
        self._round.adapted.update(self.user.told("turn"))
        self.asked = False
        if self.turn is not None:
            self._state.history.append(self.turn)
            self.record.log(self.turn, self._number)

    def make_request(self, others: Prompts | None = None, scores: bool = False) -> None:
        """Make the request of the turn that was begun. others: what the prompts for other targets mean for this one."""
        if self.ended or self.turn is None or self.turn.undoes or (self.turn.waits and not self.abilities.unprompted):
            return  # a model that needs prompts has no answer for a user who waits
        assert self._round is not None
        state, turn = self._state, self.turn
        if others is not None:
            prompted = frozenset(z for one in self.history for z in one.prompts.slices())
            turn = together(turn, others if self.abilities.dims == 3 else on_slices(others, prompted))
        earlier = () if turn.afresh else counting(state.taken)
        first, rng = len(state.taken) == 0, self.user.acting("adapt").rng
        taken, notes = adapt(turn, self.abilities, state.mask, rng, first=first, earlier=earlier, strict=self.strict)
        self._round.adapted.update(notes)
        state.taken.append(taken)
        self.request = self.as_request(scores)

    def as_request(self, scores: bool = False) -> Request:
        """The turns and the answer so far, as the model gets them."""
        state = self._state
        return Request(
            self.key,
            tuple(state.taken),
            state.shown,
            state.memory,
            scores,
            self._last,
            label=self.target.label,
            names=self.target.names,
        )

    @property
    def _last(self) -> bool:
        """Whether the prompter gives no other turn; should it do so all the same, the model rebuilds its memory."""
        more = self._number < self.rounds and self._prompter.corrects
        return not (more or self._prompter.propagates)

    def measure(self) -> float:
        """The Dice of the answer, whose other scores may be measured later."""
        return self.record.measure(self._state.mask, self.user.image)

    def close_round(self, last: bool, enough: bool) -> None:
        """Write the row of the round that was measured; the session ends with the last one, or if it is enough."""
        assert self._round is not None
        more = self._number < self.rounds and not last
        reached = more and enough
        if reached or not more:
            self._close_dialogue()  # what it raises is the failure of this round
        status, error = self._round.outcome(self._state.mask, reached)
        self.record.add_measured(self._row(status, error, ended=last or reached), self._state.mask)
        if more and not reached:
            self._number, self._round = self._number + 1, None
        else:
            self._finish()

    def _fail(self, failure: Failure) -> None:
        """End with a failure."""
        self.failure = self.failure or (None if self.ended else failure)
        self._end(failure.status, failure.message)

    def _end(self, status: str, message: str) -> None:
        """End before the round is complete: failures count as Dice 0; sessions that do not apply have no Dice."""
        if self.ended:
            return
        self._round = self._round or Round()
        overlap = None if status == "not_applicable" else 0.0
        row = self._row(status, message, ended=True)
        self.record.add({**row, "dice": overlap, "iou": overlap}, self._state.mask)
        self._finish()

    def _row(self, status: str, error: str, ended: bool) -> dict[str, Any]:
        """The row of the round, without scores."""
        assert self._round is not None
        return {
            "round": self._number,
            "status": status,
            "error": error,
            "ended": ended,
            "adapted": "" if status == "not_applicable" else ",".join(sorted(self._round.adapted | self.user.told())),
            "diagonal_mm": self.target.diagonal_mm,
            "diagonal_voxels": self.target.diagonal_voxels,
            **self._state.effort.columns,
            **vars(self._round.timings),
        }

    def _finish(self) -> None:
        self.request, self.asked, self.ended = None, False, True
        self.record.close()
        self._state.memory = None  # logits of many sessions would fill the memory
        with suppress(Exception):  # the failure of a round that failed already
            self._close_dialogue()

    def _close_dialogue(self) -> None:
        if self._dialogue is not None:
            with nullcontext() if self.ours else foreign():
                self._dialogue.close()


def _failure(message: str, error: Exception) -> Failure:
    return Failure("error", message, passing=passes(error), traceback=traced(error))
