"""What metrics are given, against whole arrays; and which of it the built-in metrics use."""

from __future__ import annotations

import gc
import weakref
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from syrupy.assertion import SnapshotAssertion

from intrabench.mask import Mask, box_slices
from intrabench.metrics import mask_pair
from intrabench.metrics.lookup import metric
from intrabench.metrics.mask_pair import MaskPair
from intrabench.metrics.parts import surface
from intrabench.registry import registry
from intrabench.volume import Volume
from tests.conftest import make_target

SHAPE = (3, 4, 5)
dense = arrays(bool, SHAPE, elements=st.booleans()) | st.just(np.zeros(SHAPE, dtype=bool))


@given(dense, dense, dense)
def test_as_on_whole_arrays(truth: np.ndarray, answer: np.ndarray, ignore: np.ndarray) -> None:
    image = Volume.from_canonical(np.arange(truth.size, dtype=np.float32).reshape(SHAPE))
    pair = MaskPair(replace(make_target(truth, (3.0, 1.0, 2.0)), ignore=Mask.of(ignore)), Mask.of(answer), image)
    counted = truth & ~ignore, answer & ~ignore
    for mask, cut, whole in zip((pair.truth, pair.answer), (pair.truth_array, pair.answer_array), counted, strict=True):
        assert np.array_equal(mask.to_array(SHAPE), whole)
        assert np.array_equal(cut, whole[box_slices(pair.box)])
        assert cut.sum() == whole.sum()
    assert np.array_equal(pair.image_array, image.array[box_slices(pair.box)])
    assert not any(array.flags.writeable for array in (pair.truth_array, pair.answer_array, pair.image_array))
    assert pair.overlap.common == (counted[0] & counted[1]).sum()
    assert np.array_equal(pair.given.to_array(SHAPE), answer)
    assert pair.spacing_mm == (3.0, 1.0, 2.0)


def test_no_metric_changes_what_the_others_get(ball: np.ndarray) -> None:
    pair = MaskPair(make_target(ball), Mask.of(np.roll(ball, 2, axis=0)))
    distances = pair.surface_distances
    sides = [(*side.rising, side.distances_mm, side.areas_mm2) for side in (distances.truth, distances.answer)]
    for array in (pair.truth_array, pair.answer_array, *sides[0], *sides[1]):
        with pytest.raises(ValueError, match="cannot set WRITEABLE flag"):
            array.flags.writeable = True
    for name in ("truth", "truth_array", "target", "overlap"):
        with pytest.raises(FrozenInstanceError):
            setattr(pair, name, None)


def test_the_surface_of_a_target_is_found_once_and_goes_with_it(
    ball: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    codes = surface.neighbour_codes
    monkeypatch.setattr(surface, "neighbour_codes", lambda mask: found.append(mask) or codes(mask))
    target, other = make_target(ball), replace(make_target(ball), ignore=Mask.of(ball[:9]))
    answers = [Mask.of(np.roll(ball, shift, axis=0)) for shift in (1, 2, 3)]
    distances = [MaskPair(target, answer).surface_distances for answer in answers]
    assert len(found) == 1 + len(answers)
    assert [pair.answer_distances_mm[-1] for pair in distances] == [1, 2, 3]
    unlike = MaskPair(other, answers[0]).surface_distances  # an equal mask, of which not all counts
    assert len(unlike.truth_areas_mm2) < len(distances[0].truth_areas_mm2)
    kept = weakref.ref(mask_pair._TRUTHS[target])
    del target
    gc.collect()
    assert kept() is None


USED = {
    "surface_distances": "surface",
    "border_distances": "surface",
    "spacing_mm": "spacing",
    "image_array": "image",
    "before": "before",
}


BUILT_IN = [
    name for name, entry in registry.entries("metrics").items() if entry.origin == "intrabench" and entry.kind == ""
]


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_metrics_use_what_they_say(name: str, ball: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: set[str] = set()

    class Watched(MaskPair):
        def __getattribute__(self, attribute: str) -> object:
            seen.add(attribute)
            return super().__getattribute__(attribute)

    chosen = metric(name)
    chosen.measure(Watched(make_target(ball[9:10]), Mask.of(np.roll(ball[9:10], 1, axis=2))))
    needs = {need for attribute, need in USED.items() if attribute in seen}
    if "surface" in needs:
        needs.discard("spacing")  # surfaces are in mm, the metric itself need not look
    assert chosen.needs == (needs or {"mask"})


def test_the_spacing_of_x_and_z_exchanged(wording: SnapshotAssertion) -> None:
    """As of the same masks in a scan that really has it, and kept for all answers to a target."""
    rng = np.random.default_rng(3)
    truth, answers = rng.random((6, 7, 8)) < 0.5, [rng.random((6, 7, 8)) < 0.5 for _ in range(2)]
    target = make_target(truth, (3.0, 1.5, 0.5))
    other = make_target(truth, (0.5, 1.5, 3.0))
    usual, swapped = metric("nsd:tolerance_mm=1"), metric("nsd:tolerance_mm=1,spacing=xyz")
    for answer in map(Mask.of, answers):
        expected = usual.measure(MaskPair(other, answer))
        assert swapped.measure(MaskPair(target, answer)) == expected
        assert usual.measure(MaskPair(target, answer)) != expected
    assert MaskPair(target, Mask.of(answers[0])).swapped.target is MaskPair(target, Mask.empty()).swapped.target
    assert metric("nsd:spacing=xyz@1").head == wording
