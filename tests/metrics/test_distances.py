"""Distances between surfaces: as other programs have them, by hand, and what a miss counts."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy import ndimage
from syrupy.assertion import SnapshotAssertion

from intrabench.errors import IntraBenchError
from intrabench.mask import Bools, Mask
from intrabench.metrics.lookup import metric
from intrabench.metrics.mask_pair import MaskPair
from intrabench.metrics.parts import borders, surface
from intrabench.metrics.score import score
from tests.conftest import make_target
from tests.metrics.distance_peers import FILE, PAIRS, SHAPE, SPACINGS, Spacing, block

PEERS = json.loads(FILE.read_text(encoding="utf-8"))
DISTANCES = ("hd", "hd95", "assd", "masd", "asd", "asd:way=to_answer", "hd95_medpy:spacing=mm")


def pair_of(truth: Bools, answer: Bools, spacing_mm: Spacing = (1.0, 1.0, 1.0)) -> MaskPair:
    return MaskPair(make_target(truth, spacing_mm), Mask.of(answer))


def measured(spec: str, pair: MaskPair) -> float:
    value = metric(spec).measure(pair)
    assert value is not None
    return value


@pytest.mark.parametrize("function", PEERS)
def test_distances_are_those_of_other_programs(function: str) -> None:
    tolerance = 2e-7 if function.startswith("monai") else 1e-12  # MONAI rounds to float32
    values = {
        f"{name}, {size}": measured(PEERS[function]["spec"], pair_of(*masks, mm))
        for name, masks in PAIRS.items()
        for size, mm in SPACINGS.items()
    }
    assert values == pytest.approx(PEERS[function]["values"], rel=tolerance, abs=tolerance)


@pytest.mark.parametrize("name", PAIRS)
def test_means_follow_from_distance_maps(name: str) -> None:
    """What no program has under this name: ASSD and MASD over areas, from a distance map of whole arrays."""
    truth, answer = PAIRS[name]
    mm = SPACINGS["odd"]
    sides = []
    for one, other in ((truth, answer), (answer, truth)):
        codes, goals = (surface.neighbour_codes(mask) for mask in (one, other))
        on, there = ((found > 0) & (found < 255) for found in (codes, goals))
        far = ndimage.distance_transform_edt(~there, sampling=mm)[on]
        areas = surface.surfel_areas(mm)[codes[on]]
        sides.append(((far * areas).sum(), areas.sum()))
    (a, n), (b, m) = sides
    pair = pair_of(truth, answer, mm)
    assert measured("assd", pair) == pytest.approx((a + b) / (n + m), rel=1e-12)
    assert measured("masd", pair) == pytest.approx((a / n + b / m) / 2, rel=1e-12)
    of_ways = [measured(f"asd:way={way},definition=medpy", pair) for way in ("to_target", "to_answer")]
    assert measured("masd:definition=medpy", pair) == pytest.approx(np.mean(of_ways), rel=1e-12)


def test_by_hand() -> None:
    """Two voxels three steps apart, and a line of three against its first voxel."""
    one, other = block((5, 6), (5, 6), (5, 6)), block((5, 6), (8, 9), (5, 6))
    pair = pair_of(one, other, (1.0, 2.0, 1.0))
    for spec in ("hd", "hd95", "assd", "masd", "asd", "asd:way=to_answer"):
        assert measured(f"{spec}{',' if ':' in spec else ':'}definition=monai", pair) == 6
        assert measured(f"{spec}{',' if ':' in spec else ':'}definition=monai,spacing=voxel", pair) == 3
    line = pair_of(one, block((5, 6), (5, 6), (5, 8)))
    found = {name: measured(f"{name},definition=medpy", line) for name in ("asd:way=to_target", "asd:way=to_answer")}
    assert found == {"asd:way=to_target": 1, "asd:way=to_answer": 0}
    assert measured("masd:definition=medpy", line) == 0.5
    assert measured("assd:definition=medpy", line) == measured("assd:definition=monai", line) == 3 / 4
    assert measured("nsd:definition=monai,tolerance_mm=1", line) == 3 / 4
    assert measured("hd:percentile=50,definition=medpy", line) == 0.5
    assert measured("hd:percentile=50,definition=monai", line) == 1


def test_in_voxels_the_size_of_voxels_does_not_count() -> None:
    cubes, flat = (pair_of(*PAIRS["ragged"], SPACINGS[size]) for size in ("cubes", "1:5"))
    for spec in DISTANCES[:-1]:
        inside = f"{spec}{',' if ':' in spec else ':'}spacing=voxel"
        assert measured(inside, flat) == measured(spec, cubes) != measured(spec, flat)
    assert measured("nsd:tolerance_voxels=1.5", flat) == measured("nsd:tolerance_mm=1.5", cubes)
    assert measured("nsd:tolerance_voxels=1.5", flat) != measured("nsd:tolerance_mm=1.5", flat)


def test_all_distances_of_a_row_share_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    passes: list[str] = []
    for module, name in ((surface, "surface_distances"), (borders, "border_distances")):
        compare = getattr(module, name)
        monkeypatch.setattr(
            module, name, lambda *given, compare=compare, name=name: passes.append(name) or compare(*given)
        )
    specs = [*DISTANCES, "nsd:tolerance_mm=1", "nsd:tolerance_mm=3", "hd:percentile=99", "assd:definition=monai"]
    truth, answer = PAIRS["ragged"]
    found = score(make_target(truth, (2.0, 1.0, 1.0)), Mask.of(answer), [metric(spec) for spec in specs])
    assert not found.message
    assert sorted(passes) == ["border_distances", "surface_distances"]
    assert found.columns["nsd:tolerance_mm=1"] < found.columns["nsd:tolerance_mm=3"]  # type: ignore[operator]


MISSES = {
    "hd95": math.inf,
    "hd95:miss=diagonal": math.hypot(24, 20, 22),
    "hd95:miss=shape": math.hypot(*SHAPE),
    "hd95:miss=374mm": 374.0,
    "assd:spacing=voxel,miss=diagonal": math.hypot(*SHAPE),
    "assd:spacing=voxel,miss=20.5voxels": 20.5,
    "asd:miss=diagonal": math.hypot(24, 20, 22),
    "masd:miss=374mm": 374.0,
    "hd:miss=shape": math.hypot(*SHAPE),
    "hd95_medpy": math.hypot(*SHAPE),
    "hd95_medpy:spacing=mm": math.hypot(24, 20, 22),
    "hd95_medpy:miss=inf": math.inf,
}


@pytest.mark.parametrize("spec", MISSES)
def test_a_miss_counts_what_its_rule_says(spec: str) -> None:
    none, some = np.zeros(SHAPE, bool), PAIRS["nested"][0]
    mm = (2.0, 1.0, 1.0)
    assert measured(spec, pair_of(some, none, mm)) == measured(spec, pair_of(none, some, mm)) == MISSES[spec]
    assert measured(spec, pair_of(none, none, mm)) == 0
    plain = ",".join(part for part in spec.replace(":", ",").split(",")[1:] if not part.startswith("miss"))
    bare = spec.partition(":")[0] + (f":{plain}" if plain else "")
    pair = pair_of(some, PAIRS["touching"][0], mm)
    assert measured(spec, pair) == measured(bare, pair) > 0
    assert metric(spec).column == ("hd95_mm" if spec == "hd95" else spec)
    assert metric(metric(spec).column) == metric(spec)


def test_what_is_ignored_may_make_a_miss() -> None:
    truth, answer = block((2, 4), (2, 4), (2, 4)), block((6, 8), (2, 4), (2, 4))
    target = make_target(truth)
    object.__setattr__(target, "ignore", Mask.of(answer))
    assert measured("hd:miss=50mm", MaskPair(target, Mask.of(answer))) == 50


@pytest.mark.parametrize("miss", ["374mm", "374.0mm", "0374.00mm"])
def test_a_length_is_one_column_however_it_is_spelled(miss: str) -> None:
    assert metric(f"hd95:miss={miss}").id == "hd95:miss=374mm@1"
    assert metric(f"hd95:miss={miss}") == metric("hd95:miss=374mm")


@pytest.mark.parametrize("miss", ["", "100", "nan", "infinite", "-1mm", "37voxels", "0mm", "1e3mm", "1000000000mm"])
def test_rules_that_mean_nothing(miss: str, wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        metric(f"hd95:miss='{miss}'")
    assert caught == wording


def test_a_tolerance_is_in_one_unit() -> None:
    with pytest.raises(IntraBenchError, match="without tolerance_mm"):
        metric("nsd:tolerance_mm=1,tolerance_voxels=1")


@pytest.mark.parametrize(
    "spec",
    [
        "hd",
        "hd95",
        "hd:percentile=99,definition=monai,miss=374mm",
        "assd:definition=medpy",
        "nsd:tolerance_voxels=2",
        "dice",
    ],
)
def test_what_a_metric_declares(spec: str, wording: SnapshotAssertion) -> None:
    assert json.dumps(metric(spec).about(), indent=1) == wording
