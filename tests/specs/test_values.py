"""Which values a type takes, and how that is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.specs.values import expected, fits


@pytest.mark.parametrize(
    "hint",
    [
        int,
        float | None,
        Path | None,
        Literal["a"],
        Literal[6, 18, 26],
        tuple[int, int],
    ],
    ids=["int", "hint1", "hint2", "Literal0", "Literal1", "tuple"],  # what pytest would say depends on Python
)
def test_types_in_words(hint: Any, wording: SnapshotAssertion) -> None:
    assert expected(hint) == wording


def test_values_fit_that_can_be_used_as_they_are() -> None:
    assert fits(float, 3)
    assert fits(int, np.int64(3))
    assert fits(Path | None, "there")
    assert fits(tuple[int, int], (1, 2))
    assert not fits(int, "3")
    assert not fits(float, "big")
    assert not fits(Literal["a", "b"], "c")
