"""The longest diameter of a lesion, as radiologists measure it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from intrabench.files.scribble_file import joined
from intrabench.mask import Mask
from intrabench.prompters.base import Prompter
from intrabench.prompters.errors import largest_part
from intrabench.prompters.user import Turns, User
from intrabench.prompts import Prompts, Scribble
from intrabench.turns import Turn, drawing


@dataclass(frozen=True)
class Recist(Prompter):
    """The longest diameter of the target in one slice, drawn as a straight stroke.

    The slice is that with most voxels of the target, of equal ones the lowest, and there only the largest 8-connected
    part is measured: in mm, from pixel centre to pixel centre. The stroke has all pixels of the straight line between
    the two ends, also those where a bent target is not, as with a caliper. It costs a stroke of two control points; a
    target of one pixel there is clicked.

    Source: RECIST 1.1 (Eisenhauer et al., Eur J Cancer 45:228, 2009), which measures lesions so; the stroke is what
    MedSAM2's script for RECIST takes. RECIST measures lymph nodes by their short axis, which is not done here.
    """

    name = "recist"

    def interact(self, user: User) -> Turns:
        """One turn: the stroke."""
        line = Scribble(longest_diameter(user.target.mask, user.target.spacing_mm))
        yield Turn(Prompts(scribbles=(line,)), (drawing(line, control_points=2),))


def longest_diameter(mask: Mask, spacing_mm: Sequence[float]) -> NDArray[np.int64]:
    """The pixels of the line, rows ``z, y, x``; of equally long ones that whose ends come first, in the order of rows.

    Lengths are compared in mm, rounded to 1e-3.
    """
    part = largest_part(mask, where="slice", ties="pixel", memory="c")
    ends = _row_ends(part.array[0])
    offsets = (ends[:, None] - ends[None]) * np.asarray(spacing_mm[1:])
    lengths_mm = np.hypot(offsets[..., 0], offsets[..., 1]).round(3)
    first, last = np.unravel_index(lengths_mm.argmax(), lengths_mm.shape)
    line = joined(ends[[first, last]]) if first != last else ends[[first]]
    return np.insert(line, 0, 0, axis=1) + part.start


def _row_ends(plane: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The first and the last pixel of every row, rows ``y, x`` in their order: no diameter ends elsewhere."""
    rows = np.flatnonzero(plane.any(axis=1))
    first = plane[rows].argmax(axis=1)
    last = plane.shape[1] - 1 - plane[rows, ::-1].argmax(axis=1)
    return np.unique(np.column_stack([np.repeat(rows, 2), np.column_stack([first, last]).ravel()]), axis=0)
