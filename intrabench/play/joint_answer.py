"""What the answer of a model for a whole joint session is for each target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from intrabench.errors import kind
from intrabench.mask import Mask, masks_of
from intrabench.models.base import Answer, Failure, JointAnswer
from intrabench.play.validate import Refused, checked_start


def shares(answer: Answer | JointAnswer | Failure, places: Sequence[int], count: int) -> list[Answer | Failure]:
    """The answers for the targets at some places (from 0) of a joint session of `count` targets.

    Each has its share of the time. A label map that cannot be right is a failure of all.
    """
    share = len(places)
    if isinstance(answer, JointAnswer):
        try:
            masks = _masks(answer, count)
        except Refused as error:
            return [Failure("error", f"model: {error}", answer.seconds / share) for _ in places]
        of_all = Answer(
            Mask.empty(),
            answer.valid,
            seconds=answer.seconds / share,
            encode_seconds=answer.encode_seconds / share,
            batch=answer.batch,
            notes=answer.notes,
            reach=answer.reach,
        )
        return [replace(of_all, update=masks[place]) for place in places]
    if isinstance(answer, Failure):
        return [replace(answer, seconds=answer.seconds / share)] * share
    return [Failure("error", f"model: it returned {kind(answer)} for a joint session, expected a JointAnswer")] * share


def _masks(answer: JointAnswer, count: int) -> list[Mask]:
    """The mask of each target, cut out of the box of its label."""
    found = masks_of(_label_map(answer.labels, count), checked_start("label map", answer.start), count)
    return [found.get(label, Mask.empty()) for label in range(1, count + 1)]


def _label_map(labels: Any, count: int) -> NDArray[np.integer[Any]]:
    if not isinstance(labels, np.ndarray) or labels.ndim != 3 or labels.dtype.kind not in "iu":
        got = f"an array of {labels.dtype} with {labels.ndim} axes" if isinstance(labels, np.ndarray) else kind(labels)
        raise Refused(f"its label map is {got}, expected whole numbers with three axes (z, y, x)")
    if labels.size and not 0 <= int(labels.min()) <= int(labels.max()) <= count:
        wrong = int(labels.min()) if labels.min() < 0 else int(labels.max())
        raise Refused(f"its label map has the label {wrong}, but the joint session has the targets 1 to {count}")
    return labels
