"""What holds for every prompter: effort, invariance under orientation, random streams, bad input."""

from __future__ import annotations

import itertools

import nibabel as nib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage
from scipy.spatial import cKDTree

import intrabench
from intrabench.effort import effort_of_round
from intrabench.errors import IntraBenchError
from intrabench.mask import Mask
from intrabench.prompters.slices import component_centre, median_slice, seed_slices
from intrabench.prompters.user import Clock, User
from intrabench.registry import registry
from intrabench.volume import Volume
from tests.conftest import make_target
from tests.prompters.masks import targets

SPECS = [
    "box_slice",
    "box_interp:n=3",
    "point_interp:n=3",
    "points_volume:n=1,placement=center",
    "points_volume:n=4,placement=random",
    "box_volume",
    "box3d_slice",
    "center_slice",
    "points_slice:n=2",
    "points_slice:n=3,negatives=true",
    "box_interp:n=3,jitter_px=1",
    "box_interp:n=3,ends=0.2",
    "point_interp:n=3,ends=0.2",
    "box_slice:boxes=components",
    "points_volume:n=4,placement=random,together=false",
    "points_slice:n=3,negatives=true,together=false",
    "box_volume:jitter_mm=2",
    "box_middle",
    "click_deepest",
    "click_component",
    "clickability:group=2",
    "davis",
    "davis_slices",
    "recist",
]
PROPAGATED = ["point_prop:points=5", "box_prop"]
CORRECTIONS = (
    "scribble",
    "click_slice",
    "click_volume",
    "click_center",
    "click_deepest",
    "click_component",
    "clickability",
    "davis_slices",
    "autopet:style=boundary",
)
REFINED = [f"box_interp:n=3+{name}" for name in CORRECTIONS]
HAND = "box_interp:n=3+hand:jitter_mm=1.5,box_slack=0.1"


def first_turn(spec: str, array: np.ndarray, **user: object):  # type: ignore[no-untyped-def]
    prompter = intrabench.prompter(spec)
    return next(prompter.interact(User(make_target(array), component=prompter.spec, **user)))  # type: ignore[arg-type]


def test_every_built_in_prompter_is_tested_here() -> None:
    parts = [part for spec in (*SPECS, *PROPAGATED, *REFINED, HAND) for part in spec.split("+")]
    # they need an image, people, give nothing, or draw around the target: test_oracle.py, test_people.py,
    # test_partition.py, test_nothing.py, test_autopet.py, test_lesion_clicks.py, test_name.py, test_tube_clicks.py
    others = {"oracle", "partition", "human", "recorded", "nothing", "autopet_start", "lesion_clicks", "name"}
    others |= {"tube_clicks"}
    assert {part.partition(":")[0] for part in parts} | others == set(registry.entries("prompters"))


@pytest.mark.parametrize(
    ("spec", "interactions", "dof"),
    [
        ("box_slice", 26, 65),
        ("box_interp:n=3", 6, 15),
        ("box_interp:n=1", 2, 5),
        ("point_interp:n=3", 3, 9),
        ("points_volume:n=2", 2, 6),
        ("box_volume", 3, 6),
        ("box_middle", 3, 6),
        ("box3d_slice", 3, 6),
        ("center_slice", 13, 39),
        ("points_slice:n=2", 26, 78),
        ("points_slice:n=3,negatives=true", 37, 111),  # the two outermost slices have one pixel, so one point less each
        ("point_prop:points=5", 7, 17),
        ("box_prop", 4, 7),
        ("recist", 3, 5),
        (HAND, 6, 15),
    ],
)
def test_effort_of_a_ball_on_13_slices(ball: np.ndarray, spec: str, interactions: float, dof: float) -> None:
    effort = effort_of_round(first_turn(spec, ball).actions)
    assert (effort.interactions, effort.dof) == (interactions, dof)


def test_fewer_slices_than_asked_for_cost_less(ball: np.ndarray) -> None:
    thin = ball.copy()
    thin[10:] = thin[:8] = False
    assert effort_of_round(first_turn("box_interp:n=3", thin).actions).interactions == 4
    assert effort_of_round(first_turn("point_interp:n=10", thin).actions).interactions == 2


