"""Metrics that only rows need are measured in another thread, and nothing else changes."""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.mask import Mask
from intrabench.metrics.base import Metric
from intrabench.metrics.lookup import metric
from intrabench.metrics.mask_pair import MaskPair
from intrabench.metrics.nsd import NormalisedSurfaceDice
from intrabench.metrics.score import Scoring
from intrabench.models.base import Answer, Failure, Predictor, Request
from intrabench.play import scorer
from intrabench.play.lockstep import play
from intrabench.play.scorer import Scorer
from intrabench.play.session import Session
from intrabench.prompters.combined import make_prompter
from intrabench.prompts import Abilities
from intrabench.protocols import protocol
from tests.conftest import make_target

BASIC = [metric(name) for name in ("dice", "iou", "nsd", "hd95")]
TAKES = Abilities(2, frozenset({"point", "box2d"}))
SECONDS = 30.0


@dataclass(frozen=True)
class Own(Metric):
    """The thread that measures it, and the order."""

    name = "own"
    version = "1"
    number: int = 0
    threads: list[tuple[int, threading.Thread]] = field(default_factory=list, compare=False, repr=False)

    @property
    def column(self) -> str:  # type: ignore[override]
        return f"own{self.number}"

    def measure(self, pair: MaskPair) -> float:
        self.threads.append((self.number, threading.current_thread()))
        return float(pair.overlap.answer)


class Shifted(Predictor):
    """Answers with the target beside its place, a little nearer each round."""

    def __init__(self, ball: np.ndarray) -> None:
        self.ball, self.steps = ball, 0

    def segment(self, requests: Sequence[Request]) -> list[Answer | Failure]:
        self.steps += 1
        return [Answer(Mask.of(np.roll(self.ball, 4 - self.steps, axis=2))) for _ in requests]


def begun(ball: np.ndarray, metrics: Sequence[Metric], scores: Scorer | None) -> Session:
    prompter = make_prompter("box_slice+click_center")
    return Session(
        "key", make_target(ball), prompter, TAKES, protocol("basic@1"), rounds=2, metrics=metrics, scorer=scores
    )


def played(ball: np.ndarray, metrics: Sequence[Metric], scores: Scorer | None) -> Session:
    one = begun(ball, metrics, scores)
    play([one], Shifted(ball))
    return one


def lasting(session: Session) -> list[dict[str, object]]:
    return [{name: value for name, value in row.items() if name != "prompt_s"} for row in session.rows]


def test_rows_are_the_same_to_the_last_bit_and_in_the_same_order(ball: np.ndarray) -> None:
    metrics = [Own(1), *BASIC, Own(2), metric("lesion_f1"), metric("boundary_iou")]
    at_once, later = played(ball, metrics, None), played(ball, metrics, Scorer())
    assert lasting(later) == lasting(at_once)
    assert [list(row) for row in later.rows] == [list(row) for row in at_once.rows]
    assert len(later.rows) == 3
    assert 0 < later.rows[0]["nsd_2mm"] < later.rows[1]["nsd_2mm"]
    assert all(row["hd95_mm"] > 0 for row in later.rows[:2])


def test_metrics_of_the_user_stay_in_the_calling_thread_in_their_order(ball: np.ndarray) -> None:
    own = [Own(1), Own(2)]
    played(ball, [own[0], *BASIC, own[1]], Scorer())
    assert [thread for _, thread in own[0].threads + own[1].threads] == [threading.current_thread()] * 6


def test_surfaces_are_measured_in_another_thread_while_the_model_answers(
    ball: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, measured, threads = NormalisedSurfaceDice.measure, threading.Semaphore(0), list[threading.Thread]()

    def measure(self: NormalisedSurfaceDice, pair: MaskPair) -> float:
        threads.append(threading.current_thread())
        measured.release()
        return real(self, pair)

    class Slow(Shifted):
        def segment(self, requests: Sequence[Request]) -> list[Answer | Failure]:
            assert self.steps == 0 or measured.acquire(timeout=SECONDS)
            return super().segment(requests)

    monkeypatch.setattr(NormalisedSurfaceDice, "measure", measure)
    scores = Scorer()
    session = begun(ball, BASIC, scores)
    play([session], Slow(ball), scores)
    assert session.scored(0.0) is False  # the last round: nobody was waiting for the model any more
    assert [row["nsd_2mm"] > 0 for row in session.rows] == [True] * 3
    assert session.scored()
    assert [thread is threading.current_thread() for thread in threads] == [False, False, True]


def test_while_the_model_answers_threads_take_short_turns(ball: np.ndarray) -> None:
    class Noting(Shifted):
        turns: ClassVar[list[float]] = []

        def segment(self, requests: Sequence[Request]) -> list[Answer | Failure]:
            self.turns.append(sys.getswitchinterval())
            if self.steps == 2:
                raise KeyboardInterrupt
            return super().segment(requests)

    before, scores = sys.getswitchinterval(), Scorer()
    with pytest.raises(KeyboardInterrupt):
        play([begun(ball, BASIC, scores)], Noting(ball), scores)
    assert Noting.turns == pytest.approx([scorer.TURN_SECONDS] * 3)
    assert sys.getswitchinterval() == before > 2 * scorer.TURN_SECONDS


def test_what_nobody_measured_meanwhile_is_measured_when_somebody_wants_to_know(
    ball: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, keys = NormalisedSurfaceDice.measure, [KeyboardInterrupt]

    def measure(self: NormalisedSurfaceDice, pair: MaskPair) -> float:
        if keys:
            raise keys.pop()
        return real(self, pair)

    monkeypatch.setattr(NormalisedSurfaceDice, "measure", measure)
    session = played(ball, BASIC, Scorer())
    assert session.scored() is False
    with pytest.raises(KeyboardInterrupt):
        session.scored(None)
    assert [row["nsd_2mm"] > 0 for row in session.rows] == [True] * 3  # Ctrl-C lost nothing


def test_a_metric_that_fails_there_gives_the_same_row(
    ball: np.ndarray, monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    def measure(self: NormalisedSurfaceDice, pair: MaskPair) -> float:
        raise MemoryError("no room for surfaces")

    monkeypatch.setattr(NormalisedSurfaceDice, "measure", measure)
    at_once, later = played(ball, BASIC, None), played(ball, BASIC, Scorer())
    assert lasting(later) == lasting(at_once)
    assert later.rows[0]["error"] == wording
    assert later.problems == {("nsd_2mm", "MemoryError: no room for surfaces")} == at_once.problems
    assert later.rows[0]["nsd_2mm"] is None
    assert later.rows[0]["hd95_mm"] > 0


def test_so_much_waits_and_no_more(ball: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scorer, "MOST_VOXELS", 2 * math.prod(Mask.of(ball).array.shape))
    scores, scorings = Scorer(), [Scoring(make_target(ball), Mask.of(ball), BASIC) for _ in range(4)]
    for scoring in scorings:
        scores.begin(scoring)
    assert [scoring.voxels == 0 for scoring in scorings] == [True, True, False, False]


def test_nothing_is_left_of_dice_and_iou_or_afterwards(ball: np.ndarray) -> None:
    assert Scorer().begin(Scoring(make_target(ball), Mask.of(ball), BASIC[:2])) is None
    scoring = Scoring(make_target(ball), Mask.of(ball), BASIC)
    assert scoring.voxels == math.prod(Mask.of(ball).array.shape)
    scoring.measure()
    assert scoring.voxels == 0
    assert scoring.scores().columns["nsd_2mm"] == 1.0
