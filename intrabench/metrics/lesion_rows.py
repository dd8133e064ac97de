"""What became of each lesion, and each part of an answer that is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from intrabench.metrics.lesion_rates import diameter_mm
from intrabench.metrics.mask_pair import MaskPair
from intrabench.metrics.parts.lesions import Rule, check_matching


@dataclass(frozen=True)
class LesionRows:
    """Rows of lesions; the parameters are those of `lesion_recall`."""

    iou: float = 0.0
    matching: Rule = "any"
    connectivity: int = 26

    def __post_init__(self) -> None:
        check_matching(self.connectivity, self.iou)

    def of(self, pair: MaskPair) -> list[dict[str, Any]]:
        """The lesions of a pair, then the parts of its answer that are none, each in z, y, x order of first voxels.

        lesion: found, missed or false. number: from 1, of the lesions or of the parts. ml, diameter_mm: its volume, and
        the diameter of a ball of that volume. z, y, x: the mean of its voxels, numbered as in the stored scan. parts:
        how many parts of the answer it has; iou, dice: with all of them together. region_dice: with what of the answer
        is nearest to it. The last four are None where it is false.
        """
        lesions = pair.lesions(self.connectivity)
        matched, regions = lesions.matched(self.matching, self.iou), lesions.region_dice(pair.spacing_mm)

        def row(kind: str, number: int, voxels: Any) -> dict[str, Any]:
            ml = pair.ml(voxels.shape[1])
            centre = dict(zip("zyx", voxels.mean(axis=1).tolist(), strict=True))
            return {"lesion": kind, "number": number + 1, "ml": ml, "diameter_mm": diameter_mm(ml), **centre}

        found = [
            row("found" if matched.found[number] else "missed", number, voxels)
            | {"parts": int(matched.parts[number]), "iou": float(matched.iou[number])}
            | {"dice": float(matched.dice[number]), "region_dice": float(regions[number])}
            for number, voxels in enumerate(lesions.of_truth.voxels)
        ]
        nothing = dict.fromkeys(("parts", "iou", "dice", "region_dice"))
        false = [
            row("false", number, voxels) | nothing
            for number, voxels in enumerate(lesions.of_answer.voxels)
            if not matched.right[number]
        ]
        return [*found, *false]
