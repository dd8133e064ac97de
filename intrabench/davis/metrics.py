"""J and F of DAVIS: the overlap of two masks in a frame, and how well their outlines agree.

As davisinteractive 1.0.4 computes them: J = |A & B| / |A | B|, which is 1 of two empty masks. F is the harmonic mean of
the shares of both outlines that lie at most so many pixels from the other one; a dilation, not a matching of pixels.
A pixel is on the outline if it differs from its right, lower or lower right neighbour, so that nothing is at the edge
of the image. Perazzi et al., "A Benchmark Dataset and Evaluation Methodology for Video Object Segmentation", CVPR 2016.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from intrabench.errors import IntraBenchError
from intrabench.mask import Bools, Floats, Mask, grow, joint_box, masks_of

LabelMap = NDArray[np.integer[Any]]

BOUND = 0.008
"""The tolerance as a share of the frame's diagonal."""
VOID = 255
"""Not an object."""


def tolerance_pixels(shape: Sequence[int], bound: float = BOUND) -> float:
    """How far apart outlines may lie in a frame ``(y, x)``. bound: pixels, or below 1 a share of its diagonal."""
    return bound if bound >= 1 else math.ceil(bound * math.hypot(*shape))


def outlines(masks: Bools) -> Bools:
    """The outlines of frames ``(frame, y, x)``; beyond the last row and column is no image."""
    found = np.zeros_like(masks)
    found[:, :-1] |= masks[:, :-1] != masks[:, 1:]
    found[:, :, :-1] |= masks[:, :, :-1] != masks[:, :, 1:]
    found[:, :-1, :-1] |= masks[:, :-1, :-1] != masks[:, 1:, 1:]
    return found


def j_of_frames(truth: Mask, answer: Mask, frames: int) -> Floats:
    """(frames,) J of each frame of a video ``(frame, y, x)``."""
    scores = np.ones(frames)
    box = joint_box(truth, answer)
    if box is not None:
        one, other = truth.crop(box), answer.crop(box)
        both, either = (one & other).sum(axis=(1, 2)), (one | other).sum(axis=(1, 2))
        scores[box[0] : box[3]] = np.where(either, both / np.maximum(either, 1), 1.0)
    return scores


def f_of_frames(truth: Mask, answer: Mask, shape: tuple[int, int, int], bound: float = BOUND) -> Floats:
    """(frames,) F of each frame of a video of `shape` ``(frame, y, x)``."""
    scores, box = np.ones(shape[0]), joint_box(truth, answer)
    if box is None:
        return scores
    box = grow(box, (0, 1, 1), shape)  # outlines begin one pixel before their mask
    true_lines, lines = outlines(truth.crop(box)), outlines(answer.crop(box))
    tolerance = tolerance_pixels(shape[1:], bound)
    scores[box[0] : box[3]] = [_f(one, other, tolerance) for one, other in zip(true_lines, lines, strict=True)]
    return scores


def _f(truth: Bools, answer: Bools, tolerance: float) -> float:
    """F of two outlines."""
    counts = np.count_nonzero(truth), np.count_nonzero(answer)
    if not all(counts):
        return float(counts[0] == counts[1])
    precision = _near(answer, truth, tolerance) / counts[1]
    recall = _near(truth, answer, tolerance) / counts[0]
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _near(outline: Bools, other: Bools, tolerance: float) -> int:
    """How many pixels of an outline have a pixel of the other one in the disk around them."""
    far = math.floor(tolerance)
    sums = np.zeros((other.shape[0] + 2 * far, other.shape[1] + 2 * far + 1), np.int32)
    np.cumsum(np.pad(other, far), axis=1, out=sums[:, 1:])
    y, x = np.nonzero(outline)
    found = np.zeros(len(y), bool)
    for down in range(-far, far + 1):
        wide = math.isqrt(math.floor(tolerance * tolerance - down * down))
        found |= sums[y + far + down, x + far + wide + 1] > sums[y + far + down, x + far - wide]
    return int(np.count_nonzero(found))


def objects_in(labels: LabelMap) -> list[int]:
    """The objects of a label map, ascending; 0 is background.

    Raises:
        IntraBenchError: it has none.
    """
    found = [int(value) for value in np.unique(labels) if value not in (0, VOID)]
    if not found:
        raise IntraBenchError("the true masks have no object; labels are 1, 2, ... (0 is background, 255 void)")
    return found


def batched(
    truth: LabelMap,
    answer: LabelMap,
    objects: int | None = None,
    bound: float = BOUND,
    frames: Sequence[int] | None = None,
) -> tuple[Floats, Floats]:
    """J and F of label maps ``(frame, y, x)``, each ``(frame, object)``.

    objects: those from 1 to this number; None: those in `truth`. frames: only these; None: all.

    Raises:
        IntraBenchError: the label maps have other shapes than each other, or `truth` has no object.
    """
    if truth.shape != answer.shape or truth.ndim != 3:
        raise IntraBenchError(
            f"the masks have the shape {answer.shape}, expected that of the true ones, {truth.shape} (frame, y, x)"
        )
    if frames is not None:
        truth, answer = truth[list(frames)], answer[list(frames)]
    ids = objects_in(truth) if objects is None else list(range(1, objects + 1))
    shape = truth.shape[0], truth.shape[1], truth.shape[2]
    truths, answers = masks_of(truth, most=max(ids)), masks_of(answer, most=max(ids))
    pairs = [(truths.get(one, Mask.empty()), answers.get(one, Mask.empty())) for one in ids]
    overlaps = [j_of_frames(one, other, shape[0]) for one, other in pairs]
    contours = [f_of_frames(one, other, shape, bound) for one, other in pairs]
    return np.stack(overlaps, axis=1), np.stack(contours, axis=1)


def batched_jaccard(
    y_true: LabelMap, y_pred: LabelMap, average_over_objects: bool = True, nb_objects: int | None = None
) -> NDArray[np.float64]:
    """J of objects ``(frame, y, x)``: the mean of each frame, or ``(frame, object)``. nb_objects: None counts them."""
    found = batched(y_true, y_pred, nb_objects)[0]
    return found.mean(axis=1) if average_over_objects else found


def batched_f_measure(
    y_true: LabelMap,
    y_pred: LabelMap,
    average_over_objects: bool = True,
    nb_objects: int | None = None,
    bound_th: float = BOUND,
) -> NDArray[np.float64]:
    """F of the same. bound_th: how far outlines may lie apart, in pixels, or below 1 as a share of the diagonal."""
    found = batched(y_true, y_pred, nb_objects, bound_th)[1]
    return found.mean(axis=1) if average_over_objects else found
