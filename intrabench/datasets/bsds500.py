"""The Berkeley Segmentation Dataset: photographs that several people divided into segments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from intrabench.datasets.base import Dataset, DatasetCard, Files, published_names
from intrabench.datasets.convert.annotations import annotated, read_annotations
from intrabench.datasets.convert.photo import read_photo
from intrabench.errors import IntraBenchError
from intrabench.fetch.remote import RemoteFile
from intrabench.target import Target
from intrabench.volume import Volume

_PLACE = "https://www2.eecs.berkeley.edu/Research/Projects/CS/vision/grouping"
ARCHIVE = RemoteFile(
    "BSR_bsds500.tgz",
    (f"{_PLACE}/BSR/BSR_bsds500.tgz",),
    page=f"{_PLACE}/resources.html",
    about_mb=71,
    member_mb=10,
)
PARTS = ("train", "val", "test")
IMAGES, ANNOTATIONS = "data/images", "data/groundTruth"


@dataclass(frozen=True)
class Bsds500(Dataset):
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

    def sources(self) -> tuple[RemoteFile, ...]:
        """The archive."""
        return (ARCHIVE,)

    def cases(self) -> tuple[str, ...]:
        """The numbers of the photographs; unknown until the archive is downloaded."""
        return tuple(sorted(case for part in self._parts().values() for case in part))

    def subsets(self) -> Mapping[str, Sequence[str]]:
        """``train``, ``val`` and ``test``, as in the archive."""
        return {**super().subsets(), **{part: tuple(sorted(cases)) for part, cases in self._parts().items()}}

    def load(self, case: str, files: Files) -> tuple[Volume, list[Target]]:
        """The photograph, and the segments of all people."""
        image, drawn = (
            _only(files.names(ARCHIVE), place, case, suffix)
            for place, suffix in ((IMAGES, ".jpg"), (ANNOTATIONS, ".mat"))
        )
        picture, annotations = files.take(ARCHIVE, image, drawn)
        volume = read_photo(picture)
        return volume, annotated(read_annotations({annotations: 1}, volume.shape[1:]), case, volume)

    def _parts(self) -> dict[str, list[str]]:
        """The photographs of each part."""
        found: dict[str, list[str]] = {part: [] for part in PARTS}
        for name in map(PurePosixPath, published_names(self, ARCHIVE)):
            if name.suffix == ".jpg" and name.parent.name in PARTS and str(name.parent.parent).endswith(IMAGES):
                found[name.parent.name].append(name.stem)
        return found


def _only(names: Sequence[str], place: str, case: str, suffix: str) -> str:
    """The one member of the archive with a file of a photograph."""
    found = [
        name
        for name in names
        if PurePosixPath(name).name == f"{case}{suffix}" and str(PurePosixPath(name).parent.parent).endswith(place)
    ]
    if len(found) != 1:
        raise IntraBenchError(f"BSR_bsds500.tgz has {len(found)} files {case}{suffix}; delete it and download it again")
    return found[0]
