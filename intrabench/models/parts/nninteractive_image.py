"""One image in a session of nnInteractive, of the package here or of a server elsewhere: both have the same methods."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from intrabench.mask import Mask, box_slices, joint_box
from intrabench.models.base import Answer, Request, SequentialPredictor
from intrabench.models.parts.nninteractive_marks import Mark, marks
from intrabench.turns import Turn


class OneImage(SequentialPredictor):
    """One image in one session, which keeps its state after the last answer.

    session: has the image ``(1, z, y, x)`` already, and an empty `target_buffer` ``(z, y, x)``. around: what each
    answer is computed in.
    """

    def __init__(
        self,
        session: Any,
        shape: tuple[int, int, int],
        around: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self.session, self.shape, self._around = session, shape, around
        self._last: tuple[str, tuple[Turn, ...], Mask] | None = None

    def close(self) -> None:
        """Release the image."""
        self.session = None

    def answer(self, request: Request) -> Answer:
        """The answer for the whole volume."""
        with self._around():
            return Answer(self._mask(request))

    def _mask(self, request: Request) -> Mask:
        thickness = self.session.preferred_scribble_thickness
        *earlier, new = [marks(turn.prompts, self.shape, thickness) for turn in request.given]
        if not new:  # there are no prompts
            return request.mask
        follows = (
            self._last is not None
            and self._last[:2] == (request.session, request.turns[:-1])
            and _equal(self._last[2], request.mask)
            and not request.turns[-1].afresh
        )
        self._last = None  # after a failure, the session would be in the middle of this turn
        if not follows:
            self._replay(request.mask, earlier)
        changed = [mark.add(self.session, predict=mark is new[-1]) for mark in new][-1]
        mask = request.mask if changed is None else self._cut(request.mask, changed)
        self._last = request.session, request.turns, mask
        return mask

    def _cut(self, before: Mask, changed: Sequence[Sequence[int]]) -> Mask:
        """The mask now: nothing lies outside of the one before and of what changed, and the volume may be large."""
        (z0, z1), (y0, y1), (x0, x1) = ((int(low), int(high)) for low, high in changed)
        new = Mask((z0, y0, x0), np.broadcast_to(np.True_, (z1 - z0, y1 - y0, x1 - x0)))
        box = joint_box(before, new)
        return Mask.empty() if box is None else Mask.of(self.session.target_buffer[box_slices(box)], box[:3])

    def _replay(self, mask: Mask, earlier: Sequence[Sequence[Mark]]) -> None:
        """Restore the session's state; of earlier predictions, only the last mask is an input of the next."""
        if mask.any():
            # every checkpoint takes its own last answer; the capability concerns other masks
            self.session.add_initial_seg_interaction(
                mask.to_array(self.shape).astype(np.uint8), override_capability_checks=True
            )
        else:
            self.session.reset_interactions()
        for turn in earlier:
            for mark in turn:
                mark.add(self.session, predict=False)
            self._end_turn()

    def _end_turn(self) -> None:
        """What follows is of a later turn; nnInteractive itself does not ask."""


def _equal(one: Mask, other: Mask) -> bool:
    """Whether two masks have the same voxels; both are tight."""
    return one is other or (one.start == other.start and np.array_equal(one.array, other.array))


def check_image(array: NDArray[Any]) -> None:
    """Refuse images that the package would silently turn into NaN; it normalises inside the box of nonzero voxels.

    Raises:
        ValueError: why.
    """
    if array.ndim != 3:
        raise ValueError(f"nninteractive takes one grey value per voxel, but this image has {array.shape[3]} channels")
    if not (np.isfinite(array.min()) and np.isfinite(array.max())):
        raise ValueError("the image has voxels that are NaN or infinite; replace them with real intensities")
    inside = array[box_slices(Mask.of(array != 0).box)]
    if inside.size == 0 or inside.min() == inside.max():
        raise ValueError("the image is constant where it is not zero, so nninteractive cannot normalise it")
