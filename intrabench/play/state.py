"""What a session holds of its target so far."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from intrabench.effort import Effort
from intrabench.mask import Mask
from intrabench.models.base import Answer, Failure
from intrabench.play.overlaps import Claim
from intrabench.turns import Turn


@dataclass
class Timings:
    """Machine time of one round in seconds, and its largest batch."""

    prompt_s: float = 0.0
    encode_s: float = 0.0
    segment_s: float = 0.0
    batch: int = 0

    @property
    def model_s(self) -> float:
        """The time of the model."""
        return self.encode_s + self.segment_s

    def add(self, answer: Answer | Failure) -> None:
        """Add the share of one answer."""
        self.segment_s += answer.seconds
        if isinstance(answer, Answer):
            self.encode_s += answer.encode_seconds
            self.batch = max(self.batch, answer.batch)


@dataclass
class Round:
    """What happened since the user's last action."""

    timings: Timings = field(default_factory=Timings)
    adapted: set[str] = field(default_factory=set)
    free: int = 0  # turns without actions
    failure: tuple[str, str] | None = None  # status and message of an answer that is missing, where play goes on

    def outcome(self, mask: Mask, reached: bool) -> tuple[str, str]:
        """Status and message of its row, once it is over. reached: the answer was good enough to stop."""
        return self.failure or ("stopped" if reached else "ok" if mask.any() else "empty", "")


@dataclass
class State:
    """The state of the session so far."""

    mask: Mask = field(default_factory=Mask.empty)
    shown: Mask = field(default_factory=Mask.empty)  # a copy: what others do to theirs changes no score
    history: list[Turn] = field(default_factory=list)  # as the user gave them
    taken: list[Turn] = field(default_factory=list)  # as the model takes them
    before: tuple[Claim, int] | None = None  # the answer before the last round, and how many turns the model had taken
    memory: Any = None
    effort: Effort = field(default_factory=Effort)

    @property
    def corrected(self) -> bool:
        """Whether the last round was a correction that can be taken back."""
        return self.before is not None and self.before[1] > 0

    def take_back(self) -> Claim:
        """Forget the turns of the last round; returns the answer before it.

        The memory goes, too, for the model may have changed it in place; the model rebuilds it from the turns.
        """
        assert self.before is not None
        claim, taken = self.before
        del self.taken[taken:]
        self.before = self.memory = None
        return claim
