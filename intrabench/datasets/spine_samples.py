"""The two spine samples inside the TPTBox wheel: vertebrae and discs in a small CT and in a small MR."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from intrabench.datasets.base import Dataset, DatasetCard, Files
from intrabench.fetch.package import PackageSource
from intrabench.target import Target, targets_of
from intrabench.volume import Volume, read_image, read_labels

TPTBOX = PackageSource(
    package="tptbox",
    version="1.1.0",
    filename="tptbox-1.1.0-py3-none-any.whl",
    sha256="975a68f4117ab81fcc2d819d6127f301b1cc50210e08e73df1b9a818ee3be984",
    size=8_759_240,
)
CARD = DatasetCard(
    title="",
    modality="",
    licence="the package is Apache-2.0; the origin of the data is not stated",
    citation="R. Graf et al., TPTBox, SoftwareX, doi:10.1016/j.softx.2026.103055",
    homepage="https://tptbox.readthedocs.io",
    labels="sample masks of the package; their origin is not stated; maybe a model drew them",
    instances="numbered as in the masks",
    cases=1,
    caveats=(
        "one small crop of one scan: enough to try things out, but not to support a claim",
        "a model may have drawn the labels",
    ),
)
"""What the cards of both have in common."""


@dataclass(frozen=True)
class SpineSample(Dataset):
    """One small crop; an instance is numbered by its value in the label map."""

    version = "1"
    case: ClassVar[str]
    image: ClassVar[str]
    instances: ClassVar[str]
    values: ClassVar[dict[str, tuple[int, ...]]]

    def cases(self) -> tuple[str, ...]:
        """The one case."""
        return (self.case,)

    def sources(self) -> tuple[PackageSource, ...]:
        """The TPTBox wheel."""
        return (TPTBOX,)

    def load(self, case: str, files: Files) -> tuple[Volume, list[Target]]:
        """The crop and its whole vertebrae (and discs); endplates are left out."""
        image, labels = files.take(TPTBOX, self.image, self.instances)
        volume = read_image(image)
        names = {value: (label, value) for label, values in self.values.items() for value in values}
        return volume, targets_of(read_labels(labels, volume.grid), names, case, volume.spacing_mm)


@dataclass(frozen=True)
class SpineCT(SpineSample):
    """Three vertebrae in a small real CT (9 MB, from the TPTBox package)."""

    name = "spine_ct"
    card = replace(
        CARD,
        title="TPTBox sample CT: three vertebrae, 73 x 47 x 73 voxels of 1.5 mm",
        modality="CT",
        targets=3,
        caveats=(
            *CARD.caveats,
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


@dataclass(frozen=True)
class SpineMR(SpineSample):
    """Three vertebrae and two discs in a small real T2-weighted MR (9 MB, from the TPTBox package)."""

    name = "spine_mr"
    card = replace(
        CARD,
        title="TPTBox sample MR: three vertebrae and two discs, 68 x 52 x 67 voxels of 1.5 mm",
        modality="MR, T2-weighted",
        targets=5,
        caveats=(
            *CARD.caveats,
            "the outer vertebrae are cut off by the border of the crop; endplates are not targets",
        ),
        names={"disc": ("intervertebral disc", "disc")},
    )
    case = "mr-6"
    image = "TPTBox/tests/sample_mri/sub-mri_label-6_T2w.nii.gz"
    instances = "TPTBox/tests/sample_mri/sub-mri_seg-vert_label-6_msk.nii.gz"
    values = {"vertebra": (5, 6, 7), "disc": (105, 106)}
