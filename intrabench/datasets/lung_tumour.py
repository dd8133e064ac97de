"""Lung tumours in two CTs."""

from __future__ import annotations

from dataclasses import dataclass

from intrabench.datasets.base import DatasetCard
from intrabench.datasets.families.radiomics import CAVEATS, CITATION, HOMEPAGE, LABELS, LICENCE, RULE, TumourSample


@dataclass(frozen=True)
class LungTumour(TumourSample):
    """One tumour in each of two real chest CTs (34 MB, from the pyradiomics package)."""

    name = "lung_tumour"
    version = "1"
    card = DatasetCard(
        title="pyradiomics samples lung1 and lung2: one tumour each, 512 x 512 pixels, slices of 5 mm",
        modality="CT",
        licence=LICENCE,
        citation=CITATION,
        homepage=HOMEPAGE,
        labels=LABELS,
        instances=RULE.describe(),
        cases=2,
        targets=2,
        caveats=CAVEATS,
        names={"tumour": ("lung tumour", "lung cancer")},
    )
    scans = ("lung1", "lung2")
