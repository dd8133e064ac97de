"""Lesions that were found and missed: as panoptica counts them, and by hand."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import ndimage
from scipy.optimize import linear_sum_assignment
from syrupy.assertion import SnapshotAssertion

from intrabench.errors import IntraBenchError
from intrabench.mask import TURNED, Bools, Mask, Plane
from intrabench.metrics.lesion_rows import LesionRows
from intrabench.metrics.lookup import metric
from intrabench.metrics.mask_pair import MaskPair
from intrabench.metrics.parts import components, lesions, regions
from intrabench.metrics.score import score
from tests.conftest import make_target
from tests.metrics.lesion_peers import FILE, PAIRS, SHAPE, SPACING, THREE, blocks

PEERS = json.loads(FILE.read_text(encoding="utf-8"))
NONE = np.zeros(SHAPE, bool)
OTHERWISE = {
    "dmm": {"no lesion": None},
    "lesion_precision": {"no answer": 0.0},
    "region_dice": {"touching": 0.0, "one voxel, missed": 0.0, "no lesion": None},
}
"""Where we define it otherwise; docs/results.md names these."""
AFFINE = np.array([[0, 0, -1, 90], [0, -1, 0, 80], [5, 0, 0, -70], [0, 0, 0, 1]], dtype=float)
"""Of voxels z, y, x that are numbered from the right, the front and below."""
RULES = ("any", "one_to_one", "optimal", "many_to_one", "merge")


def measured(spec: str, truth: Bools, answer: Bools, spacing: tuple[float, float, float] = SPACING) -> float | None:
    return metric(spec).measure(MaskPair(make_target(truth, spacing), Mask.of(answer)))


@pytest.mark.parametrize("name", PEERS)
def test_values_are_those_of_panoptica(name: str) -> None:
    spec = PEERS[name]["spec"]
    wanted = PEERS[name]["values"] | OTHERWISE.get(spec.partition(":")[0], {})
    values = {pair: measured(spec, *masks) for pair, masks in PAIRS.items()}
    assert {pair for pair, value in values.items() if value is None} == {pair for pair in PAIRS if wanted[pair] is None}
    for pair, value in values.items():
        assert value is None or value == pytest.approx(wanted[pair], rel=0, abs=1e-12), pair
    assert len(set(values.values())) > 2


@pytest.mark.parametrize(
    ("rule", "found", "right", "quality"),
    [
        ("any", 1, 1, 384 * 2 / 384 / 2),
        ("one_to_one", 1, 0.5, 12 / 18 / 1.5),
        ("optimal", 1, 0.5, 12 / 18 / 1.5),
        ("many_to_one", 1, 1, 16 / 18),
        ("merge", 1, 1, 16 / 18),
    ],
)
def test_several_parts_on_one_lesion(rule: str, found: float, right: float, quality: float) -> None:
    """A lesion 18 wide, with parts 12 and 4 wide, whose IoU are 2/3 and 2/9."""
    truth = blocks((2, 2, 2, 8, 10, 20))
    answer = blocks((2, 2, 2, 8, 10, 14), (2, 2, 15, 8, 10, 19))
    more = f"iou=0.2,matching={rule}"
    assert measured(f"lesion_recall:{more}", truth, answer) == found
    assert measured(f"lesion_precision:{more}", truth, answer) == right
    if rule != "any":
        assert measured(f"pq:{more}", truth, answer) == pytest.approx(quality)
    strict = measured(f"lesion_precision:iou=0.5,matching={rule}", truth, answer)
    assert strict == (1 if rule == "merge" else 0.5)  # merging asks the IoU of the first part alone


def test_one_part_over_several_lesions() -> None:
    """It finds all of them if any pairs match, else the one with the larger IoU."""
    truth, answer = PAIRS["one over several"]
    assert {rule: measured(f"lesion_recall:matching={rule}", truth, answer) for rule in RULES} == {
        "any": 1,
        "one_to_one": 0.5,
        "optimal": 0.5,
        "many_to_one": 0.5,
        "merge": 0.5,
    }
    large, part, both = 6 * 6 * 7, 6 * 6 * 13, 6 * 6 * 7 + 6 * 4 * 4
    assert measured("pq:iou=0.5", truth, answer) == pytest.approx(large / part * 2 / 3)
    assert measured("largest_missed:iou=0.5,matching=one_to_one", truth, answer) == 6 * 4 * 4 * 5 / 1000
    assert measured("fnv", truth, answer) == measured("largest_missed", truth, answer) == 0
    assert measured("dice", truth, answer) == pytest.approx(2 * both / (both + part))


def test_pairs_by_falling_iou_and_with_the_largest_sum() -> None:
    """A part covers most of a lesion (IoU 240/562) and all of another (160/402); the first has one more part (0.2)."""
    truth, answer = PAIRS["a chain"]
    assert measured("lesion_recall:matching=one_to_one", truth, answer) == 0.5
    assert measured("lesion_recall:matching=optimal", truth, answer) == 1
    assert measured("pq:iou=0,matching=one_to_one", truth, answer) == pytest.approx(240 / 562 * 2 / 4)
    assert measured("pq:iou=0,matching=optimal", truth, answer) == pytest.approx((0.2 + 160 / 402) / 2)
    assert measured("lesion_recall:matching=optimal,iou=0.3", truth, answer) == 0.5


def test_touching_lesions_are_one_and_a_touch_is_no_overlap() -> None:
    truth, answer = PAIRS["touching"]
    for spec in ("lesion_recall", "lesion_precision", "pq:iou=0", "pq_area", "region_dice"):
        assert measured(spec, truth, answer) == 0
        assert measured(spec, truth | answer, answer) > 0  # type: ignore[operator]
    assert measured("lesion_precision", truth | answer, answer) == 1
    assert measured("pq", truth | answer, answer) == 0  # an IoU of 3/7 is below 0.5
    assert measured("pq:iou=0.4", truth | answer, answer) == pytest.approx(3 / 7)
    corner = blocks((2, 2, 2, 4, 4, 4), (4, 4, 4, 6, 6, 6))
    half = blocks((2, 2, 2, 4, 4, 4))
    assert [measured(f"lesion_recall:connectivity={n}", corner, half) for n in (6, 18, 26)] == [0.5, 0.5, 1]


def test_one_voxel_is_a_lesion() -> None:
    truth, _ = PAIRS["one voxel"]
    assert measured("lesion_recall:least_ml=0.005,below_ml=0.006", truth, truth) == 1
    assert measured("lesion_recall:least_ml=0.006", truth, truth) is None
    for spec in ("lesion_recall", "lesion_precision", "pq", "pq_area", "region_dice"):
        assert measured(spec, truth, truth) == 1


def test_sizes_are_volumes_or_diameters_of_balls() -> None:
    """Three lesions of 0.54, 0.24 and 1.44 ml at a spacing of 1:5, of which the smallest is missed."""
    answer = blocks((1, 2, 2, 4, 8, 8), (6, 14, 14, 12, 20, 22), (0, 20, 20, 1, 21, 24))
    assert measured("lesion_recall", THREE, answer) == 2 / 3
    assert measured("fnv", THREE, answer) == measured("largest_missed", THREE, answer) == 0.24
    assert measured("fpv", THREE, answer) == 0.02
    bins = ("below_ml=0.24", "below_ml=0.25", "least_ml=0.24,below_ml=0.54", "least_ml=0.24,below_ml=1", "least_ml=1")
    assert [measured(f"lesion_recall:{one}", THREE, answer) for one in bins] == [None, 0, 0, 0.5, 1]
    across = 2 * (0.75 * 240 / math.pi) ** (1 / 3)
    assert 7.7 < across < 7.8
    assert [measured(f"lesion_recall:{one}", THREE, answer) for one in ("below_mm=7.7", "below_mm=7.8")] == [None, 0]
    assert measured("lesion_recall:least_mm=7.8", THREE, answer) == 1
    assert measured("lesion_precision:below_ml=0.1", THREE, answer) == 0
    assert measured("lesion_precision:least_ml=0.1", THREE, answer) == 1
    assert measured("lesion_recall:below_ml=0.1", THREE, answer, (1.0, 1.0, 1.0)) == 0
    assert metric("lesion_recall:least_ml=0.24,below_ml=1,iou=0.1").head == "Lesion recall, 0.24 to 1 ml (iou=0.1)"
    assert metric("lesion_precision:below_mm=5").head == "Lesion precision, below 5 mm"
    assert metric("lesion_recall:least_ml=1").head == "Lesion recall, 1 ml or more"
    assert metric("lesion_recall").head == "Lesion recall"


def test_nothing_to_find_and_nothing_found() -> None:
    specs = ("lesion_recall", "lesion_precision", "pq", "pq_area", "region_dice", "largest_missed", "fnv", "fpv")
    assert [measured(spec, NONE, NONE) for spec in specs] == [None] * 7 + [0]
    assert [measured(spec, NONE, THREE) for spec in specs] == [None, 0, 0, 0, None, None, None, 2.22]
    assert [measured(spec, THREE, NONE) for spec in specs] == [0, 0, 0, 0, 0, 1.44, 2.22, 0]


def test_regions_are_nearest_in_mm() -> None:
    """A voxel 2 slices of 5 mm from one lesion and 4 voxels of 1 mm from another."""
    truth = blocks((2, 4, 4, 3, 5, 5), (4, 4, 8, 5, 5, 9))
    answer = truth | blocks((4, 4, 4, 5, 5, 5))
    assert measured("region_dice", truth, answer) == (1 + 2 / 3) / 2
    assert measured("region_dice", truth, answer & ~blocks((2, 0, 0, 3, 24, 26))) == (0 + 2 / 3) / 2
    assert measured("region_dice", truth, answer & ~blocks((4, 0, 8, 5, 24, 26))) == 1 / 2
    assert measured("region_dice:spacing=voxel", truth, answer & ~blocks((4, 0, 8, 5, 24, 26))) == (2 / 3 + 0) / 2
    tie = blocks((2, 4, 4, 3, 5, 5), (2, 4, 8, 3, 5, 9))
    assert (
        measured("region_dice", tie, blocks((2, 4, 6, 3, 5, 7), (2, 4, 8, 3, 5, 9))) == (0 + 1) / 2
    )  # the voxel amid is of the first


@pytest.mark.parametrize("plane", ["coronal", "sagittal"])
def test_ties_do_not_depend_on_the_plane(plane: Plane) -> None:
    """Two lesions of one voxel, at (2, 4, 8) and (2, 8, 4), and an answer between them: it belongs to the first."""
    truth = blocks((2, 4, 8, 3, 5, 9), (2, 8, 4, 3, 9, 5), (9, 9, 9, 12, 12, 12))
    answer = blocks((2, 6, 6, 3, 7, 7), (2, 4, 8, 3, 5, 9))
    pair = MaskPair(make_target(truth, SPACING).turned(plane), Mask.of(answer).reordered(TURNED[plane]))
    assert metric("region_dice").measure(pair) == measured("region_dice", truth, answer) == pytest.approx(2 / 9)
    found = LesionRows().of(pair, AFFINE)
    assert found == LesionRows().of(MaskPair(make_target(truth, SPACING), Mask.of(answer)), AFFINE)


@given(st.integers(0, 10**6), st.sampled_from([(1.0, 1.0, 1.0), (5.0, 1.0, 1.3), (1 / 3, 0.7031, 0.25)]))
def test_regions_as_distance_maps_say(seed: int, mm: tuple[float, float, float]) -> None:
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(2, 9, 3))
    truth, answer = (rng.random(shape) < rng.choice([0.03, 0.1, 0.3]) for _ in range(2))
    if not truth.any():
        return
    labels, count = ndimage.label(truth, np.ones((3, 3, 3)))
    away = np.array([ndimage.distance_transform_edt(labels != n, sampling=mm) for n in range(1, count + 1)])
    found = lesions.Lesions.of(Mask.of(truth), Mask.of(answer), 26).region_dice(mm)
    for most in (0, math.inf):  # by the tree, and by envelopes
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(regions, "AT_ONCE", int(rng.integers(1, 200)))
            patch.setattr(regions, "BOX_PER_VOXEL", most)
            again = lesions.Lesions.of(Mask.of(truth), Mask.of(answer), 26).region_dice(mm)
        assert (again == found).all()
    owner = np.isclose(away, away.min(axis=0)).argmax(axis=0) + 1
    inside = [answer & (owner == n) for n in range(1, count + 1)]
    wanted = [2 * (one & truth).sum() / (one.sum() + (labels == n).sum()) for n, one in enumerate(inside, 1)]
    assert sorted(found) == pytest.approx(sorted(wanted))


@given(st.integers(0, 10**6), st.sampled_from([(1.0, 1.0, 1.0), (5.0, 1.0, 1.3)]), st.sampled_from([0.0, 1.0, 2.0]))
def test_surface_dice_of_regions_is_that_of_each_alone(
    seed: int, mm: tuple[float, float, float], tolerance: float
) -> None:
    rng = np.random.default_rng(seed)
    field = ndimage.gaussian_filter(rng.standard_normal((6, 12, 12)), 1)
    truth = field > 0.2
    answer = field + 0.5 * ndimage.gaussian_filter(rng.standard_normal(field.shape), 1) > rng.choice([0.1, 0.25, 9])
    labels, count = ndimage.label(truth, np.ones((3, 3, 3)))
    away = np.array([ndimage.distance_transform_edt(labels != n, sampling=mm) for n in range(1, count + 1)])
    nsd = metric(f"nsd:tolerance_mm={tolerance}")
    values = []
    for lesion in range(1, count + 1):
        inside = answer & (np.isclose(away, away.min(axis=0)).argmax(axis=0) == lesion - 1)
        values.append(nsd.measure(MaskPair(make_target(labels == lesion, mm), Mask.of(inside))))
    found = measured(f"region_nsd:tolerance_mm={tolerance}", truth, answer, mm)
    assert found == (pytest.approx(np.mean(values)) if values else None)  # type: ignore[arg-type]


def test_surface_dice_of_a_region_that_is_missed() -> None:
    truth = blocks((2, 2, 2, 4, 5, 5), (2, 15, 15, 4, 18, 18))
    assert measured("region_nsd", truth, truth) == 1
    assert measured("region_nsd", truth, truth & ~blocks((0, 10, 10, 14, 24, 26))) == 0.5
    assert measured("region_nsd", truth, NONE) == 0
    assert measured("region_nsd", NONE, truth) is None


@pytest.mark.parametrize("mm", [1.0, 5e-4])
def test_regions_of_lesions_that_are_equally_near(mm: float) -> None:
    """Also where voxels are as small as under a microscope."""
    truth, answer = np.zeros((2, 1, 2, 3), bool)
    truth[0, 0, 0] = truth[0, 1, 2] = answer[0, 0, 0] = answer[0, 1, 1] = True
    found = lesions.Lesions.of(Mask.of(truth), Mask.of(answer), 6).region_dice((mm, mm, mm))
    assert found.tolist() == [1, 0]


def test_a_row_says_where_and_how_well() -> None:
    truth = blocks((2, 2, 2, 8, 10, 20))
    answer = blocks((2, 2, 2, 8, 10, 14), (2, 2, 15, 8, 10, 19), (9, 12, 20, 10, 13, 23))
    pair = MaskPair(make_target(truth, SPACING), Mask.of(answer))
    found, false = LesionRows(iou=0.2, matching="many_to_one").of(pair, AFFINE)
    assert (found["lesion"], found["number"], found["parts"]) == ("found", 1, 2)
    assert [found[axis] for axis in "zyx"] == [4.5, 5.5, 10.5]
    assert [found[f"{axis}_mm"] for axis in "xyz"] == [79.5, 74.5, -47.5]
    assert (found["iou"], found["dice"]) == pytest.approx((16 / 18, 32 / 34))
    assert (false["lesion"], false["number"], false["parts"]) == ("false", 3, None)
    assert [false[axis] for axis in "zyx"] == [9, 12, 21]
    assert [false[f"{axis}_mm"] for axis in "xyz"] == [69, 68, -25]


def test_rows_of_an_empty_answer_or_target() -> None:
    """There is a row for each of the other's lesions, and none for those that are not."""
    for truth, answer, kind in ((THREE, NONE, "missed"), (NONE, THREE, "false"), (NONE, NONE, "")):
        rows = LesionRows().of(MaskPair(make_target(truth, SPACING), Mask.of(answer)), AFFINE)
        assert [row["ml"] for row in rows] == ([0.54, 0.24, 1.44] if kind else [])
        assert {row["lesion"] for row in rows} == ({kind} if kind else set())


