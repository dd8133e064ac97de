"""Throat cancer and lymph nodes in MR before radiotherapy (D3 of the IntRaBench paper)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from intrabench.datasets.base import Dataset, DatasetCard, Files, published_names
from intrabench.datasets.convert.instances import Instances
from intrabench.datasets.convert.segments import targets_from
from intrabench.fetch.remote import RemoteFile
from intrabench.mask import Mask
from intrabench.target import Target
from intrabench.volume import Volume, read_image, read_labels

ARCHIVE = RemoteFile(
    "HNTSMRG24_train.zip",
    ("https://zenodo.org/records/11199559/files/HNTSMRG24_train.zip?download=1",),
    "sha256:675e3c56509b0b5bcaad1291990dfa4a8ef054bb468a71b6cd08189a5e67bfb6",
    page="https://zenodo.org/records/11199559",
    about_mb=15_000,
)
NODES = Instances(26)
_IMAGE = re.compile(r"(?:.*/)?(\d+)/preRT/\1_preRT_T2\.nii\.gz")


@dataclass(frozen=True)
class HNTSMRG(Dataset):
    """Throat tumours and lymph nodes in 135 MR scans before radiotherapy (15 GB, from Zenodo).

    structures: "all" (tumour and nodes, as the paper says) or "tumour" (as its code does).
    """

    name = "hntsmrg"
    version = "1"
    card = DatasetCard(
        title="HNTS-MRG 2024: head and neck cancer on T2-weighted MR before radiotherapy, training set",
        modality="MR, T2-weighted",
        licence="CC BY-NC 4.0",
        citation="K. Wahid et al., Training Dataset for HNTSMRG 2024 Challenge, Zenodo (2024), "
        "doi:10.5281/zenodo.11199559; K. A. Wahid et al., doi:10.1007/978-3-031-83274-1_1",
        homepage="https://zenodo.org/records/11199559",
        labels="tumour (primary, GTVp), node (metastatic lymph nodes, GTVn): consensus of three or four observers",
        instances=f"tumour: one; node: {NODES.describe()}",
        paper="D3",
        cases=135,
        part_of=("hntsmrg",),
        caveats=(
            "only the 135 of 150 patients with a primary tumour are in the cohort; the others have no targets",
            "the paper names tumours and nodes, but its code keeps tumours only: `hntsmrg:structures=tumour`",
            "patients are numbered as in the archive, so the cases are known only after the download",
        ),
        names={
            "tumour": ("head and neck tumour", "oropharyngeal cancer"),
            "node": ("neck lymph node metastasis", "lymph node"),
        },
    )
    structures: Literal["all", "tumour"] = "all"

    def cases(self) -> tuple[str, ...]:
        """All patients in the archive, by number."""
        found = (_IMAGE.fullmatch(name) for name in published_names(self, ARCHIVE))
        return tuple(sorted((match.group(1) for match in found if match), key=int))

    def sources(self) -> tuple[RemoteFile, ...]:
        """The one archive."""
        return (ARCHIVE,)

    def load(self, case: str, files: Files) -> tuple[Volume, list[Target]]:
        """The scan before radiotherapy; no targets without a primary tumour."""
        image, mask = files.find(
            ARCHIVE, f"{case}/preRT/{case}_preRT_T2.nii.gz", f"{case}/preRT/{case}_preRT_mask.nii.gz"
        )
        volume = read_image(image)
        labels = read_labels(mask, volume.grid)
        tumour = targets_from([("tumour", Mask.of(labels == 1))], case, volume)
        if not tumour or self.structures == "tumour":
            return volume, tumour
        return volume, [*tumour, *targets_from([("node", Mask.of(labels == 2))], case, volume, NODES)]
