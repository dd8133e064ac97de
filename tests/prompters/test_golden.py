"""Initial prompts equal RadioActive's, bit for bit, wherever those are no bugs (tests/golden/README.md)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import intrabench

FILES = sorted((Path(__file__).parents[1] / "golden" / "prompters").glob("*.npz"))


@pytest.fixture(params=FILES, ids=lambda path: path.stem)
def golden(request: pytest.FixtureRequest) -> dict[str, np.ndarray]:
    with np.load(request.param) as arrays:
        return {key: arrays[key] for key in arrays}


def test_all_ten_masks_are_here() -> None:
    assert len(FILES) == 10


@pytest.mark.parametrize("n", [3, 5, 10])
def test_point_interp(golden: dict[str, np.ndarray], n: int) -> None:
    prompts = intrabench.prompter(f"point_interp:n={n}").preview(golden["mask_zyx"])
    assert prompts.points[:, [2, 1, 0, 3]].tolist() == golden[f"pi_{n}_xyzl"].tolist()
    seeds = {tuple(row) for row in golden[f"pi_seeds_{n}_zyx"].tolist()}
    assert {tuple(row) for row in prompts.clicked_points[:, :3].tolist()} == seeds


@pytest.mark.parametrize("n", [3, 5, 10])
def test_box_interp(golden: dict[str, np.ndarray], n: int) -> None:
    prompts = intrabench.prompter(f"box_interp:n={n}").preview(golden["mask_zyx"])
    assert prompts.boxes2d[:, [0, 2, 1, 4, 3]].tolist() == golden[f"bi_{n}"].tolist()
    assert sorted({*prompts.drawn_boxes2d[:, 0]}) == sorted({*golden[f"bi_seeds_{n}"][:, 0]})


def test_box_slice(golden: dict[str, np.ndarray]) -> None:
    found = intrabench.prompter("box_slice").preview(golden["mask_zyx"]).boxes2d
    assert found[:, [0, 2, 1, 4, 3]].tolist() == golden["box_per_slice"].tolist()


def test_box_volume(golden: dict[str, np.ndarray]) -> None:
    found = intrabench.prompter("box_volume").preview(golden["mask_zyx"]).box3d
    low, high = golden["box3d_min_xyz"][::-1], golden["box3d_max_xyz_inclusive"][::-1] + 1
    assert found is not None
    assert found.tolist() == [*low, *high]


@pytest.mark.parametrize("n", [1, 2, 3, 5, 10])
def test_points_volume(golden: dict[str, np.ndarray], n: int) -> None:
    mask = golden["mask_zyx"]
    centre = intrabench.prompter(f"points_volume:n={n}").preview(mask).points
    assert centre[:, [2, 1, 0, 3]].tolist() == golden[f"center_ppv_{n}_xyzl"].tolist()
    drawn = intrabench.prompter(f"points_volume:n={n},placement=random").preview(mask).points
    assert len(drawn) == len(golden[f"ppv_{n}_seed1_zyxl"])
    assert mask[tuple(drawn[:, :3].T)].all()
    assert len({tuple(row) for row in drawn.tolist()}) == len(drawn)
