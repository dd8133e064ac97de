"""The sessions behind the tables of RClicks (Antonov et al., NeurIPS 2024) and of RITM: 20 clicks on photos."""

from __future__ import annotations

from dataclasses import dataclass

from intrabench.clickability import GROUPS
from intrabench.protocols.row import Row
from intrabench.specs.specs import quoted

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

_REAL = (
    "The first clicks of real users, one per seed, from 0 in the order of the file; always positive, even beside the "
    "object. A seed that an object has no click for is not applicable."
)
_SIMULATED = (
    "As many first clicks of the click model, one per seed. Objects with fewer real clicks are played with all seeds, "
    "but `table --users` counts only as many. Each has random numbers of its own; those of the published code are the "
    "same in each image."
)


@dataclass(frozen=True)
class Users:
    """The first clicks of real users, beside as many simulated ones: Table 12, NSR_User@1.

    clicks: RClicks' clicks.csv, or a file like it.
    """

    name = "rclicks-users@1"
    clicks: str = "clicks.csv"

    @property
    def rows(self) -> tuple[Row, ...]:
        """Their sessions of one click."""
        return (
            Row("Users", 12, f"recorded:clicks={quoted(self.clicks)}", None, note=_REAL),
            Row("Simulated", 12, "clickability:model=rclicks,group=all", None, note=_SIMULATED),
        )


CLICKS = 20
"""Clicks per session, including the first."""

NUMBERS = (("NoC20@90", "noc:threshold=0.9,metric=iou"), ("IoU-AuC", "rclicks_auc"), ("IoU", "iou"))
RITM_NUMBERS = (
    *NUMBERS[:1],
    ("NoC20@85", "noc:threshold=0.85,metric=iou"),
    ("NoF20@90", "nof:threshold=0.9,metric=iou,ritm=true"),
)
FIRST_CLICK_NUMBERS = (("IoU@1", "iou"),)
"""Of a single click no number of clicks can be told."""

MODELS = {
    "sam_vit_b_01ec64": "sam:multimask=best",
    "sam_vit_l_0b3195": "sam:size=l,multimask=best",
    "sam_vit_h_4b8939": "sam:size=h,multimask=best",
    "sam2_hiera_tiny": "sam2:release=2.0,multimask=single",
    "sam2_hiera_small": "sam2:size=s,release=2.0,multimask=single",
    "sam2_hiera_base_plus": "sam2:size=b+,release=2.0,multimask=single",
    "sam2_hiera_large": "sam2:size=l,release=2.0,multimask=single",
    "sam2.1_hiera_tiny": "sam2:multimask=single",
    "sam2.1_hiera_small": "sam2:size=s,multimask=single",
    "sam2.1_hiera_base_plus": "sam2:size=b+,multimask=single",
    "sam2.1_hiera_large": "sam2:size=l,multimask=single",
    "mobile_sam": "mobile_sam:multimask=best",
}
"""Those of its networks that are ours, by their files: always the best of SAM's three masks, also of MobileSAM's, and
SAM 2's single one."""
