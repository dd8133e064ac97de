"""Clicks from models of where people click: in volumes and slices, from nothing and as corrections."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.clickability.named import _click_model, click_model
from intrabench.clickability.uniform import Uniform
from intrabench.errors import IntraBenchError
from intrabench.mask import Mask
from intrabench.prompters.base import Refinement
from intrabench.prompters.click_deepest import ClickDeepest
from intrabench.prompters.clickability import ClickabilityClick, _rgb
from intrabench.prompters.user import Clock, User
from intrabench.prompts import points
from intrabench.registry import registry
from intrabench.target import Target
from intrabench.turns import Turn
from intrabench.volume import Volume
from tests.conftest import make_target

SPACING = (2.0, 0.5, 0.7)


def first(refinement: Refinement, truth: NDArray[np.bool_], answer: NDArray[np.bool_], **more: object) -> list[int]:
    """The click ``z, y, x, label`` of a user who has not clicked before."""
    target = more.pop("target", None) or make_target(truth, SPACING)
    turn = refinement.correct(User(target, component=refinement.spec, **more), Mask.of(answer))  # type: ignore[arg-type]
    assert turn is not None
    return [int(value) for value in turn.prompts.points[0]]


def box(shape: tuple[int, int, int], *bounds: tuple[int, int]) -> NDArray[np.bool_]:
    array = np.zeros(shape, bool)
    array[tuple(slice(*pair) for pair in bounds)] = True
    return array


NOTHING = np.zeros((9, 20, 20), bool)


def test_the_deeper_error_is_clicked_in_millimetres() -> None:
    flat = box(NOTHING.shape, (4, 5), (0, 20), (0, 9))  # deep in its slice, but only one slice thick
    deep = box(NOTHING.shape, (0, 5), (3, 10), (11, 18))
    assert first(ClickDeepest(), flat, deep) == [0, 6, 13, 0]  # both 2.0 mm deep
    assert first(ClickDeepest(space="slice"), flat, box(NOTHING.shape, (4, 5), (3, 5), (11, 18)))[3] == 1


def test_ties_go_to_what_is_too_much() -> None:
    left, right = box(NOTHING.shape, (2, 5), (2, 7), (2, 7)), box(NOTHING.shape, (2, 5), (2, 7), (12, 17))
    assert first(ClickDeepest(), left, right) == [2, 4, 14, 0]
    assert first(ClickDeepest(), left, NOTHING) == [2, 4, 4, 1]


def test_no_voxel_is_clicked_twice_and_then_it_ends() -> None:
    truth = box(NOTHING.shape, (4, 5), (4, 5), (4, 7))
    for refinement in (ClickDeepest(), ClickabilityClick(model="uniform"), ClickabilityClick(group="10")):
        given: list[Turn] = []
        user = User(make_target(truth, SPACING), component="c", given=given)
        while (turn := refinement.correct(user, Mask.empty())) is not None:
            given.append(turn)
        assert sorted(turn.prompts.points[0].tolist() for turn in given) == [[4, 4, x, 1] for x in (4, 5, 6)]
        assert refinement.correct(user, Mask.of(truth)) is None


def test_what_was_clicked_does_not_draw_anybody_to_its_slice() -> None:
    truth = box(NOTHING.shape, (1, 2), (0, 1), (0, 1)) | box(NOTHING.shape, (6, 7), (0, 1), (0, 1))
    for seed in range(20):
        given: list[Turn] = []
        user = User(make_target(truth, SPACING), component="c", given=given, seed=seed)
        while (turn := ClickDeepest(space="slice").correct(user, Mask.empty())) is not None:
            given.append(turn)
        assert sorted(int(turn.prompts.points[0, 0]) for turn in given) == [1, 6]


def test_slices_are_chosen_by_the_area_of_their_errors() -> None:
    truth = box(NOTHING.shape, (1, 2), (0, 10), (0, 9)) | box(NOTHING.shape, (6, 7), (0, 10), (0, 3))
    chosen = [first(ClickDeepest(space="slice"), truth, NOTHING, seed=seed)[0] for seed in range(400)]
    assert set(chosen) == {1, 6}
    assert chosen.count(1) / 400 == pytest.approx(0.75, abs=0.06)


def test_uniform_clicks_are_anywhere_and_distant_ones_deep() -> None:
    truth = box(NOTHING.shape, (4, 5), (0, 20), (0, 5))
    truth[:, 0] = False
    x = {
        spec: np.array([first(ClickabilityClick(model=spec), truth, NOTHING, seed=seed)[2] for seed in range(500)])
        for spec in ("uniform", "distance")
    }
    assert np.bincount(x["uniform"], minlength=5) / 500 == pytest.approx([0.2] * 5, abs=0.06)
    assert (x["distance"] == 4).mean() < 0.13 < 0.2


def test_groups_are_more_and_more_likely_clicks() -> None:
    truth = box(NOTHING.shape, (2, 7), (2, 18), (2, 18))
    depth = ClickabilityClick().map.probability(None, truth, truth, SPACING)
    seen = [
        np.mean([depth[tuple(first(ClickabilityClick(group=str(g)), truth, NOTHING, seed=s)[:3])] for s in range(20)])
        for g in (1, 5, 10)
    ]
    assert seen[0] < seen[1] < seen[2]
    assert seen[2] > 0.9 * depth.max()


def test_where_a_click_falls_does_not_depend_on_what_surrounds_the_error() -> None:
    truth = box((9, 40, 40), (2, 7), (12, 25), (12, 25))
    small = box((9, 40, 40), (2, 7), (14, 25), (12, 25))
    target = make_target(truth, SPACING)
    shifted = Target(target.case, target.label, 1, Mask.of(truth, (0, 100, 100)), (9, 300, 300), SPACING)
    for spec in ("clickability", "clickability:group=2", "clickability:group=2,space=slice", "click_deepest"):
        refinement = registry.make("prompters", spec)
        here = first(refinement, truth, truth & ~small, target=target)
        there = refinement.correct(User(shifted, component=refinement.spec), Mask.of(truth & ~small, (0, 100, 100)))
        assert [here[0], here[1] + 100, here[2] + 100, 1] == there.prompts.points[0].tolist()


def test_an_error_at_the_border_of_the_image_is_deepest_there() -> None:
    distance = registry.make("clickability", "distance")
    corner = box((1, 20, 20), (0, 1), (0, 8), (0, 8))[0]
    found = distance.probability(None, corner, corner)
    assert np.unravel_index(found.argmax(), found.shape) == (0, 0)
    assert first(ClickDeepest(), box((1, 20, 20), (0, 1), (0, 8), (0, 8)), np.zeros((1, 20, 20), bool))[1:3] == [
        3,
        2,
    ]  # 2.0 mm, 2.1 mm


def test_the_paper_clicks_beside_the_error_too() -> None:
    truth = box((1, 100, 100), (0, 1), (40, 50), (40, 50))
    nothing = np.zeros_like(truth)

    class Everywhere(ClickabilityClick):
        @property
        def map(self) -> object:  # type: ignore[override]
            class Ones:
                looks, other_weights = False, ""
                probability = staticmethod(lambda image, target, error, spacing_mm: np.ones(error.shape))

            return Ones()

    inside = {
        definition: np.mean(
            [truth[tuple(first(Everywhere(definition=definition), truth, nothing, seed=s)[:3])] for s in range(200)]  # type: ignore[arg-type]
        )
        for definition in ("code", "paper")
    }
    assert inside["code"] == 1
    assert 0.6 < inside["paper"] < 0.9  # a Gaussian of 1.4 pixels at the sides of a square of 10


def test_published_draws_run_through_the_targets_of_an_image() -> None:
    truth = box((1, 10, 20), (0, 1), (2, 8), (2, 8))

    def pair(*names: tuple[str, int]) -> list[Target]:
        made = [Target("image", label, n, Mask.of(truth), (1, 10, 20), (1.0, 1.0, 1.0)) for label, n in names]
        return [replace(one, siblings=(other.info(),)) for one, other in zip(made, made[::-1], strict=True)]

    targets = pair(("object", 1), ("object", 2))
    refinement = ClickabilityClick(draws="published")
    numbers = np.random.RandomState(42).random_sample(25)
    kidney, liver = pair(("kidney", 1), ("liver", 1))
    for target, round, expected in (
        *((targets[0], 0, 0), (targets[0], 3, 3), (targets[1], 4, 24)),
        *((kidney, 1, 1), (liver, 1, 21)),
    ):
        assert refinement._uniform(User(target, clock=Clock(round))) == numbers[expected]


PLUGIN = """
from intrabench.clickability.saliency import Saliency

