"""J and F of DAVIS: the overlap of two masks in a frame, and how well their outlines agree.

As davisinteractive 1.0.4 computes them: J = |A & B| / |A | B|, which is 1 of two empty masks. F is the harmonic mean of
the shares of both outlines that lie at most so many pixels from the other one; a dilation, not a matching of pixels.
A pixel is on the outline if it differs from its right, lower or lower right neighbour, so that nothing is at the edge
of the image. Perazzi et al., "A Benchmark Dataset and Evaluation Methodology for Video Object Segmentation", CVPR 2016.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from intrabench.davis.packed import Packed, counts, dilated, outlines, pack, parts_of
from intrabench.errors import IntraBenchError
from intrabench.mask import Box, Floats, Mask, grow, joint_box

LabelMap = NDArray[np.integer[Any]]

BOUND = 0.008
"""The tolerance as a share of the frame's diagonal."""
VOID = 255
"""Not an object."""
TINY = np.finfo(float).tiny


def tolerance_pixels(shape: Sequence[int], bound: float = BOUND) -> float:
    """How far apart outlines may lie in a frame ``(y, x)``. bound: pixels, or below 1 a share of its diagonal."""
    return bound if bound >= 1 else math.ceil(bound * math.hypot(*shape))


def j_of_frames(truth: Mask, answer: Mask, frames: int) -> Floats:
    """(frames,) J of each frame of a video ``(frame, y, x)``."""
    scores, box = np.ones(frames), joint_box(truth, answer)
    for part, one, other in _packed_parts(truth, answer, box, 0) if box else ():
        scores[part] = _j(one, other)
    return scores


def f_of_frames(truth: Mask, answer: Mask, shape: tuple[int, int, int], bound: float = BOUND) -> Floats:
    """(frames,) F of each frame of a video of `shape` ``(frame, y, x)``."""
    scores, box, tolerance = np.ones(shape[0]), joint_box(truth, answer), tolerance_pixels(shape[1:], bound)
    if box is None:
        return scores
    box = grow(box, (0, 1, 1), shape)  # outlines begin one pixel before their mask
    for part, one, other in _packed_parts(truth, answer, box, math.floor(tolerance)):
        scores[part] = _f(one, other, box[5] - box[2], tolerance)
    return scores


def _packed_parts(truth: Mask, answer: Mask, box: Box, room: int) -> Iterator[tuple[slice, Packed, Packed]]:
    """Both masks in a box, some frames at a time, and which."""
    z0, y0, x0, z1, y1, x1 = box
    for part in parts_of(range(z0, z1), y1 - y0, x1 - x0 + room):
        within = part.start, y0, x0, part.stop, y1, x1
        yield part, pack(truth.crop(within), room), pack(answer.crop(within), room)


def _j(truth: Packed, answer: Packed) -> Floats:
    """(frame,) J."""
    both, either = counts(truth & answer), counts(truth | answer)
    return np.where(either, both / np.maximum(either, 1), 1.0)


def _f(truth: Packed, answer: Packed, width: int, tolerance: float) -> Floats:
    """(frame,) F of frames that are `width` wide and have room for the tolerance."""
    true_lines, lines = outlines(truth, width), outlines(answer, width)
    true_counts, line_counts = counts(true_lines), counts(lines)
    recall = counts(true_lines & dilated(lines, tolerance)) / np.maximum(true_counts, 1)
    precision = counts(lines & dilated(true_lines, tolerance)) / np.maximum(line_counts, 1)
    none = (true_counts == 0) & (line_counts == 0)
    return np.where(none, 1.0, 2 * precision * recall / np.maximum(precision + recall, TINY))


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
    (count, height, width), tolerance = truth.shape, tolerance_pixels(truth.shape[1:], bound)
    room = math.floor(tolerance)
    j, f = np.ones((2, count, len(ids)))
    for part in parts_of(range(count), height, width + room):
        ours, theirs = _small(truth[part]), _small(answer[part])
        for column, one in enumerate(ids):
            packed = _common_rows(pack(ours == one, room), pack(theirs == one, room))
            j[part, column], f[part, column] = _j(*packed), _f(*packed, width, tolerance)
    return j, f


def _small(labels: LabelMap) -> LabelMap:
    """The same labels in bytes, which are compared faster, if all of them fit."""
    fit = labels.dtype.itemsize == 1 or (labels.min() >= 0 and labels.max() <= 255)
    return labels.astype(np.uint8, copy=False) if fit else labels


def _common_rows(truth: Packed, answer: Packed) -> tuple[Packed, Packed]:
    """Without the rows above and below both masks, but for one on each side."""
    rows = np.flatnonzero((truth | answer).any(axis=(0, 2)))
    kept = slice(max(rows[0] - 1, 0), rows[-1] + 2) if len(rows) else slice(0)
    return truth[:, kept], answer[:, kept]


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
