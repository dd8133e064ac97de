"""Prompts of requests as files have them: clicks and strokes in the order in which they were given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from intrabench.models.base import Request
from intrabench.prompts import Prompts

Rows = NDArray[Any]


def clicks_of(prompts: Prompts) -> Rows:
    """The points of a turn, and those of its strokes, rows ``z, y, x, label``."""
    strokes = [np.column_stack([s.points, np.full(len(s.points), s.label)]) for s in prompts.scribbles]
    return np.vstack([prompts.points, *strokes])


def boxes_of(requests: Sequence[Request]) -> list[Rows | None]:
    """The newest 3D box of each request."""
    found: list[Rows | None] = []
    for request in requests:
        boxes = [turn.prompts.box3d for turn in request.given if turn.prompts.box3d is not None]
        found.append(boxes[-1] if boxes else None)
    return found
