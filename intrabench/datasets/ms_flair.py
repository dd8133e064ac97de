"""Lesions of multiple sclerosis in brain MR (D1 of the IntRaBench paper)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from intrabench.datasets.base import Dataset, DatasetCard, Files
from intrabench.datasets.convert.instances import Instances
from intrabench.datasets.convert.segments import targets_from
from intrabench.errors import IntraBenchError
from intrabench.fetch.remote import RemoteFile
from intrabench.mask import Array, Mask
from intrabench.target import Target
from intrabench.volume import Volume, check_intensities, read_grid_array

RULE = Instances(26)
PAGE = "https://data.mendeley.com/datasets/8bctsm8jz7/1"
ARCHIVE = RemoteFile(
    "ms_flair.zip",
    (
        "https://data.mendeley.com/public-files/datasets/8bctsm8jz7/files/"
        "9356efeb-dcd8-4213-a2d4-8febe9f1a5db/file_downloaded",
    ),
    "sha256:c90f0f47c9e1a5e0fafc87b77dfcbcb09ac0cf9ffdaa333aaec1b9c63d31a7b3",
    page=PAGE,
    about_mb=700,
)
SEQUENCES = "Supplementary Table 2 for  sequence parameters .xlsx"  # with the publisher's spaces


@dataclass(frozen=True)
class MSFlair(Dataset):
    """Multiple sclerosis lesions in 60 FLAIR scans (0.7 GB, from Mendeley Data)."""

    name = "ms_flair"
    version = "1"
    extra = "ms_flair"
    card = DatasetCard(
        title="Brain MRI of 60 patients with multiple sclerosis, 1.5 T, from 20 centres",
        modality="MR, FLAIR",
        licence="CC BY 4.0",
        citation="A. M. Muslim et al., Data in Brief 42, 108139 (2022), doi:10.1016/j.dib.2022.108139; data: "
        "doi:10.17632/8bctsm8jz7.1",
        homepage=PAGE,
        labels="lesion: consensus of three radiologists on the FLAIR scan",
        instances=RULE.describe(),
        paper="D1",
        cases=60,
        part_of=("ms_flair",),
        caveats=(
            "the headers give a wrong spacing between slices; the value from the publishers' table is used instead, as "
            "in the published code",
            "the other sequences are not aligned with FLAIR and are not used",
            "to download by hand, take the single file on the page; `download all` makes a different archive",
        ),
        names={"lesion": ("multiple sclerosis lesion", "white matter lesion")},
    )

    def cases(self) -> tuple[str, ...]:
        """The patients by number."""
        return tuple(str(number) for number in range(1, 61))

    def sources(self) -> tuple[RemoteFile, ...]:
        """The one archive; that of the browser's "download all" has another checksum."""
        return (ARCHIVE,)

    def load(self, case: str, files: Files) -> tuple[Volume, list[Target]]:
        """The FLAIR scan with its true spacing, and its lesions."""
        folder = f"Patient-{case}"
        image, labels, table = files.find(
            ARCHIVE, f"{folder}/{case}-Flair.nii", f"{folder}/{case}-LesionSeg-Flair.nii", SEQUENCES
        )
        array, affine = read_grid_array(image)
        lesions, _ = read_grid_array(labels)
        if lesions.shape != array.shape:
            raise IntraBenchError(
                f"{labels.name} has shape {lesions.shape}, but its image {array.shape}: fetch {ARCHIVE.filename} again"
            )
        check_intensities(array, image.name)
        volume = Volume.from_file_order(array, respaced(affine, slice_spacing_mm(table, int(case))))
        inside = Mask.of(volume.grid.to_canonical(lesions > 0))
        return volume, targets_from([("lesion", inside)], case, volume, RULE)


def respaced(affine: Array, spacing_mm: float) -> Array:
    """The affine with a different spacing along the third axis of the file."""
    changed = np.array(affine, dtype=np.float64)
    changed[:3, 2] *= spacing_mm / np.linalg.norm(changed[:3, 2])
    return changed


def slice_spacing_mm(table: Path, patient: int) -> float:
    """The slice spacing of a patient's FLAIR scan in the publishers' table of sequence parameters.

    The table has two rows of headings: the sequence, above its first column, and the parameter.
    """
    sequences, parameters, *rows = read_table(table)
    column = next(
        (
            at
            for at in range(len(parameters))
            if _above(sequences, at) == "FLAIR" and parameters[at] == "Spacing Between Slices"
        ),
        None,
    )
    numbers = parameters.index("ID") if "ID" in parameters else None
    found = [row for row in rows if numbers is not None and row[numbers] == str(patient)]
    if column is None or len(found) != 1:
        raise IntraBenchError(
            f"{table.name} does not have one FLAIR slice spacing for patient {patient}: fetch {ARCHIVE.filename} again"
        )
    try:
        return float(found[0][column])
    except ValueError as error:
        raise IntraBenchError(f"{table.name} gives {found[0][column]!r} as the spacing of patient {patient}") from error


def _above(headings: list[str], column: int) -> str:
    """The heading that spans a column: the last non-empty one up to there."""
    return next((text for text in reversed(headings[: column + 1]) if text), "")


def read_table(path: Path) -> list[list[str]]:
    """The rows of the first sheet of an ``.xlsx`` file, of equal length, stripped; whole numbers have no decimals.

    Raises:
        IntraBenchError: the file is not a spreadsheet, or the library for it is not installed.
    """
    try:
        import openpyxl
    except ImportError as error:
        raise IntraBenchError(
            f"{path.name} needs a library that is not installed; run: pip install 'intrabench[ms_flair]'"
        ) from error
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        rows = [[_text(value) for value in row] for row in book.worksheets[0].iter_rows(values_only=True)]
        book.close()
    except Exception as error:  # zip, XML and the library raise different exceptions
        raise IntraBenchError(f"{path} cannot be read as a spreadsheet ({error}); fetch it again") from error
    width = max(map(len, rows), default=0)
    return [row + [""] * (width - len(row)) for row in rows]


def _text(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return "" if value is None else str(value).strip()