@given(st.integers(0, 10**6), st.sampled_from(RULES), st.sampled_from([0.0, 0.1, 0.5]))
def test_rules_keep_what_they_promise(seed: int, rule: lesions.Rule, iou: float) -> None:
    rng = np.random.default_rng(seed)
    field = ndimage.gaussian_filter(rng.standard_normal((6, 14, 14)), 1)
    answer = field + 0.5 * ndimage.gaussian_filter(rng.standard_normal(field.shape), 1) > 0.2
    found = lesions.Lesions.of(Mask.of(field > 0.2), Mask.of(answer), 6)
    matched = found.matched(rule, iou)
    assert (matched.found == (matched.iou > 0)).all()
    if rule != "any":
        assert matched.parts.sum() == matched.right.sum()
        assert (matched.iou[matched.found] >= iou).all() or rule == "many_to_one"
    if rule in ("one_to_one", "optimal"):
        assert matched.parts.max(initial=0) <= 1
    if rule == "optimal":
        table = np.zeros((len(found.truth), len(found.answer)))
        table[tuple(found.touching[:, :2].T)] = found.iou * (found.iou >= iou)
        assert matched.iou.sum() == pytest.approx(table[linear_sum_assignment(table, maximize=True)].sum(), abs=1e-4)
        assert matched.iou.sum() >= found.matched("one_to_one", iou).iou.sum() - 1e-4
    assert matched.found.sum() <= found.matched("any", iou).found.sum()


