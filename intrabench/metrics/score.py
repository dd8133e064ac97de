"""All metrics of one round."""

from __future__ import annotations

from collections.abc import Sequence

from intrabench.errors import IntraBenchError
from intrabench.mask import Mask, joint_box
from intrabench.metrics.overlap import Overlap
from intrabench.target import Target

METRICS = ("dice@1", "iou@1", "nsd_2mm@1", "hd95_mm@1")


def score(target: Target, answer: Mask, metrics: Sequence[str]) -> dict[str, float | int]:
    """The columns of `metrics` (without their versions) and the voxel counts, without the target's ignored voxels.

    nsd_2mm: normalised surface Dice at 2 mm; hd95_mm: 95 % Hausdorff distance; both as in DeepMind's surface-distance,
    in the joint box of target and answer. Both empty: 1 and 0; one empty: 0 and infinite.
    """
    unknown = [metric for metric in metrics if metric not in METRICS]
    if unknown:
        raise IntraBenchError(f"there is no metric {unknown[0]!r}; known are {', '.join(METRICS)}")
    truth = target.mask
    if target.ignore.any():
        truth, answer = truth.without(target.ignore), answer.without(target.ignore)
    overlap = Overlap.of(truth, answer)
    values: dict[str, float | int] = {
        "fp_voxels": overlap.false_positives,
        "fn_voxels": overlap.false_negatives,
        "pred_voxels": overlap.answer,
        "dice": overlap.dice,
        "iou": overlap.iou,
    }
    if "nsd_2mm@1" in metrics or "hd95_mm@1" in metrics:
        values |= _surface(truth, answer, target.spacing_mm)
    return values


def _surface(truth: Mask, answer: Mask, spacing_mm: tuple[float, float, float]) -> dict[str, float]:
    from intrabench.metrics.surface import hausdorff, surface_dice, surface_distances

    box = joint_box(truth, answer) or (0, 0, 0, 1, 1, 1)
    distances = surface_distances(truth.crop(box), answer.crop(box), spacing_mm)
    return {"nsd_2mm": surface_dice(distances, 2.0), "hd95_mm": hausdorff(distances, 95.0)}
