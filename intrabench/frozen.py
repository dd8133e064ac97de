"""Arrays that many share and nobody may change: a scan, a mask, prompts, embeddings."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

A = TypeVar("A", bound=NDArray[Any])


def plain(values: Any) -> Any:
    """Values as an array of numpy's own class.

    Raises:
        ValueError: it hides some of its values, which numpy would then show.
    """
    if type(values) is not np.ndarray and np.ma.is_masked(values):
        raise ValueError("the array hides some of its values (numpy.ma); fill them first, array.filled(0)")
    return np.asarray(values)


def frozen(array: A) -> A:
    """The same voxels, not copied, as an array that cannot be written into; nor can its views or its base.

    The caller's own array stays as it is. Whatever is not an array is returned as it is. Libraries that do not ask
    numpy, such as torch, can still write; see `intrabench.engine.seal`.
    """
    if not isinstance(array, np.ndarray) or (isinstance(array.base, memoryview) and array.base.readonly):
        return array
    buffer: Any = plain(array)
    try:
        kept: Any = np.asarray(memoryview(buffer).toreadonly())  # nobody can make it writeable again, unlike a view
        return kept
    except ValueError:  # dates have no buffer
        view = array.view()
        view.flags.writeable = False
        return view
