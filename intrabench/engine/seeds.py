"""Seeds as people write them: ``7``, ``0..9`` (both ends included), ``0,1,2``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from intrabench.errors import IntraBenchError

MOST = 100_000
"""A range of more seeds is a typing error."""

_PART = re.compile(r"([+-]?\d+)(?:\.\.([+-]?\d+))?", re.ASCII)


def given_seeds(given: Any) -> Any:
    """The value of ``--seed``, in which texts have become numbers; whatever else it is stays as it is.

    Raises:
        IntraBenchError: a text is none of these forms.
    """
    if isinstance(given, str):
        return _numbers(given)
    if isinstance(given, Iterable):
        return [seed for one in given for seed in (_numbers(one) if isinstance(one, str) else [one])]
    return given


def _numbers(text: str) -> list[int]:
    seeds = list[int]()
    for part in text.split(","):
        found = _PART.fullmatch(part.strip())
        if found is None:
            raise IntraBenchError(f"--seed {text} is no whole number; give one, a range such as 0..9, or 0,1,2")
        first, last = int(found[1]), int(found[2] or found[1])
        if not 0 <= last - first < MOST:
            raise IntraBenchError(f"--seed {text} is no range of up to {MOST} seeds that rises, such as 0..9")
        seeds += range(first, last + 1)
    return seeds
