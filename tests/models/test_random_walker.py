"""random_walker: what it must find, what it must not touch, and when it must give up."""

from __future__ import annotations

import numpy as np
import pytest

from intrabench.mask import Mask, Region
from intrabench.models.base import Answer, Failure, Request
from intrabench.models.parts.neighbourhood import Frame
from intrabench.models.parts.seeds import Hints
from intrabench.models.random_walker import RandomWalker
from intrabench.prompts import Prompts, Scribble, box3d, boxes, points
from intrabench.turns import Turn
from intrabench.volume import Volume

ISO = (1.0, 1.0, 1.0)


def distance_mm(centre: tuple[float, ...], shape_mm: float, spacing: tuple[float, ...]) -> np.ndarray:
    axes = [np.arange(round(shape_mm / step)) * step - at for at, step in zip(centre, spacing, strict=True)]
    return np.sqrt(sum(a**2 for a in np.meshgrid(*axes, indexing="ij")))


def ball(
    centre: tuple[float, ...] = (32, 32, 32), spacing: tuple[float, float, float] = ISO, radius: float = 10
) -> tuple[Volume, np.ndarray]:
    """A bright ball in noise, in a cube of 64 mm."""
    target = distance_mm(centre, 64, spacing) < radius
    noise = np.random.default_rng(0).normal(0, 15, target.shape)
    return Volume.from_canonical((100.0 * target + noise).astype(np.float32), spacing), target


def segment(volume: Volume, *prompts: Prompts, mask: Mask | None = None, **parameters: float) -> Answer | Failure:
    request = Request("s", tuple(Turn(p) for p in prompts), mask or Mask.empty())
    with RandomWalker(**parameters).open(volume) as image:  # type: ignore[arg-type]
        [result] = image.segment([request])
    return result


def found(volume: Volume, *prompts: Prompts, mask: Mask | None = None, **parameters: float) -> np.ndarray:
    result = segment(volume, *prompts, mask=mask, **parameters)
    assert isinstance(result, Answer), result
    assert result.valid == Region()
    return result.update.to_array(volume.shape)


def dice(a: np.ndarray, b: np.ndarray) -> float:
    return float(2 * (a & b).sum() / (a.sum() + b.sum()))


def tight(target: np.ndarray) -> Prompts:
    return box3d(Mask.of(target).box)


def tight_slices(target: np.ndarray) -> Prompts:
    mask = Mask.of(target)
    rows = {int(z): mask.slice(int(z)).box for z in mask.occupied_slices}
    return boxes({z: (b[1], b[2], b[4], b[5]) for z, b in rows.items()})


class TestFinds:
    def test_ball_by_a_click(self) -> None:
        volume, target = ball()
        assert dice(found(volume, points([(32, 32, 32)])), target) > 0.9

    @pytest.mark.parametrize("prompt", [tight, tight_slices])
    def test_ball_by_boxes(self, prompt) -> None:  # type: ignore[no-untyped-def]
        volume, target = ball()
        assert dice(found(volume, prompt(target)), target) > 0.95

    @pytest.mark.parametrize("spacing", [(4.0, 1.0, 1.0), (1.0, 1.0, 2.0), (0.8, 2.0, 0.8)])
    @pytest.mark.parametrize("kind", ["click", "box"])
    def test_ball_in_millimetres_for_anisotropic_voxels(self, spacing: tuple[float, float, float], kind: str) -> None:
        volume, target = ball(spacing=spacing)
        centre = [(round(32 / step)) for step in spacing]
        assert dice(found(volume, points([centre]) if kind == "click" else tight(target)), target) > 0.9

    @pytest.mark.parametrize("kind", ["click", "box"])
    def test_target_at_the_border_of_the_volume(self, kind: str) -> None:
        volume, target = ball(centre=(0, 63, 2))
        assert dice(found(volume, points([(0, 63, 2)]) if kind == "click" else tight(target)), target) > 0.9

    def test_channels_count_as_their_mean(self) -> None:
        volume, target = ball()
        grey = found(volume, tight(target))
        colour = Volume.from_canonical(np.repeat(volume.array[..., None], 3, axis=3))
        np.testing.assert_array_equal(found(colour, tight(target)), grey)

    def test_intensity_unit_and_offset_do_not_matter(self) -> None:
        volume, target = ball()
        scaled = Volume.from_canonical(volume.array.astype(np.float64) * 8 - 1024)
        assert dice(found(scaled, tight(target)), found(volume, tight(target))) > 0.999

    def test_coarser_cells_still_find_it(self) -> None:
        volume, target = ball()
        assert dice(found(volume, points([(32, 32, 32)]), max_voxels=30_000), target) > 0.85


