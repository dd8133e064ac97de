"""Objects of COCO."""

from __future__ import annotations

from dataclasses import dataclass

from intrabench.datasets.base import DatasetCard
from intrabench.datasets.families.photo_set import FBRS, PAGE, UNPINNED, PhotoSet
from intrabench.fetch.remote import RemoteFile


@dataclass(frozen=True)
class CocoMVal(PhotoSet):
    """One object in each of 800 photographs of COCO (127 MB)."""

    name = "coco_mval"
    version = "1"
    card = DatasetCard(
        title="COCO-MVal: 800 photographs of COCO, one object each",
        modality="natural RGB",
        licence="annotations CC-BY-4.0; the photographs are under the terms of Flickr",
        citation=(
            "T.-Y. Lin et al., Microsoft COCO, ECCV 2014, doi:10.1007/978-3-319-10602-1_48; "
            "archive of K. Sofiiuk et al., f-BRS, CVPR 2020, arXiv:2001.10331"
        ),
        homepage="https://cocodataset.org",
        labels="polygons of COCO's annotators, coarser than the border of the object",
        instances="the one object of a photograph",
        cases=800,
        targets=800,
        part_of=("coco",),
        caveats=("models trained on COCO or LVIS may have seen the photographs", UNPINNED),
    )
    source = RemoteFile(
        "COCO_MVal.zip", (f"{FBRS}/COCO_MVal.zip", "gdrive:1oz1VT8YqykQFfx_Vtp_wtYFGz5mYBOnp"), page=PAGE, about_mb=127
    )
    images, masks, coding = "img", "gt", "any"