def test_interpolation_by_hand() -> None:
    array = np.zeros((9, 12, 12), dtype=bool)
    array[1, 2:4, 2:4] = array[7, 5:11, 2:8] = True
    prompts = intrabench.prompter("box_interp:n=2").preview(array)
    assert prompts.boxes2d.tolist() == [
        [1, 2, 2, 4, 4],
        [2, 2, 2, 5, 5],  # 2.5 rounds to even
        [3, 3, 2, 6, 5],
        [4, 4, 2, 8, 6],  # 3.5 and 7.5 round to even
        [5, 4, 2, 9, 7],
        [6, 4, 2, 10, 7],
        [7, 5, 2, 11, 8],
    ]
    assert prompts.drawn is not None
    assert prompts.drawn.tolist() == [True, *[False] * 5, True]


def test_rounding_can_close_a_box_as_published() -> None:
    array = np.zeros((4, 14, 14), dtype=bool)
    array[1, 11, 11] = array[3, 12, 12] = True
    middle = intrabench.prompter("box_interp:n=2").preview(array).boxes2d[1]
    assert middle.tolist() == [2, 12, 12, 12, 12]  # 11.5 and 12.5 both round to 12


def test_seed_slices_in_gaps_go_to_the_nearest_foreground_ties_to_the_lower() -> None:
    array = np.zeros((31, 3, 3), dtype=bool)
    array[[10, 14, 30], 1, 1] = True
    assert seed_slices(make_target(array).mask, 3).tolist() == [10, 14, 30]
    array[26, 1, 1] = True
    assert seed_slices(make_target(array).mask, 3).tolist() == [10, 14, 30]


@pytest.mark.parametrize(
    ("n", "ends", "drawn"),
    [
        (3, 0.0, [3, 9, 15]),
        (3, 0.1, [4, 9, 14]),
        (2, 0.25, [6, 12]),
        (5, 0.4, [8, 9, 10]),
        (1, 0.5, [9]),
    ],
)
def test_ends_stay_free(ball: np.ndarray, n: int, ends: float, drawn: list[int]) -> None:
    assert seed_slices(make_target(ball).mask, n, ends).tolist() == drawn
    for name in ("box_interp", "point_interp"):
        prompts = intrabench.prompter(f"{name}:n={n},ends={ends}").preview(ball)
        by_hand = prompts.by_hand
        assert by_hand.slices() == tuple(drawn)
        assert prompts.slices() == tuple(range(drawn[0], drawn[-1] + 1))  # nothing is derived beyond what was drawn
        cost = effort_of_round(first_turn(f"{name}:n={n},ends={ends}", ball).actions).interactions
        assert cost == len(drawn) * (2 if name == "box_interp" else 1)


def test_without_foreground_between_the_ends_none_stay_free() -> None:
    array = np.zeros((20, 3, 3), dtype=bool)
    array[[2, 3, 18, 19], 1, 1] = True
    assert seed_slices(make_target(array).mask, 2, 0.3).tolist() == [2, 19]


def test_each_part_of_a_slice_has_a_box_and_costs_one() -> None:
    array = np.zeros((5, 12, 12), dtype=bool)
    array[1, 2:4, 2:4] = array[1, 6:11, 5:8] = array[2, 2:4, 2:4] = array[2, 4, 4] = True  # in 2 they touch at a corner
    turn = first_turn("box_slice:boxes=components", array)
    assert turn.prompts.boxes2d.tolist() == [[1, 2, 2, 4, 4], [1, 6, 5, 11, 8], [2, 2, 2, 5, 5]]
    assert effort_of_round(turn.actions).interactions == 6
    assert first_turn("box_slice", array).prompts.boxes2d.tolist() == [[1, 2, 2, 11, 8], [2, 2, 2, 5, 5]]