class TestCorrections:
    def test_negative_scribble_removes_a_leak(self) -> None:
        volume, target = ball()
        bridge = np.zeros_like(target)
        bridge[30:35, 30:35, 42:58] = True
        array = np.where(bridge, 100, volume.array)
        leaky = Volume.from_canonical(array)
        before = found(leaky, points([(32, 32, 32)]))
        assert before[bridge].mean() > 0.5
        stroke = Scribble(np.array([(32, 32, x) for x in range(44, 58)]), label=0)
        after = found(leaky, points([(32, 32, 32)]), Prompts(scribbles=(stroke,)), mask=Mask.of(before))
        assert after[bridge].mean() < 0.2
        assert dice(after, target) > max(0.9, dice(before, target))

    def test_positive_click_adds_what_was_missed(self) -> None:
        volume, target = ball()
        half = target.copy()
        half[:, :, 32:] = False
        after = found(volume, points([(32, 32, 28)]), points([(32, 32, 37)]), mask=Mask.of(half))
        assert dice(after, target) > dice(half, target) + 0.1

    def test_a_click_that_agrees_changes_little(self) -> None:
        volume, target = ball()
        after = found(volume, tight(target), points([(32, 32, 34)]), mask=Mask.of(target))
        assert dice(after, target) > 0.97

    def test_previous_mask_is_used(self) -> None:
        volume, target = ball()
        half = target.copy()
        half[:, :, 32:] = False
        turns = points([(32, 32, 28)]), points([(32, 25, 28)])
        whole_after, half_after = (found(volume, *turns, mask=Mask.of(m)) for m in (target, half))
        assert whole_after.sum() > half_after.sum() + 500

    def test_points_always_have_their_label(self) -> None:
        volume, target = ball()
        clicks = np.array([(32, 32, 32, 0), (32, 32, 33, 1), (20, 20, 20, 1), (30, 30, 30, 0)])
        after = found(volume, tight(target), Prompts(points=clicks), mask=Mask.of(target))
        np.testing.assert_array_equal(after[tuple(clicks[:, :3].T)], clicks[:, 3] == 1)

    def test_positive_click_outside_of_the_boxes_wins(self) -> None:
        volume, target = ball()
        cut = boxes(dict.fromkeys(range(22, 43), (20, 20, 45, 32)))
        before = found(volume, cut)
        assert not before[:, :, 32:].any()
        after = found(volume, cut, points([(32, 32, 37)]), mask=Mask.of(before))
        assert dice(after, target) > dice(before, target) + 0.1

    def test_a_new_box_is_looked_at_afresh(self) -> None:
        volume, target = ball()
        wrong = np.zeros_like(target)
        wrong[22:30, 22:30, 22:30] = True
        after = found(volume, box3d((22, 22, 22, 30, 30, 30)), tight(target), mask=Mask.of(wrong))
        np.testing.assert_array_equal(after, found(volume, tight(target)))


