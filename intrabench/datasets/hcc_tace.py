"""Liver and liver cancer in CTs before embolisation (D8 of the IntRaBench paper)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from intrabench.datasets.base import DatasetCard
from intrabench.datasets.convert.instances import Instances
from intrabench.datasets.convert.segments import Segment, targets_from
from intrabench.datasets.families.idc_set import IDC, SHARED, IdcSet, cohort, named
from intrabench.target import Target
from intrabench.volume import Volume

LEFT_OUT = frozenset({"HCC_085", "HCC_089", "HCC_101", "HCC_103"})
"""Not in the published list of cases, though their series pass its rules; HCC_089 refers to a scan elsewhere."""
RULE = Instances(18)


@dataclass(frozen=True)
class HccTace(IdcSet):
    """The liver and its tumours in 66 CTs (4 GB, from the Imaging Data Commons).

    structures: "all", "liver" or "tumour". merge: how viable tumour and necrosis are combined. "union" is the default;
    "sum" is what the published code does, where voxels that are both become separate instances.
    """

    name = "hcc_tace"
    version = "1"
    card = DatasetCard(
        title="HCC-TACE-Seg: 66 CTs before transarterial chemoembolisation, reconstruction 3",
        modality="CT",
        licence="CC BY 4.0",
        citation="A. W. Moawad et al., Multimodality annotated HCC cases with and without advanced imaging "
        "segmentation, TCIA (2021), doi:10.7937/tcia.5fna-0924; A. W. Moawad et al., Scientific Data 10, 33 (2023), "
        f"doi:10.1038/s41597-023-01928-3; {SHARED}",
        homepage=f"{IDC}hcc_tace_seg",
        labels="liver (with tumours, necrosis and portal vein), tumour (viable tumour and necrosis)",
        instances=f"liver: one; tumour: {RULE.describe()}",
        paper="D8",
        cases=66,
        part_of=("hcc_tace",),
        caveats=(
            "the paper counts 65 scans and its code lists 66; which scan is missing is not known",
            "for HCC_065 and HCC_075, other users report tumours larger than the liver",
            "the published code cannot load this data set, because it does not write the description it needs",
        ),
        names={"liver": ("liver",), "tumour": ("liver tumour", "hepatocellular carcinoma")},
    )
    structures: Literal["all", "liver", "tumour"] = "all"
    merge: Literal["union", "sum"] = "union"

    def cases(self) -> tuple[str, ...]:
        """The published list."""
        return tuple(case for case in cohort(self.name) if case not in LEFT_OUT)

    def targets(self, segments: Sequence[Segment], case: str, volume: Volume) -> list[Target]:
        """The liver as one target, the tumour as one per connected piece."""
        liver = targets_from([("liver", named(segments, "Liver", "Mass", "Necrosis", "Portal vein"))], case, volume)
        parts = [named(segments, "Mass"), named(segments, "Necrosis")]
        whole = named(segments, "Mass", "Necrosis")
        if self.merge == "sum":
            both = parts[0].without(parts[0].without(parts[1]))
            pieces = [whole.without(both), both]
        else:
            pieces = [whole]
        tumours = targets_from([("tumour", piece) for piece in pieces], case, volume, RULE)
        return {"all": [*liver, *tumours], "liver": liver, "tumour": tumours}[self.structures]