@pytest.mark.parametrize(
    ("spec", "turns"),
    [
        ("points_volume:n=4,placement=random", 4),
        ("points_volume:n=3", 3),
        ("points_slice:n=3,negatives=true", 3),
    ],
)
def test_points_one_by_one_are_those_that_are_given_together(ball: np.ndarray, spec: str, turns: int) -> None:
    prompter = intrabench.prompter(f"{spec},together=false")
    together = first_turn(spec, ball, seed=3)
    apart = list(prompter.interact(User(make_target(ball), seed=3, component=prompter.spec)))
    assert len(apart) == turns == prompter.rounds + 1
    assert intrabench.prompter(f"{spec},together=false+scribble").rounds == prompter.rounds
    rows = np.vstack([turn.prompts.points for turn in apart]).tolist()
    assert sorted(rows) == sorted(together.prompts.points.tolist())
    if spec.startswith("points_slice"):
        assert all(len(set(turn.prompts.points[:, 0].tolist())) == len(turn.prompts.points) for turn in apart)
    for unit in ("interactions", "dof"):
        costs = [getattr(effort_of_round(turn.actions), unit) for turn in apart]
        assert sum(costs) == getattr(effort_of_round(together.actions), unit)


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("shape", ["one voxel", "one slice"])
def test_tiny_targets(spec: str, shape: str) -> None:
    array = np.zeros((6, 7, 8), dtype=bool)
    array[3, 4, 5] = True
    if shape == "one slice":
        array[3, 2:6, 1:7] = True
    prompts = intrabench.prompter(spec).preview(array)
    assert prompts.slices() == ((3,) if prompts.box3d is None else ())
    for z, y, x, label in prompts.points.tolist():
        assert array[z, y, x] == label
    assert 1 in prompts.points[:, 3] or len(prompts.points) == 0


def test_a_box_that_jitters_moves_by_no_more_than_asked_for(ball: np.ndarray) -> None:
    steady = intrabench.prompter("box_interp:n=3").preview(ball).drawn_boxes2d
    seen = [intrabench.prompter("box_interp:n=3,jitter_px=2").preview(ball, seed=s).drawn_boxes2d for s in range(40)]
    moves = np.array(seen)[:, :, 1:] - steady[:, 1:]
    assert {*moves[:, 1].ravel()} == {-2, -1, 0, 1, 2}  # the middle box is far from every border
    assert (np.array(seen)[:, :, 0] == steady[:, 0]).all()
    faces = [intrabench.prompter("box_volume:jitter_mm=3").preview(ball, (3, 1, 1), seed=s).box3d for s in range(200)]
    spread = np.std(np.array(faces) - intrabench.prompter("box_volume").preview(ball).box3d, axis=0)
    assert spread == pytest.approx([1.04, 3, 3, 1.04, 3, 3], rel=0.2)  # in voxels of 3 x 1 x 1 mm


ORDERS = ["".join(codes) for order in itertools.permutations(("RL", "AP", "SI")) for codes in itertools.product(*order)]
SOME = ["LPS", "RSA", "IAL"]
"""As DICOM has it; one whose axes change places, one that is turned as well. In each an axis is mirrored."""
some_orders = pytest.mark.parametrize(
    "orders", [SOME, pytest.param(ORDERS, marks=pytest.mark.slow)], ids=["some", "all"]
)


@some_orders
@pytest.mark.parametrize("spec", [*SPECS, *PROPAGATED, HAND])
def test_axis_orders_give_the_same_prompts(spec: str, orders: list[str], ball: np.ndarray) -> None:
    ball[3:12, 2:9, 4:20] |= np.random.default_rng(0).random((9, 7, 16)) > 0.8
    scan = Volume.from_canonical(ball.astype(np.uint8), (2.0, 0.5, 0.7))
    expected = intrabench.prompter(spec).preview(ball, scan.spacing_mm).to_json()
    start = nib.orientations.axcodes2ornt(("S", "A", "R"))
    for codes in orders:
        step = nib.orientations.ornt_transform(start, nib.orientations.axcodes2ornt(tuple(codes)))
        array = nib.orientations.apply_orientation(scan.array, step)
        volume = Volume.from_file_order(array, scan.affine @ nib.orientations.inv_ornt_aff(step, scan.shape))
        assert intrabench.prompter(spec).preview(volume.array, volume.spacing_mm).to_json() == expected, codes


def test_random_streams_depend_on_identity_and_nothing_else(ball: np.ndarray) -> None:
    spec = "points_volume:n=5,placement=random"
    first = first_turn(spec, ball, dataset="d", seed=1).prompts.points.tolist()
    np.random.default_rng().random(100)
    assert first_turn(spec, ball, dataset="d", seed=1).prompts.points.tolist() == first
    assert first_turn(spec, ball, dataset="d", seed=2).prompts.points.tolist() != first
    assert first_turn(spec, ball, dataset="e", seed=1).prompts.points.tolist() != first
    assert first_turn(spec, ball, dataset="d", seed=1, clock=Clock(3)).prompts.points.tolist() != first


