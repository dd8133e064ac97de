"""Half precision and back, by torch where that is loaded: to the same bits as by numpy, but faster."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np


def half(values: Any) -> Any:
    """A copy in half precision of an array, or of a torch tensor on its device."""
    return _converted(values, "float16") if isinstance(values, np.ndarray) else values.to(_torch().float16, copy=True)


def single(values: Any) -> Any:
    """A copy in single precision of an array; tensors are left to the model, which converts a batch at once."""
    return _converted(values, "float32") if isinstance(values, np.ndarray) else values


def larger(one: Any, other: Any) -> Any:
    """The larger value at each place of two arrays, or of two tensors."""
    return np.maximum(one, other) if isinstance(one, np.ndarray) else one.maximum(other)


def _converted(values: np.ndarray[Any, Any], dtype: str) -> np.ndarray[Any, Any]:
    torch = _torch()
    # torch rounds doubles twice, warns of arrays that may not be written, and refuses some strides
    if torch is None or values.dtype not in (np.float16, np.float32) or not values.flags.carray:
        return values.astype(dtype)
    found: np.ndarray[Any, Any] = torch.from_numpy(values).to(getattr(torch, dtype), copy=True).numpy()
    return found


def _torch() -> Any:
    """The module torch; None if nobody has imported it."""
    return sys.modules.get("torch")
