"""Mediastinal lymph nodes in chest CTs (D5 of the IntRaBench paper)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from intrabench.datasets.base import DatasetCard
from intrabench.datasets.convert.instances import Instances
from intrabench.datasets.convert.segments import Segment, targets_from
from intrabench.datasets.families.idc_set import IDC, SHARED, IdcSet, cohort
from intrabench.target import Target
from intrabench.volume import Volume

RULE = Instances(26)


@dataclass(frozen=True)
class LNQ(IdcSet):
    """Lymph nodes of the mediastinum in 513 chest CTs (35 GB, from the Imaging Data Commons)."""

    name = "lnq"
    version = "1"
    card = DatasetCard(
        title="LNQ2023: mediastinal lymph node quantification, 513 contrast-enhanced chest CTs",
        modality="CT",
        licence="CC BY 4.0",
        citation="T. Idris et al., Mediastinal Lymph Node Quantification (LNQ), TCIA (2024), doi:10.7937/qvaz-ja09; "
        f"R. Dorent et al., MELBA (2025), doi:10.59275/j.melba.2025-1gb5; {SHARED}",
        homepage=f"{IDC}mediastinal_lymph_node_seg",
        labels="lymph_node, drawn by hand; touching nodes are one instance",
        instances=RULE.describe(),
        paper="D5",
        cases=513,
        part_of=("lnq",),
        caveats=(
            "in 393 of the 513 scans only some nodes are annotated, mostly one; an answer on another node counts as "
            "wrong there; `--cases subset:fully_annotated` has the 120 scans with all nodes",
            "the published code writes a second file per case into its label folder, and its evaluation fails on it",
        ),
        names={"lymph_node": ("mediastinal lymph node", "enlarged lymph node")},
    )

    def targets(self, segments: Sequence[Segment], case: str, volume: Volume) -> list[Target]:
        """One target per connected piece of the one structure."""
        return targets_from((("lymph_node", segment.mask) for segment in segments), case, volume, RULE)

    def subsets(self) -> Mapping[str, Sequence[str]]:
        """By how completely the nodes are drawn."""
        about = {case: " ".join(one.about for one in series) for case, series in cohort(self.name).items()}
        kinds = {"fully_annotated": "Fully Annotated", "partially_annotated": "Partially Annotated"}
        chosen = {kind: [case for case in about if text in about[case]] for kind, text in kinds.items()}
        return {"smoke": chosen["fully_annotated"][:2], **chosen}
