"""Surface Dice and distances: `metrics.parts.surface` against surface-distance and MONAI, in one thread.

Run with `python -m benchmarks.surface`. Of two organs both see the same full 256³ arrays; ours is timed with the crop
(in intrabench masks are cropped) and without. A ragged answer is cropped before, for both.
"""

from functools import partial

import numpy as np
from scipy import ndimage

from benchmarks.comparison import MINIATURE, compare, cpu
from benchmarks.peers import MONAI, SURFACE_DISTANCE
from intrabench.mask import Bools, Mask, box_slices
from intrabench.metrics.mask_pair import KEPT
from intrabench.metrics.parts.surface import Surface, hausdorff, mean_distance, surface_dice, surface_distances

SIDE = 32 if MINIATURE else 256
SPACING_MM = (1.5, 0.8, 0.8)
TOLERANCE_MM = 2.0
ROUNDS = 3
PAIRS = {"close (mean gap about 2 mm)": 3.0, "apart (mean gap about 5 mm)": 8.0}

Scores = tuple[float, ...]


def organ(seed: int, bumps: float) -> Bools:
    """(256, 256, 256) ball of about two million voxels with smooth bumps of the given height in voxels."""
    noise = np.random.default_rng(seed).standard_normal((6, 6, 6))
    field = ndimage.zoom(noise.astype(np.float32), SIDE / 6, order=3)[:SIDE, :SIDE, :SIDE]
    z, y, x = (axis - SIDE / 2 for axis in np.ogrid[:SIDE, :SIDE, :SIDE])
    return np.asarray(np.sqrt(z * z + y * y + x * x) + bumps * field < 0.3 * SIDE)


def ragged() -> tuple[Bools, Bools]:
    """An ellipsoid of 112,000 voxels, and itself with a ragged border and crumbs around it, in their joint box."""
    z, y, x = (np.arange(-side, side + 1) for side in (32, 46, 46))
    radius = np.sqrt((z[:, None, None] / 0.6) ** 2 + (y[:, None] ** 2 + x**2))
    noise = ndimage.gaussian_filter(np.random.default_rng(3).standard_normal(radius.shape), 1)
    truth, answer = radius < 35.5, radius + 25 * noise < 35.5
    window = box_slices(Mask.of(truth | answer).box)
    return truth[window], answer[window]


def tiny() -> tuple[Bools, Bools]:
    """Cubes of six voxels a side, moved against each other by one and two."""
    truth, answer = np.zeros((2, 16, 16, 16), bool)
    truth[4:10, 4:10, 4:10] = answer[5:11, 4:10, 6:12] = True
    return truth, answer


def spill() -> tuple[Bools, Bools]:
    """A ball, and an answer that fills a large box around it."""
    truth, answer = np.zeros((2, SIDE // 2, SIDE, SIDE), bool)
    z, y, x = np.ogrid[: SIDE // 2, :SIDE, :SIDE]
    truth[4 * (z - SIDE // 4) ** 2 + (y - 0.4 * SIDE) ** 2 + (x - 0.4 * SIDE) ** 2 < (SIDE / 9) ** 2] = True
    edge = SIDE // 12
    answer[edge:-edge, edge:-edge, edge:-edge] = True
    return truth, answer


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


def ours_all(truth: Mask, answer: Mask) -> Scores:
    """All distances: both means, the largest and the 95th percentile, and surface Dice at two tolerances."""
    found = surface_distances(Surface(truth, SPACING_MM), Surface(answer, SPACING_MM))
    means = mean_distance(found.truth), mean_distance(found.answer)
    return (*means, hausdorff(found, 100), hausdorff(found), surface_dice(found, 1), surface_dice(found, 2))


def theirs_all(truth: Bools, answer: Bools) -> Scores:
    """The same from surface-distance, in one pass, too."""
    import surface_distance as peer

    found = peer.compute_surface_distances(truth, answer, SPACING_MM)
    largest = [peer.compute_robust_hausdorff(found, percentile) for percentile in (100, 95)]
    shares = [peer.compute_surface_dice_at_tolerance(found, tolerance) for tolerance in (1, 2)]
    return tuple(map(float, [*peer.compute_average_surface_distance(found), *largest, *shares]))


def theirs(truth: Bools, answer: Bools) -> Scores:
    """Surface Dice and HD95 from surface-distance."""
    import surface_distance

    distances = surface_distance.compute_surface_distances(truth, answer, SPACING_MM)
    dice = surface_distance.compute_surface_dice_at_tolerance(distances, TOLERANCE_MM)
    return float(dice), float(surface_distance.compute_robust_hausdorff(distances, 95.0))


def monai_scores(truth: Bools, answer: Bools) -> Scores:
    """The same from MONAI, which takes other points for the surface."""
    import torch
    from monai.metrics.hausdorff_distance import compute_hausdorff_distance
    from monai.metrics.surface_dice import compute_surface_dice

    one, other = (torch.from_numpy(mask[None, None]) for mask in (answer, truth))
    dice = compute_surface_dice(one, other, [TOLERANCE_MM], include_background=True, spacing=SPACING_MM)
    distance = compute_hausdorff_distance(one, other, include_background=True, percentile=95, spacing=SPACING_MM)
    return float(dice), float(distance)


def _against_monai(truth: Bools, answer: Bools) -> None:
    cropped = Mask.of(truth), Mask.of(answer)
    compare("NSD and HD95, ragged", str(MONAI), cpu(partial(monai_scores, truth, answer)), cpu(partial(ours, *cropped)))
    off = _off(ours(*cropped), monai_scores(truth, answer))
    print(f"ragged: largest difference from MONAI {off:.1e}, which takes other points for the surface")


def _off(scores: Scores, others: Scores) -> float:
    return max(abs(score - other) for score, other in zip(scores, others, strict=True))


def main() -> None:
    """Print milliseconds, ratios and the largest difference of the scores for each pair."""
    if MONAI.found("metrics.surface_dice"):
        _against_monai(*ragged())
    if not SURFACE_DISTANCE.found():
        return
    pairs = {name: (organ(1, bumps), organ(2, bumps)) for name, bumps in PAIRS.items()}
    for name, (truth, answer) in {"ragged": ragged(), "tiny": tiny(), "spill": spill(), **pairs}.items():
        cropped = Mask.of(truth), Mask.of(answer)
        target = Surface(cropped[0], SPACING_MM, KEPT * cropped[0].array.nbytes)
        voxels, off = f"{truth.sum():,} and {answer.sum():,} voxels in {truth.shape}, spacing {SPACING_MM} mm", 0.0
        two, every = partial(theirs, truth, answer), partial(theirs_all, truth, answer)
        for work, published, call in (
            (f"NSD and HD95, {name}, with the crop", two, partial(ours_with_crop, truth, answer)),
            (f"NSD and HD95, {name}, already cropped", two, partial(ours, *cropped)),
            (f"NSD and HD95, {name}, the target seen before", two, partial(ours_again, target, cropped[1])),
            (f"all distances, {name}, already cropped", every, partial(ours_all, *cropped)),
        ):
            compare(work, str(SURFACE_DISTANCE), cpu(published), cpu(call), times=ROUNDS)
            off = max(off, _off(call(), published()))
        print(f"{name}: {voxels}; largest difference {off:.1e}")


if __name__ == "__main__":
    main()
