"""Training examples of clickability models: instances, errors, and the clicks that people made to correct them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Example:
    """One instance and one error of a segmentation, with the clicks of many people.

    image: 8-bit RGB ``(y, x, 3)``, or the path of a picture. target, error: ``(y, x)``, the whole instance and the part
    to be corrected; both are equal for a first click. clicks: rows ``y, x``, pixels of the image.
    """

    image: Path | NDArray[np.uint8]
    target: NDArray[np.bool_]
    error: NDArray[np.bool_]
    clicks: NDArray[np.int64]

    def pixels(self) -> NDArray[np.uint8]:
        """The image, read if it is a file.

        Raises:
            IntraBenchError: the file cannot be read.
        """
        if not isinstance(self.image, Path):
            return self.image
        from intrabench.datasets.convert.photo import read_photo

        return read_photo(self.image).array[0]
