"""Models of seeds: which seeds prompts become, and what both models do with them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from intrabench.mask import Mask, Region
from intrabench.models.base import Answer, Request
from intrabench.models.graph_cut import GraphCut
from intrabench.models.grow_from_seeds import GrowFromSeeds
from intrabench.models.interval import Interval
from intrabench.models.parts.seeded_model import SeededModel
from intrabench.models.parts.seeds import BACKGROUND, TARGET, UNKNOWN, Hints
from intrabench.prompts import Prompts, Scribble, box3d, boxes, points
from intrabench.turns import Turn
from intrabench.volume import Volume
from tests.models.test_random_walker import ball, dice, tight, tight_slices
from tests.test_orientations import ORDERS, in_order, outcome, scan

ALL = pytest.mark.parametrize("model", [GraphCut(), GrowFromSeeds(), Interval()], ids=lambda model: model.name)


def found(model: SeededModel, volume: Volume, *prompts: Prompts, mask: Mask | None = None) -> Any:
    request = Request("s", tuple(Turn(p) for p in prompts), mask or Mask.empty())
    with model.open(volume) as image:
        [result] = image.segment([request])
    assert isinstance(result, Answer), result
    assert result.valid == Region()
    return result.update.to_array(volume.shape)


def stroke(*voxels: tuple[int, int, int], label: int = 1) -> Prompts:
    return Prompts(scribbles=(Scribble(np.array(voxels), label=label),))


class TestSeeds:
    def seeds(self, *prompts: Prompts, shape: tuple[int, int, int] = (9, 9, 9), **parameters: Any) -> Any:
        model = GraphCut(seed_mm=0, **parameters)
        hints = Hints.of(Request("s", tuple(Turn(one) for one in prompts)), (1.0, 1.0, 1.0), 0.0, model.size_mm)
        scan = Volume.from_canonical(np.zeros(shape, np.float32), (1.0, 1.0, 1.0))
        frame = hints.frame(scan, model.margin_mm)
        assert frame is not None
        return frame.box, hints.labels(frame, hints.zones(frame), model.middle)

    def test_outside_of_a_box_is_background_and_its_middle_is_target(self) -> None:
        _, seeds = self.seeds(box3d((2, 2, 2, 7, 7, 7)))
        assert (seeds[2:7, 2:7, 2:7] != BACKGROUND).all()
        assert (seeds == BACKGROUND).sum() == 9**3 - 5**3
        inside = np.argwhere(seeds == TARGET) - 4  # half of the box: an ellipsoid of 2.5 voxels in diameter
        assert sorted(map(tuple, inside)) == sorted(
            [(0, 0, 0), *[tuple(s * v) for s in (1, -1) for v in np.eye(3, dtype=int)]]
        )

    def test_a_box_of_two_voxels_has_a_middle(self) -> None:
        _, seeds = self.seeds(boxes({4: (3, 3, 5, 5)}))
        assert np.argwhere(seeds == TARGET).tolist() == [[4, 3, 3], [4, 3, 4], [4, 4, 3], [4, 4, 4]]

    def test_points_say_more_than_boxes(self) -> None:
        drawn = Prompts(points=np.array([(4, 4, 4, 0), (0, 4, 4, 1)]))
        _, seeds = self.seeds(box3d((2, 2, 2, 7, 7, 7)), drawn)
        assert seeds[4, 4, 4] == BACKGROUND
        assert (seeds[3:6, 3:6, 3:6] == TARGET).sum() == 0  # the middle of the box, which the negative point is near
        assert (seeds[0, 4, 4], seeds[1, 4, 4]) == (TARGET, UNKNOWN)  # one voxel before the box
        assert seeds[0, 0, 0] == BACKGROUND

    def test_the_middle_yields_to_negative_points_nearby(self) -> None:
        box, negative = box3d((4, 4, 4, 24, 24, 24)), points([(14, 14, 8)], label=0)
        _, seeds = self.seeds(box, negative, shape=(28, 28, 28))
        distance = np.linalg.norm(np.argwhere(seeds == TARGET) - (14, 14, 8), axis=1)
        assert 9 < distance.min() < 10.1  # four voxels from the side of the box: it reaches nine

    def test_without_boxes_the_border_of_the_neighbourhood_is_background(self) -> None:
        box, seeds = self.seeds(points([(3, 10, 10)]), shape=(21, 21, 21), size_mm=2)
        assert box == (0, 4, 4, 10, 17, 17)
        border = np.ones(seeds.shape, dtype=bool)
        border[:-1, 1:-1, 1:-1] = False  # but not where the volume ends
        np.testing.assert_array_equal(seeds == BACKGROUND, border)
        assert np.argwhere(seeds == TARGET).tolist() == [[3, 6, 6]]

    def test_in_a_small_volume_its_own_border_is_background(self) -> None:
        _, seeds = self.seeds(points([(0, 4, 4)]), shape=(1, 9, 9))
        assert (seeds == BACKGROUND).sum() == 81 - 49


@ALL
class TestFinds:
    @pytest.mark.parametrize("prompt", [tight, tight_slices])
    def test_ball_by_boxes(self, model: SeededModel, prompt: Any) -> None:
        volume, target = ball()
        assert dice(found(model, volume, prompt(target)), target) > (0.85 if model.name == "interval" else 0.95)

    @pytest.mark.parametrize("spacing", [(4.0, 1.0, 1.0), (0.8, 2.0, 0.8)])
    def test_ball_in_anisotropic_voxels_by_strokes(self, model: SeededModel, spacing: Any) -> None:
        volume, target = ball(spacing=spacing)
        z, y, x = (round(32 / step) for step in spacing)
        reach = round(7 / spacing[2])
        inside = stroke(*[(z, y, at) for at in range(x - reach, x + reach)])
        assert dice(found(model, volume, inside), target) > (0.8 if model.name == "interval" else 0.9)

    def test_a_negative_stroke_removes_a_leak(self, model: SeededModel) -> None:
        model = replace(model, seed_mm=2.5)  # a stroke as thick as the leak
        volume, target = ball()
        bridge = np.zeros_like(target)
        bridge[30:35, 30:35, 42:58] = True
        before = target | bridge
        leaky = Volume.from_canonical(np.where(bridge, 100, volume.array))
        inside = stroke(*[(32, 32, x) for x in range(26, 38)])
        outside = stroke(*[(32, 32, x) for x in range(44, 58)], label=0)
        after = found(model, leaky, inside, outside, mask=Mask.of(before))
        assert not (after & ~before).any()  # it only takes away
        assert after[bridge].mean() < 0.2
        if model.name == "interval":  # the leak has the values of the target
            assert (before & ~after).sum() <= before.sum() * 0.26
        else:
            assert dice(after, target) > dice(before, target) + 0.03

    def test_points_always_have_their_label(self, model: SeededModel) -> None:
        volume, target = ball()
        clicks = np.array([(32, 32, 32, 0), (32, 32, 33, 1), (20, 20, 20, 1), (30, 30, 30, 0)])
        after = found(model, volume, tight(target), Prompts(points=clicks))
        np.testing.assert_array_equal(after[tuple(clicks[:, :3].T)], clicks[:, 3] == 1)

    def test_a_correction_changes_nothing_far_from_its_point(self, model: SeededModel) -> None:
        volume, target = ball()
        before = target.copy()
        before[:, :, 38:] = False
        after = found(model, volume, tight(target), points([(32, 32, 39)]), mask=Mask.of(before))
        assert after[32, 32, 39]
        assert not (before & ~after).any()  # a positive point only adds
        z, y, x = np.nonzero(after & ~before)
        assert ((z - 32) ** 2 + (y - 32) ** 2 + (x - 39) ** 2).max() <= 3**2  # a voxel between them: twice that, and 1

    def test_nothing_outside_of_the_neighbourhood_matters_or_is_found(self, model: SeededModel) -> None:
        volume, target = ball()
        other = volume.array.copy()
        other[:, :, :8] = 1e6
        answer = found(model, Volume.from_canonical(other), tight(target))
        np.testing.assert_array_equal(answer, found(model, volume, tight(target)))
        drawn = np.zeros(volume.shape, dtype=bool)
        drawn[28:36, 26:40, 26:40] = True
        assert not (found(model, volume, boxes(dict.fromkeys(range(28, 36), (26, 26, 40, 40)))) & ~drawn).any()

    def test_only_negative_points_leave_nothing(self, model: SeededModel) -> None:
        volume, _ = ball()
        assert not found(model, volume, points([(32, 32, 32)], label=0)).any()

    def test_channels_count_as_their_mean(self, model: SeededModel) -> None:
        volume, target = ball()
        colour = Volume.from_canonical(np.repeat(volume.array[..., None], 3, axis=3))
        np.testing.assert_array_equal(found(model, colour, tight(target)), found(model, volume, tight(target)))

    @pytest.mark.parametrize("prompt", [points([(5, 5, 5)]), box3d((2, 2, 2, 9, 9, 9))])
    def test_a_constant_image_gets_an_answer(self, model: SeededModel, prompt: Prompts) -> None:
        assert found(model, Volume.from_canonical(np.full((12, 12, 12), 7, dtype=np.int16)), prompt)[5, 5, 5]

    @pytest.mark.parametrize(
        "prompter",
        ["box_interp:n=3+scribble", pytest.param("point_interp:n=3+click_center", marks=pytest.mark.slow)],
    )
    def test_every_order_of_axes_gives_the_same_rows(self, model: SeededModel, prompter: str) -> None:
        volume, truth = scan()
        expected = outcome(volume, truth, model, prompter, 2)  # fewer rounds if an answer is perfect
        assert {row[0] for row in expected} == {"ok"}
        assert expected[-1][1] > 0.5
        for codes in ORDERS:
            assert outcome(*in_order(volume, truth, codes), model, prompter, 2) == expected, codes


@pytest.mark.parametrize("kind", [GraphCut, GrowFromSeeds])
def test_coarser_cells_still_find_it(kind: type[SeededModel]) -> None:
    volume, target = ball()
    inside = stroke(*[(32, 32, x) for x in range(25, 40)])
    assert dice(found(kind(max_voxels=30_000), volume, inside), target) > 0.8
