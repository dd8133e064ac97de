"""Base of the data sets from the Imaging Data Commons: scans with labels drawn on them, both in DICOM."""

from __future__ import annotations

import csv
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

from intrabench.datasets.base import Dataset, Files
from intrabench.datasets.convert.dicom_file import read_dataset
from intrabench.datasets.convert.dicom_references import References
from intrabench.datasets.convert.dicom_seg import read_seg
from intrabench.datasets.convert.dicom_series import Series, read_series
from intrabench.datasets.convert.rtstruct import read_rtstruct
from intrabench.datasets.convert.segments import Drawn, Segment, kept_segments
from intrabench.errors import IntraBenchError
from intrabench.fetch.idc import IdcSeries
from intrabench.fetch.source import Source
from intrabench.mask import Mask
from intrabench.target import Target
from intrabench.volume import Volume

IDC = "https://portal.imaging.datacommons.cancer.gov/explore/filters/?collection_id="
SHARED = "K. Clark et al., J Digit Imaging 26, 1045 (2013), doi:10.1007/s10278-013-9622-7"
READERS: Mapping[str, Callable[[Path, Series], Drawn]] = {
    "SEG": partial(read_seg, resample=True),
    "RTSTRUCT": read_rtstruct,
}
COHORTS = Path(__file__).parent / "cohorts"
"""The series of each case of a data set, pinned; ``docs/make_cohorts.py`` documents how they were chosen."""


@cache
def cohort(name: str) -> Mapping[str, tuple[IdcSeries, ...]]:
    """The series of each case of a data set, in the order of its file."""
    found: dict[str, list[IdcSeries]] = {}
    with (COHORTS / f"{name}.csv").open(newline="", encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            series = IdcSeries(row["uid"], row["uuid"], row["kind"], int(row["files"]), float(row["mb"]), row["about"])
            found.setdefault(row["case"], []).append(series)
    return {case: tuple(series) for case, series in found.items()}


@dataclass(frozen=True)
class IdcSet(Dataset):
    """A cohort of series. Each case has one label series and one or more image series; the labels refer to one."""

    def cases(self) -> tuple[str, ...]:
        """The cases of the pinned cohort."""
        return tuple(cohort(self.name))

    def case_sources(self, case: str) -> tuple[Source, ...]:
        """The label series and all image series that it may belong to."""
        return cohort(self.name)[case]

    def load(self, case: str, files: Files) -> tuple[Volume, Sequence[Target]]:
        """The scan, in the orientation of its files, and the targets."""
        pinned = cohort(self.name)[case]
        (labels,) = (series for series in pinned if series.kind in READERS)
        files.fetch(labels)
        (path,) = labels.paths(files.downloads)
        contents = read_dataset(path)
        references = References.of(contents)
        image = _image([series for series in pinned if series is not labels], references, path)
        files.fetch(image)
        series = read_series(image.paths(files.downloads), drawn_on=References.drawn_on([contents]))
        # published labels are taken as far as there are images, and what is cut off is said
        drawn, noted = READERS[labels.kind](path, series)
        segments, notes = kept_segments(drawn, "cut" if labels.kind == "SEG" else "refuse")
        volume = replace(series.volume, notes=(*series.volume.notes, *noted, *notes))
        return volume, self.targets(segments, case, volume)

    @abstractmethod
    def targets(self, segments: Sequence[Segment], case: str, volume: Volume) -> list[Target]:
        """The targets made from the structures of a label file."""


def _image(candidates: Sequence[IdcSeries], references: References, path: Path) -> IdcSeries:
    """The image that the labels were drawn on. If there is only one, its geometry is checked later."""
    if len(candidates) == 1:
        return candidates[0]
    named = [series for series in candidates if series.uid in references.series]
    if len(named) != 1:
        raise IntraBenchError(
            f"{path} refers to {len(named)} of the {len(candidates)} scans of its study, expected one; "
            "leave the case out with --cases"
        )
    return named[0]


def named(segments: Sequence[Segment], *names: str) -> Mask:
    """The union of the structures with these names; empty if there are none."""
    return Mask.union([segment.mask for segment in segments if segment.name in names])
