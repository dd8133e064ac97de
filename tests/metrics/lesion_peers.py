"""Pairs of masks, and what panoptica says of their lesions, in tests/golden/lesions/values.json.

``python -m tests.metrics.lesion_peers`` writes the file, with panoptica on the path.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy import ndimage

from intrabench.mask import Bools

FILE = Path(__file__).parents[1] / "golden" / "lesions" / "values.json"
SHAPE = (14, 24, 26)
SPACING = (5.0, 1.0, 1.0)
EDGES_MM3 = (40.0, 160.0)
"""The bins of size: below the first, between them, and from the second on."""


def blocks(*boxes: tuple[int, int, int, int, int, int]) -> Bools:
    """Boxes z, y, x of first voxels, then of those behind the last."""
    found = np.zeros(SHAPE, bool)
    for z, y, x, deep, high, wide in boxes:
        found[z:deep, y:high, x:wide] = True
    return found


def blobs(seed: int) -> tuple[Bools, Bools]:
    """Ragged lesions of many sizes, some at the border, and an answer that misses, invents, joins and divides some.

    What of the answer is equally near to several lesions, in voxels, is left out.
    """
    rng = np.random.default_rng(seed)
    field, other = (ndimage.gaussian_filter(rng.standard_normal(SHAPE), 1.3) for _ in range(2))
    truth = field > 0.28
    answer = field + 0.4 * other > 0.3
    lesions, count = ndimage.label(truth, np.ones((3, 3, 3)))
    away = np.array([ndimage.distance_transform_edt(lesions != n) for n in range(1, count + 1)])
    return truth, answer & ((away == away.min(axis=0)).sum(axis=0) == 1)


THREE = blocks((1, 2, 2, 4, 8, 8), (6, 2, 2, 9, 6, 6), (6, 14, 14, 12, 20, 22))
PAIRS: Mapping[str, tuple[Bools, Bools]] = {
    "equal": (THREE, THREE),
    "touching": (blocks((2, 3, 4, 6, 9, 10)), blocks((6, 3, 4, 9, 9, 10))),
    "nested": (THREE, blocks((2, 3, 3, 3, 7, 7), (7, 16, 16, 10, 19, 20))),
    "one voxel": (blocks((4, 5, 6, 5, 6, 7)), blocks((4, 5, 6, 5, 6, 7))),
    "one voxel, missed": (blocks((4, 5, 6, 5, 6, 7)), blocks((9, 15, 17, 10, 16, 18))),
    "at the border": (blocks((0, 0, 0, 3, 5, 4), (11, 20, 20, 14, 24, 26)), blocks((0, 0, 0, 3, 5, 5))),
    "several on one": (blocks((2, 2, 2, 8, 10, 20)), blocks((2, 2, 2, 8, 10, 12), (2, 2, 13, 8, 10, 20))),
    "crumbs on one": (
        blocks((2, 2, 2, 8, 10, 20)),
        blocks((2, 2, 2, 8, 10, 14), (2, 2, 15, 4, 4, 17), (3, 8, 19, 9, 14, 25)),
    ),
    "one over several": (blocks((2, 2, 2, 8, 8, 9), (2, 2, 11, 8, 6, 15)), blocks((2, 2, 2, 8, 8, 15))),
    "a chain": (
        blocks((2, 2, 2, 6, 12, 12), (2, 2, 14, 6, 12, 18)),
        blocks((2, 2, 2, 6, 12, 4), (2, 2, 6, 6, 12, 12), (2, 2, 12, 3, 3, 14), (2, 2, 14, 6, 12, 18)),
    ),
    "no answer": (THREE, np.zeros(SHAPE, bool)),
    "no lesion": (np.zeros(SHAPE, bool), THREE),
} | {f"ragged {seed}": blobs(seed) for seed in (11, 12, 13, 14)}

RULES = {"one_to_one": 0.5, "optimal": 0.1, "many_to_one": 0.1, "merge": 0.3}


def evaluator(rule: str, iou: float, **more: Any) -> Any:
    """panoptica's evaluation with a rule."""
    import panoptica
    from panoptica.instance_matcher import MaxBipartiteMatching, MaximizeMergeMatching
    from panoptica.metrics import Metric

    several = rule == "many_to_one"
    matchers: dict[str, Any] = {
        "merge": MaximizeMergeMatching(matching_threshold=iou),
        "optimal": MaxBipartiteMatching(matching_threshold=iou),
    }
    usual = panoptica.NaiveThresholdMatching(matching_threshold=iou, allow_many_to_one=several)
    return panoptica.Panoptica_Evaluator(
        expected_input=panoptica.InputType.SEMANTIC,
        instance_approximator=panoptica.ConnectedComponentsInstanceApproximator(),
        instance_matcher=matchers.get(rule, usual),
        instance_metrics=[Metric.DSC, Metric.IOU],
        global_metrics=[Metric.DSC],
        **more,
    )