class TestBounds:
    def test_nothing_outside_of_the_neighbourhood(self) -> None:
        array = np.zeros((80, 80, 80), dtype=np.float32)
        array[::2] = 100.0
        array[:, 40:] = 100.0
        clicked = np.argwhere(found(Volume.from_canonical(array), points([(40, 60, 40)]), size_mm=4.8))
        assert (np.abs(clicked - (40, 60, 40)) <= 13).all()

    def test_each_of_several_boxes_on_a_slice_keeps_what_lies_in_it(self) -> None:
        volume, target = ball(centre=(32, 40, 40))
        other = distance_mm((32, 12, 22), 64, ISO) < 6
        both = (target | other)[32:33]
        image = Volume.from_canonical(volume.array[32:33] + 100.0 * other[32:33].astype(np.float32), ISO)
        boxed = Prompts(
            boxes2d=np.array(
                [(0, *Mask.of(one[32:33]).box[1:3], *Mask.of(one[32:33]).box[4:]) for one in (target, other)]
            ),
            drawn=np.array([True, True]),
        )
        assert dice(found(image, boxed), both) > 0.95

    def test_nothing_outside_of_the_boxes(self) -> None:
        volume, _ = ball()
        drawn = np.zeros(volume.shape, dtype=bool)
        drawn[28:36, 26:40, 26:40] = True
        assert not (found(volume, boxes(dict.fromkeys(range(28, 36), (26, 26, 40, 40)))) & ~drawn).any()

    def test_voxels_outside_of_the_neighbourhood_do_not_matter(self) -> None:
        volume, target = ball()
        other = volume.array.copy()
        other[:, :, :8] = 1e6
        changed = Volume.from_canonical(other)
        np.testing.assert_array_equal(found(changed, tight(target)), found(volume, tight(target)))

    def test_time_limit(self) -> None:
        volume, _ = ball()
        result = segment(volume, points([(32, 32, 32)]), time_limit_s=0.0)
        assert isinstance(result, Failure)
        assert result.status == "timeout"

    @pytest.mark.parametrize("prompt", [points([(5, 5, 5)]), box3d((2, 2, 2, 9, 9, 9)), points([(5, 5, 5)], label=0)])
    def test_constant_image(self, prompt: Prompts) -> None:
        volume = Volume.from_canonical(np.full((12, 12, 12), 7, dtype=np.int16))
        assert isinstance(segment(volume, prompt), Answer)

    def test_same_request_same_bits(self) -> None:
        volume, target = ball()
        first, second = (found(volume, tight(target)) for _ in range(2))
        np.testing.assert_array_equal(first, second)

    def test_no_prompt_keeps_the_mask(self) -> None:
        volume, target = ball()
        np.testing.assert_array_equal(found(volume, Prompts(), mask=Mask.of(target)), target)

    def test_prompts_outside_of_the_volume(self) -> None:
        volume, _ = ball()
        assert isinstance(segment(volume, points([(32, 32, 32), (99, 32, 32)])), Answer)
        assert not found(volume, box3d((90, 90, 90, 99, 99, 99))).any()


class TestHints:
    def test_later_boxes_replace_earlier_and_gaps_are_bridged(self) -> None:
        turns = (Turn(boxes({1: (0, 0, 9, 9), 4: (2, 3, 5, 7)})), Turn(boxes({1: (1, 4, 3, 6)})))
        blocks = Hints.of(Request("s", turns), ISO, 1.0, 12.0).blocks
        assert blocks.tolist() == [[1, 1, 4, 2, 3, 6], [4, 2, 3, 5, 5, 7], [2, 1, 3, 4, 5, 7]]

    def test_boxes_given_at_once_on_a_slice_all_count(self) -> None:
        two = Prompts(boxes2d=np.array([(1, 0, 0, 3, 3), (1, 5, 5, 9, 9), (3, 1, 1, 2, 2)]))
        turns = (Turn(boxes({1: (0, 0, 20, 20)})), Turn(two))
        blocks = Hints.of(Request("s", turns), ISO, 1.0, 12.0).blocks
        assert blocks.tolist() == [[1, 0, 0, 2, 3, 3], [1, 5, 5, 2, 9, 9], [3, 1, 1, 4, 2, 2], [2, 0, 0, 3, 9, 9]]

    def test_derived_boxes_are_loose(self) -> None:
        blocks = Hints.of(
            Request("s", (Turn(boxes({1: (5, 5, 15, 25), 2: (5, 5, 15, 25)}, drawn=[1])),)), ISO, 1.0, 12.0
        ).blocks
        assert blocks.tolist() == [[1, 5, 5, 2, 15, 25], [2, 4, 3, 3, 16, 27]]

    def test_the_finest_axes_become_coarse_first(self) -> None:
        frame = Frame((0, 0, 0, 10, 100, 100), (10, 100, 100), (5.0, 1.0, 1.0)).coarse(10_000)
        assert frame.factor == (1, 4, 3)

    def test_refine_is_exact_for_linear_values(self) -> None:
        frame = Frame((0, 0, 0, 12, 4, 4), (12, 4, 4), ISO, (3, 1, 2))
        ramp = frame.image(np.broadcast_to(np.arange(12.0)[:, None, None], (12, 4, 4)))
        np.testing.assert_allclose(frame.refine(ramp)[1:-1, 0, 0], np.arange(1.0, 11.0))
