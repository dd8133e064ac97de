"""Two models that share the work."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from intrabench.mask import Mask
from intrabench.models.base import Answer, Model, Predictor, Request, Runtime, open_image
from intrabench.models.box_fill import BoxFill
from intrabench.models.parts.two_stage_model import two_stage_model
from intrabench.models.random_walker import RandomWalker
from intrabench.prompts import box3d, points
from intrabench.turns import Click, Turn
from intrabench.volume import Volume

VOLUME = Volume.from_canonical(np.arange(24.0).reshape(2, 3, 4))


@dataclass(eq=False)
class Corrects(Model):
    """Remembers what it was asked, and how often an image was opened."""

    name = "corrects"
    dims = 3
    accepts = frozenset({"point"})
    takes_mask = feeds_back = True
    asked: list[Request] = field(default_factory=list)
    opened: list[Volume] = field(default_factory=list)

    @contextmanager
    def open(self, volume: Volume) -> Iterator[Predictor]:
        self.opened.append(volume)
        yield Noting(self.asked)


class Noting(Predictor):
    def __init__(self, asked: list[Request]) -> None:
        self.asked = asked

    def segment(self, requests: Sequence[Request]) -> list[Answer]:  # type: ignore[override]
        self.asked += requests
        return [Answer(Mask.empty(), memory=len(self.asked)) for _ in requests]


def test_the_second_gets_the_mask_and_no_prompts_of_the_first_turn() -> None:
    second = Corrects()
    model = two_stage_model([BoxFill(), second], "box_fill+corrects")
    box, click = Turn(box3d((0, 0, 0, 1, 2, 2))), Turn(points([(1, 1, 1)]), (Click(),))
    with open_image(model, VOLUME) as image:
        (first,) = image.segment([Request("a", (box,))])
        assert isinstance(first, Answer)
        assert first.update.voxels == 4
        assert not second.opened
        mixed = [Request("a", (box, click), first.update), Request("b", (box,)), Request("c", (box, click), memory=7)]
        answers = image.segment(mixed)
    assert [one.update.voxels for one in answers if isinstance(one, Answer)] == [0, 4, 0]
    assert len(second.opened) == 1
    assert [request.session for request in second.asked] == ["a", "c"]
    assert second.asked[0].mask is first.update
    assert second.asked[1].memory == 7
    for request in second.asked:
        assert not request.turns[0].prompts.kinds
        assert request.turns[1] is click


def test_a_correction_of_one_piece_leaves_the_others() -> None:
    """The random walker begins from a mask of two pieces."""
    balls, grid = [(8, 8, 8), (8, 8, 24)], np.ogrid[:16, :16, :32]
    inside = [sum((axis - at) ** 2 for axis, at in zip(grid, ball, strict=True)) <= 25 for ball in balls]
    rng = np.random.default_rng(0)
    volume = Volume.from_canonical(100.0 * (inside[0] | inside[1]) + rng.normal(0, 5, inside[0].shape))
    wrong = inside[0] | inside[1]
    wrong[:, :, :7] = False  # a part of the first ball is missed
    click = Turn(points([(8, 8, 5)]), (Click(),))
    for first in (Turn(points([(8, 8, 8)]), (Click(),)), Turn(points(np.zeros((0, 3), int)), (Click(),))):
        with open_image(RandomWalker(), volume) as image:
            (found,) = image.segment([Request("a", (first, click), Mask.of(wrong))])
        assert isinstance(found, Answer)
        answer = found.update.to_array(volume.shape)
        assert answer[8, 8, 5]
        np.testing.assert_array_equal(answer[:, :, 16:], wrong[:, :, 16:])


def test_what_it_says_of_itself() -> None:
    model = two_stage_model([BoxFill(), RandomWalker(beta=90)], "box_fill+random_walker:beta=90")
    assert model.short_spec == "box_fill+random_walker:beta=90"
    assert model.spec == f"{BoxFill().spec}+{RandomWalker(beta=90).spec}"
    assert model.abilities == RandomWalker().abilities
    assert model.version == f"{BoxFill().version}+{RandomWalker().version}"
    model.runtime = Runtime(batch="3")
    assert (model.first.runtime.batch, model.second.runtime.batch) == ("3", "3")


def test_both_share_the_memory() -> None:
    model = two_stage_model([BoxFill(), RandomWalker()], "box_fill+random_walker")
    model.runtime = Runtime(memory_mb=101)
    assert [model.first.runtime.memory_mb, model.second.runtime.memory_mb] == [50, 50]
