"""Organs at risk in head and neck CT (D10 of the IntRaBench paper)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from intrabench.datasets.base import Dataset, DatasetCard, Files
from intrabench.datasets.convert.segments import targets_from
from intrabench.datasets.families.head_and_neck import NAMES
from intrabench.errors import IntraBenchError
from intrabench.fetch.remote import RemoteFile
from intrabench.mask import Mask
from intrabench.target import Target
from intrabench.volume import Volume, read_image, read_labels

PAGE = "https://segrap2023.grand-challenge.org"
TERMS = "the organisers ask for a signed agreement"
IMAGES = RemoteFile("SegRap2023_Training_Set_120cases.zip", page=PAGE, terms=TERMS)
LABELS = RemoteFile("SegRap2023_Training_Set_120cases_Update_Labels(Task001).zip", page=PAGE, terms=TERMS)
# fmt: off
ORGANS = (
    "Brain", "BrainStem", "Chiasm", "TemporalLobe_L", "TemporalLobe_R", "Hippocampus_L", "Hippocampus_R", "Eye_L",
    "Eye_R", "Lens_L", "Lens_R", "OpticNerve_L", "OpticNerve_R", "MiddleEar_L", "MiddleEar_R", "IAC_L", "IAC_R",
    "TympanicCavity_L", "TympanicCavity_R", "VestibulSemi_L", "VestibulSemi_R", "Cochlea_L", "Cochlea_R",
    "ETbone_L", "ETbone_R", "Pituitary", "OralCavity", "Mandible_L", "Mandible_R", "Submandibular_L",
    "Submandibular_R", "Parotid_L", "Parotid_R", "Mastoid_L", "Mastoid_R", "TMjoint_L", "TMjoint_R", "SpinalCord",
    "Esophagus", "Larynx", "Larynx_Glottic", "Larynx_Supraglot", "PharynxConst", "Thyroid", "Trachea",
)
# fmt: on


@dataclass(frozen=True)
class SegRap(Dataset):
    """45 organs at risk in 30 head and neck CTs (20 GB, downloaded by hand after signing an agreement).

    cohort: "paper" (the first 30 cases) or "all" (120, as in its code).
    """

    name = "segrap"
    version = "1"
    card = DatasetCard(
        title="SegRap2023: organs at risk of patients with nasopharyngeal carcinoma, training set",
        modality="CT",
        licence="end user agreement of the challenge: no redistribution",
        citation="X. Luo et al., SegRap2023, Medical Image Analysis (2025), doi:10.1016/j.media.2024.103447",
        homepage=PAGE,
        labels="45 organs, some inside others, on the scan without contrast agent",
        instances="one per organ",
        paper="D10",
        cases=30,
        part_of=("segrap",),
        caveats=(
            "the paper counts 30 cases; its code lists the first 30 but then uses all 120 (`segrap:cohort=all`)",
            "the published code numbers organs in the order of a folder listing, so their names are mixed up, and it "
            "finds no cases",
            "the archives may be encrypted with a password for participants; unpack them, and pack their content again "
            "under the same names",
            "no checksum of the archives is published; compare the files before you compare results with others",
        ),
        names=NAMES,
    )
    cohort: Literal["paper", "all"] = "paper"

    def cases(self) -> tuple[str, ...]:
        """segrap_0000 and so on."""
        return tuple(f"segrap_{number:04}" for number in range(30 if self.cohort == "paper" else 120))

    def sources(self) -> tuple[RemoteFile, ...]:
        """The scans, and the corrected labels of task 1."""
        return IMAGES, LABELS

    def load(self, case: str, files: Files) -> tuple[Volume, list[Target]]:
        """The scan without contrast agent and its organs, which may overlap."""
        (image,) = files.find(IMAGES, f"{case}/image.nii.gz")
        volume = read_image(image)
        inside = [name for name in files.names(LABELS) if f"/{case}/" in f"/{name}" and name.endswith(".nii.gz")]
        drawn = [name for name in inside if "__MACOSX" not in name]
        organs = {name.rpartition("/")[2].removesuffix(".nii.gz"): name for name in drawn}
        if not organs:
            raise IntraBenchError(f"{LABELS.filename} has no organs of {case}, expected a folder {case} with up to 45")
        if unknown := sorted(set(organs) - set(ORGANS)):
            raise IntraBenchError(f"{LABELS.filename} has {', '.join(unknown)} for {case}, expected the 45 organs only")
        found = []
        for organ in ORGANS:
            if organ in organs:
                (mask,) = files.take(LABELS, organs[organ])
                found.append((organ, Mask.of(read_labels(mask, volume.grid) > 0)))
                mask.unlink()
        return volume, targets_from(found, case, volume)
