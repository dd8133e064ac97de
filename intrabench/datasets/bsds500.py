"""The Berkeley Segmentation Dataset: photographs that several people divided into segments."""

from __future__ import annotations

from dataclasses import dataclass

from intrabench.datasets.base import DatasetCard
from intrabench.datasets.families.segmented_photos import SegmentedPhotos
from intrabench.fetch.remote import RemoteFile

_PLACE = "https://www2.eecs.berkeley.edu/Research/Projects/CS/vision/grouping"
ARCHIVE = RemoteFile(
    "BSR_bsds500.tgz",
    (f"{_PLACE}/BSR/BSR_bsds500.tgz",),
    page=f"{_PLACE}/resources.html",
    about_mb=71,
    member_mb=10,
)


@dataclass(frozen=True)
class Bsds500(SegmentedPhotos):
    """500 photographs (71 MB), of which ``--cases subset:test`` are the 200 that papers report.

    Each of several people divided each picture into segments; those of one person are one annotation.
    """

    name = "bsds500"
    version = "1"
    card = DatasetCard(
        title="BSDS500: 500 photographs, each divided into segments by several people",
        modality="natural RGB",
        licence="non-commercial research and educational purposes (Berkeley Segmentation Dataset)",
        citation="P. Arbelaez et al., PAMI 33(5), 898 (2011)",
        homepage="https://www2.eecs.berkeley.edu/Research/Projects/CS/vision/grouping/resources.html",
        labels="person1, person2, ...: the segments that each person drew; together they fill the picture",
        instances="segments of a person, by their numbers in the file",
        cases=500,
        part_of=("bsds",),
        caveats=("no checksum of the archive is published; compare the files before you compare results with others",),
    )
    source = ARCHIVE
    parts = ("train", "val", "test")
    images, annotations, suffix = "data/images", "data/groundTruth", ".mat"
