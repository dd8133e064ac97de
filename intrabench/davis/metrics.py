"""J and F of label maps under the names that existing scripts import."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from intrabench.davis.jf import BOUND, batched

Labels = NDArray[np.integer[Any]]


def batched_jaccard(
    y_true: Labels, y_pred: Labels, average_over_objects: bool = True, nb_objects: int | None = None
) -> NDArray[np.float64]:
    """J of objects ``(frame, y, x)``: the mean of each frame, or ``(frame, object)``. nb_objects: None counts them."""
    found = batched(y_true, y_pred, nb_objects)[0]
    return found.mean(axis=1) if average_over_objects else found


def batched_f_measure(
    y_true: Labels,
    y_pred: Labels,
    average_over_objects: bool = True,
    nb_objects: int | None = None,
    bound_th: float = BOUND,
) -> NDArray[np.float64]:
    """F of the same. bound_th: how far outlines may lie apart, in pixels, or below 1 as a share of the diagonal."""
    found = batched(y_true, y_pred, nb_objects, bound_th)[1]
    return found.mean(axis=1) if average_over_objects else found
