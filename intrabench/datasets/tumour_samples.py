"""The tumour samples inside the pyradiomics sdist: brain tumours in two MRs, lung tumours in two CTs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from intrabench.datasets.base import Dataset, DatasetCard, Files
from intrabench.datasets.convert.instances import Instances
from intrabench.datasets.convert.segments import targets_from
from intrabench.fetch.package import PackageSource
from intrabench.mask import Mask
from intrabench.target import Target
from intrabench.volume import Volume, read_image, read_labels

PYRADIOMICS = PackageSource(
    package="pyradiomics",
    version="3.0.1",
    filename="pyradiomics-3.0.1.tar.gz",
    sha256="47c57f441d6cb7973fa3b2ea48d3948df78e3348e1c69e1e2ff19001601fc2f5",
    size=34_473_030,
)
RULE = Instances(26)
CARD = DatasetCard(
    title="",
    modality="",
    licence="the package is BSD-3-Clause; the licence of the data is not stated",
    citation="J. J. M. van Griethuysen et al., Cancer Research 77(21), e104 (2017), doi:10.1158/0008-5472.CAN-17-0339",
    homepage="https://pyradiomics.readthedocs.io",
    labels="sample masks of the package; who drew them is not stated",
    instances=RULE.describe(),
    cases=2,
    caveats=(
        "two scans only: enough to try things out, but not to support a claim",
        "the origin of scans and masks is not stated",
        "thick slices (5 to 6.5 mm): few slices per tumour",
    ),
)
"""What the cards of both have in common."""


@dataclass(frozen=True)
class TumourSample(Dataset):
    """Scans whose label map is 1 inside tumours."""

    version = "1"
    scans: ClassVar[tuple[str, ...]]

    def cases(self) -> tuple[str, ...]:
        """The names of the scans in the archive."""
        return self.scans

    def sources(self) -> tuple[PackageSource, ...]:
        """The pyradiomics sdist; it is unpacked, never built."""
        return (PYRADIOMICS,)

    def load(self, case: str, files: Files) -> tuple[Volume, list[Target]]:
        """The scan and its tumours, one target per connected component."""
        members = [f"pyradiomics-{PYRADIOMICS.version}/data/{case}_{what}.nrrd" for what in ("image", "label")]
        image, labels = files.take(PYRADIOMICS, *members)
        volume = read_image(image)
        inside = Mask.of(read_labels(labels, volume.grid) == 1)
        return volume, targets_from([("tumour", inside)], case, volume, RULE)


@dataclass(frozen=True)
class BrainTumour(TumourSample):
    """Three tumours in two real brain MRs (34 MB, from the pyradiomics package)."""

    name = "brain_tumour"
    card = replace(
        CARD,
        title="pyradiomics samples brain1 (two tumours) and brain2 (one), 256 x 256 pixels, slices of 6.5 mm",
        modality="MR, the sequence is not stated (looks like T1-weighted with contrast)",
        targets=3,
        caveats=(
            *CARD.caveats,
            "whether the two components in brain1 are two tumours or two parts of one is not stated",
            "the mask of brain2, as published, fits the visible lesion better one slice lower",
        ),
        names={"tumour": ("brain tumour", "glioma")},
    )
    scans = ("brain1", "brain2")


@dataclass(frozen=True)
class LungTumour(TumourSample):
    """One tumour in each of two real chest CTs (34 MB, from the pyradiomics package)."""

    name = "lung_tumour"
    card = replace(
        CARD,
        title="pyradiomics samples lung1 and lung2: one tumour each, 512 x 512 pixels, slices of 5 mm",
        modality="CT",
        targets=2,
        names={"tumour": ("lung tumour", "lung cancer")},
    )
    scans = ("lung1", "lung2")