@given(st.integers(0, 2**32 - 1), st.integers(1, 12))
def test_random_points_lie_in_the_target(seed: int, n: int) -> None:
    array = np.random.default_rng(seed).random((4, 5, 6)) > 0.7
    if array.any():
        rows = intrabench.prompter(f"points_volume:n={n},placement=random").preview(array, seed=seed).points
        assert len(rows) == min(n, array.sum())
        assert array[tuple(rows[:, :3].T)].all()


def test_bad_input() -> None:
    with pytest.raises(ValueError, match="at least one voxel"):
        intrabench.prompter("box_slice").preview(np.zeros((3, 3, 3)))
    for spec, words in (("box_interp:n=0", "whole number from 1"), ("box_intrep", "did you mean 'box_interp'")):
        with pytest.raises(IntraBenchError, match=words):
            intrabench.prompter(spec)


@pytest.mark.parametrize("spec", [*SPECS, *PROPAGATED, HAND])
@given(mask=targets, seed=st.integers(0, 5))
def test_prompts_lie_where_they_should_whatever_the_mask(spec: str, mask: np.ndarray, seed: int) -> None:
    prompter = intrabench.prompter(spec)
    prompts = prompter.preview(mask, (2.0, 0.5, 0.7), seed)
    assert prompts.kinds
    assert prompter.preview(mask, (2.0, 0.5, 0.7), seed).to_json() == prompts.to_json()
    occupied = np.flatnonzero(mask.any(axis=(1, 2)))
    assert set(prompts.slices()) <= set(range(occupied[0], occupied[-1] + 1))
    for z, y, x, label in prompts.points[prompts.clicked].tolist():
        assert mask[z, y, x] == label
    for z, y0, x0, y1, x1 in prompts.boxes2d[prompts.drawn].tolist():
        assert 0 <= y0 < y1 <= mask.shape[1]
        assert 0 <= x0 < x1 <= mask.shape[2]
        if spec in ("box_slice", "box_interp:n=3", "box_prop"):
            rows, columns = np.nonzero(mask[z])
            assert [y0, x0, y1, x1] == [rows.min(), columns.min(), rows.max() + 1, columns.max() + 1]


def centre_by_scipy(plane: np.ndarray, of: str) -> list[int]:
    """The definition, written down in the plainest way."""
    labels, count = ndimage.label(plane, np.ones((3, 3)))
    sizes = np.bincount(labels.ravel())[1:]
    pixels = np.argwhere(labels == count - int(sizes[::-1].argmax()))
    centre = pixels.mean(axis=0) if of == "voxels" else (pixels.min(axis=0) + pixels.max(axis=0)) / 2
    return pixels[cKDTree(pixels).query(centre.round())[1]].tolist()


@pytest.mark.parametrize("of", ["box", "voxels"])
@settings(max_examples=200)
@given(seed=st.integers(0, 2**32 - 1), height=st.integers(1, 30), width=st.integers(1, 12))
def test_the_centre_of_the_largest_component(of: str, seed: int, height: int, width: int) -> None:
    rng = np.random.default_rng(seed)
    plane = rng.random((height, width)) > rng.random()
    plane[rng.integers(height), rng.integers(width)] = True
    assert list(component_centre(Mask((0, 0, 0), plane[None]), 0, of)) == centre_by_scipy(plane, of)  # type: ignore[arg-type]


def test_components_of_a_slice_are_not_lost_at_its_border() -> None:
    plane = np.zeros((21, 3), dtype=bool)
    plane[1:4, 1] = plane[18:20, 1] = True  # cc3d 4.1 finds more than there is when it is given this as it is
    assert component_centre(Mask((0, 0, 0), plane[None]), 0) == (2, 1)


@pytest.mark.parametrize(
    ("occupied", "middle"), [((3, 4, 5, 13), 4), ((0, 1, 2, 3, 19), 2), ((2, 9), 2), ((7,), 7), ((0, 17, 18, 19), 17)]
)
def test_the_median_slice_of_a_target_with_gaps_is_none_of_their_mean(occupied: tuple[int, ...], middle: int) -> None:
    array = np.zeros((20, 3, 3), bool)
    array[list(occupied), 1, 1] = True
    assert median_slice(Mask.of(array)) == middle
