"""Liver metastases of colorectal cancer in abdominal CTs (D6 of the IntRaBench paper)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Literal

from intrabench.datasets.base import DatasetCard
from intrabench.datasets.convert.segments import Segment
from intrabench.datasets.families.idc_set import IDC, SHARED, IdcSet, cohort
from intrabench.target import Target
from intrabench.volume import Volume

LEFT_OUT = frozenset(
    f"CRLM-CT-{number}"
    for number in (
        *(1020, 1026, 1027, 1031, 1037, 1049, 1053, 1057, 1070, 1078, 1080, 1081, 1083, 1088, 1112, 1122, 1127, 1133),
        *(1139, 1145, 1155, 1168, 1173, 1183, 1186, 1190),
    )
)
"""In the published cohort missing: 25 because metastases overlap, CRLM-CT-1183 because data were."""
TUMOUR = re.compile(r"Tumor_?(\d*)")


@dataclass(frozen=True)
class ColorectalLiverMets(IdcSet):
    """Liver metastases in 171 CTs before surgery (9 GB, from the Imaging Data Commons).

    cohort: "paper" (171) or "all" (197, some with metastases that overlap).
    """

    name = "colorectal_livermets"
    version = "1"
    card = DatasetCard(
        title="Colorectal-Liver-Metastases: 171 of its 197 portal venous CTs before resection",
        modality="CT",
        licence="CC BY 4.0",
        citation="A. L. Simpson et al., Preoperative CT and Survival Data for Patients Undergoing Resection of "
        "Colorectal Liver Metastases, TCIA (2023), doi:10.7937/qxk2-qg03; A. L. Simpson et al., Scientific Data 11, "
        f"172 (2024), doi:10.1038/s41597-024-02981-2; {SHARED}",
        homepage=f"{IDC}colorectal_liver_metastases",
        labels="metastasis; liver, remnant and vessels of the source are left out",
        instances="as the source numbers them (Tumor_1, Tumor_2, ...), each one instance",
        paper="D6",
        cases=171,
        part_of=("colorectal_livermets",),
        caveats=(
            "some series have several acquisitions; the one that the labels refer to is used",
            "the published code writes a second file per case into its label folder, and its evaluation fails on it",
        ),
        names={"metastasis": ("liver metastasis", "liver tumour")},
    )
    cohort: Literal["paper", "all"] = "paper"

    def cases(self) -> tuple[str, ...]:
        """The published cohort, or all patients."""
        return tuple(case for case in cohort(self.name) if self.cohort == "all" or case not in LEFT_OUT)

    def targets(self, segments: Sequence[Segment], case: str, volume: Volume) -> list[Target]:
        """One target per structure named as a tumour, with the number in its name as its instance."""
        found = [(TUMOUR.fullmatch(segment.name), segment.mask) for segment in segments]
        tumours = [(int(named[1] or 1), mask) for named, mask in found if named and mask.any()]
        return [
            Target(case, "metastasis", number, mask, volume.shape, volume.spacing_mm)
            for number, mask in sorted(tumours, key=itemgetter(0))
        ]
