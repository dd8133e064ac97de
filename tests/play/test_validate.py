"""Any prompts and any answer give a row; the session never raises."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from intrabench.mask import Mask, Region
from intrabench.models.base import Answer
from intrabench.prompters.base import Prompter
from intrabench.prompters.user import Turns, User
from intrabench.prompts import Prompts, Scribble
from intrabench.turns import Click, Turn
from tests.play.at_the_door import GOOD, SHAPE, played
from tests.play.test_session import Scripted

numbers = st.integers(-2, 11) | st.floats() | st.just(10**30)


def rows(width: int) -> st.SearchStrategy[Any]:
    return st.lists(st.lists(numbers, min_size=width, max_size=width), max_size=3)


@given(
    clicks=rows(4),
    drawn=rows(5),
    box=st.none() | st.lists(numbers, min_size=6, max_size=6),
    stroke=st.none() | rows(3),
    label=st.sampled_from([0, 1, 2, -1]),
)
def test_any_prompts_give_a_row_and_never_raise(clicks: Any, drawn: Any, box: Any, stroke: Any, label: int) -> None:
    @dataclass(frozen=True)
    class Any_(Prompter):
        name = "any"

        def interact(self, user: User) -> Turns:
            strokes = () if stroke is None else (Scribble(stroke or np.zeros((0, 3)), label),)
            empty = np.zeros((0, 4)), np.zeros((0, 5))
            yield Turn(Prompts(clicks or empty[0], drawn or empty[1], box, strokes), (Click(),))

    (row,) = played(Any_())
    values = [*chain(*clicks, *drawn, *(stroke or ())), *(box or ())]
    sound = all(isinstance(v, int) or v == np.rint(v) for v in values) and all(-1 < v < 10 for v in values)
    assert row["status"] in ("ok", "error")
    if row["status"] == "error":
        assert row["error"].startswith("prompter: ")
    else:
        assert sound
        assert all(p[3] in (0, 1) and p[0] < 4 and p[1] < 8 and p[2] < 9 for p in clicks)


@given(
    start=st.tuples(*[st.integers(-3, 10)] * 3),
    size=st.tuples(*[st.integers(0, 5)] * 3),
    dtype=st.sampled_from(["bool", "float32", "uint8", "object"]),
    slices=st.none() | st.lists(st.integers(-1, 5), max_size=3).map(tuple),
)
def test_any_answer_gives_a_row_and_never_raises(start: Any, size: Any, dtype: str, slices: Any) -> None:
    answer = Answer(Mask(start, np.ones(size, dtype)), Region(slices=slices))
    (row,) = played(Scripted((GOOD,)), answer)
    inside = 0 in size or all(s in range(top - n + 1) for s, n, top in zip(start, size, SHAPE, strict=True))
    sound = dtype == "bool" and inside and all(0 <= z < 4 for z in slices or ())
    assert (row["status"] != "error") == sound
    if not sound:
        assert row["error"].startswith("model: ")
