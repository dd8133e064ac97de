"""A correcting scribble: through missed voxels, or along the target's outline through wrongly included ones."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from intrabench.mask import Bools, Ints, Mask, grow, joint_box
from intrabench.prompters.base import Refinement
from intrabench.prompters.click_slice import clicks
from intrabench.prompters.errors import Errors, deepest, largest_component
from intrabench.prompters.points_slice import dilate
from intrabench.prompters.slices import component_centre
from intrabench.prompters.user import User
from intrabench.prompts import Prompts, Scribble
from intrabench.turns import DrawScribble, Turn

_DISTANCE = 2  # pixels between the target and the outline that negative scribbles follow
_SHARE = 0.6  # share of the outline that is drawn


@dataclass(frozen=True)
class ScribbleRefinement(Refinement):
    """One scribble, positive or negative by a Bernoulli draw ("Scribble Refine").

    It is positive with the probability missed / (missed + wrongly included voxels). A positive one runs through the
    slice centroids of the largest missed component. A negative one lies in the coronal or sagittal slice with most
    wrongly included voxels: it is a connected 60 % of the outline 2 pixels around the target, reduced to its wrongly
    included pixels. If the target is not in that slice, it is the line along z with most of them. If the outline has
    none, it is a negative click on the deepest one.

    Source: IntRaBench paper and its code, RadioActive.
    """

    name = "scribble"

    def correct(self, user: User, mask: Mask) -> Turn | None:
        """One scribble (or click); None if nothing is wrong."""
        errors = Errors.of(user.target, mask)
        missed, excess = errors.negatives.voxels, errors.positives.voxels
        if missed + excess == 0:
            return None
        if user.rng("sign").random() < missed / (missed + excess):
            return _turn(_through(largest_component(errors.negatives)), label=1)
        stroke = _around(user, errors.positives)
        if len(stroke):
            return _turn(stroke, label=0)
        found = deepest(largest_component(errors.positives), user.target.spacing_mm)
        return clicks(user, np.array(found[:1]))


def _turn(stroke: Ints, label: int) -> Turn:
    return Turn(Prompts(scribbles=(Scribble(stroke, label),)), (DrawScribble(),))


def _through(missed: Mask) -> Ints:
    """The centroid of every slice, rows ``z, y, x``."""
    return np.array([(int(z), *component_centre(missed, int(z), of="voxels")) for z in missed.occupied_slices])


def _around(user: User, excess: Mask) -> Ints:
    """Wrongly included voxels along the stroke in the worst plane across the slices, in drawing order."""
    axis, index = _worst_plane(excess)
    box = joint_box(user.target.mask, excess)
    assert box is not None
    box = grow(box, (_DISTANCE + 1,) * 3, user.target.shape)
    at = index - box[axis]
    target, wrong = (np.asarray(mask.crop(box).take(at, axis), dtype=bool) for mask in (user.target.mask, excess))
    if target.any():
        stroke = _outline_piece(_outline(target), wrong, user.rng("outline"))
    else:
        stroke = np.argwhere(wrong & (np.arange(wrong.shape[1]) == wrong.sum(axis=0).argmax()))
    stroke = stroke[wrong[tuple(stroke.T)]]
    return np.insert(stroke, axis, at, axis=1) + box[:3]


def _worst_plane(excess: Mask) -> tuple[int, int]:
    """Axis (1: coronal, 2: sagittal) and index of the plane with most voxels; in a tie coronal, then the first."""
    counts = {1: excess.array.sum(axis=(0, 2)), 2: excess.array.sum(axis=(0, 1))}
    axis = 1 if counts[1].max() >= counts[2].max() else 2
    return axis, int(counts[axis].argmax()) + excess.start[axis]


def _outline(target: Bools) -> Bools:
    """The pixels at the edge of the target dilated by `_DISTANCE`."""
    from scipy import ndimage

    grown = dilate(target, _DISTANCE)
    return np.asarray(grown & ~ndimage.binary_erosion(grown, border_value=1), dtype=bool)


def _outline_piece(outline: Bools, wrong: Bools, rng: np.random.Generator) -> Ints:
    """A connected 60 % of an outline around a random wrong pixel on it, from one end to the other.

    Empty if no pixel of the outline is wrong.
    """
    centres = np.argwhere(outline & wrong)
    if len(centres) == 0:
        return centres
    around = _by_distance(outline, rng.choice(centres))
    piece = around[: max(1, round(_SHARE * len(around)))]
    kept = np.zeros_like(outline)
    kept[tuple(piece.T)] = True
    return _by_distance(kept, piece[-1])


def _by_distance(curve: Bools, start: Ints) -> Ints:
    """Pixels of an 8-connected curve, ordered by the number of steps from `start`."""
    height, width = curve.shape
    left = curve.copy()
    first = (int(start[0]), int(start[1]))
    left[first] = False
    queue, found = deque([first]), [first]
    while queue:
        y, x = queue.popleft()
        for b in range(max(y - 1, 0), min(y + 2, height)):
            for a in range(max(x - 1, 0), min(x + 2, width)):
                if left[b, a]:
                    left[b, a] = False
                    queue.append((b, a))
                    found.append((b, a))
    return np.array(found)
