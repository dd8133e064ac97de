"""The pictures of GrabCut."""

from __future__ import annotations

from dataclasses import dataclass

from intrabench.datasets.base import DatasetCard
from intrabench.datasets.families.photo_set import FBRS, PAGE, UNPINNED, PhotoSet
from intrabench.fetch.remote import RemoteFile


@dataclass(frozen=True)
class GrabCut(PhotoSet):
    """One object in each of 50 photographs (11 MB)."""

    name = "grabcut"
    version = "1"
    card = DatasetCard(
        title="GrabCut: 50 photographs, one object each",
        modality="natural RGB",
        licence="not stated (Microsoft Research Cambridge)",
        citation='C. Rother, V. Kolmogorov, A. Blake, "GrabCut", ACM Transactions on Graphics 23(3), 309 (2004)',
        homepage=PAGE,
        labels="masks drawn by hand, with a band along the border that no metric counts",
        instances="the one object of a photograph",
        cases=50,
        targets=50,
        part_of=("grabcut",),
        caveats=("only a few photographs, most with one large object", UNPINNED),
    )
    source = RemoteFile(
        "GrabCut.zip", (f"{FBRS}/GrabCut.zip", "gdrive:1tU17eJaevYd5PQAwzEK6oG1N9eBJORC4"), page=PAGE, about_mb=11
    )
    images, masks, coding = "data_GT", "boundary_GT", "channel0"
