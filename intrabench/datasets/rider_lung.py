"""Lung cancer, scanned twice within minutes (D4 of the IntRaBench paper)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from intrabench.datasets.base import DatasetCard
from intrabench.datasets.convert.instances import Instances
from intrabench.datasets.convert.segments import Segment, targets_from
from intrabench.datasets.families.idc_set import IDC, SHARED, IdcSet
from intrabench.target import Target
from intrabench.volume import Volume

RULE = Instances(26)
BY_HAND = re.compile(r"gtvp_(re)?test_man", re.IGNORECASE)


@dataclass(frozen=True)
class RiderLung(IdcSet):
    """Lung tumours in 59 CTs of 31 patients (8 GB, from the Imaging Data Commons)."""

    name = "rider_lung"
    version = "2"  # since then contours take voxels on them
    card = DatasetCard(
        title="RIDER Lung CT with RIDER-LungCT-Seg: 31 patients, scanned twice within fifteen minutes",
        modality="CT",
        licence="scans CC BY 4.0, contours CC BY 3.0",
        citation="L. Wee et al., RIDER Lung CT Segmentation Labels, TCIA (2020), doi:10.7937/tcia.2020.jit9grk8; "
        "B. Zhao et al., Coffee-break lung CT collection, TCIA (2015), doi:10.7937/k9/tcia.2015.u1x8a5nr; "
        f"H. J. W. L. Aerts et al., Nature Communications 5, 4006 (2014), doi:10.1038/ncomms5006; {SHARED}",
        homepage=f"{IDC}rider_lung_ct",
        labels="tumour: contours drawn by hand (GTVp_*_man), not the automatic ones in the same files",
        instances=RULE.describe(),
        paper="D4",
        cases=59,
        part_of=("rider_lung",),
        caveats=(
            "the paper counts 58 scans and its rules give 59; which scan is missing is not known",
            "the contours are used, as reports contradict each other about which segment of the SEGs is the manual one",
        ),
        names={"tumour": ("lung tumour", "lung cancer")},
    )

    def patient(self, case: str) -> str:
        """The part of the name before ``_test`` or ``_retest``."""
        return case.rpartition("_")[0]

    def targets(self, segments: Sequence[Segment], case: str, volume: Volume) -> list[Target]:
        """One target per connected piece of the tumour."""
        drawn = [("tumour", segment.mask) for segment in segments if BY_HAND.fullmatch(segment.name)]
        return targets_from(drawn, case, volume, RULE)
