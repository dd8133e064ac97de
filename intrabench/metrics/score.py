"""All metrics of one round."""

from __future__ import annotations

from collections.abc import Sequence

from intrabench.errors import IntraBenchError
from intrabench.mask import Mask, joint_box
from intrabench.metrics.overlap import Overlap
from intrabench.target import Target

METRICS = ("dice@1", "iou@1", "nsd_2mm@1", "hd95_mm@1", "boundary_iou@1")


def score(target: Target, answer: Mask, metrics: Sequence[str]) -> dict[str, float | int]:
    """The columns of `metrics` (without their versions) and the voxel counts, without the target's ignored voxels.

    nsd_2mm: normalised surface Dice at 2 mm; hd95_mm: 95 % Hausdorff distance; both as in DeepMind's surface-distance,
    in the joint box of target and answer. Both empty: 1 and 0; one empty: 0 and infinite. boundary_iou: of images,
    volumes of one slice; no other volume has it. Both empty: 1; one empty: 0.

    Raises:
        IntraBenchError: there is no such metric.
    """
    unknown = [metric for metric in metrics if metric not in METRICS]
    if unknown:
        raise IntraBenchError(f"there is no metric {unknown[0]!r}; known are {', '.join(METRICS)}")
    truth, counted = target.mask, answer
    if target.ignore.any():
        truth, counted = truth.without(target.ignore), answer.without(target.ignore)
    overlap = Overlap.of(truth, counted)
    values: dict[str, float | int] = {
        "fp_voxels": overlap.false_positives,
        "fn_voxels": overlap.false_negatives,
        "pred_voxels": overlap.answer,
        "dice": overlap.dice,
        "iou": overlap.iou,
    }
    if "nsd_2mm@1" in metrics or "hd95_mm@1" in metrics:
        values |= _surface(truth, counted, target.spacing_mm)
    if "boundary_iou@1" in metrics and target.shape[0] == 1:
        values["boundary_iou"] = _boundary(target, answer)
    return values


def _surface(truth: Mask, answer: Mask, spacing_mm: tuple[float, float, float]) -> dict[str, float]:
    from intrabench.metrics.surface import hausdorff, surface_dice, surface_distances

    box = joint_box(truth, answer) or (0, 0, 0, 1, 1, 1)
    distances = surface_distances(truth.crop(box), answer.crop(box), spacing_mm)
    return {"nsd_2mm": surface_dice(distances, 2.0), "hd95_mm": hausdorff(distances, 95.0)}


def _boundary(target: Target, answer: Mask) -> float:
    from intrabench.metrics.boundary import boundary_iou

    return boundary_iou(target.mask, answer, target.shape[1:], target.ignore)
