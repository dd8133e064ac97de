"""Three vertebrae in a small CT."""

from __future__ import annotations

from dataclasses import dataclass

from intrabench.datasets.base import DatasetCard
from intrabench.datasets.families.spine import CITATION, HOMEPAGE, INSTANCES, LABELS, LICENCE, SpineSample


@dataclass(frozen=True)
class SpineCT(SpineSample):
    """Three vertebrae in a small real CT (9 MB, from the TPTBox package)."""

    name = "spine_ct"
    version = "1"
    card = DatasetCard(
        title="TPTBox sample CT: three vertebrae, 73 x 47 x 73 voxels of 1.5 mm",
        modality="CT",
        licence=LICENCE,
        citation=CITATION,
        homepage=HOMEPAGE,
        labels=LABELS,
        instances=INSTANCES,
        cases=1,
        targets=3,
        caveats=(
            "one small crop of one scan: enough to try things out, but not to support a claim",
            "a model may have drawn the labels",
            "vertebrae 21 and 23 are cut off by the border of the crop",
        ),
        names={
            "vertebra.21": ("vertebra L2", "second lumbar vertebra"),
            "vertebra.22": ("vertebra L3", "third lumbar vertebra"),
            "vertebra.23": ("vertebra L4", "fourth lumbar vertebra"),
        },
    )
    case = "ct-22"
    image = "TPTBox/tests/sample_ct/sub-ct_label-22_ct.nii.gz"
    instances = "TPTBox/tests/sample_ct/sub-ct_seg-vert_label-22_msk.nii.gz"
    values = {"vertebra": (21, 22, 23)}
