"""Seconds for surface Dice and HD95 of an organ pair: `metrics.parts.surface` against google-deepmind's package.

Run with `python -m benchmarks.surface`. Both see the same full 256³ arrays; ours is timed with the crop to the joint
box (in intrabench the caller crops) and without. Runs take turns in one process, the fastest of each counts.
"""

import time
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from intrabench.metrics.parts.surface import hausdorff, surface_dice, surface_distances

SIDE = 256
SPACING_MM = (1.5, 0.8, 0.8)
TOLERANCE_MM = 2.0
ROUNDS = 7
PAIRS = {"close (mean gap about 2 mm)": 3.0, "apart (mean gap about 5 mm)": 8.0}

Mask = NDArray[np.bool_]
Scores = tuple[float, float]


def organ(seed: int, bumps: float) -> Mask:
    """(256, 256, 256) ball of about two million voxels with smooth bumps of the given height in voxels."""
    noise = np.random.default_rng(seed).standard_normal((6, 6, 6))
    field = ndimage.zoom(noise.astype(np.float32), SIDE / 6, order=3)[:SIDE, :SIDE, :SIDE]
    z, y, x = (axis - SIDE / 2 for axis in np.ogrid[:SIDE, :SIDE, :SIDE])
    return np.asarray(np.sqrt(z * z + y * y + x * x) + bumps * field < 78)


def crop(truth: Mask, answer: Mask) -> tuple[Mask, Mask]:
    """Both masks cut to their joint bounding box."""
    both = truth | answer
    found = [np.flatnonzero(both.any(axis=others)) for others in ((1, 2), (0, 2), (0, 1))]
    window = tuple(slice(int(hits[0]), int(hits[-1]) + 1) for hits in found)
    return truth[window], answer[window]


def ours(truth: Mask, answer: Mask, workers: int = 2) -> Scores:
    """Surface Dice and HD95 from this project, for masks of the joint box."""
    distances = surface_distances(truth, answer, SPACING_MM, workers=workers)
    return surface_dice(distances, TOLERANCE_MM), hausdorff(distances)


def ours_with_crop(truth: Mask, answer: Mask) -> Scores:
    """The same from full arrays."""
    return ours(*crop(truth, answer))


def theirs(truth: Mask, answer: Mask) -> Scores:
    """Surface Dice and HD95 from surface-distance."""
    import surface_distance

    distances = surface_distance.compute_surface_distances(truth, answer, SPACING_MM)
    dice = surface_distance.compute_surface_dice_at_tolerance(distances, TOLERANCE_MM)
    return float(dice), float(surface_distance.compute_robust_hausdorff(distances, 95.0))


def measure(runs: dict[str, Callable[[], Scores]]) -> dict[str, tuple[float, Scores]]:
    """Fastest time in seconds and scores of each run, all taking turns."""
    best: dict[str, tuple[float, Scores]] = {}
    for _ in range(ROUNDS):
        for name, run in runs.items():
            start = time.perf_counter()
            scores = run()
            seconds = time.perf_counter() - start
            best[name] = min(best.get(name, (np.inf, scores)), (seconds, scores))
    return best


def main() -> None:
    """Print seconds, ratios and the largest difference of the scores for each pair."""
    try:
        import surface_distance  # noqa: F401
    except (ImportError, AttributeError) as error:
        raise SystemExit(
            "surface-distance cannot be imported (it uses SciPy and NumPy names that newer releases have dropped), "
            f"so there is nothing to compare with: {error}"
        ) from error
    for name, bumps in PAIRS.items():
        truth, answer = organ(1, bumps), organ(2, bumps)
        cropped = crop(truth, answer)
        best = measure(
            {
                "surface-distance": partial(theirs, truth, answer),
                "ours, with the crop": partial(ours_with_crop, truth, answer),
                "ours, already cropped": partial(ours, *cropped),
                "ours, cropped, one thread": partial(ours, *cropped, workers=1),
            }
        )
        seconds, expected = best["surface-distance"]
        print(f"{name}: {truth.sum():,} and {answer.sum():,} voxels, box {cropped[0].shape}, spacing {SPACING_MM} mm")
        for run, (took, scores) in best.items():
            off = max(abs(score - wanted) for score, wanted in zip(scores, expected, strict=True))
            print(f"  {run:26} {took:7.3f} s   {seconds / took:5.1f} times   largest difference {off:.1e}")


if __name__ == "__main__":
    main()
