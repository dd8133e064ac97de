"""Adrenocortical carcinomas in abdominal CTs (D7 of the IntRaBench paper)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from intrabench.datasets.base import DatasetCard
from intrabench.datasets.convert.instances import Instances
from intrabench.datasets.convert.segments import Segment, targets_from
from intrabench.datasets.families.idc_set import IDC, SHARED, IdcSet
from intrabench.mask import Mask
from intrabench.target import Target
from intrabench.volume import Volume

RULE = Instances(26, dilation=1, min_voxels=30)


@dataclass(frozen=True)
class AdrenalACC(IdcSet):
    """Adrenocortical carcinomas in 53 CTs (up to 8 GB, from the Imaging Data Commons)."""

    name = "adrenal_acc"
    version = "1"
    card = DatasetCard(
        title="Adrenal-ACC-Ki67-Seg: adrenocortical carcinomas in 53 contrast-enhanced CTs",
        modality="CT",
        licence="CC BY 4.0",
        citation="A. W. Moawad et al., Voxel-level segmentation of pathologically-proven Adrenocortical carcinoma with "
        "Ki-67 expression, TCIA (2023), doi:10.7937/1fpg-vm46; A. A. Ahmed et al., Clin Radiol 75, 479.e17 (2020), "
        f"doi:10.1016/j.crad.2020.01.012; {SHARED}",
        homepage=f"{IDC}adrenal_acc_ki67_seg",
        labels="tumour, segmented semi-automatically and corrected by a radiologist",
        instances=RULE.describe(),
        paper="D7",
        cases=53,
        part_of=("adrenal_acc",),
        caveats=(
            "labels may lie on a finer or smaller grid than the scan; they are resampled to it by nearest neighbour; "
            "the published code drops such cases",
            "the published code cannot load this data set, because it does not write the description it needs",
        ),
        names={"tumour": ("adrenal tumour", "adrenocortical carcinoma")},
    )

    def targets(self, segments: Sequence[Segment], case: str, volume: Volume) -> list[Target]:
        """One target per piece of the tumour; pieces that nearly touch are one."""
        whole = Mask.union([segment.mask for segment in segments])
        return targets_from([("tumour", whole)], case, volume, RULE)
