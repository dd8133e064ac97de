"""Sets of natural images: one archive with a folder of pictures and a folder of masks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import ClassVar

from intrabench.datasets.base import Dataset, DatasetCard, Files, published_names
from intrabench.datasets.convert.photo import Coding, photo_case
from intrabench.errors import IntraBenchError
from intrabench.fetch.remote import RemoteFile
from intrabench.files.pictures import SUFFIXES
from intrabench.target import Target
from intrabench.volume import Volume

FBRS = "https://github.com/saic-vul/fbrs_interactive_segmentation/releases/download/v1.0"
"""First publication of the archives that are commonly used to evaluate interactive segmentation."""

PAGE = "https://github.com/emb-ai/rclicks"
CARD = DatasetCard(
    title="",
    modality="natural RGB",
    homepage=PAGE,
    caveats=("no checksum of the archive is published; compare the files before you compare results with others",),
)
"""What the cards of all have in common."""


def _archive(name: str, drive_id: str, about_mb: float) -> RemoteFile:
    places = f"{FBRS}/{name}.zip", f"gdrive:{drive_id}"
    return RemoteFile(f"{name}.zip", places, page=PAGE, about_mb=about_mb)


@dataclass(frozen=True)
class PhotoSet(Dataset):
    """A case is a picture, called by its file name without suffix; `card.cases` is the number of pictures.

    images, masks: names of the folders, at any depth of the archive. longest: the longest allowed side in pixels;
    larger pictures and masks are reduced.
    """

    version = "1"
    source: ClassVar[RemoteFile]
    images: ClassVar[str]
    masks: ClassVar[str]
    coding: ClassVar[Coding]
    longest: ClassVar[int | None] = None

    def sources(self) -> tuple[RemoteFile, ...]:
        """The archive."""
        return (self.source,)

    def cases(self) -> tuple[str, ...]:
        """The names of the pictures, sorted; unknown until the archive is downloaded."""
        return tuple(self._pairs(published_names(self, self.source)))

    def load(self, case: str, files: Files) -> tuple[Volume, list[Target]]:
        """The picture and the objects in its mask."""
        image, mask = files.take(self.source, *self._pairs(files.names(self.source))[case])
        return photo_case(case, image, mask, self.coding, longest=self.longest)

    def _pairs(self, members: Sequence[str]) -> dict[str, tuple[str, str]]:
        """Picture and mask of each case in the archive; refuses another number than was published."""
        images, masks = (
            [member for member in members if PurePosixPath(member).parent.name == folder]
            for folder in (self.images, self.masks)
        )
        try:
            pairs = paired(images, masks)
            if len(pairs) != self.card.cases:
                raise ValueError(f"it has {len(pairs)} pictures in {self.images}, expected {self.card.cases}")
        except ValueError as error:
            raise IntraBenchError(
                f"{self.source.filename} is not the published archive ({error}); delete it from the downloads "
                f"folder and run `intrabench data get {self.name}` again"
            ) from error
        return pairs


def paired(images: Iterable[str], masks: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Picture and mask by case, which is the picture's name without its suffix, sorted by the picture's name.

    The mask has the same name except for the suffix or, as in RClicks, the picture's name up to its first dot.
    Hidden files and files other than pictures are ignored.

    Raises:
        ValueError: a picture or a mask has no partner, or two files have the same name; the message names them.
    """
    pictures, left = _by_stem(images), _by_stem(masks)
    pairs = {}
    for case, image in sorted(pictures.items(), key=lambda item: item[1]):
        mask = left.pop(case, None) or left.pop(case.partition(".")[0], None)
        if mask is None:
            raise ValueError(f"the picture {image} has no mask of the same name")
        pairs[case] = image, mask
    for mask in left.values():
        raise ValueError(f"the mask {mask} has no picture of the same name")
    return pairs


