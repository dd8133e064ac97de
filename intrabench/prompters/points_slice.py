"""Random points on every slice."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from intrabench.mask import Bools, Mask, grow
from intrabench.prompters.base import Prompter
from intrabench.prompters.user import Turns, User
from intrabench.prompts import Prompts
from intrabench.specs.specs import switch
from intrabench.specs.values import Count
from intrabench.turns import Click, Turn

_NEAR, _WIDTH = 2, 3  # the ring of background points: beyond 2 pixels from the target, up to 3 pixels wide


@dataclass(frozen=True)
class PointsSlice(Prompter):
    """n random points on every slice of the target ("nPPS"); with negatives, half of them lie around it ("n±PPS").

    Without negatives, a slice with fewer than n pixels gets every pixel, some of them repeatedly. With negatives, it
    gets ceil(n/2) points on the target and floor(n/2) in a ring 2 to 5 pixels around it, but never more than there are
    pixels; all positive points come before all negative ones. Only the random draws differ from RadioActive. With
    together=false the same points are given in n rounds, in each of which every slice gets its next one, as in
    `points_volume`.

    Source: IntRaBench paper and its code, RadioActive.
    """

    name = "points_slice"
    corrects = False
    n: Count = 1
    negatives: bool = switch(False)
    together: bool = switch(True)

    @property
    def rounds(self) -> int:
        """One for each further point of a slice, if they are given one by one."""
        return 0 if self.together else self.n - 1

    def interact(self, user: User) -> Turns:
        """One turn with all points, or one for each point of a slice."""
        user = user.acting(replace(self, together=True).spec)  # else the two ways would draw different points
        mask = user.target.mask
        rings = _rings(mask, user.target.shape) if self.negatives else Mask.empty()
        rows = []
        for label, where in ((1, mask), (0, rings)):
            for z in where.occupied_slices.tolist():
                pixels = where.slice(z).coordinates()
                drawn = self._draw(len(pixels), label, user.rng(f"slice {z}, label {label}"))
                rows.append(np.column_stack([pixels[drawn], np.full(len(drawn), label)]))
        found = np.vstack(rows)
        turns = np.zeros(len(found), int) if self.together else _places(found[:, 0].tolist())
        for turn in range(turns.max() + 1):
            given = found[turns == turn]
            yield Turn(Prompts(points=given), actions=(Click(),) * len(given))

    def _draw(self, pixels: int, label: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """The indices of the clicked pixels of a slice."""
        if self.negatives:
            count = -(-self.n // 2) if label else self.n // 2
            return rng.choice(pixels, min(count, pixels), replace=False)
        drawn = rng.choice(pixels, min(self.n, pixels), replace=False)
        return np.concatenate([drawn, rng.choice(drawn, self.n - len(drawn))])


def _places(slices: list[int]) -> NDArray[np.int64]:
    """For each point, how many before it are on the same slice."""
    before = Counter[int]()
    places = []
    for z in slices:
        places.append(before[z])
        before[z] += 1
    return np.array(places)


def _rings(mask: Mask, shape: tuple[int, int, int]) -> Mask:
    """Background pixels around every slice of the target, within the slice."""
    margin = _NEAR + _WIDTH
    box = grow(mask.box, (0, margin, margin), shape)
    near = dilate(mask.crop(box), _NEAR)
    return Mask.of(dilate(near, _WIDTH) & ~near, box[:3])


def dilate(planes: Bools, radius: int) -> Bools:
    """Each plane (the two last axes) dilated by a disk of `radius` pixels."""
    from scipy import ndimage

    y, x = np.mgrid[-radius : radius + 1, -radius : radius + 1]
    disk = (y**2 + x**2 <= radius**2)[(None,) * (planes.ndim - 2)]
    return np.asarray(ndimage.binary_dilation(planes, disk), dtype=bool)
