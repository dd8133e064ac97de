"""A correcting scribble: through missed voxels, or along the target's outline through wrongly included ones."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from intrabench.mask import Bools, Index, Ints, Mask, grow, joint_box
from intrabench.prompters.base import Refinement
from intrabench.prompters.click_slice import clicks
from intrabench.prompters.davis_slices import centre_lines
from intrabench.prompters.errors import Errors, deepest, largest_component
from intrabench.prompters.points_slice import dilate
from intrabench.prompters.slices import component_centre
from intrabench.prompters.user import User
from intrabench.prompts import Prompts, Scribble
from intrabench.specs.specs import switch
from intrabench.turns import DrawScribble, Turn

_DISTANCE = 2  # pixels between the target and the outline that negative scribbles follow
_SHARE = 0.6  # share of the outline that is drawn


@dataclass(frozen=True)
class ScribbleRefinement(Refinement):
    """One scribble, positive or negative by a Bernoulli draw ("Scribble Refine").

    It is positive with the probability missed / (missed + wrongly included voxels). A positive one runs through the
    slice centroids of the largest missed component. A negative one lies in the plane across the slices, coronal or
    sagittal where these are axial, with most wrongly included voxels: it is a connected 60 % of the outline 2 pixels
    around the target, reduced to its wrongly included pixels. If the target is not in that plane, it is the line across
    the slices with most of them. If the outline has none, it is a negative click on the deepest one.

    one_slice: what these rules make of an error that lies in one slice, as in all pictures. line: the longest centre
    line of its largest component, as `davis_slices` draws it, which rows note as ``scribble as centre line``; where
    there is none, because the error is small or round, a click on its deepest voxel. What comes out as a single voxel
    is a click, too, and costs one; rows note ``scribble as click``. published: as the paper, that voxel at the price of
    a scribble.

    Source: IntRaBench paper and its code, RadioActive; in one slice the robot of DAVIS Interactive.
    """

    name = "scribble"
    version = "2"
    one_slice: Literal["line", "published"] = switch("line")

    def correct(self, user: User, mask: Mask) -> Turn | None:
        """One scribble (or click); None if nothing is wrong."""
        errors = Errors.of(user.target, mask)
        missed, excess = errors.negatives.voxels, errors.positives.voxels
        if missed + excess == 0:
            return None
        positive = bool(user.rng("sign").random() < missed / (missed + excess))
        error = largest_component(errors.negatives) if positive else errors.positives
        if self.one_slice == "line" and len(error.occupied_slices) == 1:
            return _in_slice(user, largest_component(error).slice(int(error.occupied_slices[0])), int(positive))
        stroke = _through(error) if positive else _around(user, error)
        if len(stroke) > 1 or (len(stroke) == 1 and self.one_slice == "published"):
            return _drawn(stroke, int(positive))
        return _clicked(user, stroke if len(stroke) else deepest(largest_component(error), user.target.spacing_mm))


def _in_slice(user: User, part: Mask, label: int) -> Turn:
    """The longest centre line of a part of one slice; if it has none, a click on its deepest voxel."""
    (lines,) = centre_lines([part], user.target.spacing_mm, user.rng("centre line"))
    if not lines:
        return _clicked(user, deepest(part, user.target.spacing_mm, planar=True))
    user.note("scribble as centre line", "turn")
    return _drawn(max(lines, key=len), label)


def _drawn(stroke: Ints, label: int) -> Turn:
    return Turn(Prompts(scribbles=(Scribble(stroke, label),)), (DrawScribble(),))


def _clicked(user: User, voxels: Ints | Sequence[Index]) -> Turn:
    """A click on the first of some voxels ``z, y, x``."""
    user.note("scribble as click", "turn")
    return clicks(user, np.array(voxels[:1]))


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
