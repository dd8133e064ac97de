"""Organs at risk in head and neck MR (D2 of the IntRaBench paper)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from intrabench.datasets.base import Dataset, DatasetCard, Files
from intrabench.datasets.convert.registration import rigid
from intrabench.datasets.convert.resample import onto_grid
from intrabench.datasets.convert.segments import targets_from
from intrabench.datasets.families.head_and_neck import NAMES
from intrabench.errors import IntraBenchError
from intrabench.fetch.remote import RemoteFile
from intrabench.target import Target
from intrabench.volume import Volume, read_grid_array, read_image

PAGE = "https://zenodo.org/records/7442914"
ARCHIVE = RemoteFile(
    "HaN-Seg.zip",
    (f"{PAGE}/files/HaN-Seg.zip?download=1",),
    "md5:c3d3070de3034933a63031b73b9cf0fc",
    page=PAGE,
    about_mb=4939,
)
# fmt: off
ORGANS = (
    "A_Carotid_L", "A_Carotid_R", "Arytenoid", "Bone_Mandible", "Brainstem", "BuccalMucosa", "Cavity_Oral",
    "Cochlea_L", "Cochlea_R", "Cricopharyngeus", "Esophagus_S", "Eye_AL", "Eye_AR", "Eye_PL", "Eye_PR",
    "Glnd_Lacrimal_L", "Glnd_Lacrimal_R", "Glnd_Submand_L", "Glnd_Submand_R", "Glnd_Thyroid", "Glottis",
    "Larynx_SG", "Lips", "OpticChiasm", "OpticNrv_L", "OpticNrv_R", "Parotid_L", "Parotid_R", "Pituitary",
    "SpinalCord",
)
# fmt: on


@dataclass(frozen=True)
class HaNSeg(Dataset):
    """Up to 30 organs in 42 head and neck MR scans (5 GB, from Zenodo)."""

    name = "hanseg"
    version = "1"
    extra = "hanseg"
    card = DatasetCard(
        title="HaN-Seg: organs at risk, drawn on CT and moved to the T1-weighted MR of the same patient",
        modality="MR, T1-weighted",
        licence="CC BY-NC-ND 4.0 (the file in the archive says CC BY-ND 4.0)",
        citation="G. Podobnik et al., Medical Physics 50, 1917 (2023), doi:10.1002/mp.16197; data: "
        "doi:10.5281/zenodo.7442914",
        homepage=PAGE,
        labels="30 organs at risk, drawn on the CT with the MR beside it",
        instances="one per organ",
        paper="D2",
        cases=42,
        part_of=("hanseg",),
        caveats=(
            "CT and MR have different frames of reference, so elastix registers each case rigidly; this takes minutes, "
            "may fail, and aligns soft organs only roughly; the matrix is stored with the case",
            "organs outside the MR scan, and organs that were not annotated, are missing",
            "SegVol was trained on the CTs of this data set",
            "the published code resets the axes of the MR before it registers, so it misplaces labels of oblique scans "
            "and one organ may also overwrite another",
        ),
        names=NAMES,
    )

    def cases(self) -> tuple[str, ...]:
        """case_01 to case_42."""
        return tuple(f"case_{number:02}" for number in range(1, 43))

    def sources(self) -> tuple[RemoteFile, ...]:
        """The one archive."""
        return (ARCHIVE,)

    def load(self, case: str, files: Files) -> tuple[Volume, list[Target]]:
        """The MR scan, and the organs of the CT after registration."""
        image, ct = files.find(ARCHIVE, f"{case}/{case}_IMG_MR_T1.nrrd", f"{case}/{case}_IMG_CT.nrrd")
        start = f"{case}_OAR_"
        drawn = {
            name.rpartition("/")[2].removeprefix(start).removesuffix(".seg.nrrd"): name
            for name in files.names(ARCHIVE)
            if name.rpartition("/")[2].startswith(start)
        }
        if unknown := sorted(set(drawn) - set(ORGANS)):
            raise IntraBenchError(
                f"{ARCHIVE.filename} has {', '.join(unknown)} for {case}, expected the 30 organs only"
            )
        volume = read_image(image)
        to_mr = rigid(ct, image)
        ct.unlink()
        with files.kept("ct_to_mr.txt").open("w", encoding="utf-8") as file:
            np.savetxt(file, to_mr, header="from RAS mm of the CT to RAS mm of the MR")
        found = []
        for organ in (organ for organ in ORGANS if organ in drawn):
            (mask,) = files.take(ARCHIVE, drawn[organ])
            array, affine = read_grid_array(mask)
            mask.unlink()
            found.append((organ, onto_grid(array > 0, to_mr @ affine, volume.grid)))
        return volume, targets_from(found, case, volume)
