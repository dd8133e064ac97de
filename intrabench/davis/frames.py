"""Which frame the robot draws in next: the worst one that it may."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from intrabench.errors import IntraBenchError


def worst_frame(
    scores: NDArray[np.floating],
    drawn: Collection[int],
    candidates: Sequence[int] | None = None,
    started: Collection[int] = (),
) -> int:
    """The frame with the lowest score, the first of several.

    scores: (frames,). drawn: frames in which the robot has drawn already; they are left out as long as there are
    others, and once it has drawn in all, none is left out any more. candidates: only these frames; none means all.
    started: frames with the scribbles that people gave first, left out as long as there are others; the published
    robot draws there as elsewhere.

    Raises:
        IntraBenchError: a candidate is no frame.
    """
    count = len(scores)
    if wrong := [frame for frame in candidates or () if not 0 <= frame < count]:
        raise IntraBenchError(
            f"frame {wrong[0]} cannot be a candidate for the next scribble; the video has the frames 0 to {count - 1}"
        )
    allowed = sorted(set(candidates or range(count)))
    left = [frame for frame in allowed if frame not in drawn]
    for choice in ([frame for frame in left if frame not in started], left, allowed):
        if choice:
            return choice[int(np.argmin(np.asarray(scores)[choice]))]
    raise AssertionError("a sequence has frames")
