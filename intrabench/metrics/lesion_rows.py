"""What became of each lesion, and each part of an answer that is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from intrabench.mask import Floats
from intrabench.metrics.lesion_rates import diameter_mm
from intrabench.metrics.mask_pair import MaskPair
from intrabench.metrics.parts.components import Components
from intrabench.metrics.parts.lesions import Rule, check_matching


@dataclass(frozen=True)
class LesionRows:
    """Rows of lesions; the parameters are those of `lesion_recall`."""

    iou: float = 0.0
    matching: Rule = "any"
    connectivity: int = 26

    def __post_init__(self) -> None:
        check_matching(self.connectivity, self.iou)

    def of(self, pair: MaskPair, affine: Floats) -> list[dict[str, Any]]:
        """The lesions of a pair, then the parts of its answer that are none, each in z, y, x order of first voxels.

        affine: (4, 4), from voxels z, y, x to RAS mm.

        lesion: found, missed or false. number: from 1, of the lesions or of the parts. ml, diameter_mm: its volume, and
        the diameter of a ball of that volume. z, y, x: the mean of its voxels, numbered as in the stored scan. x_mm,
        y_mm, z_mm: the same place in RAS mm, as NIfTI has it. parts: how many parts of the answer it has; iou, dice:
        with all of them together. region_dice: with what of the answer is nearest to it. The last four are None where
        it is false.
        """
        lesions = pair.lesions(self.connectivity)
        matched, regions = lesions.matched(self.matching, self.iou), lesions.region_dice(pair.upright.spacing_mm)

        def row(kind: str, all: Components, number: int) -> dict[str, Any]:
            ml, centre = pair.ml(all.sizes[number]), all.centres[number]
            place = affine[:3, :3] @ centre + affine[:3, 3]
            return {
                **{"lesion": kind, "number": number + 1, "ml": ml, "diameter_mm": diameter_mm(ml)},
                **dict(zip("zyx", centre.tolist(), strict=True)),
                **dict(zip(("x_mm", "y_mm", "z_mm"), place.tolist(), strict=True)),
            }

        found = [
            row("found" if matched.found[number] else "missed", lesions.of_truth, number)
            | {"parts": int(matched.parts[number]), "iou": float(matched.iou[number])}
            | {"dice": float(matched.dice[number]), "region_dice": float(regions[number])}
            for number in range(len(lesions.truth))
        ]
        nothing = dict.fromkeys(("parts", "iou", "dice", "region_dice"))
        false = [
            row("false", lesions.of_answer, number) | nothing for number, right in enumerate(matched.right) if not right
        ]
        return [*found, *false]
