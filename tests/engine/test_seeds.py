"""Seeds as people write them."""

from __future__ import annotations

from typing import Any

import pytest

from intrabench.engine.options import chosen
from intrabench.errors import IntraBenchError


@pytest.mark.parametrize(
    ("given", "seeds"),
    [
        (["7"], (7,)),
        (["0..9"], tuple(range(10))),
        (["0,1,2"], (0, 1, 2)),
        (["0..2,9", "-3..-1"], (0, 1, 2, 9, -3, -2, -1)),
        ("4..4", (4,)),
        (range(3), (0, 1, 2)),
        (5, (5,)),
    ],
)
def test_ranges_and_lists(given: Any, seeds: tuple[int, ...]) -> None:
    assert chosen({"seed": given}).seed == seeds


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("a", "--seed a is no whole number; give one, a range such as 0..9, or 0,1,2"),
        ("1,,2", "--seed 1,,2 is no whole number; give one, a range such as 0..9, or 0,1,2"),
        ("1.5", "--seed 1.5 is no whole number; give one, a range such as 0..9, or 0,1,2"),
        ("9..0", "--seed 9..0 is no range of up to 100000 seeds that rises, such as 0..9"),
        ("0..999999999", "--seed 0..999999999 is no range of up to 100000 seeds that rises, such as 0..9"),
    ],
)
def test_what_is_neither(given: str, told: str) -> None:
    with pytest.raises(IntraBenchError) as caught:
        chosen({"seed": [given]})
    assert str(caught.value) == told
