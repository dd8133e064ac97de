"""Answers one after the other: what was encoded on the way is no part of the answer's seconds."""

from __future__ import annotations

import time

import pytest

from intrabench import Answer, Mask, Request
from intrabench.models.base import SequentialPredictor


class Replaying(SequentialPredictor):
    """Encodes for 50 ms and answers in 10 ms; a request with several turns needs the answers to the earlier ones."""

    def answer(self, request: Request) -> Answer:
        for _ in request.turns[1:]:
            self.answer_or_failure(self.answer, Request("earlier", request.turns[:1]))
        time.sleep(0.06)
        self.encode_s += 0.05
        return Answer(Mask.empty())


def test_what_answers_to_earlier_turns_encode_is_encoded_for_this_one() -> None:
    image = Replaying()
    for turns in (1, 3, 1):
        (found,) = image.segment([Request("now", (None,) * turns)])  # type: ignore[arg-type]
        assert isinstance(found, Answer)
        assert found.encode_seconds == pytest.approx(0.05 * turns)
        assert 0.009 * turns <= found.seconds < 0.05 * turns + 1
