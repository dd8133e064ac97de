"""Pairs of masks, and their distances as other programs have them, in tests/golden/distances/values.json.

``python -m tests.metrics.distance_peers`` writes the file, with MedPy, MONAI and surface-distance on the path.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy import ndimage

from intrabench.mask import Bools

FILE = Path(__file__).parents[1] / "golden" / "distances" / "values.json"
SHAPE = (12, 20, 22)
Spacing = tuple[float, float, float]
SPACINGS: Mapping[str, Spacing] = {"cubes": (1.0, 1.0, 1.0), "1:5": (5.0, 1.0, 1.0), "odd": (0.7, 1.3, 0.9)}


def block(*ends: tuple[int, int]) -> Bools:
    """From the first voxel of each axis up to the last one, which is left out."""
    found = np.zeros(SHAPE, bool)
    found[tuple(slice(*one) for one in ends)] = True
    return found


def ball(centre: tuple[float, float, float], radius: float) -> Bools:
    """In voxels."""
    away = (np.moveaxis(np.indices(SHAPE), 0, -1) - centre) ** 2
    return np.asarray(away.sum(axis=-1) <= radius**2)


def ragged(seed: int) -> Bools:
    """A ball with a rough border and crumbs around it."""
    noise = ndimage.gaussian_filter(np.random.default_rng(seed).standard_normal(SHAPE), 1)
    away = np.sqrt(((np.moveaxis(np.indices(SHAPE), 0, -1) - (6, 10, 11)) ** 2).sum(axis=-1))
    return np.asarray(away + 14 * noise < 5)


PAIRS: Mapping[str, tuple[Bools, Bools]] = {
    "touching": (block((2, 6), (3, 9), (4, 10)), block((6, 9), (3, 9), (4, 10))),
    "nested": (ball((6, 10, 11), 5.2), ball((6, 10, 11), 2.6)),
    "one voxel each": (block((1, 2), (2, 3), (3, 4)), block((9, 10), (15, 16), (17, 18))),
    "one voxel, found": (block((4, 5), (5, 6), (6, 7)), ball((5, 7, 7), 3.1)),
    "at the border": (block((0, 5), (0, 20), (0, 9)), block((0, 4), (2, 20), (5, 22))),
    "a slice": (block((5, 6), (2, 17), (3, 15)), block((5, 6), (4, 19), (1, 13))),
    "ragged": (ragged(3), ragged(4)),
    "shifted": (ball((5, 9, 10), 4.4), ball((7, 11, 12), 4.4)),
}

Call = Callable[[Bools, Bools, Spacing], float]


def calls() -> dict[str, tuple[str, Call]]:
    """By the function of a program, our spec of the same number, and a call of it with target, answer and spacing."""
    import surface_distance as deepmind
    import torch
    from medpy.metric import binary as medpy
    from monai import metrics as monai

    def surfaces(reduce: Callable[..., float], *more: float) -> Call:
        return lambda truth, answer, mm: reduce(deepmind.compute_surface_distances(truth, answer, mm), *more)

    def of_medpy(name: str) -> Call:
        return lambda truth, answer, mm: getattr(medpy, name)(answer, truth, voxelspacing=mm)

    def of_monai(name: str, *given: Any, **more: Any) -> Call:
        def call(truth: Bools, answer: Bools, mm: Spacing) -> float:
            one, other = (torch.from_numpy(mask[None, None]) for mask in (answer, truth))
            return float(getattr(monai, name)(one, other, *given, include_background=True, spacing=mm, **more))

        return call

    def mean_way(number: int) -> Callable[..., float]:
        return lambda found: deepmind.compute_average_surface_distance(found)[number]

    hausdorff, dice = deepmind.compute_robust_hausdorff, deepmind.compute_surface_dice_at_tolerance
    far = "compute_hausdorff_distance"
    mean = "compute_average_surface_distance"
    return {
        "surface_distance.compute_robust_hausdorff 95": ("hd95", surfaces(hausdorff, 95.0)),
        "surface_distance.compute_robust_hausdorff 100": ("hd", surfaces(hausdorff, 100.0)),
        "surface_distance.compute_robust_hausdorff 50": ("hd:percentile=50", surfaces(hausdorff, 50.0)),
        "surface_distance.compute_average_surface_distance, 1st": ("asd:way=to_answer", surfaces(mean_way(0))),
        "surface_distance.compute_average_surface_distance, 2nd": ("asd", surfaces(mean_way(1))),
        "surface_distance.compute_surface_dice_at_tolerance 1": ("nsd:tolerance_mm=1", surfaces(dice, 1.0)),
        "surface_distance.compute_surface_dice_at_tolerance 3": ("nsd:tolerance_mm=3", surfaces(dice, 3.0)),
        "medpy.metric.hd": ("hd:definition=medpy", of_medpy("hd")),
        "medpy.metric.hd95": ("hd95:definition=medpy", of_medpy("hd95")),
        "medpy.metric.asd": ("asd:definition=medpy", of_medpy("asd")),
        "medpy.metric.assd": ("assd:definition=medpy", of_medpy("assd")),
        f"monai.metrics.{far}": ("hd:definition=monai", of_monai(far)),
        f"monai.metrics.{far} 95": ("hd95:definition=monai", of_monai(far, percentile=95)),
        f"monai.metrics.{far} 75": ("hd:definition=monai,percentile=75", of_monai(far, percentile=75)),
        f"monai.metrics.{mean}": ("asd:definition=monai", of_monai(mean)),
        f"monai.metrics.{mean}, symmetric": ("assd:definition=monai", of_monai(mean, symmetric=True)),
        "monai.metrics.compute_surface_dice 2": ("nsd:definition=monai", of_monai("compute_surface_dice", [2.0])),
    }


def main() -> None:
    """Write the file: by function the spec, and by pair and spacing the value."""
    found = {
        name: {
            "spec": spec,
            "values": {
                f"{pair}, {size}": float(call(truth, answer, mm))
                for pair, (truth, answer) in PAIRS.items()
                for size, mm in SPACINGS.items()
            },
        }
        for name, (spec, call) in calls().items()
    }
    FILE.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
