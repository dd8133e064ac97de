"""An imperfect hand."""

from __future__ import annotations

import numpy as np
import pytest

import intrabench
from intrabench.mask import Mask
from intrabench.prompters.base import User
from intrabench.prompters.hand import Hand
from intrabench.prompts import STROKES, Prompts, Stroke
from intrabench.target import Target
from intrabench.turns import Turn

SPACING = (3.0, 0.5, 1.0)


def given(spec: str, truth: np.ndarray, seed: int = 0) -> Prompts:
    return intrabench.prompter(spec).preview(truth, SPACING, seed)


def test_clicks_land_beside_by_millimetres_in_their_slice(ball: np.ndarray) -> None:
    steady = given("center_slice", ball).points
    moves = np.array([given("center_slice+hand:jitter_mm=1", ball, s).points - steady for s in range(60)])
    assert not moves[:, :, [0, 3]].any()
    assert moves[:, :, 1].std() == pytest.approx(2.0, rel=0.1)  # 1 mm is 2 voxels along y
    assert moves[:, :, 2].std() == pytest.approx(1.0, rel=0.1)


def test_derived_prompts_move_along_with_those_of_the_hand(ball: np.ndarray) -> None:
    for seed in range(20):
        prompts = given("point_interp:n=2+hand:jitter_mm=2", ball, seed)
        steady = given("point_interp:n=2", ball).points
        moves = (prompts.points - steady)[:, 1:3]
        z = steady[:, 0]
        ends = z[[0, -1]]
        expected = np.column_stack([np.interp(z, ends, moves[[0, -1], axis]) for axis in (0, 1)])
        assert np.abs(moves - expected).max() <= 1  # rounded twice
        boxes = given("box_interp:n=2+hand:jitter_mm=2", ball, seed).boxes2d
        assert (boxes[:, 3:] > boxes[:, 1:3]).all()


def test_the_share_of_clicks_with_the_wrong_sign(ball: np.ndarray) -> None:
    labels = np.array([given("center_slice+hand:miss_rate=0.2", ball, seed).points[:, 3] for seed in range(100)])
    assert (labels == 0).mean() == pytest.approx(0.2, abs=0.035)
    assert (given("center_slice+hand:miss_rate=1", ball).points[:, 3] == 0).all()


def test_slack_makes_boxes_larger_by_a_share_of_their_size(ball: np.ndarray) -> None:
    tight, loose = given("box_slice", ball).boxes2d, given("box_slice+hand:box_slack=0.25", ball).boxes2d
    size = tight[:, 3:] - tight[:, 1:3]
    assert loose[:, 1:3].tolist() == np.rint(tight[:, 1:3] - 0.25 * size).clip(0).tolist()
    assert loose[:, 3:].tolist() == np.minimum(np.rint(tight[:, 3:] + 0.25 * size), ball.shape[1:]).tolist()
    box, larger = given("box_volume", ball).box3d, given("box_volume+hand:box_slack=0.25", ball).box3d
    assert larger is not None
    assert box is not None
    assert larger.tolist() == [0, 3, 6, 19, 22, 25]  # 13 voxels and 3.25 on each side, rounded; z begins at 3


def test_strokes_of_each_kind_keep_their_shape_and_move_by_themselves(ball: np.ndarray) -> None:
    target = Target("case", "ball", 1, Mask.of(ball), ball.shape, SPACING)  # type: ignore[arg-type]
    y, x = (n // 2 for n in ball.shape[1:])
    rows = np.array([(2, y, x), (2, y, x + 1), (2, y + 1, x + 1)])

    def shifts(drawn: list[Stroke]) -> list[list[int]]:
        moved = Hand(jitter_mm=1.0).move(Turn(Prompts().with_strokes(drawn)), User(target, seed=3)).prompts.strokes
        found = [np.unique(one.points - rows, axis=0).tolist() for one in moved]
        assert [type(one) for one in moved] == [type(one) for one in drawn]
        assert all(len(each) == 1 for each in found)
        return [each[0] for each in found]

    two = shifts([stroke(rows) for stroke in STROKES.values() for _ in range(2)])
    assert all(z == 0 and (dy, dx) != (0, 0) for z, dy, dx in two)
    assert len({tuple(shift) for shift in two}) == len(two)
    for number, stroke in enumerate(STROKES.values()):  # and those of other kinds change nothing
        assert shifts([stroke(rows), stroke(rows)]) == two[2 * number : 2 * number + 2]


def test_everything_stays_in_the_volume(ball: np.ndarray) -> None:
    for spec in ("center_slice", "box_slice", "box_volume", "point_interp", "points_slice:n=4,negatives=true"):
        for seed in range(10):
            prompts = given(f"{spec}+hand:jitter_mm=20,box_slack=2", ball, seed)
            points, boxes = prompts.points[:, :3], prompts.boxes2d
            assert (points >= 0).all()
            assert (points < ball.shape).all()
            assert (boxes[:, 1:3] >= 0).all()
            assert (boxes[:, 3:] <= ball.shape[1:]).all()
            assert (boxes[:, 1:3] < boxes[:, 3:]).all()
            if prompts.box3d is not None:
                assert (prompts.box3d[:3] < prompts.box3d[3:]).all()
                assert (prompts.box3d[3:] <= ball.shape).all()


def test_one_trait_of_the_hand_does_not_change_the_draws_of_another(ball: np.ndarray) -> None:
    moved = given("center_slice+hand:jitter_mm=1", ball).points
    both = given("center_slice+hand:jitter_mm=1,miss_rate=1", ball).points
    assert not np.array_equal(moved, both)
    assert both[:, 3].sum() == 0
