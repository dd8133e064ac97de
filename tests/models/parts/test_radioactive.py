"""Whole sessions of slice models with ``policy=radioactive``, against a restatement of the loop of RadioActive."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from intrabench.models.base import Answer, Failure, Predictor, Request, Runtime
from intrabench.models.parts.slice_model import SliceItem, SliceModel, SliceResult
from intrabench.play.lockstep import play
from intrabench.play.session import Session
from intrabench.prompters.combined import make_prompter
from intrabench.prompts import Prompts, points
from intrabench.protocols import protocol
from intrabench.turns import Click, Turn, turns_by_round
from intrabench.volume import Volume
from tests.conftest import make_target

SHAPE = (15, 24, 26)
Y, X = np.mgrid[: SHAPE[1], : SHAPE[2]]
Logits = np.ndarray[Any, Any]
Box = tuple[int, int, int, int]


def network(image: Logits, points: Logits, box: Box | None, previous: Logits | None) -> Logits:
    """Bright pixels, more so around positive points and in the box; the order of points matters a little.

    The last logits count half, so that an answer shows whether and which mask prompt there was.
    """
    logits = image.astype(np.float32)
    for number, (y, x, label) in enumerate(points):
        logits = logits + (2 * label - 1) * (3 + number / 100) * np.exp(-((Y - y) ** 2 + (X - x) ** 2) / 12)
    if box is not None:
        y0, x0, y1, x1 = box
        logits = logits + np.where((y0 <= Y) & (y1 > Y) & (x0 <= X) & (x1 > X), 0.5, -2)
    return (logits if previous is None else logits + previous / 2).astype(np.float32)


@dataclass(eq=False)
class Small(SliceModel):
    """`network` as a model."""

    name = "small"
    accepts = frozenset({"point", "box2d"})
    feeds_back = True
    predicts_all = True
    asked: list[bool] = field(default_factory=list)

    def slice_images(self, volume: Volume) -> Callable[[int], Logits]:
        return lambda z: volume.array[z]

    def encode(self, images: Sequence[Logits]) -> list[Logits]:
        return list(images)

    def decode(self, items: Sequence[SliceItem]) -> list[SliceResult]:
        self.asked += [one.previous is not None for one in items]
        found = [network(one.embedding, one.points, one.box, one.previous) for one in items]
        return [SliceResult(logits > 0, logits) for logits in found]


@dataclass
class Step:
    """What RadioActive predicts at once: points ``z, y, x, label`` and a box for some slices."""

    points: Logits
    boxes: dict[int, Box]

    @classmethod
    def of(cls, prompts: Prompts) -> Step:
        strokes = [np.column_stack([s.points, np.full(len(s.points), s.label)]) for s in prompts.scribbles]
        boxes = {int(z): tuple(map(int, box)) for z, *box in prompts.boxes2d}
        return cls(np.vstack([prompts.points, *strokes]), boxes)  # type: ignore[arg-type]

    def before(self, older: Step) -> Step:
        """Merged, the newer one first."""
        return Step(np.vstack([self.points, older.points]), {**older.boxes, **self.boxes})

    @property
    def slices(self) -> list[int]:
        return sorted({int(z) for z in self.points[:, 0]} | set(self.boxes))


def predict(image: Logits, step: Step, masks: dict[int, Logits]) -> dict[int, Logits]:
    """The logits of the slices of a step."""
    return {
        z: network(image[z], step.points[step.points[:, 0] == z, 1:], step.boxes.get(z), masks.get(z))
        for z in step.slices
    }


def radioactive(image: Logits, rounds: Sequence[Sequence[Turn]], keep: bool) -> list[Logits]:
    """The mask after each round: first propagation, whose prompts are predicted one by one, then all of them at once.

    In each further round the new prompts, before all earlier ones if those are kept, with the logits of the last
    prediction as mask prompts; slices that are not predicted keep what they had.
    """
    mask = np.zeros(image.shape, dtype=bool)
    step, low, found = Step(np.zeros((0, 4)), {}), dict[int, Logits](), []
    for turns in rounds:
        new = Step.of(turns[0].prompts)
        for free in turns[1:]:
            new = new.before(Step.of(free.prompts))
        step = new.before(step) if keep else new
        low = predict(image, step, low)
        for z, logits in low.items():
            mask[z] = logits > 0
        low = {z: logits.astype(np.float16).astype(np.float32) for z, logits in low.items()}
        found.append(mask.copy())
    return found


@pytest.fixture(scope="module")
def scan() -> tuple[Volume, Logits]:
    """A noisy ball in the slices 3 to 11 on a bright background, and the ball."""
    z, y, x = np.mgrid[: SHAPE[0], : SHAPE[1], : SHAPE[2]]
    ball = ((z - 7) / 4.6) ** 2 + ((y - 12) / 7) ** 2 + ((x - 12) / 8) ** 2 < 1
    noise = np.random.default_rng(0).normal(0, 0.7, SHAPE)
    image = np.where(ball, 0.3, -0.4) + noise + np.where(x > 18, 0.8, 0)
    return Volume.from_canonical(image.astype(np.float32)), ball


class _Forgetful(Predictor):
    """Every request comes without its memory."""

    def __init__(self, image: Predictor) -> None:
        self.image = image

    def segment(self, requests: Sequence[Request]) -> list[Answer | Failure]:
        return self.image.segment([replace(request, memory=None) for request in requests])


def played(prompter: str, scan: tuple[Volume, Logits], rounds: int, forgetful: bool = False) -> tuple[Small, Session]:
    """A whole session."""
    model, (volume, ball) = Small(), scan
    session = Session(
        "key",
        make_target(ball),
        make_prompter(prompter),
        model.abilities,
        protocol("overlap@1"),
        rounds=rounds,
        keep_masks=True,
    )
    with model.open(volume) as image:
        play([session], _Forgetful(image) if forgetful else image)
    assert [row["status"] for row in session.rows] == ["ok"] * (rounds + 1), session.rows
    return model, session


@pytest.mark.parametrize("previous", ["keep", "drop"])
@pytest.mark.parametrize(
    "prompter",
    [
        "box_interp:n=3+scribble",
        "point_interp:n=3+scribble",
        "points_slice:n=1+click_slice",
        "points_slice:n=1+click_center",
        "box_prop+scribble",
        "point_prop+scribble",
        "point_prop+click_slice",
    ],
)
def test_sessions_are_those_of_radioactive(prompter: str, previous: str, scan: tuple[Volume, Logits]) -> None:
    _, session = played(f"{prompter}:previous={previous}", scan, rounds=4)
    rounds = list(turns_by_round(session.turns).values())
    expected = radioactive(scan[0].array, rounds, previous == "keep")
    assert len(rounds) == len(session.masks) == 5
    for mask, right in zip(session.masks, expected, strict=True):
        assert np.array_equal(mask.to_array(SHAPE), right)
    assert all(not np.array_equal(one, other) for one, other in pairwise(expected))


def test_lost_memory_is_replayed_round_by_round(scan: tuple[Volume, Logits]) -> None:
    _, session = played("box_prop+scribble:previous=drop", scan, rounds=3)
    _, again = played("box_prop+scribble:previous=drop", scan, rounds=3, forgetful=True)
    for mask, right in zip(again.masks, session.masks, strict=True):
        assert np.array_equal(mask.to_array(SHAPE), right.to_array(SHAPE))


@pytest.mark.parametrize("prompter", ["box_prop", "point_prop"])
def test_propagation_decodes_each_slice_once_without_masks(prompter: str, scan: tuple[Volume, Logits]) -> None:
    model, session = played(prompter, scan, rounds=0)
    (turns,) = turns_by_round(session.turns).values()
    steps = [Step.of(turn.prompts) for turn in turns]
    assert [z for step in steps for z in step.slices] == [7, 6, 8, 5, 9, 4, 10, 3, 11]
    assert model.asked == [False] * 9
    for step in steps[1:]:  # what RadioActive derives: from a prediction of the slice before alone
        for z in step.slices:
            before = next(one for one in steps if (z - 1 if z > 7 else z + 1) in one.slices)
            mask = predict(scan[0].array, before, {})[z - 1 if z > 7 else z + 1] > 0
            rows, columns = (np.flatnonzero(mask.any(axis=axis)) for axis in (1, 0))
            if prompter == "box_prop":
                assert step.boxes[z] == (rows[0], columns[0], rows[-1] + 1, columns[-1] + 1)
            else:
                ((y, x),) = step.points[step.points[:, 0] == z, 1:3]
                assert mask[y, x]
    assert np.array_equal(session.masks[0].to_array(SHAPE), radioactive(scan[0].array, [turns], True)[0])


def test_kept_prompts_have_all_slices_decoded_again_and_dropped_ones_only_new_slices(
    scan: tuple[Volume, Logits],
) -> None:
    kept, session = played("box_prop+click_center:previous=keep", scan, rounds=2)
    assert kept.asked == [False] * 9 + [True] * 18
    dropped, session = played("box_prop+click_center:previous=drop", scan, rounds=2)
    first, second = (Step.of(turns[0].prompts).slices for turns in list(turns_by_round(session.turns).values())[1:])
    assert len(dropped.asked) == 11
    assert dropped.asked[9:] == [True, second == first]  # a mask only where the round before predicted the slice


def click(z: int, label: int = 1, actions: tuple[Click, ...] = (Click(),), afresh: bool = False) -> Turn:
    return Turn(points([(z, 10 + z, 12 - label)], label), actions, afresh)


FREE = ()
MIXED = [  # turns, and what is decoded turn by turn or round by round: slice, whether it has a mask prompt, labels
    (click(1), [(1, False, [1])], [(1, False, [1])]),
    (click(2, actions=FREE), [(2, False, [1])], [(2, False, [1])]),
    (click(1, label=0), [(1, True, [1, 0])], [(1, True, [0, 1]), (2, True, [1])]),
    (click(3, actions=FREE), [(3, False, [1])], [(3, False, [1])]),
    (click(2, afresh=True), [(2, True, [1])], [(2, True, [1])]),
    (click(1, actions=FREE), [(1, True, [1])], [(1, False, [1])]),
    (click(3), [(3, True, [1])], [(1, True, [1]), (2, True, [1]), (3, False, [1])]),
    (click(3, label=0, actions=FREE), [(3, True, [1, 0])], [(3, False, [0, 1])]),
    (click(2, label=0), [(2, True, [1, 0])], [(1, True, [1]), (2, True, [0, 1]), (3, True, [0, 1])]),
]


class Noting(Small):
    """It notes what each slice was asked with; the first pixel of a slice is its number."""

    def __init__(self, by_round: bool, batch: str) -> None:
        super().__init__()
        self.predicts_all, self.runtime = by_round, Runtime(batch=batch)
        self.noted: list[tuple[int, bool, list[int]]] = []
        self.kinds: set[int] = set()  # how many kinds of items there were in a batch

    def decode(self, items: Sequence[SliceItem]) -> list[SliceResult]:
        self.kinds.add(len({self.alike(len(i.points), i.box is not None, i.previous is not None) for i in items}))
        self.noted += [(int(i.embedding[0, 0]), i.previous is not None, i.points[:, 2].tolist()) for i in items]
        return super().decode(items)


def answered(image: Predictor, *requests: Request) -> list[Answer]:
    found = image.segment(requests)
    assert all(isinstance(answer, Answer) for answer in found), found
    return found  # type: ignore[return-value]


def plain(answer: Answer) -> Any:
    return answer.valid, answer.update.to_array(SHAPE).tolist(), {z: a.tolist() for z, a in answer.memory.items()}


@pytest.mark.parametrize("by_round", [False, True])
def test_free_and_paid_turns_in_any_order(by_round: bool, scan: tuple[Volume, Logits]) -> None:
    array = scan[0].array.copy()
    array[:, 0, 0] = np.arange(len(array))
    fixed, auto = Noting(by_round, "fixed"), Noting(by_round, "auto")
    turns, memory, shared = tuple(turn for turn, *_ in MIXED), None, None
    with fixed.open(Volume.from_canonical(array)) as alone, auto.open(Volume.from_canonical(array)) as company:
        for count, (_, *expected) in enumerate(MIXED, start=1):
            fixed.noted.clear()
            (answer,) = answered(alone, Request("a", turns[:count], memory=memory))
            assert sorted(fixed.noted) == expected[by_round]
            (lost,) = answered(alone, Request("a", turns[:count]))
            other = Request("b", (click(2), click(4)))
            together, _ = answered(company, Request("a", turns[:count], memory=shared), other)
            assert plain(answer) == plain(lost) == plain(together)
            memory, shared = answer.memory, together.memory
    assert fixed.kinds == auto.kinds == {1}
