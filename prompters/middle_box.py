"""A prompter of your own: one file, one class, one method."""

from __future__ import annotations

from dataclasses import dataclass

from intrabench import Click, DrawBox2D, Prompter, Turn, Turns, User, boxes, points, tight_box


@dataclass(frozen=True)
class MiddleBox(Prompter):
    """A box on the middle slice; then a click on a random missed voxel per round."""

    name = "middle_box"

    def interact(self, user: User) -> Turns:
        """The box first; corrections as long as there are rounds and something is missed."""
        truth = user.target.mask
        z = int(truth.occupied_slices[len(truth.occupied_slices) // 2])
        mask = yield Turn(boxes({z: tight_box(truth.slice(z))}), actions=(DrawBox2D(),))
        while (missed := truth.without(mask)).any():
            voxel = user.rng("missed voxel").choice(missed.coordinates())
            mask = yield Turn(points(voxel), actions=(Click(),))
