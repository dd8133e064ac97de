"""Arrays that many share and nobody may change: a scan, a mask, prompts, embeddings."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

A = TypeVar("A", bound=NDArray[Any])


def frozen(array: A) -> A:
    """The same voxels, not copied, as an array that cannot be written into; nor can its views.

    The caller's own array stays as it is. Whatever is not an array is returned as it is.
    """
    if not isinstance(array, np.ndarray) or not array.flags.writeable:
        return array
    view = array.view()
    view.flags.writeable = False
    return view
