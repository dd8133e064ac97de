"""The rule of the models without training: truthful prompts of all kinds, in any order, harm no answer."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise, permutations
from typing import Any

import numpy as np
import pytest

import intrabench
from intrabench.mask import Mask
from intrabench.models.base import Answer, Model, Request
from intrabench.models.parts.neighbourhood import Frame
from intrabench.models.parts.seeds import BACKGROUND, TARGET, UNKNOWN, Hints, cleaned
from intrabench.play.adapt import adapt
from intrabench.play.lockstep import play
from intrabench.play.session import Session
from intrabench.prompts import Prompts, Scribble, box3d, boxes, points
from intrabench.protocols import protocol
from intrabench.randomness import stream
from intrabench.target import Target
from intrabench.turns import Click, Turn
from intrabench.volume import Volume
from tests.models.test_random_walker import ball, dice

SEEDED = pytest.mark.parametrize("name", ["random_walker", "graph_cut", "grow_from_seeds", "grabcut", "interval"])
VOLUMES = pytest.mark.parametrize("name", ["random_walker", "graph_cut", "grow_from_seeds", "interval"])


def made(spacing: Any, truth: np.ndarray, noise: float = 25.0) -> tuple[Volume, Target]:
    grain = np.random.default_rng(0).normal(0, noise, truth.shape)
    volume = Volume.from_canonical((40 + grain + 60 * truth).astype(np.float32), spacing)
    return volume, Target("case", "lesion", 1, Mask.of(truth), volume.shape, volume.spacing_mm)


def lesion() -> tuple[Volume, Target]:
    """15 voxels in slices of 5 mm."""
    truth = np.zeros((5, 24, 24), dtype=bool)
    truth[2, 11:14, 10:14], truth[3, 12, 11:14] = True, True
    return made((5.0, 1.0, 1.0), truth)


def mass() -> tuple[Volume, Target]:
    """A ball of 365 ml."""
    z, y, x = np.ogrid[-15:16, -18:19, -18:19]
    return made((6.0, 5.0, 5.0), (6.0 * z) ** 2 + (5.0 * y) ** 2 + (5.0 * x) ** 2 < 44.33**2)


def cord() -> tuple[Volume, Target]:
    """A bent tube."""
    z, y, x = np.ogrid[:30, :32, :32]
    return made((6.0, 1.5, 1.5), (y - 16 - 5 * np.sin(z / 8)) ** 2 + (x - 15) ** 2 < 16)


def rounds(model: Model, volume: Volume, target: Target, prompter: str, number: int) -> list[float]:
    session = Session(
        "key",
        target,
        intrabench.prompter(prompter),
        model.abilities,
        protocol("overlap@1"),
        image=volume,
        rounds=number,
    )
    with model.open(volume) as image:
        play([session], image)
    assert session.failure is None
    return [row["dice"] for row in session.rows]


@SEEDED
@pytest.mark.parametrize("scan", [lesion, mass, cord])
@pytest.mark.parametrize(
    "prompter", ["points_volume:n=1+click_center", "box_volume+click_volume", "box_interp:n=3+scribble"]
)
def test_truthful_corrections_harm_no_answer(name: str, scan: Any, prompter: str) -> None:
    volume, target = scan()
    found = rounds(intrabench.model(name), volume, target, prompter, 4)
    worst, last = (0.15, 0.07) if scan is lesion else (0.005, 0.005)  # three voxels of its 15 are a fifth
    assert all(after > before - worst for before, after in pairwise(found)), found
    assert found[-1] > found[0] - last


@VOLUMES
def test_a_mass_of_365_ml_is_reached(name: str) -> None:
    """By points across it, as by a box: its radius of 44 mm is what the prompts span."""
    model = intrabench.model(name)
    assert mass()[1].volume_ml == pytest.approx(365, rel=0.02)
    assert rounds(model, *mass(), "point_interp:n=3", 0)[0] > 0.45
    assert rounds(model, *mass(), "box_volume", 0)[0] > 0.85
    first, *_, last = rounds(model, *mass(), "points_volume:n=1+click_center", 6)
    assert last > first + 0.05


def prompt(kind: str, truth: np.ndarray) -> Prompts:
    """A truthful prompt for the ball of `ball`."""
    mask = Mask.of(truth)
    _, y0, x0, _, y1, x1 = mask.slice(32).box
    return {
        "click": points([(32, 32, 32)]),
        "box2d": boxes({32: (y0, x0, y1, x1)}),
        "box3d": box3d(mask.box),
        "scribble": Prompts(scribbles=(Scribble(np.array([(32, 32, x) for x in range(26, 39)])),)),
    }[kind]


def played(model: Model, volume: Volume, given: Sequence[Prompts]) -> list[np.ndarray]:
    """The answers of a session that gives these prompts."""
    mask, memory, taken, found = Mask.empty(), None, list[Turn](), list[np.ndarray]()
    with model.open(volume) as image:
        for one in given:
            turn, _ = adapt(
                Turn(one, (Click(),)), model.abilities, mask, partial(stream, 0), first=not taken, earlier=taken
            )
            taken.append(turn)
            (answer,) = image.segment([Request("key", tuple(taken), mask, memory)])
            assert isinstance(answer, Answer)
            mask, memory = mask.overwrite(answer.update, answer.valid), answer.memory
            found.append(mask.to_array(volume.shape))
    return found


@SEEDED
@pytest.mark.parametrize(("one", "other"), list(permutations(["click", "box2d", "box3d", "scribble"], 2)))
def test_two_kinds_in_any_order_add_up(name: str, one: str, other: str) -> None:
    volume, truth = ball()
    before, after = (
        dice(mask, truth) for mask in played(intrabench.model(name), volume, [prompt(one, truth), prompt(other, truth)])
    )
    assert after > before - 0.02


@VOLUMES
def test_a_box_after_two_clicks_leaves_the_slices_around_it(name: str) -> None:
    volume, truth = ball()
    clicks = points([(28, 32, 32)]), points([(36, 32, 32)])
    *_, before, after = played(intrabench.model(name), volume, [*clicks, prompt("box2d", truth)])
    around = np.arange(64) != 32
    np.testing.assert_array_equal(after[around], before[around])
    assert dice(after[32], truth[32]) >= dice(before[32], truth[32]) - 0.02


@SEEDED
def test_answers_have_no_speckles_in_noise(name: str) -> None:
    volume, truth = ball()
    noisy = Volume.from_canonical(volume.array * 0.4 + np.random.default_rng(1).normal(0, 20, volume.shape))
    (found,) = played(intrabench.model(name), noisy, [prompt("box3d", truth)])
    for mask in (found, ~found):
        beside = sum(np.roll(mask, by, axis) for axis in range(3) for by in (1, -1))
        assert not (mask & (beside == 0)).sum() > 1  # a seed may stand alone


def test_speckles_and_holes_of_one_voxel_go_but_seeds_stay() -> None:
    answer, labels = np.zeros((1, 9, 9), dtype=bool), np.full((1, 9, 9), UNKNOWN, dtype=np.int8)
    answer[0, 3:6, 3:6] = True
    expected = answer.copy()
    answer[0, 4, 4] = False
    answer[0, 0, 0] = answer[0, 8, 8] = True
    labels[0, 8, 8], expected[0, 8, 8] = TARGET, True
    np.testing.assert_array_equal(
        cleaned(answer, labels, Frame((0, 0, 0, 1, 9, 9), (1, 9, 9), (1.0, 1.0, 1.0)).beside), expected
    )


def test_reach_is_measured_between_the_faces_of_voxels() -> None:
    """In slices of 5 mm a voxel of the next slice is beside the answer, not 5 mm from it."""
    mask = Mask.of(np.ones((1, 3, 3), dtype=bool), (2, 10, 10))
    given = points([(3, 11, 11), (2, 11, 16), (4, 11, 11)])
    hints = Hints.of(Request("key", (Turn(box3d(mask.box)), Turn(given)), mask), (5.0, 1.0, 1.0), 1.0, 12.0)
    wrong, reach, _ = hints.contradictions
    assert wrong[:, :3].tolist() == [[3, 11, 11], [2, 11, 16], [4, 11, 11]]
    assert reach.tolist() == [1.0, 2 * 3 + 1, 2 * 5 + 1]


def test_points_alone_reach_farther_than_points_after_a_box() -> None:
    """The first answer to points alone may have any size; along a cord the reach stays that of other corrections."""
    mask = Mask.of(np.ones((1, 3, 3), dtype=bool), (2, 10, 10))
    first, given = points([(2, 11, 11)]), points([(2, 11, 16), (2, 11, 60)])
    for before, near in ((first, 5 * 3 + 1), (Prompts(first.points, box3d=np.array(mask.box)), 2 * 3 + 1)):
        hints = Hints.of(Request("key", (Turn(before), Turn(given)), mask), (5.0, 1.0, 1.0), 1.0, 12.0)
        assert hints.contradictions[1].tolist() == [near, 2 * 2 * 12 + 1]


def test_what_a_correction_leaves_open() -> None:
    mask = Mask.of(np.ones((1, 8, 8), dtype=bool), (0, 0, 0))
    given = points([(0, 4, 12)])
    volume = Volume.from_canonical(np.zeros((1, 8, 40), np.float32), (1.0, 1.0, 1.0))
    hints = Hints.of(Request("key", (Turn(box3d(mask.box)), Turn(given)), mask), volume.spacing_mm, 1.0, 12.0)
    frame = hints.frame(volume, 2.0)
    assert frame is not None
    row = hints.labels(frame, hints.zones(frame))[0, 4]
    assert (row[:8] == TARGET).all()
    # 4 mm between them: a seed within 2 mm, open within 9 mm
    assert np.flatnonzero(row == TARGET).tolist() == [*range(8), *range(10, 15)]
    assert np.flatnonzero(row == UNKNOWN).tolist() == [8, 9, *range(15, 22)]
    assert (row[22:] == BACKGROUND).all()


@pytest.mark.parametrize("spacing", [(5.0, 1.0, 1.0), (1.0, 1.0, 1.0), (3.0, 3.0, 1.0)])
def test_speckles_are_the_same_in_all_orders_of_axes(spacing: tuple[float, float, float]) -> None:
    noisy = np.random.default_rng(0).random((8, 9, 10)) > 0.6
    frame = Frame((0, 0, 0, *noisy.shape), noisy.shape, spacing)
    expected = cleaned(noisy, np.full(noisy.shape, UNKNOWN, np.int8), frame.beside)
    assert (expected != noisy).any()
    for z, y, x in permutations(range(3)):
        turned = noisy.transpose(z, y, x)[::-1]
        frame = Frame((0, 0, 0, *turned.shape), turned.shape, (spacing[z], spacing[y], spacing[x]))
        found = cleaned(turned, np.full(turned.shape, UNKNOWN, np.int8), frame.beside)
        np.testing.assert_array_equal(found, expected.transpose(z, y, x)[::-1])


@pytest.mark.parametrize("label", [1, 0])
def test_a_correction_of_a_guess_changes_the_piece_with_its_point_in_one_direction(label: int) -> None:
    """Of a new solution that adds two pieces and removes two."""
    standing, solved = np.zeros((1, 20, 40), dtype=bool), np.zeros((1, 20, 40), dtype=bool)
    standing[0, 4:16, 4:36], solved[0, 2:18, 6:34] = True, True
    volume = Volume.from_canonical(np.zeros(standing.shape, np.float32), (1.0, 1.0, 1.0))
    at = (0, 2, 10) if label else (0, 10, 5)
    hints = Hints.of(
        Request("key", (Turn(Prompts()), Turn(points([at], label=label))), Mask.of(standing)), (1.0,) * 3, 1.0, 12.0
    )
    frame = Frame((0, 0, 0, *standing.shape), volume.shape, volume.spacing_mm)
    expected = standing.copy()
    if label:
        expected[0, 2:4, 6:34] = True
    else:
        expected[0, 4:16, 4:6] = False
    np.testing.assert_array_equal(hints.changed(frame, solved), expected)


def test_a_point_near_the_border_changes_a_quarter_of_an_answer_at_most() -> None:
    standing = np.zeros((1, 20, 60), dtype=bool)
    standing[0, 4:16, 4:16] = True
    hints = Hints.of(
        Request("key", (Turn(Prompts()), Turn(points([(0, 10, 17)]))), Mask.of(standing)), (1.0,) * 3, 1.0, 12.0
    )
    frame = Frame((0, 0, 0, *standing.shape), standing.shape, (1.0, 1.0, 1.0))
    found = hints.changed(frame, np.ones_like(standing))
    assert 0 < (found & ~standing).sum() <= 0.25 * standing.sum() + 8  # cells at the same distance go together
    assert found[0, 10, 17]
    assert not found[0, :, 30:].any()
