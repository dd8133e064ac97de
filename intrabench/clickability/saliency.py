"""Clicks where people look: the base class for your own saliency models."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from intrabench.clickability.base import Clickability, Floats, Image, Spacing
from intrabench.mask import Bools
from intrabench.specs.specs import switch

_EXPANSION = 1.4  # factor on each side of the error's box
_GREY = 128


@dataclass(frozen=True)
class Saliency(Clickability):
    """Base: the saliency of the image around the error, on the error ("SI", "SM" of RClicks, which used TranSalNet).

    A subclass has a `name` and a method `saliency`. grey: whether everything but the error is shown in grey ("SM").
    """

    looks: ClassVar[bool] = True
    grey: bool = switch(False)

    @abstractmethod
    def saliency(self, crop: NDArray[np.uint8]) -> NDArray[np.floating]:
        """The saliency of each pixel of a crop ``(y, x, 3)``: ``(y, x)``, 0 or more."""

    def probability(self, image: Image, target: Bools, error: Bools, spacing_mm: Spacing = (1.0, 1.0)) -> Floats:
        """The saliency of the error's box, enlarged 1.4 times, multiplied by the error; its sum is 1.

        If it is 0 on the whole error, all wrong pixels are equally likely.
        """
        assert image is not None
        found = np.zeros(error.shape, np.float32)
        if not error.any():
            return found
        window = _window(error)
        crop, wrong = image[window], error[window]
        seen = np.where(wrong[..., None], crop, np.uint8(_GREY)) if self.grey else crop
        on_error = np.asarray(self.saliency(np.ascontiguousarray(seen))) * wrong
        on_error = on_error if on_error.sum() > 0 else wrong.astype(np.float32)
        found[window] = on_error / on_error.sum()
        return found


def _window(error: NDArray[np.bool_]) -> tuple[slice, slice]:
    """Rows and columns of the error's box, enlarged around its centre and clipped to the image."""
    sides = []
    for axis in (0, 1):
        occupied = np.flatnonzero(error.any(axis=1 - axis))
        first, end = int(occupied[0]), int(occupied[-1]) + 1
        more = int((end - first) * (_EXPANSION - 1) / 2)
        sides.append(slice(max(0, first - more), min(error.shape[axis], end + more)))
    return sides[0], sides[1]