def calls() -> dict[str, tuple[str, Callable[[Bools, Bools], Any]]]:
    """By what panoptica calls it our spec of the same number, and a call of it with target and answer."""

    def result(tool: Any, truth: Bools, answer: Bools) -> Any:
        found = tool.evaluate(answer.astype(int), truth.astype(int), voxelspacing=SPACING, verbose=False)
        return found["ungrouped"]

    def number(name: str, tool: Any) -> Callable[[Bools, Bools], Any]:
        return lambda truth, answer: getattr(result(tool, truth, answer), name)

    def area(tool: Any) -> Callable[[Bools, Bools], Any]:
        def call(truth: Bools, answer: Bools) -> Any:
            found = tool.evaluate_autc(answer.astype(int), truth.astype(int), voxelspacing=SPACING, verbose=False)
            return found["ungrouped"].get_autc("pq")

        return call

    def in_bin(tool: Any, place: int) -> Callable[[Bools, Bools], Any]:
        edges = list(EDGES_MM3)
        return lambda truth, answer: result(tool, truth, answer).recall_by_volume(edges)[f"rec_q{place}"]

    least, most = (f"{edge / 1000:g}" for edge in EDGES_MM3)
    bins = [f"below_ml={least}", f"least_ml={least},below_ml={most}", f"least_ml={most}"]
    found: dict[str, tuple[str, Callable[[Bools, Bools], Any]]] = {}
    for rule, iou in RULES.items():
        tool, more = evaluator(rule, iou), f"iou={iou},matching={rule}"
        found |= {
            f"{rule}: rq": (f"dmm:connectivity=26,{more}", number("rq", tool)),
            f"{rule}: pq": (f"pq:{more}", number("pq", tool)),
            f"{rule}: rec": (f"lesion_recall:{more}", number("rec", tool)),
            f"{rule}: autc pq": (f"pq_area:matching={rule}", area(tool)),
        }
    tool, more = evaluator("one_to_one", 0.5), "iou=0.5,matching=one_to_one"
    found |= {
        f"one_to_one: recall_by_volume {n}": (f"lesion_recall:{size},{more}", in_bin(tool, n))
        for n, size in enumerate(bins)
    }
    found["one_to_one: prec"] = (f"lesion_precision:{more}", number("prec", tool))
    region = evaluator("one_to_one", 0.5, per_region_evaluation=True)
    found["region-wise: region_avg_dsc"] = ("region_dice:spacing=voxel", number("region_avg_dsc", region))
    return found


def main() -> None:
    """Write the file: by what panoptica says the spec, and by pair the value; null: panoptica has none."""
    found = {
        name: {"spec": spec, "values": {pair: _value(call, *masks) for pair, masks in PAIRS.items()}}
        for name, (spec, call) in calls().items()
    }
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def _value(call: Callable[[Bools, Bools], Any], truth: Bools, answer: Bools) -> float | None:
    try:
        value = float(call(truth, answer))
    except Exception as error:  # panoptica raises several kinds where it divides by zero
        print(error)
        return None
    return value if math.isfinite(value) else None


if __name__ == "__main__":
    main()
