"""Clicks of the published clickers of RITM and RClicks, reproduced from `tests/golden/rclicks`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from intrabench.clickability.base import Clickability
from intrabench.clickability.sampling import group_of
from intrabench.mask import Mask
from intrabench.prompters import clickability
from intrabench.prompters.base import Refinement
from intrabench.prompters.click_deepest import ClickDeepest
from intrabench.prompters.clickability import ClickabilityClick
from intrabench.prompters.user import Clock, User
from intrabench.target import Target
from intrabench.turns import Turn
from tests.conftest import GOLDEN

Predictor = Callable[[list[tuple[int, int, int]]], NDArray[np.bool_]]

SEQUENCES = np.load(GOLDEN / "rclicks" / "clicker_sequences.npz")
STATIC = np.load(GOLDEN / "rclicks" / "clicker_static.npz")
GROUPS = np.load(GOLDEN / "rclicks" / "clicking_groups.npz")


def names(file: Any) -> list[str]:
    return sorted({key.split("/")[0] for key in file.files if "/" in key})


def played(refinement: Refinement, gt: NDArray[np.int8], predict: Predictor, rounds: int) -> list[tuple[int, int, int]]:
    """Clicks ``y, x, label`` on one image; when nothing is wrong any more, those published: (0, 0)."""
    shape = (1, *gt.shape)
    ignore = Mask.of((gt == -1)[None])
    target = Target("image", "object", 1, Mask.of((gt == 1)[None]), shape, (1.0, 1.0, 1.0), ignore)
    given: list[Turn] = []
    clock = Clock()
    user = User(target, clock=clock, given=given, component=refinement.spec)
    clicks: list[tuple[int, int, int]] = []
    for clock.round in range(rounds):
        turn = refinement.correct(user, Mask.of(predict(clicks)[None]))
        if turn is None:
            clicks += [(0, 0, 0)] * (rounds - len(clicks))
            break
        given.append(turn)
        _, y, x, label = turn.prompts.points[0]
        clicks.append((int(y), int(x), int(label)))
    return clicks


def discs(shape: tuple[int, int]) -> Predictor:
    """The predictor of the golden data: a disc per click, smaller and smaller, later ones on top of earlier ones."""
    rows, columns = np.ogrid[: shape[0], : shape[1]]

    def predict(clicks: list[tuple[int, int, int]]) -> NDArray[np.bool_]:
        found = np.zeros(shape, bool)
        for number, (y, x, positive) in enumerate(clicks):
            size = sum(shape) // 12 - number // 2 if positive else sum(shape) // 20 - number // 3
            found[(rows - y) ** 2 + (columns - x) ** 2 <= max(2, size) ** 2] = positive
        return found

    return predict


@pytest.mark.parametrize("name", names(SEQUENCES))
def test_the_baseline_clicker(name: str) -> None:
    gt = SEQUENCES[f"{name}/gt"]
    found = played(ClickDeepest(), gt, discs(gt.shape), 20)
    assert found == [tuple(row) for row in SEQUENCES[f"{name}/ritm_clicks"].tolist()]


@pytest.mark.parametrize("name", names(STATIC))
def test_the_baseline_clicker_while_nothing_changes(name: str) -> None:
    pred = STATIC[f"{name}/pred"].astype(bool)
    found = played(ClickDeepest(), STATIC[f"{name}/gt"], lambda clicks: pred, 6)
    assert found == [tuple(row) for row in STATIC[f"{name}/ritm_clicks"].tolist()]


class Stored(Clickability):
    """Gives the same map whatever it is shown."""

    name = "stored"
    looks = True

    def __init__(self, map: NDArray[np.float32]) -> None:
        self.map = map

    def probability(self, image: Any, target: Any, error: Any, spacing_mm: Any = (1.0, 1.0)) -> NDArray[np.float32]:
        return self.map.copy()


@pytest.fixture
def stored(monkeypatch: pytest.MonkeyPatch) -> Callable[[NDArray[np.float32]], None]:
    """Make a map the only clickability model."""
    monkeypatch.setattr(clickability, "_rgb", lambda user, z: None)
    return lambda map: monkeypatch.setattr(clickability, "click_model", lambda spec: Stored(map))


TRAJECTORIES = sorted(key.rpartition("/")[0] for key in GROUPS.files if key.endswith("/clicks"))


@pytest.mark.parametrize("name", TRAJECTORIES)
def test_the_published_trajectories(
    name: str, stored: Callable[[NDArray[np.float32]], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    case, tag = name.split("/")
    gt = GROUPS[f"{case}/gt"]
    stored(GROUPS[f"{case}/prob_map"])
    low, high = (float(bound) for bound in tag.split("_")[1:])
    if case.endswith(("__dt", "__zero_on_object")):  # no number is taken where the map is 0 on all of the error
        numbers = iter(GROUPS["random_sample_seed42_first40"])
        monkeypatch.setattr(ClickabilityClick, "_uniform", lambda self, user: next(numbers))
    group = "all" if (low, high) == (0, 1) else str(round(high * 10))
    clicks = played(
        ClickabilityClick(model="stored", group=group, mass="single", draws="published"), gt, discs(gt.shape), 20
    )
    assert clicks == [tuple(row) for row in GROUPS[f"{name}/clicks"].tolist()]


@pytest.mark.parametrize("name", [name for name in TRAJECTORIES if not name.endswith("G_0.0_1.0")])
def test_the_published_groups(name: str) -> None:
    case, tag = name.split("/")
    gt = GROUPS[f"{case}/gt"] == 1
    kept = group_of(GROUPS[f"{case}/prob_map"] * gt, round(float(tag.split("_")[2]) * 10), "single", gt.size)
    support = np.unpackbits(GROUPS[f"{name}/round1_support_packbits"], count=gt.size).reshape(gt.shape)
    if kept.any():  # else it is of the baseline's distances
        np.testing.assert_array_equal(kept > 0, support)
