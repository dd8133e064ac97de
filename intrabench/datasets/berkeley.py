"""The objects of McGuinness and O'Connor in pictures of Berkeley."""

from __future__ import annotations

from dataclasses import dataclass

from intrabench.datasets.base import DatasetCard
from intrabench.datasets.families.photo_set import FBRS, PAGE, UNPINNED, PhotoSet
from intrabench.fetch.remote import RemoteFile


@dataclass(frozen=True)
class Berkeley(PhotoSet):
    """100 objects in 96 photographs (7 MB)."""

    name = "berkeley"
    version = "1"
    card = DatasetCard(
        title="Berkeley: 100 objects in 96 photographs of the Berkeley Segmentation Dataset",
        modality="natural RGB",
        licence="non-commercial research and educational purposes (Berkeley Segmentation Dataset)",
        citation="K. McGuinness, N. E. O'Connor, Pattern Recognition 43(2), 434 (2010); D. Martin et al., ICCV 2001",
        homepage="https://www2.eecs.berkeley.edu/Research/Projects/CS/vision/bsds",
        labels="objects drawn by hand for a study of interactive segmentation",
        instances="one object; a photograph with two objects is two cases",
        cases=100,
        targets=100,
        part_of=("bsds",),
        caveats=(UNPINNED,),
    )
    source = RemoteFile(
        "Berkeley.zip", (f"{FBRS}/Berkeley.zip", "gdrive:1yStolKW8AnS5rYm3VhgnID_XReNCXbEJ"), page=PAGE, about_mb=7
    )
    images, masks, coding = "images", "masks", "channel0"

    def patient(self, case: str) -> str:
        """The photograph; the archive calls copies for further objects ``189011a``, ``189011b``."""
        return case.rstrip("ab")