def _by_stem(names: Iterable[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in names:
        path = PurePosixPath(name)
        if path.suffix.lower() in SUFFIXES and not path.name.startswith("."):
            if path.stem in found:
                raise ValueError(f"{name} and {found[path.stem]} have the same name")
            found[path.stem] = name
    return found


@dataclass(frozen=True)
class Berkeley(PhotoSet):
    """100 objects in 96 photographs (7 MB)."""

    name = "berkeley"
    card = replace(
        CARD,
        title="Berkeley: 100 objects in 96 photographs of the Berkeley Segmentation Dataset",
        licence="non-commercial research and educational purposes (Berkeley Segmentation Dataset)",
        citation="K. McGuinness, N. E. O'Connor, Pattern Recognition 43(2), 434 (2010); D. Martin et al., ICCV 2001",
        homepage="https://www2.eecs.berkeley.edu/Research/Projects/CS/vision/bsds",
        labels="objects drawn by hand for a study of interactive segmentation",
        instances="one object; a photograph with two objects is two cases",
        cases=100,
        targets=100,
        part_of=("bsds",),
    )
    source = _archive("Berkeley", "1yStolKW8AnS5rYm3VhgnID_XReNCXbEJ", 7)
    images, masks, coding = "images", "masks", "channel0"

    def patient(self, case: str) -> str:
        """The photograph; the archive calls copies for further objects ``189011a``, ``189011b``."""
        return case.rstrip("ab")


@dataclass(frozen=True)
class CocoMVal(PhotoSet):
    """One object in each of 800 photographs of COCO (127 MB)."""

    name = "coco_mval"
    card = replace(
        CARD,
        title="COCO-MVal: 800 photographs of COCO, one object each",
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
        caveats=("models trained on COCO or LVIS may have seen the photographs", *CARD.caveats),
    )
    source = _archive("COCO_MVal", "1oz1VT8YqykQFfx_Vtp_wtYFGz5mYBOnp", 127)
    images, masks, coding = "img", "gt", "any"


@dataclass(frozen=True)
class Davis345(PhotoSet):
    """One object in each of 345 frames of videos (43 MB)."""

    name = "davis345"
    card = replace(
        CARD,
        title="DAVIS: 345 frames of videos, one object each",
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
            *CARD.caveats,
        ),
    )
    source = _archive("DAVIS", "1DhwMOqbwH4tcIrVfqtSczdofjdHHnMCJ", 43)
    images, masks, coding = "img", "gt", "any"


@dataclass(frozen=True)
class GrabCut(PhotoSet):
    """One object in each of 50 photographs (11 MB)."""

    name = "grabcut"
    card = replace(
        CARD,
        title="GrabCut: 50 photographs, one object each",
        licence="not stated (Microsoft Research Cambridge)",
        citation='C. Rother, V. Kolmogorov, A. Blake, "GrabCut", ACM Transactions on Graphics 23(3), 309 (2004)',
        labels="masks drawn by hand, with a band along the border that no metric counts",
        instances="the one object of a photograph",
        cases=50,
        targets=50,
        part_of=("grabcut",),
        caveats=("only a few photographs, most with one large object", *CARD.caveats),
    )
    source = _archive("GrabCut", "1tU17eJaevYd5PQAwzEK6oG1N9eBJORC4", 11)
    images, masks, coding = "data_GT", "boundary_GT", "channel0"


@dataclass(frozen=True)
class Tetris(PhotoSet):
    """2531 objects in 2000 large photographs, downscaled to 2048 pixels (6.3 GB)."""

    name = "tetris"
    card = replace(
        CARD,
        title="TETRIS: 2531 objects in 2000 large photographs",
        licence="not stated",
        citation="A. Moskalenko et al., TETRIS, AAAI 2024, arXiv:2402.06132",
        labels="masks drawn by hand",
        instances="one object, numbered by its colour in the mask: red + 256 green + 65536 blue",
        cases=2000,
        targets=2531,
        part_of=("tetris",),
        caveats=(
            "photographs and masks with a side longer than 2048 pixels are downscaled, as in RClicks",
            "the archive is 6.3 GB large",
            *CARD.caveats,
        ),
    )
    source = RemoteFile("TETRIS.zip", ("gdrive:1iJgohY1XBSnY-kRUoaRZJlu0HZbyHcyK",), page=PAGE, about_mb=6300)
    images, masks, coding = "images", "masks", "packed"
    longest = 2048
