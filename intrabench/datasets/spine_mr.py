"""Three vertebrae and two discs in a small MR."""

from __future__ import annotations

from dataclasses import dataclass

from intrabench.datasets.base import DatasetCard
from intrabench.datasets.families.spine import CITATION, HOMEPAGE, INSTANCES, LABELS, LICENCE, SpineSample


@dataclass(frozen=True)
class SpineMR(SpineSample):
    """Three vertebrae and two discs in a small real T2-weighted MR (9 MB, from the TPTBox package)."""

    name = "spine_mr"
    version = "1"
    card = DatasetCard(
        title="TPTBox sample MR: three vertebrae and two discs, 68 x 52 x 67 voxels of 1.5 mm",
        modality="MR, T2-weighted",
        licence=LICENCE,
        citation=CITATION,
        homepage=HOMEPAGE,
        labels=LABELS,
        instances=INSTANCES,
        cases=1,
        targets=5,
        caveats=(
            "one small crop of one scan: enough to try things out, but not to support a claim",
            "a model may have drawn the labels",
            "the outer vertebrae are cut off by the border of the crop; endplates are not targets",
        ),
        names={"disc": ("intervertebral disc", "disc")},
    )
    case = "mr-6"
    image = "TPTBox/tests/sample_mri/sub-mri_label-6_T2w.nii.gz"
    instances = "TPTBox/tests/sample_mri/sub-mri_seg-vert_label-6_msk.nii.gz"
    values = {"vertebra": (5, 6, 7), "disc": (105, 106)}
