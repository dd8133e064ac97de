"""Brain tumours in two MRs."""

from __future__ import annotations

from dataclasses import dataclass

from intrabench.datasets.base import DatasetCard
from intrabench.datasets.families.radiomics import CAVEATS, CITATION, HOMEPAGE, LABELS, LICENCE, RULE, TumourSample


@dataclass(frozen=True)
class BrainTumour(TumourSample):
    """Three tumours in two real brain MRs (34 MB, from the pyradiomics package)."""

    name = "brain_tumour"
    version = "1"
    card = DatasetCard(
        title="pyradiomics samples brain1 (two tumours) and brain2 (one), 256 x 256 pixels, slices of 6.5 mm",
        modality="MR, the sequence is not stated (looks like T1-weighted with contrast)",
        licence=LICENCE,
        citation=CITATION,
        homepage=HOMEPAGE,
        labels=LABELS,
        instances=RULE.describe(),
        cases=2,
        targets=3,
        caveats=(
            *CAVEATS,
            "whether the two components in brain1 are two tumours or two parts of one is not stated",
            "the mask of brain2, as published, fits the visible lesion better one slice lower",
        ),
        names={"tumour": ("brain tumour", "glioma")},
    )
    scans = ("brain1", "brain2")
