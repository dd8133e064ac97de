"""Frames of DAVIS."""

from __future__ import annotations

from dataclasses import dataclass

from intrabench.datasets.base import DatasetCard
from intrabench.datasets.families.photo_set import FBRS, PAGE, UNPINNED, PhotoSet
from intrabench.fetch.remote import RemoteFile


@dataclass(frozen=True)
class Davis345(PhotoSet):
    """One object in each of 345 frames of videos (43 MB)."""

    name = "davis345"
    version = "1"
    card = DatasetCard(
        title="DAVIS: 345 frames of videos, one object each",
        modality="natural RGB",
        licence="not stated with the archive; see the terms of DAVIS",
        citation="F. Perazzi et al., CVPR 2016",
        homepage="https://davischallenge.org",
        labels="masks drawn by hand for DAVIS",
        instances="all annotated objects of a frame together, as one",
        cases=345,
        targets=345,
        part_of=("davis",),
        caveats=(
            "frames of one video are similar, but the archive does not say which belong together; each counts as "
            "independent, so intervals are too narrow",
            "other archives with 345 frames exist; their masks and results differ",
            UNPINNED,
        ),
    )
    source = RemoteFile(
        "DAVIS.zip", (f"{FBRS}/DAVIS.zip", "gdrive:1DhwMOqbwH4tcIrVfqtSczdofjdHHnMCJ"), page=PAGE, about_mb=43
    )
    images, masks, coding = "img", "gt", "any"
