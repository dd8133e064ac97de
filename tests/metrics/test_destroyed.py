"""What a correction destroyed, by hand and in a session."""

from __future__ import annotations

import numpy as np
import pytest

from intrabench.mask import Mask
from intrabench.metrics.lookup import metric
from intrabench.metrics.score import score
from intrabench.models.base import Answer
from intrabench.play.session import Session
from intrabench.prompters.combined import make_prompter
from intrabench.prompts import Abilities
from intrabench.protocols import protocol
from tests.conftest import make_target

DESTROYED = metric("destroyed")


def row(*ranges: tuple[int, int]) -> np.ndarray:
    """A line of 12 voxels with these ranges set."""
    line = np.zeros((1, 1, 12), dtype=bool)
    for start, stop in ranges:
        line[0, 0, start:stop] = True
    return line


TARGET = row((2, 6))


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        (row((2, 5)), row((2, 6)), 0.0),
        (row((2, 5)), row((2, 4)), 1 / 3),  # one of three
        (row((2, 5)), row((2, 11)), 5 / 8),  # five of what was background, of that and three
        (row((2, 5), (8, 10)), row((2, 5), (8, 10)), 0.0),  # what was wrong and stays wrong does not count
        (row((2, 6)), row(), 1.0),
        (row((8, 10)), row((8, 9)), None),  # nothing was right
        (row(), row((2, 7)), None),  # the first answer with anything right cannot have destroyed anything
        (row((8, 10)), row((2, 7)), None),
        (row(), row((3, 4)), None),
    ],
)
def test_by_hand(before: np.ndarray, now: np.ndarray, expected: float | None) -> None:
    found = score(make_target(TARGET), Mask.of(now), [DESTROYED], before=Mask.of(before))
    assert found.columns["destroyed"] == expected
    assert score(make_target(TARGET), Mask.of(now), [DESTROYED]).columns["destroyed"] is None


def test_each_round_is_compared_with_the_one_before() -> None:
    abilities = Abilities(3, frozenset({"point"}))
    session = Session(
        "s", make_target(TARGET), make_prompter("points_volume+click_volume"), abilities, protocol("overlap@1"),
        rounds=3, metrics=[DESTROYED],
    )  # fmt: skip
    session.begin()
    for answer in (row((2, 5)), row((2, 4)), row((2, 4)), row((2, 5))):
        session.receive(Answer(Mask.of(answer)))
    assert [one["destroyed"] for one in session.rows] == [None, 1 / 3, 0.0, 0.0]
