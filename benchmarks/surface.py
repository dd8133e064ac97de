"""Seconds for surface Dice and HD95: `metrics.parts.surface` against google-deepmind's package, in one thread.

Run with `python -m benchmarks.surface`. Of two organs both see the same full 256³ arrays; ours is timed with the crop
(in intrabench masks are cropped) and without. A ragged answer is cropped before, for both. Runs take turns in one
process, the fastest of each counts.
"""

import time
from collections.abc import Callable
from functools import partial

import numpy as np
from scipy import ndimage

from intrabench.mask import Bools, Mask, box_slices
from intrabench.metrics.mask_pair import KEPT
from intrabench.metrics.parts.surface import Surface, hausdorff, surface_dice, surface_distances

SIDE = 256
SPACING_MM = (1.5, 0.8, 0.8)
TOLERANCE_MM = 2.0
ROUNDS = 7
PAIRS = {"close (mean gap about 2 mm)": 3.0, "apart (mean gap about 5 mm)": 8.0}

Scores = tuple[float, float]


def organ(seed: int, bumps: float) -> Bools:
    """(256, 256, 256) ball of about two million voxels with smooth bumps of the given height in voxels."""
    noise = np.random.default_rng(seed).standard_normal((6, 6, 6))
    field = ndimage.zoom(noise.astype(np.float32), SIDE / 6, order=3)[:SIDE, :SIDE, :SIDE]
    z, y, x = (axis - SIDE / 2 for axis in np.ogrid[:SIDE, :SIDE, :SIDE])
    return np.asarray(np.sqrt(z * z + y * y + x * x) + bumps * field < 78)


def ragged() -> tuple[Bools, Bools]:
    """An ellipsoid of 112,000 voxels, and itself with a ragged border and crumbs around it, in their joint box."""
    z, y, x = (np.arange(-side, side + 1) for side in (32, 46, 46))
    radius = np.sqrt((z[:, None, None] / 0.6) ** 2 + (y[:, None] ** 2 + x**2))
    noise = ndimage.gaussian_filter(np.random.default_rng(3).standard_normal(radius.shape), 1)
    truth, answer = radius < 35.5, radius + 25 * noise < 35.5
    window = box_slices(Mask.of(truth | answer).box)
    return truth[window], answer[window]


def ours(truth: Mask, answer: Mask) -> Scores:
    """Surface Dice and HD95 from this project."""
    distances = surface_distances(Surface(truth, SPACING_MM), Surface(answer, SPACING_MM))
    return surface_dice(distances, TOLERANCE_MM), hausdorff(distances)


def ours_with_crop(truth: Bools, answer: Bools) -> Scores:
    """The same from full arrays."""
    return ours(Mask.of(truth), Mask.of(answer))


def ours_again(truth: Surface, answer: Mask) -> Scores:
    """The same from a target that was compared before, as in all rounds but the first."""
    distances = surface_distances(truth, Surface(answer, SPACING_MM))
    return surface_dice(distances, TOLERANCE_MM), hausdorff(distances)


def theirs(truth: Bools, answer: Bools) -> Scores:
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
    pairs = {name: (organ(1, bumps), organ(2, bumps)) for name, bumps in PAIRS.items()}
    for name, (truth, answer) in {"ragged": ragged(), **pairs}.items():
        cropped = Mask.of(truth), Mask.of(answer)
        target = Surface(cropped[0], SPACING_MM, KEPT * cropped[0].array.nbytes)
        best = measure(
            {
                "surface-distance": partial(theirs, truth, answer),
                "ours, with the crop": partial(ours_with_crop, truth, answer),
                "ours, already cropped": partial(ours, *cropped),
                "ours, the target seen before": partial(ours_again, target, cropped[1]),
            }
        )
        seconds, expected = best["surface-distance"]
        print(f"{name}: {truth.sum():,} and {answer.sum():,} voxels in {truth.shape}, spacing {SPACING_MM} mm")
        for run, (took, scores) in best.items():
            off = max(abs(score - wanted) for score, wanted in zip(scores, expected, strict=True))
            print(f"  {run:28} {1e3 * took:7.1f} ms   {seconds / took:5.1f} times   largest difference {off:.1e}")


if __name__ == "__main__":
    main()
