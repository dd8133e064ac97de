"""All metrics of a round: values, empty cases, ignored voxels, shared work, the image, and metrics that fail."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.mask import Mask
from intrabench.metrics import lookup
from intrabench.metrics.base import Metric
from intrabench.metrics.mask_pair import MaskPair
from intrabench.metrics.parts import surface
from intrabench.metrics.score import Scoring, score
from intrabench.target import Target
from intrabench.volume import Volume
from tests.conftest import make_target

BASIC = [lookup.metric(name) for name in ("dice", "iou", "nsd", "hd95")]


def columns(target: Target, answer: np.ndarray) -> dict[str, float | int | None]:
    return score(target, Mask.of(answer), BASIC).columns


def test_empty_cases(ball: np.ndarray) -> None:
    target = make_target(ball)
    values = score(target, Mask.empty(), BASIC).columns
    assert (values["dice"], values["iou"], values["nsd_2mm"], values["hd95_mm"]) == (0, 0, 0, np.inf)
    both = score(replace(target, mask=Mask.empty()), Mask.empty(), BASIC).columns
    assert (both["dice"], both["iou"], both["nsd_2mm"], both["hd95_mm"]) == (1, 1, 1, 0)


def test_false_positives_anywhere_count(ball: np.ndarray) -> None:
    answer = ball.copy()
    answer[19, 23, 27] = True
    found = score(make_target(ball), Mask.of(answer), BASIC)
    assert found.columns["fp_voxels"] == 1
    assert found.dice == found.columns["dice"] == 2 * ball.sum() / (2 * ball.sum() + 1)
    assert found.columns["hd95_mm"] < 1
    assert columns(make_target(ball), answer & ~ball)["dice"] == 0


def test_ignored_voxels_count_neither_way(ball: np.ndarray) -> None:
    band = np.zeros_like(ball)
    band[:9] = True
    target = replace(make_target(ball), ignore=Mask.of(band))
    answer = ball.copy()
    answer[:9] = ~answer[:9]
    assert columns(target, answer)["dice"] == columns(target, answer)["nsd_2mm"] == 1.0


@pytest.mark.parametrize(("shift", "nsd"), [(0, 1.0), (1, 1.0), (2, 1.0)])
def test_a_slab_moved_within_the_tolerance_has_a_perfect_surface(shift: int, nsd: float) -> None:
    truth = np.zeros((12, 6, 6), dtype=bool)
    truth[3:7] = True
    values = columns(make_target(truth), np.roll(truth, shift, axis=0))
    assert values["nsd_2mm"] == nsd
    assert values["hd95_mm"] == shift
    assert values["dice"] == pytest.approx((4 - shift) / 4)


def test_spacing_is_in_the_surfaces() -> None:
    truth = np.zeros((12, 6, 6), dtype=bool)
    truth[3:7] = True
    values = columns(make_target(truth, (3.0, 1.0, 1.0)), np.roll(truth, 1, axis=0))
    assert values["hd95_mm"] == 3.0
    assert values["nsd_2mm"] < 1.0


def test_only_what_is_asked_for_is_measured(ball: np.ndarray) -> None:
    voxels = ["fp_voxels", "fn_voxels", "pred_voxels"]
    nothing_left, much = (Scoring(make_target(ball), Mask.of(ball), some) for some in ([], BASIC))
    assert (nothing_left.voxels, much.voxels) == (0, 13**3)
    assert list(score(make_target(ball), Mask.of(ball), []).columns) == [*voxels, "dice", "iou"]
    assert list(columns(make_target(ball), ball)) == [*voxels, "dice", "iou", "nsd_2mm", "hd95_mm"]


def test_surfaces_are_compared_once_for_all_metrics(ball: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    compare = surface.surface_distances
    monkeypatch.setattr(surface, "surface_distances", lambda *given: calls.append(given) or compare(*given))
    columns(make_target(ball), np.roll(ball, 1, axis=0))
    assert len(calls) == 1
    score(make_target(ball), Mask.of(ball), [lookup.metric("dice"), lookup.metric("lesion_f1")])
    assert len(calls) == 1


@dataclass(frozen=True)
class MeanIntensity(Metric):
    name = "mean_intensity"
    needs = frozenset({"mask", "image"})

    def measure(self, pair: MaskPair) -> float | None:
        inside = pair.image_array[pair.answer_array]
        return inside.mean() if inside.size else None


@dataclass(frozen=True)
class Peeking(MeanIntensity):
    name = "peeking"
    needs = frozenset({"mask"})


def test_the_image_is_there_for_metrics_that_need_it(ball: np.ndarray, wording: SnapshotAssertion) -> None:
    voxels = np.arange(ball.size, dtype=np.float32).reshape(ball.shape)
    image = Volume.from_canonical(voxels)
    answer = np.roll(ball, 3, axis=2)
    found = score(make_target(ball), Mask.of(answer), [MeanIntensity()], image)
    assert found.columns["mean_intensity"] == pytest.approx(voxels[answer].mean())
    assert score(make_target(ball), Mask.empty(), [MeanIntensity()], image).columns["mean_intensity"] is None
    secret = score(make_target(ball), Mask.of(answer), [Peeking()], image)
    assert secret.columns["peeking"] is None
    (problem,) = secret.problems.values()
    assert problem == wording


@dataclass(frozen=True)
class Odd(Metric):
    name = "odd"
    returns: object = None

    def measure(self, pair: MaskPair) -> float | None:
        if isinstance(self.returns, Exception):
            raise self.returns
        return self.returns  # type: ignore[return-value]


@pytest.mark.parametrize(
    "returned",
    [
        KeyError("x"),
        "0.5",
        [0.5],
        float("nan"),
    ],
)
def test_a_metric_that_fails_has_no_value_and_harms_no_other(
    ball: np.ndarray, returned: object, wording: SnapshotAssertion
) -> None:
    odd = Odd(returned)
    found = score(make_target(ball), Mask.of(ball), [odd, lookup.metric("nsd")])
    assert found.columns[odd.column] is None
    assert found.columns["nsd_2mm"] == 1.0
    assert found.problems == {odd.column: wording}


@pytest.mark.parametrize(("returned", "expected"), [(np.float32(0.5), 0.5), (2, 2.0), (True, 1.0), (None, None)])
def test_numbers_of_any_kind_are_floats_in_rows(ball: np.ndarray, returned: object, expected: float | None) -> None:
    odd = Odd(returned)
    found = score(make_target(ball), Mask.of(ball), [odd])
    assert found.columns[odd.column] == expected
    assert type(found.columns[odd.column]) is type(expected)
    assert not found.problems
