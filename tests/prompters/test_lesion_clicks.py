"""The clicks of autoPET IV."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from intrabench.mask import Mask
from intrabench.prompters.lesion_clicks import LesionClicks
from intrabench.prompters.user import User
from intrabench.target import Target
from intrabench.turns import Turn
from intrabench.volume import Volume
from tests.conftest import Said

SHAPE = (12, 20, 20)


def lesions() -> np.ndarray:
    """Two balls: a large one, and a small one."""
    z, y, x = np.indices(SHAPE)
    return ((z - 5) ** 2 + (y - 6) ** 2 + (x - 6) ** 2 <= 9) | ((z - 6) ** 2 + (y - 15) ** 2 + (x - 14) ** 2 <= 4)


def image(channels: int = 0) -> Volume:
    """Bright lesions, and 12 bright voxels in two places beside them: the brightest 0.25 %."""
    pet = np.where(lesions(), 9.0, np.indices(SHAPE).sum(axis=0) / 100)
    pet[1, 2, 10:16] = pet[10, 17, 3:9] = 7
    array = pet if not channels else np.stack([np.zeros(SHAPE), pet], axis=-1)
    volume = Volume.from_canonical(pet)
    return volume if not channels else Volume(array, volume.grid)


def turns(mask: np.ndarray, scan: Volume | None, clicks: int = 10, seed: int = 0) -> list[Turn]:
    target = Target("case", "lesion", 0, Mask.of(mask), SHAPE, (3.0, 1.0, 1.0))
    dialogue = LesionClicks(clicks).interact(User(target, "data", seed, scan))
    found = [next(dialogue)]
    while True:
        try:
            found.append(dialogue.send(Mask.empty()))
        except StopIteration:
            return found


@pytest.mark.parametrize("channels", [0, 2])
def test_centres_then_borders_and_what_else_is_bright(channels: int) -> None:
    first, *given = turns(lesions(), image(channels))
    assert first.waits
    assert len(given) == 10
    rows = np.array([turn.prompts.points for turn in given])
    assert rows[:, :, 3].tolist() == [[1, 0]] * 10
    assert {tuple(row) for row in rows[:2, 0, :3].tolist()} == {(5, 6, 6), (6, 15, 14)}
    truth = lesions()
    inner = truth.copy()
    for axis in range(3):
        for step in (-1, 1):
            inner &= np.roll(truth, step, axis)
    for z, y, x in rows[2:, 0, :3]:
        assert truth[z, y, x]
        assert not inner[z, y, x]
    near = [int((abs(row - np.array([5, 6, 6])) <= 3).all()) for row in rows[2:, 0, :3]]
    assert sum(near) == 4  # one lesion after the other
    assert all(a != b for a, b in pairwise(near))
    bright = {(1, 2, x) for x in range(10, 16)} | {(10, 17, x) for x in range(3, 9)}
    assert {tuple(row) for row in rows[:, 1, :3].tolist()} <= bright
    assert len({row[0] for row in rows[:2, 1, :3].tolist()}) == 2  # both places first
    assert [len(turn.actions) for turn in given] == [2] * 10


def test_seeds_draw_others_and_the_same_again() -> None:
    def places(seed: int) -> list[list[int]]:
        return [turn.prompts.points.tolist() for turn in turns(lesions(), image(), seed=seed)[1:]]

    assert places(1) == places(1)
    assert len({str(places(seed)) for seed in range(4)}) == 4


def test_without_lesions_only_background_is_clicked_and_without_an_image_only_lesions() -> None:
    dark = Volume.from_canonical(np.where(lesions(), 0, image().array))
    healthy = turns(np.zeros(SHAPE, bool), dark)
    assert {label for turn in healthy[1:] for label in turn.prompts.points[:, 3].tolist()} == {0}
    blind = turns(lesions(), None, clicks=3)
    assert [turn.prompts.points[:, 3].tolist() for turn in blind[1:]] == [[1]] * 3


def test_the_protocol(say: Callable[..., Said], tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ("--model", "random_walker", "--dataset", "phantom:shape=16x32x32,instances=3", "--out", str(out))
    said = say("run", "--protocol", "autopet4@1", *words)
    assert said.code == 0, said.err
    rows = pl.read_parquet(out / "rows" / "*.parquet").sort("round")
    assert rows["target"].unique().to_list() == ["blob.0"]
    assert rows["interactions"].to_list() == list(range(0, 21, 2))
    assert {"dice", "dmm", "fpv", "fnv"} <= set(rows.columns)
    assert rows["dice"][0] == 0
    assert rows["dice"][10] > rows["dice"][1] > 0
    table = say("table", "--out", str(out), "--protocol", "autopet4@1", "--metric", "autopet5_auc:last=10")
    assert (table.code, "10 clicks" in table.out) == (0, True)
