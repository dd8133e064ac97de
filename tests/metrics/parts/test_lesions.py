"""Lesions and parts of an answer: equal to the published matching, and to counting whole label maps."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import ndimage
from syrupy.assertion import SnapshotAssertion

from intrabench.mask import Mask
from intrabench.metrics.parts.lesions import CONNECTIVITIES, Components, Lesions, check_matching

GOLDEN = Path(__file__).parents[2] / "golden" / "autopet5"
UNITS = json.loads((GOLDEN / "metric_units.json").read_text())["pairs"]
PAIRS = np.load(GOLDEN / "metric_units.npz")


def pair(name: str) -> tuple[np.ndarray, np.ndarray]:
    truth, answer = (np.ascontiguousarray(PAIRS[f"{name}__{kind}"].T) for kind in ("truth", "prediction"))
    return truth, answer


@pytest.mark.parametrize("name", UNITS)
def test_matches_are_the_published_ones(name: str) -> None:
    truth, answer = pair(name)
    lesions = Lesions.of(Mask.of(truth > 0), Mask.of(answer > 0), 18)
    assert sorted(lesions.iou) == pytest.approx(sorted(iou for *_, iou in UNITS[name]["iou_pairs"]), rel=0, abs=1e-12)
    matched = lesions.matched(iou=0.1)
    counts = matched.found.sum(), (~matched.right).sum(), (~matched.found).sum()
    assert counts == tuple(UNITS[name][count] for count in ("tp", "fp", "fn"))


def test_numbers_of_instances_may_be_given_instead_of_components() -> None:
    truth, answer = pair("truth_as_instances")
    parts, _ = ndimage.label(answer, ndimage.generate_binary_structure(3, 2))
    lesions = Lesions.labelled(truth, parts)
    assert lesions.matched(iou=0.1).found.tolist() == [True] * 3
    wanted = sorted(iou for *_, iou in UNITS["truth_as_instances"]["iou_pairs"])
    assert sorted(lesions.iou) == pytest.approx(wanted, rel=0, abs=1e-12)


def test_which_component_is_at_a_voxel() -> None:
    assert Components(np.ones((1, 2, 3), np.uint32)).box == (0, 0, 0, 1, 2, 3)
    components = Components(np.array([[[1, 0, 2]]], np.uint32), (4, 5, 6))
    places = np.array([(4, 5, 6), (4, 5, 7), (4, 5, 8), (4, 5, 5), (4, 5, 9), (3, 5, 6), (4, 6, 6)]).T
    assert components.at(places).tolist() == [0, -1, 1, -1, -1, -1, -1]


@given(st.integers(0, 10**6), st.sampled_from(CONNECTIVITIES), st.sampled_from([0.0, 0.1, 0.5]))
def test_boxes_give_what_whole_label_maps_give(seed: int, connectivity: int, iou: float) -> None:
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(1, 9, 3))
    truth, answer = (rng.random(shape) < rng.choice([0.02, 0.1, 0.4]) for _ in range(2))
    structure = ndimage.generate_binary_structure(3, 1 + CONNECTIVITIES.index(connectivity))
    lesions, parts = (ndimage.label(mask, structure)[0] for mask in (truth, answer))
    matched, right = set(), set()
    for one in range(1, lesions.max() + 1):
        for other in range(1, parts.max() + 1):
            common = ((lesions == one) & (parts == other)).sum()
            if common and common / ((lesions == one) | (parts == other)).sum() >= iou:
                matched.add(one)
                right.add(other)
    found = Lesions.of(Mask.of(truth), Mask.of(answer), connectivity)
    assert found.matched(iou=iou).found.sum() == len(matched)
    assert found.matched(iou=iou).right.sum() == len(right)
    assert sorted(found.truth) == sorted(np.bincount(lesions.ravel())[1:])
    numbers, firsts = np.unique(found.of_truth.labels, return_index=True)
    assert (np.diff(firsts[numbers > 0]) > 0).all()
    wanted = sorted(ndimage.center_of_mass(truth, lesions, range(1, lesions.max() + 1)))
    assert np.allclose(sorted(found.of_truth.centres.tolist()), wanted, rtol=0, atol=1e-9)
    total = len(matched) + lesions.max() + parts.max() - len(right)
    assert found.matched(iou=iou).f1 == (2 * len(matched) / total if total else None)


def test_parameters_that_mean_nothing_are_refused(wording: SnapshotAssertion) -> None:
    with pytest.raises(ValueError) as caught:
        check_matching(8)
    assert caught == wording
    with pytest.raises(ValueError) as caught:
        check_matching(6, 2)
    assert caught == wording
