"""Broken pelvic bones in CT (D9 of the IntRaBench paper)."""

from __future__ import annotations

from dataclasses import dataclass

from intrabench.datasets.base import Dataset, DatasetCard, Files
from intrabench.fetch.remote import RemoteFile
from intrabench.target import Target, targets_of
from intrabench.volume import Volume, read_image, read_labels

PAGE = "https://zenodo.org/records/10927452"


def _archive(name: str, md5: str, about_mb: float) -> RemoteFile:
    filename = f"PENGWIN_CT_train_{name}.zip"
    return RemoteFile(filename, (f"{PAGE}/files/{filename}?download=1",), f"md5:{md5}", page=PAGE, about_mb=about_mb)


IMAGES = (
    _archive("images_part1", "1d7cd8dc537ba12c61165f1be3e86022", 3700),
    _archive("images_part2", "308a619a9c24fbcfbd197127c4cb39fb", 3700),
)
LABELS = _archive("labels", "77b3a29d528c719a917e6f90eb9b20d4", 33)


@dataclass(frozen=True)
class Pengwin(Dataset):
    """Fragments of the pelvis in 100 CTs (7.5 GB, from Zenodo)."""

    name = "pengwin"
    version = "1"
    card = DatasetCard(
        title="PENGWIN 2024, task 1: pelvic fractures in 100 CTs, training set",
        modality="CT",
        licence="CC BY 4.0",
        citation="Y. Liu et al., MICCAI (2023), doi:10.1007/978-3-031-43996-4_30; Y. Sang et al., arXiv:2504.02382; "
        "data: doi:10.5281/zenodo.10927452",
        homepage=PAGE,
        labels="fragment: pieces of sacrum (instances 1 to 10), left (11 to 20) and right hip bone (21 to 30); "
        "an intact bone is one piece",
        instances="numbered as in the source",
        paper="D9",
        cases=100,
        part_of=("pengwin",),
        caveats=("the published code renumbers the fragments of each scan from 1",),
        names={"fragment": ("fragment of the pelvis", "pelvic bone")},
    )

    def cases(self) -> tuple[str, ...]:
        """001 to 100."""
        return tuple(f"{number:03}" for number in range(1, 101))

    def sources(self) -> tuple[RemoteFile, ...]:
        """Two archives of scans, one of labels."""
        return (*IMAGES, LABELS)

    def load(self, case: str, files: Files) -> tuple[Volume, list[Target]]:
        """One scan and its fragments."""
        (image,) = files.find(IMAGES[int(case) > 50], f"{case}.mha")
        (mask,) = files.find(LABELS, f"{case}.mha")
        volume = read_image(image)
        labels = read_labels(mask, volume.grid)
        names = {value: ("fragment", value) for value in range(1, int(labels.max()) + 1)}
        return volume, targets_of(labels, names, case, volume.spacing_mm)
