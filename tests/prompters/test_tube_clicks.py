"""The clicks of ToothFairy3: equal to those of the published program, number by number."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from intrabench.mask import Mask
from intrabench.prompters.tube_clicks import ALONG, ASIDE, END, TubeClicks, places_along
from intrabench.prompters.user import User
from intrabench.target import Target
from intrabench.turns import Turn
from intrabench.volume import Volume

GOLDEN = Path(__file__).parents[1] / "golden" / "toothfairy3"
RUNS = json.loads((GOLDEN / "clicks.json").read_text())


def tube(name: str) -> np.ndarray:
    with np.load(GOLDEN / "tubes.npz") as stored:
        return np.asarray(stored[name])


class Recorded:
    """Gives the numbers that the published program drew, if they are asked for in the same order and limits."""

    def __init__(self, draws: list[Any]) -> None:
        self.left = [(low, high, number) for low, high, numbers in draws for number in numbers]

    def integers(self, low: int, high: int | None = None, size: int | None = None) -> Any:
        numbers, self.left = self.left[: size or 1], self.left[size or 1 :]
        limits = (0, low) if high is None else (low, high)
        assert {limits} == {(least, most) for least, most, _ in numbers}
        return np.array([number for _, _, number in numbers]) if size else numbers[0][2]


@pytest.mark.parametrize("run", RUNS, ids=[f"{number}-{run['mask']}" for number, run in enumerate(RUNS)])
def test_they_are_those_of_the_published_program(run: dict[str, Any]) -> None:
    drawn: Any = Recorded(run["draws"])
    assert places_along(Mask.of(tube(run["mask"])), 5, drawn).tolist() == run["clicks"]
    assert not drawn.left


def test_the_recorded_runs_have_all_branches() -> None:
    assert sum(run["uniform"] for run in RUNS) >= 5, "any voxel of a slice, after ten tries"
    short = [run for run in RUNS if run["mask"] == "short" and run["draws"][0][2][0] > run["draws"][1][2][0]]
    assert short, "a tube that is shorter than its ends are moved"


def turns(mask: np.ndarray, spec: TubeClicks, seed: int = 0, scan: Volume | None = None) -> list[Turn]:
    shape = (mask.shape[0], mask.shape[1], mask.shape[2])
    target = Target("case", "canal", 1, Mask.of(mask), shape, (1.0, 1.0, 1.0))
    dialogue, found = spec.interact(User(target, "data", seed, scan)), list[Turn]()
    try:
        found.append(next(dialogue))
        while True:
            found.append(dialogue.send(Mask.of(mask)))  # a perfect answer changes nothing
    except StopIteration:
        return found


@given(seed=st.integers(0, 2**32), name=st.sampled_from(["curved", "thin", "interrupted"]))
def test_they_lie_along_the_tube_and_on_it(seed: int, name: str) -> None:
    mask = tube(name)
    first, *given = turns(mask, TubeClicks(), seed)
    assert first.waits
    rows = np.array([turn.prompts.points[0] for turn in given])
    assert rows[:, 3].tolist() == [1] * 5
    assert mask[tuple(rows[:, :3].T)].all()
    there = np.flatnonzero(mask.any(axis=(1, 2)))
    assert there[0] <= rows[0, 0] <= there[0] + END
    assert there[-1] - END <= rows[-1, 0] <= there[-1]
    gap = int(np.diff(there).max())
    even = np.linspace(rows[0, 0], rows[-1, 0], 5)
    assert (abs(rows[:, 0] - even) <= ALONG + gap).all()
    for z, y, x in rows[:, :3]:
        middle = np.median(np.argwhere(mask[z]), axis=0)
        assert name == "thin" or (abs(np.array([y, x]) - middle) <= ASIDE + 0.5).all()


def test_other_seeds_click_elsewhere_and_an_empty_target_gets_none() -> None:
    found = [[turn.prompts.points.tolist() for turn in turns(tube("curved"), TubeClicks(), seed)] for seed in (0, 0, 1)]
    assert found[0] == found[1] != found[2]
    empty = turns(np.zeros((4, 5, 6), bool), TubeClicks())
    assert [turn.waits for turn in empty] == [True] * 6
    assert len(turns(tube("curved"), TubeClicks(clicks=2))) == 3


@pytest.mark.parametrize("codes", ["LPS", "SRA"])
def test_slices_are_those_of_the_file_or_axial(codes: str) -> None:
    """Of the same scan, whatever the order of its axes; as published, the file decides."""
    mask = tube("curved")
    affine = nib.orientations.inv_ornt_aff(nib.orientations.axcodes2ornt(tuple(codes)), (1, 1, 1))[:3, :3].T
    whole = np.eye(4)
    whole[:3, :3] = affine
    scan = Volume.from_file_order(mask.transpose(2, 1, 0).astype(np.uint8), whole)
    truth = scan.array > 0
    rows = [turn.prompts.points[0, :3] for turn in turns(truth, TubeClicks(axes="file"), 0, scan)[1:]]
    matrix = np.linalg.inv(scan.grid.affine) @ scan.affine
    in_file = np.rint(nib.affines.apply_affine(matrix, np.array(rows))).astype(int)[:, ::-1]
    user = User(Target("case", "canal", 1, Mask.of(truth), truth.shape, (1.0, 1.0, 1.0)), "data", 0)
    assert in_file.tolist() == places_along(Mask.of(mask), 5, user.rng("places")).tolist()
    axial = [turn.prompts.points[0, :3].tolist() for turn in turns(truth, TubeClicks(), 0, scan)[1:]]
    assert axial == places_along(Mask.of(truth), 5, user.rng("places")).tolist()
