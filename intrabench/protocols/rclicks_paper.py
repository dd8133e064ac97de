"""The sessions behind the tables of RClicks (Antonov et al., NeurIPS 2024) and of RITM: 20 clicks on photos."""

from __future__ import annotations

from intrabench.clickability.sampling import GROUPS
from intrabench.protocols.row import Row

_PERFECT = (
    "A perfect answer ends a session, which keeps its score; the published code goes on with background at (0, 0). "
    "Distances are exact; those of the published code differ by a millionth from run to run, which moves some clicks."
)
_GROUP = (
    "Each group holds a tenth of the click model's probability, from G1 (least likely clicks) to G10 (most likely). "
    "Groups and random numbers are those of the published code: single precision, the same numbers in each image. "
    f"{_PERFECT}"
)

BASE = Row("Base", 9, "click_deepest", None, note=_PERFECT)

ROWS = (
    BASE,
    *(
        Row(f"G{group}", 9, f"clickability:model=rclicks,group={group},mass=single,draws=published", None, note=_GROUP)
        for group in range(1, GROUPS + 1)
    ),
)

CLICKS = 20
"""Clicks per session, including the first."""
