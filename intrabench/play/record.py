"""What is stored of a session: its turns, a row per round, its masks. Scores may be measured later."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, wait
from typing import Any

from intrabench.mask import Mask
from intrabench.metrics.base import Metric
from intrabench.metrics.other_targets import OtherTargets
from intrabench.metrics.score import Scoring
from intrabench.play.scorer import Scorer
from intrabench.target import Target
from intrabench.turns import Turn
from intrabench.volume import Volume


class Record:
    """Grows with its session. Whoever reads `rows` or `problems` waits for the scores that are still being measured.

    turns: plain data, one per turn. masks: of each round, if they are kept.
    """

    def __init__(
        self,
        key: str,
        target: Target,
        metrics: Sequence[Metric],
        scorer: Scorer | None,
        keep_masks: bool,
        others: OtherTargets | None = None,
    ) -> None:
        """scorer: measures what can wait; None: nothing waits. others: the other targets of the case."""
        self.turns: list[dict[str, Any]] = []
        self.masks: list[Mask] = []
        self._key, self._target, self._metrics, self._scorer = key, target, metrics, scorer
        self._keep_masks, self._others = keep_masks, others
        self._prompted: set[int] = set()
        self._rows: list[dict[str, Any]] = []
        self._problems: set[tuple[str, str]] = set()
        self._pending: list[tuple[dict[str, Any], Scoring, Future[None] | None]] = []  # with the row of each
        self._scoring: tuple[Mask, Scoring, Future[None] | None] | None = None  # the newest, and of which answer
        self._compares = any("before" in metric.needs for metric in metrics)
        self._before: Mask | None = None  # the answer of the last round that is over, if a metric looks at it
        self._hash = hashlib.sha256()

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One per round, plain data."""
        self._settle()
        return self._rows

    @property
    def problems(self) -> set[tuple[str, str]]:
        """The failures of metrics, each a column and the reason."""
        self._settle()
        return self._problems

    @property
    def model_s(self) -> float:
        """Seconds that the model computed in the rounds that are over."""
        return sum(row["encode_s"] + row["segment_s"] for row in self._rows)

    def scored(self, seconds: float | None = 0.0) -> bool:
        """Whether all scores are known, after measuring them for so long at most; None: as long as it takes."""
        futures = [future for *_, future in self._pending if future]
        if self._scorer is not None and not all(future.done() for future in futures):
            self._scorer.measure(seconds)
        return not wait(futures, None if seconds is None else max(seconds, 0.0)).not_done

    def log(self, turn: Turn, number: int) -> None:
        """Add a turn of this round."""
        text = json.dumps(turn.to_json(), separators=(",", ":"))
        self._hash.update(text.encode())
        if not self._prompted.issuperset(new := turn.prompts.by_hand.slices()):
            self._prompted.update(new)
            self._scoring = None  # the same answer may have other scores now
        self.turns.append({"session": self._key, "round": number, "turn": len(self.turns), "given": text})

    def measure(self, mask: Mask, image: Volume | None) -> float:
        """The Dice of the answer so far; its other scores may be measured later."""
        if self._scoring is None or self._scoring[0] is not mask:
            prompted = sorted(self._prompted)
            scoring = Scoring(self._target, mask, self._metrics, image, self._before, prompted, self._others)
            self._scoring = mask, scoring, self._begun(scoring)
        return self._scoring[1].dice

    def _begun(self, scoring: Scoring) -> Future[None] | None:
        if self._scorer is not None:
            return self._scorer.begin(scoring)
        scoring.measure()
        return None

    def add_measured(self, row: Mapping[str, Any], mask: Mask) -> None:
        """Add the row of a round whose answer was measured last."""
        assert self._scoring is not None
        _, scoring, future = self._scoring
        self.add({**row, **dict.fromkeys(scoring.columns)}, mask)
        self._pending.append((self._rows[-1], scoring, future))
        if self._compares:  # the same answer may have another score after another one
            self._before, self._scoring = mask, None

    def add(self, row: Mapping[str, Any], mask: Mask) -> None:
        """Add a row with its scores."""
        if self._keep_masks:
            self.masks.append(mask)
        self._rows.append({"session": self._key, **row, "prompts_hash": self._hash.hexdigest()[:16]})

    def close(self) -> None:
        """Nothing comes any more."""
        self._scoring = self._before = None

    def _settle(self) -> None:
        """Wait until all scores are known, and complete the rows with them."""
        self.scored(None)
        for row, scoring, _ in self._pending:
            scores = scoring.scores()
            row |= scores.columns
            row["error"] = "; ".join(filter(None, [row.get("error", ""), scores.message]))
            self._problems |= set(scores.problems.items())
        self._pending.clear()
