"""Initial prompts equal RadioActive's, bit for bit, wherever those are no bugs (tests/golden/README.md)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import ndimage

import intrabench
from intrabench.mask import Mask
from intrabench.prompters.points_slice import _rings
from intrabench.prompters.scribble import _outline
from intrabench.prompters.slices import tight_box
from intrabench.prompters.user import User
from intrabench.prompts import Prompts
from tests.conftest import make_target

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


def test_box3d_slice(golden: dict[str, np.ndarray]) -> None:
    found = intrabench.prompter("box3d_slice").preview(golden["mask_zyx"]).boxes2d
    assert found[:, [0, 2, 1, 4, 3]].tolist() == golden["box_from_3d"].tolist()


def test_center_slice(golden: dict[str, np.ndarray]) -> None:
    found = intrabench.prompter("center_slice").preview(golden["mask_zyx"]).points
    assert found[:, [2, 1, 0]].tolist() == golden["center_per_slice_xyz"].tolist()


@pytest.mark.parametrize("n", [1, 2, 3, 5, 10])
def test_points_slice_draws_as_many_from_the_same_pixels(golden: dict[str, np.ndarray], n: int) -> None:
    mask, expected = golden["mask_zyx"], golden[f"pps_{n}_seed1_xyzl"]
    found = intrabench.prompter(f"points_slice:n={n}").preview(mask).points
    assert found[:, 0].tolist() == expected[:, 2].tolist()
    assert mask[tuple(found[:, :3].T)].all()
    for z in np.unique(found[:, 0]):
        different = {tuple(row) for row in found[found[:, 0] == z].tolist()}
        assert len(different) == min(n, np.count_nonzero(mask[z]))  # repetitions only where there are too few pixels


@pytest.mark.parametrize("n", [2, 3, 5, 10])
def test_points_slice_with_negatives(golden: dict[str, np.ndarray], n: int) -> None:
    mask, expected = golden["mask_zyx"], golden[f"alt_{n}_seed1_xyzl"].astype(int)
    found = intrabench.prompter(f"points_slice:n={n},negatives=true").preview(mask).points
    assert found[:, [0, 3]].tolist() == expected[:, [2, 3]].tolist()  # positives first, the same numbers per slice
    assert len({tuple(row) for row in found.tolist()}) == len(found)
    rings = _rings(Mask.of(mask), mask.shape).to_array(mask.shape)
    for points in (found[:, :3], expected[:, 2::-1]):
        for (z, y, x), label in zip(points, found[:, 3], strict=True):
            assert mask[z, y, x] if label else rings[z, y, x]
    for z, y, x in np.argwhere(rings):
        nearest = np.sqrt(((np.argwhere(mask[z]) - (y, x)) ** 2).sum(axis=1)).min()
        assert 2 < nearest <= 5


def propagated(spec: str, mask: np.ndarray, answers: np.ndarray) -> Prompts:
    """All prompts against a model that gives `answers[z]` for every prompted z, whatever the prompt."""
    dialogue = intrabench.prompter(spec).interact(User(make_target(mask), component=spec))
    turn, seen, given = next(dialogue), np.zeros_like(answers), []
    try:
        while True:
            given.append(turn.prompts)
            slices = list(turn.prompts.slices())
            seen[slices] = answers[slices]
            turn = dialogue.send(Mask.of(seen))
    except StopIteration:
        rows = [np.vstack([getattr(prompts, name) for prompts in given]) for name in ("points", "boxes2d")]
        return Prompts(*rows)


@pytest.mark.parametrize("model", ["fake", "gtpred"])
def test_point_prop(golden: dict[str, np.ndarray], model: str) -> None:
    mask, z = golden["mask_zyx"], int(golden["median_z"])
    answers = golden["fake_pred_zyx"] if model == "fake" else mask
    found = propagated("point_prop:points=5", mask, answers).points
    count = min(5, np.count_nonzero(mask[z]))
    assert len(golden["prop_seed_points_5_seed1_xyzl"]) == count
    assert found[:count, 0].tolist() == [z] * count
    assert mask[tuple(found[:count, :3].T)].all()
    theirs = {tuple(row) for row in golden[f"pprop_{model}_zyxl_model"].astype(int).tolist() if row[0] != z}
    ours = {tuple(row) for row in found[count:].tolist()}
    assert theirs <= ours
    lost = {row[0] for row in ours - theirs}  # they skip five downward slices, though there were fewer seeds
    assert lost <= set(range(z - (5 - count), z))


@pytest.mark.parametrize("model", ["fake", "gtpred"])
def test_box_prop(golden: dict[str, np.ndarray], model: str) -> None:
    mask, z = golden["mask_zyx"], int(golden["median_z"])
    answers = golden["fake_pred_zyx"] if model == "fake" else mask
    found = {row[0]: row[1:] for row in propagated("box_prop", mask, answers).boxes2d.tolist()}
    theirs = {row[0]: [row[i] for i in (2, 1, 4, 3)] for row in golden[f"bprop_{model}_model"].astype(int).tolist()}
    assert [golden["prop_seed_box"][0][i] for i in (0, 2, 1, 4, 3)] == [z, *found[z]]
    neighbours = {z - 1, z + 1}
    for n in (found.keys() | theirs.keys()) - neighbours:
        assert found.get(n) == theirs.get(n)
    for n in found.keys() & neighbours:  # they reuse the first box there, the paper takes the answer's
        assert found[n] == list(tight_box(Mask.of(answers[z : z + 1])))


def test_positive_scribble(golden: dict[str, np.ndarray]) -> None:
    mask = golden["mask_zyx"].astype(bool)
    turn = intrabench.prompter("box_slice+scribble:one_slice=published").refinement.correct(  # type: ignore[attr-defined]
        User(make_target(mask)), Mask.of(mask & golden["fake_pred_zyx"].astype(bool))
    )
    if len(golden["scribble_pos_zyxl"]) == 0:
        assert turn is None
        return
    (stroke,) = turn.prompts.scribbles
    assert stroke.label == 1
    assert stroke.points.tolist() == golden["scribble_pos_zyxl"][:, :3].tolist()


def test_negative_scribble_follows_the_same_outline(golden: dict[str, np.ndarray]) -> None:
    mask, answer = golden["mask_zyx"].astype(bool), golden["fake_pred_zyx"].astype(bool)
    excess = answer & ~mask
    index = int(golden["scribble_neg_axis1_index"])
    assert int(excess.sum(axis=(0, 2)).argmax()) == index
    if not mask[:, index].any() or (golden["scribble_neg_zyxl"][:, 3] == 1).any():
        return  # a line, or their positive click on a false positive
    near = ndimage.binary_dilation(_outline(mask[:, index]), np.ones((3, 3)))  # theirs runs between pixels
    z, _, x, _ = golden["scribble_neg_zyxl"].astype(int).T
    assert near[z, x].all()


def test_where_they_click_positively_on_a_false_positive_we_click_negatively(golden: dict[str, np.ndarray]) -> None:
    mask = golden["mask_zyx"].astype(bool)
    rim = np.stack([ndimage.binary_dilation(plane) for plane in mask])
    turn = intrabench.prompter("box_slice+scribble:one_slice=published").refinement.correct(  # type: ignore[attr-defined]
        User(make_target(mask)), Mask.of(rim)
    )
    rows = [(*row, 0) for stroke in turn.prompts.scribbles for row in stroke.points.tolist()]
    rows += [tuple(row) for row in turn.prompts.points.tolist()]
    assert rows
    assert {row[3] for row in rows} == {0}
    assert all(rim[row[:3]] and not mask[row[:3]] for row in rows)
    if (golden["scribble_neg_rim_zyxl"][:, 3] == 1).any():
        assert [action.kind for action in turn.actions] in (["click"], ["scribble"])