class Bright(Saliency):
    "Bright pixels."
    name = "bright"

    def saliency(self, crop):
        return crop.mean(axis=2)
"""


def test_a_model_of_ones_own_looks_at_the_slice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_plugins", {room: {} for room in registry.ROOMS})
    (tmp_path / "bright.py").write_text(PLUGIN)
    registry.add_plugin(tmp_path / "bright.py")
    _click_model.cache_clear()
    scan = np.zeros((3, 16, 16, 3), np.uint8)
    scan[1, 5, 7] = 200
    truth = box((3, 16, 16), (1, 2), (3, 9), (3, 9))
    volume = Volume.from_canonical(scan, SPACING)
    assert first(ClickabilityClick(model="bright"), truth, np.zeros_like(truth), image=volume) == [1, 5, 7, 1]
    dark = Volume.from_canonical(np.zeros_like(scan), SPACING)
    assert truth[tuple(first(ClickabilityClick(model="bright"), truth, np.zeros_like(truth), image=dark)[:3])]


def test_the_model_in_the_docs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_plugins", {room: {} for room in registry.ROOMS})
    text = (Path(__file__).parents[2] / "docs" / "clickability.md").read_text()
    (tmp_path / "of_the_docs.py").write_text(text.split("```python\n")[1].split("```")[0])
    registry.add_plugin(tmp_path / "of_the_docs.py")
    scan = np.zeros((1, 16, 16, 3), np.uint8)
    scan[0, 5, 7], scan[0, 12, 12] = 90, 255
    truth = box((1, 16, 16), (0, 1), (3, 9), (3, 9))
    _click_model.cache_clear()
    given = first(ClickabilityClick(model="bright"), truth, truth & False, image=Volume.from_canonical(scan))
    assert given == [0, 5, 7, 1]
    _click_model.cache_clear()


def test_maps_that_are_none(monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion) -> None:
    truth = box(NOTHING.shape, (2, 7), (2, 9), (2, 9))
    for wrong in (np.nan, -1.0):
        monkeypatch.setattr(
            Uniform, "probability", lambda self, i, t, error, s, wrong=wrong: np.full(error.shape, wrong)
        )
        with pytest.raises(ValueError) as caught:
            first(ClickabilityClick(model="uniform"), truth, NOTHING)
        assert caught == wording


def test_a_folder_called_like_a_model_hides_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "distance").mkdir()
    (tmp_path / "uniform").write_text("")
    _click_model.cache_clear()
    assert [click_model(name).name for name in ("distance", "uniform")] == ["distance", "uniform"]


def test_refinements_that_begin(wording: SnapshotAssertion) -> None:
    for spec in ("click_deepest", "click_center", "click_volume", "clickability:model=uniform"):
        prompts = intrabench.prompter(spec).preview(box(NOTHING.shape, (2, 7), (2, 9), (2, 9)))
        assert prompts.points[:, 3].tolist() == [1]
    assert intrabench.prompter("click_deepest").spec == "click_deepest"
    with pytest.raises(IntraBenchError, match="click_slice cannot begin"):
        intrabench.prompter("click_slice")
    with pytest.raises(IntraBenchError) as caught:
        intrabench.prompter("click_deepest+scribble")
    assert caught == wording
    assert intrabench.prompter("box_slice+click_deepest").spec == "box_slice+click_deepest"


def test_what_cannot_be() -> None:
    for spec, sentence in (
        ("clickability:group=11", "group=11 is not a group; give 1 to 10, or all"),
        ("clickability:model=distanc", "no clickability model 'distanc', did you mean 'distance'"),
        ("clickability:model=none/of.pth", "none/of.pth is not a file"),
        ("clickability:weights=abc", "omit weights=abc"),
    ):
        with pytest.raises(IntraBenchError, match=sentence):
            intrabench.prompter(spec)


def test_all_draw_from_their_own_streams() -> None:
    truth = box(NOTHING.shape, (2, 7), (2, 18), (2, 18))
    found = {
        tuple(first(ClickabilityClick(model="uniform"), truth, NOTHING, **more))
        for more in ({}, {"seed": 1}, {"clock": Clock(1)}, {"dataset": "d"})
    }
    assert len(found) == 4
    assert points([[0, 0, 0]]).points.tolist() == [[0, 0, 0, 1]]


def test_models_of_clicks_see_ct_in_its_window_stated_or_not() -> None:
    image = np.full((2, 40, 40), -1000, np.int16)
    image[:, 5:, 5:] = 40
    for modality in ("", "low-dose CT"):
        volume = replace(Volume.from_canonical(image), modality=modality)
        user = User(make_target(image == 40), "d", 0, volume)
        assert set(np.unique(_rgb(user, 0))) == {0, 127}
    user = User(make_target(image == 40), "d", 0, replace(volume, modality="MR"))
    assert 127 not in _rgb(user, 0)
