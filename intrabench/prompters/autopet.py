"""The simulated user of the autoPET V challenge: one scribble, into what is missed or what is wrongly included."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from intrabench.mask import Index, Ints, Mask
from intrabench.prompters.base import CannotCorrect, Refinement
from intrabench.prompters.errors import Errors, Memory, Ties, largest_part
from intrabench.prompters.file_axes import FileAxes
from intrabench.prompters.strokes import PUBLISHED_SEED, Style, Thin, drawn, stroke_on
from intrabench.prompters.user import User
from intrabench.prompts import Prompts, Scribble
from intrabench.specs.specs import switch
from intrabench.turns import Turn


@dataclass(frozen=True)
class AutoPet(Refinement):
    """One scribble of autoPET V: into missed voxels, or into wrongly included ones if that scribble has more voxels.

    Each lies in the largest part of its error that is connected within a slice. Where nothing is to be drawn,
    because the target has no voxels or the answer is perfect, the user waits for another answer. Defaults do what the
    published code does, but for the axes.

    style: centerline is the skeleton between its farthest pixels, without a tenth at either end; random a straight line
    between two pixels of the part; boundary a walk along a fifth of its edge.

    seed: fixed draws the same random numbers for every scribble, so the same error gives the same one; session draws
    new ones. sign: voxels compares the two scribbles, error the two errors, as its README says; equal ones are missed.
    empty: when missed or wrongly included voxels are lacking, the published loop fails, and this round and all later
    ones score 0 (fails); counts_zero takes a scribble without voxels instead. where: slice looks for the part in the
    slice with most wrong voxels. thin: a part whose skeleton is a pixel, such as a small disc, is painted all over
    (fills), or only that pixel is (keeps). connectivity: of a part, 8 or 4.

    ties, memory: of equally large parts in a slice it is the one with the first block of 2 x 2 pixels, as in cc3d from
    3.27 on, or with the first pixel, as before; first along x then y (fortran, as NIfTI files are read), or along y
    then x (c). axes: file indexes voxels as the file of the scan does, as published, so slices are along its third
    axis, and another order of axes may give other scribbles.

    Source: the code of autoPET V (2026), written from its rules.
    """

    name = "autopet"
    begins = True
    empty_targets = True
    style: Style = "centerline"
    seed: Literal["fixed", "session"] = switch("fixed")
    sign: Literal["voxels", "error"] = switch("voxels")
    empty: Literal["fails", "counts_zero"] = switch("fails")
    where: Literal["part", "slice"] = switch("part")
    thin: Thin = switch("fills")
    connectivity: int = switch(8)
    ties: Ties = switch("block")
    memory: Memory = switch("fortran")
    axes: Literal["canonical", "file"] = switch("canonical")

    def __post_init__(self) -> None:
        if self.connectivity not in (4, 8):
            raise ValueError(f"connectivity={self.connectivity} is unknown; give 4 or 8")

    def correct(self, user: User, mask: Mask) -> Turn:
        """One scribble, or a turn without anything.

        Raises:
            CannotCorrect: one of the errors is empty, and the published loop fails.
        """
        if not user.target.mask.any():
            return Turn(Prompts())
        errors = Errors.of(user.target, mask)
        missed, excess = errors.negatives, errors.positives
        if self.empty == "fails" and not (missed.any() and excess.any()):
            kinds = {"missed": missed, "wrongly included": excess}
            lacking = " and no ".join(kind for kind, error in kinds.items() if not error.any())
            raise CannotCorrect(
                f"the answer has no {lacking} voxels, with which the published loop fails; this round and all later "
                "ones score 0, unless you give empty=counts_zero"
            )
        in_file = FileAxes(user.image.grid) if self.axes == "file" and user.image is not None else None
        positive, negative = (self._stroke(user, error, in_file) for error in (missed, excess))
        more = (excess.voxels, missed.voxels) if self.sign == "error" else (len(negative), len(positive))
        stroke, label = (negative, 0) if more[0] > more[1] else (positive, 1)
        if len(stroke) == 0:
            return Turn(Prompts())
        return drawn([Scribble(stroke, label)])

    def _stroke(self, user: User, error: Mask, in_file: FileAxes | None) -> Ints:
        """Rows ``z, y, x`` of the scribble into an error, by x, then y; none if it is empty."""
        if not error.any():
            return np.zeros((0, 3), np.int64)
        if in_file is not None:
            return in_file.canonical(self._drawn(user, in_file.mask(error), in_file.shape))
        return self._drawn(user, error, user.target.shape)

    def _drawn(self, user: User, error: Mask, shape: Index) -> Ints:
        part = largest_part(error, self.connectivity, self.where, self.ties, self.memory)
        seed = PUBLISHED_SEED if self.seed == "fixed" else int(user.rng("stroke").integers(2**32))
        return stroke_on(part, shape, self.style, seed, self.thin)
