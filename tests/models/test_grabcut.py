"""GrabCut on squares, whose outline anybody can tell: by a box, by points, corrected, and always the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("cv2")

import cv2

from intrabench.errors import IntraBenchError
from intrabench.models.grabcut import GrabCut
from intrabench.prompts import Prompts, boxes, points
from intrabench.registry.registry import make
from intrabench.volume import Volume
from tests.models.stub import answers, item, request

BGD, FGD, PR_BGD, PR_FGD = cv2.GC_BGD, cv2.GC_FGD, cv2.GC_PR_BGD, cv2.GC_PR_FGD
SQUARE = (slice(20, 40), slice(15, 45))
OTHER = (slice(50, 60), slice(50, 60))


def scan(*bright: Any, seed: int = 0) -> np.ndarray:
    """A slice of noise around 100 with parts around 200."""
    array = np.full((64, 70), 100.0)
    for part in bright:
        array[part] = 200
    return (array + np.random.default_rng(seed).normal(0, 8, array.shape)).astype(np.int16)


def truth(*parts: Any) -> np.ndarray:
    mask = np.zeros((64, 70), dtype=bool)
    for part in parts:
        mask[part] = True
    return mask


def segmented(model: GrabCut, array: np.ndarray, *turns: Prompts) -> np.ndarray:
    """The first slice of the answer."""
    volume = Volume.from_canonical(array[None])
    with model.open(volume) as opened:
        (answer,) = answers(opened, [request("a", *turns)])
    return answer.update.to_array(volume.shape)[0]


def test_a_box_finds_the_square_inside() -> None:
    assert np.array_equal(segmented(GrabCut(), scan(SQUARE), boxes({0: (14, 9, 46, 51)})), truth(SQUARE))


def test_what_lies_outside_of_the_box_is_background() -> None:
    found = segmented(GrabCut(), scan(SQUARE, OTHER), boxes({0: (14, 9, 46, 51)}))
    assert np.array_equal(found, truth(SQUARE))


def test_a_point_finds_the_square_around_it() -> None:
    assert np.array_equal(segmented(GrabCut(), scan(SQUARE), points([(0, 30, 30)])), truth(SQUARE))


def test_a_negative_point_takes_a_part_away_and_keeps_the_rest() -> None:
    array = scan(SQUARE)
    array[20:40, 35:45] = scan()[20:40, 35:45] + 60  # looks more like the square than like the background
    box = boxes({0: (14, 9, 46, 51)})
    assert np.array_equal(segmented(GrabCut(), array, box), truth(SQUARE))
    corrected = segmented(GrabCut(radius=4), array, box, points([(0, 30, 40)], label=0))
    taken = truth(SQUARE) & ~corrected
    assert taken[28:33, 38:43].all()
    assert not corrected[~truth(SQUARE)].any()
    assert not taken[:, :30].any()  # beyond the reach of the click


def test_a_correction_goes_on_from_the_last_answer() -> None:
    array, box = scan(SQUARE, OTHER), boxes({0: (14, 9, 46, 51)})
    with GrabCut().open(Volume.from_canonical(array[None])) as opened:
        (first,) = answers(opened, [request("a", box)])
        assert np.array_equal(first.memory[0], truth(SQUARE))
        (second,) = answers(opened, [request("a", box, points([(0, 55, 55)]), memory=first.memory)])
    assert second.update.to_array((1, 64, 70))[0, 55, 55]  # a click outside of the box extends it
    upper = truth((slice(20, 30), slice(15, 45))).astype(np.float32)
    labels = GrabCut().labels(item([(25, 20, 1), (33, 20, 1)], (14, 9, 46, 51), upper, shape=array.shape))
    assert (labels[20:30, 15:45] == FGD).all()  # the last answer, with which the new click agrees
    assert labels[33, 20] == FGD
    assert np.isin(labels[31:36, 19:22], (FGD, PR_FGD)).all()  # three pixels between them: it reaches seven
    assert (labels[42:] == BGD).all()


def test_labels_of_a_first_turn() -> None:
    clicked = GrabCut(radius=1, reach=3).labels(item([(10, 10, 1), (10, 12, 0)], shape=(20, 30)))
    assert clicked[10, 6:16].tolist() == [BGD, PR_FGD, PR_FGD, FGD, FGD, BGD, BGD, BGD, BGD, BGD]
    assert np.count_nonzero(clicked == FGD) == 4  # five, but the later negative point took one
    assert clicked[7, 10] == PR_FGD
    assert clicked[6, 10] == BGD
    boxed = GrabCut(radius=0).labels(item([(0, 0, 1)], (2, 3, 5, 9), shape=(20, 30)))
    assert (boxed[2:5, 3:9] == PR_FGD).all()
    assert boxed[0, 0] == FGD
    assert (boxed[10:] == BGD).all()
    assert (boxed[:, 12:] == BGD).all()


def test_what_was_drawn_before_changes_nothing() -> None:
    masks, drawn = [], []
    for seed in (1, 2):
        cv2.setRNGSeed(seed)
        masks.append(segmented(GrabCut(), scan(SQUARE, OTHER), points([(0, 30, 30)])))
        drawn.append(cv2.randu(np.zeros(3), 0, 1).tolist())  # its own draws began at a seed of its own
    assert np.array_equal(*masks)
    assert drawn[0] == drawn[1]


def test_the_alternation_has_so_many_iterations(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    monkeypatch.setattr(cv2, "grabCut", lambda *given: seen.append(given[5]))
    for iterations in (5, 3):
        segmented(GrabCut(iterations=iterations), scan(SQUARE), points([(0, 30, 30)]))
    assert seen == [5, 3]


def test_colours_count() -> None:
    colours = np.full((64, 70, 3), 100, dtype=np.uint8)
    colours[SQUARE] = (100, 200, 0)  # as bright as its surroundings
    noise = np.random.default_rng(0).integers(-8, 9, colours.shape)
    found = segmented(GrabCut(), (colours + noise).clip(0, 255).astype(np.uint8), boxes({0: (14, 9, 46, 51)}))
    assert np.array_equal(found, truth(SQUARE))


def test_slices_are_windowed_by_the_intensity_policy() -> None:
    volume = Volume.from_canonical(np.array([[[-1000, -160, 240, 3000]]], dtype=np.int16))
    image = make("models", "grabcut:intensity=ct_soft").slice_images(volume)(0)
    assert image.dtype == np.uint8
    assert image.tolist() == [[0, 0, 255, 255]]
    assert GrabCut().encode([image])[0].shape == (1, 4, 3)


@pytest.mark.parametrize(
    ("prompts", "found"), [(boxes({0: (0, 0, 64, 70)}), truth(SQUARE)), (points([(0, 5, 5)], label=0), truth())]
)
def test_a_box_around_everything_and_a_negative_point_alone(prompts: Prompts, found: np.ndarray) -> None:
    assert np.array_equal(segmented(GrabCut(), scan(SQUARE), prompts), found)


def test_constant_slices_are_answered() -> None:
    found = segmented(GrabCut(), np.full((64, 70), -1000, dtype=np.int16), boxes({0: (10, 10, 20, 20)}))
    assert not found[:10].any()
    assert not found[:, 20:].any()


@pytest.mark.parametrize("wrong", ["iterations=0", "radius=-1", "reach=-1"])
def test_what_cannot_be_is_refused(wrong: str) -> None:
    with pytest.raises(IntraBenchError, match="does not fit"):
        make("models", f"grabcut:{wrong}")


def test_each_of_several_boxes_keeps_its_piece_when_one_has_a_point() -> None:
    drawn = np.array([(0, 14, 9, 46, 51), (0, 47, 47, 63, 63)])
    both = Prompts(points=np.array([(0, 30, 30, 1), (0, 5, 5, 0)]), boxes2d=drawn)
    found = segmented(GrabCut(), scan(SQUARE, OTHER), both)
    assert found.reshape(64, 70)[OTHER].mean() > 0.9
    assert found.reshape(64, 70)[SQUARE].mean() > 0.9