def test_components_are_compared_once_for_all_metrics_of_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    find = components.Components.of

    def counted(mask: Mask, connectivity: int) -> components.Components:
        made.append(connectivity)
        return find(mask, connectivity)

    monkeypatch.setattr(components.Components, "of", counted)
    specs = ["lesion_recall", "lesion_recall:below_ml=0.1", "lesion_precision", "pq", "pq_area", "region_dice"]
    truth, answer = PAIRS["ragged 11"]
    found = score(make_target(truth, SPACING), Mask.of(answer), [metric(spec) for spec in specs])
    assert not found.message
    assert made == [26, 26]


@pytest.mark.parametrize(
    "spec",
    [
        "lesion_recall:least_ml=1,below_mm=3",
        "lesion_recall:least_ml=2,below_ml=1",
        "lesion_precision:below_mm=0",
        "lesion_recall:matching=best",
        "pq:iou=2",
        "region_dice:connectivity=8",
    ],
)
def test_parameters_that_mean_nothing(spec: str, wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        metric(spec)
    assert caught == wording


@pytest.mark.parametrize(
    "spec",
    ["lesion_recall", "lesion_precision:least_mm=5,iou=0.1,matching=merge", "largest_missed", "pq", "region_dice"],
)
def test_what_a_metric_declares(spec: str, wording: SnapshotAssertion) -> None:
    assert json.dumps(metric(spec).about(), indent=1) == wording
