"""Strokes that correct an answer, from the user to the model: what is drawn, what it costs, and what a model gets."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

import numpy as np
import pytest

import intrabench
from intrabench.mask import Mask
from intrabench.models.base import Answer, Failure, Model, Predictor, Request
from intrabench.play.lockstep import play
from intrabench.play.session import Session
from intrabench.prompts import StrokePoints
from intrabench.protocols import protocol
from intrabench.specs.specs import switch
from intrabench.volume import Volume
from tests.conftest import make_target

(TABLE_6,) = [row.prompter for row in protocol("intrabench@1").rows if row.name == "1 center PPV + Scribble Refine"]


@dataclass(eq=False)
class Wavering(Model):
    """A model of volumes and points whose answers are too large and too small, in turn."""

    name = "wavering"
    accepts = frozenset({"point"})
    feeds_back = True
    strokes: StrokePoints = switch("one_negative")
    answers: Sequence[np.ndarray] = ()
    asked: list[Request] = field(default_factory=list)

    def open(self, volume: Volume) -> AbstractContextManager[Predictor]:
        return nullcontext(_Opened(self))


@dataclass
class _Opened(Predictor):
    model: Wavering

    def segment(self, requests: Sequence[Request]) -> list[Answer | Failure]:
        self.model.asked += requests
        return [Answer(Mask.of(self.model.answers[(len(one.turns) - 1) % len(self.model.answers)])) for one in requests]


def ball(radius: float) -> np.ndarray:
    z, y, x = np.ogrid[:13, :31, :31]
    return np.asarray((2 * (z - 6)) ** 2 + (y - 15) ** 2 + (x - 15) ** 2 <= radius**2)


def played(model: Wavering, spec: str, truth: np.ndarray, seeds: Sequence[int] = (0,)) -> list[Session]:
    """Sessions of three corrections, all in one batch."""
    sessions = [
        Session(
            f"s{seed}",
            make_target(truth, (2.0, 1.0, 1.0)),
            intrabench.prompter(spec),
            model.abilities,
            protocol("overlap@1"),
            rounds=3,
            seed=seed,
        )
        for seed in seeds
    ]
    with model.open(Volume.from_canonical(truth.astype(np.float32))) as image:
        play(sessions, image)
    return sessions


def given(model: Wavering, key: str = "s0") -> list[list[list[int]]]:
    """The points of each turn, as the model got them."""
    (*_, last) = [request for request in model.asked if request.session == key]
    return [turn.prompts.points.tolist() for turn in last.turns]


@pytest.mark.parametrize(
    ("strokes", "counts"), [("one_negative", [1, 1, 9, 1]), ("one", [1, 1, 1, 1]), ("all", [1, 24, 9, 24])]
)
def test_table_6_gives_all_points_of_a_positive_scribble_and_one_of_a_negative(
    strokes: StrokePoints, counts: list[int]
) -> None:
    model = Wavering(strokes=strokes, answers=[ball(11), ball(6)])
    (session,) = played(model, TABLE_6, ball(8))
    points = given(model)
    assert [len(turn) for turn in points] == counts
    assert [{label for *_, label in turn} for turn in points] == [{1}, {0}, {1}, {0}]
    assert [row["interactions"] for row in session.rows] == [1, 4, 7, 10]


def test_the_drawn_points_are_those_of_the_session_in_any_batch() -> None:
    together = Wavering(answers=[ball(11), ball(6)])
    played(together, TABLE_6, ball(8), seeds=range(6))
    found = [given(together, f"s{seed}") for seed in range(6)]
    alone = Wavering(answers=[ball(11), ball(6)])
    played(alone, TABLE_6, ball(8), seeds=[4])
    assert given(alone, "s4") == found[4]
    assert [turns[0] + turns[1] + turns[3] for turns in found[:2]] == [
        [[6, 15, 15, 1], [2, 13, 10, 0], [8, 13, 7, 0]],
        [[6, 15, 15, 1], [10, 13, 10, 0], [7, 13, 6, 0]],
    ]
    assert [z for z, *_ in found[0][2]] == [2, 3, 4, 5, 6, 7, 8, 9, 10]  # all of the positive scribble
    assert len({turns[1][0][0] for turns in found}) > 1  # not always the same slice
    assert all(turns[1] != turns[3] for turns in found)  # and another one in each round


def picture(*boxes: tuple[int, int, int, int]) -> np.ndarray:
    """A picture ``(1, 40, 60)`` with boxes ``y0, x0, y1, x1``."""
    found = np.zeros((1, 40, 60), dtype=bool)
    for y0, x0, y1, x1 in boxes:
        found[0, y0:y1, x0:x1] = True
    return found


@pytest.mark.parametrize(
    ("spec", "points", "spent", "adapted"),
    [
        (
            "scribble",
            [26, 28, 1],
            [1, 4, 7, 8],
            ["scribble as centre line,scribble->point"] * 2 + ["scribble as click"],
        ),
        ("scribble:one_slice=published", [1, 1, 1], [1, 4, 7, 10], ["scribble->point"] * 3),
    ],
)
def test_a_scribble_in_a_picture_is_a_line_or_costs_a_click(
    spec: str, points: list[int], spent: list[int], adapted: list[str]
) -> None:
    truth = picture((10, 10, 30, 40))
    small, large, beside = picture((10, 10, 30, 28)), picture((10, 10, 30, 50)), truth | picture((4, 50, 6, 52))
    model = Wavering(strokes="all", answers=[small, large, beside, truth])
    (session,) = played(model, f"points_volume:n=1,placement=center+{spec}", truth)
    lines = [np.array(line) for line in given(model)[1:]]
    assert [len(line) for line in lines] == points
    assert [row["interactions"] for row in session.rows] == spent
    assert [row["adapted"] for row in session.rows] == ["", *adapted]
    assert [{*line[:, 3].tolist()} for line in lines] == [{1}, {0}, {0}]
    middles = [line[len(line) // 2, 1:3].tolist() for line in lines]
    if spec == "scribble":
        assert middles == [[20, 34], [20, 45], [4, 50]]
