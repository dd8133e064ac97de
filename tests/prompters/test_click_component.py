"""The clicks of the CVPR 2025 challenge, and those with their oddities mended; golden traces are in tests/cvpr25."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from scipy import ndimage

import intrabench
from intrabench.mask import Mask
from intrabench.prompters import click_component
from intrabench.prompters.click_component import ClickComponent, deepest_voxel
from intrabench.prompters.user import User
from intrabench.protocols import protocol
from tests.conftest import make_target
from tests.prompters.masks import pairs

UNIT = (1.0, 1.0, 1.0)


def clicked(
    truth: np.ndarray, answer: np.ndarray, spacing_mm: tuple[float, float, float] = UNIT, **how: str
) -> list[int] | None:
    """``z, y, x, label``."""
    turn = ClickComponent(**how).correct(User(make_target(truth, spacing_mm)), Mask.of(answer))  # type: ignore[arg-type]
    return None if turn is None else turn.prompts.points[0].tolist()


@given(pairs)
def test_of_all_wrong_voxels_by_brute_force(pair: tuple[np.ndarray, np.ndarray]) -> None:
    truth, answer = pair
    wrong, structure = truth ^ answer, np.ones((3, 3, 3))
    found = clicked(truth, answer)
    if not wrong.any():
        assert found is None
        return
    pieces, count = ndimage.label(wrong, structure)
    sizes = np.bincount(pieces.ravel(), minlength=count + 1)[1:]
    part = pieces == 1 + int(sizes.argmax())  # SciPy numbers them as they are met in memory
    depth = ndimage.distance_transform_edt(np.pad(part, 1))[1:-1, 1:-1, 1:-1]
    deepest = np.argwhere(depth == depth.max())
    voxel = deepest[np.random.RandomState(42).choice(len(deepest))]
    assert found == [*voxel.tolist(), int(truth[tuple(voxel)])]


def test_missed_and_surplus_voxels_side_by_side() -> None:
    """Together they are larger than the missed block elsewhere, apart they are not."""
    truth, answer = np.zeros((2, 5, 5, 40), bool)
    truth[1:4, 1:4, 0:9] = answer[1:4, 1:4, 9:18] = truth[1:4, 1:4, 25:36] = True
    found = clicked(truth, answer)
    assert found is not None
    assert found[2] < 18
    apart = clicked(truth, answer, error="one_sign")
    assert apart is not None
    assert apart[2] >= 25
    assert apart[3] == 1


@pytest.mark.parametrize(("missed", "surplus", "label"), [(3, 2, 1), (2, 3, 0), (3, 3, 1)])
def test_the_larger_of_both_kinds(missed: int, surplus: int, label: int) -> None:
    truth, answer = np.zeros((2, 3, 3, 20), bool)
    truth[1, 1, 1 : 1 + missed] = answer[1, 1, 12 : 12 + surplus] = True
    found = clicked(truth, answer, error="one_sign")
    assert found is not None
    assert found[3] == label


def test_depth_in_voxels_or_mm() -> None:
    """Slices of 1 mm and pixels of 9 mm: in mm a voxel on the middle slice is deepest, wherever it is in the slice."""
    truth = np.zeros((9, 9, 20), bool)
    truth[1:8, 2:5, 2:18] = truth[3:6, 1:8, 2:9] = True
    empty = np.zeros_like(truth)
    for spacing_mm, how in (((9.0, 1.0, 1.0), "mm"), ((1.0, 9.0, 9.0), "mm"), ((1.0, 9.0, 9.0), "voxel")):
        steps = spacing_mm if how == "mm" else UNIT
        found = clicked(truth, empty, spacing_mm, depth=how)
        assert found is not None
        depth = ndimage.distance_transform_edt(np.pad(truth, 1), steps)[1:-1, 1:-1, 1:-1]
        assert depth[tuple(found[:3])] == depth.max()
    flat = clicked(truth, empty, (1.0, 9.0, 9.0), depth="mm")
    assert flat is not None
    assert flat[0] == 4
    assert flat != clicked(truth, empty, (1.0, 9.0, 9.0))


def test_voxels_of_large_components_are_of_the_component(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(click_component, "LARGEST", 0)
    rng = np.random.default_rng(5)
    for _ in range(20):
        shape = rng.integers(1, 9, 3)
        part = Mask.of(rng.random(shape) < 0.6, rng.integers(0, 5, 3))
        if part.any():
            voxel = deepest_voxel(part, UNIT)
            assert part.array[tuple(voxel - part.start)]


def test_it_is_a_refinement_that_may_begin() -> None:
    truth = np.zeros((4, 6, 6), bool)
    truth[1:3, 2:5, 2:5] = True
    first = next(intrabench.prompter("click_component").interact(User(make_target(truth))))
    assert first.prompts.points[0, 3] == 1
    fixed = protocol("cvpr25-fixed@1").rows[0].prompter
    assert intrabench.prompter(fixed).spec == fixed
    assert intrabench.prompter(protocol("cvpr25@1").rows[0].prompter).joint
