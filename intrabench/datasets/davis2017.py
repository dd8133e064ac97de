"""Videos of DAVIS 2017, with the scribbles that people drew on them."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from intrabench.datasets.base import Dataset, DatasetCard, Files, published_names
from intrabench.datasets.convert.video import read_video
from intrabench.fetch.remote import RemoteFile
from intrabench.fetch.transfer import DownloadError
from intrabench.target import Target
from intrabench.volume import Volume
from intrabench.workspace import data_root

_PAGE, _PLACE = "https://davischallenge.org/davis2017/code.html", "https://data.vision.ee.ethz.ch/csergi/share/davis"
VIDEOS, SCRIBBLES = (
    RemoteFile(name, (f"{_PLACE}/{name}",), page=_PAGE, about_mb=size_mb, member_mb=50)
    for name, size_mb in (("DAVIS-2017-trainval-480p.zip", 830), ("DAVIS-2017-scribbles-trainval.zip", 30))
)
FRAMES, MASKS, SETS, LISTS = "JPEGImages/480p", "Annotations/480p", "Scribbles", "ImageSets/2017"


@dataclass(frozen=True)
class Davis2017(Dataset):
    """90 videos (480p), of which ``--cases subset:val`` is the part that the challenge reports. Time is z.

    Each object has the first scribbles of three people (`Target.scribbles`).
    """

    name = "davis2017"
    version = "1"
    card = DatasetCard(
        title="DAVIS 2017: videos, several objects each, with scribbles of three people",
        modality="natural video, RGB",
        licence="see the terms of DAVIS (non-commercial)",
        citation="J. Pont-Tuset et al., arXiv:1704.00675; S. Caelles et al., arXiv:1803.00557",
        homepage="https://davischallenge.org",
        labels="masks of each frame, drawn by hand",
        instances="the objects of a video, numbered as published",
        cases=90,
        targets=205,
        part_of=("davis",),
        caveats=("no checksum of the archives is published; compare the files before you compare results with others",),
    )

    def sources(self) -> tuple[RemoteFile, ...]:
        """The archives of videos and of scribbles."""
        return VIDEOS, SCRIBBLES

    def cases(self) -> tuple[str, ...]:
        """The names of the videos; unknown until the archive is downloaded."""
        masks = (PurePosixPath(name) for name in published_names(self, VIDEOS) if _in(name, MASKS))
        return tuple(sorted({mask.parent.name for mask in masks if mask.suffix == ".png"}))

    def subsets(self) -> Mapping[str, Sequence[str]]:
        """``train`` and ``val``, as the archive lists them."""
        names = published_names(self, VIDEOS)
        with zipfile.ZipFile(VIDEOS.place(data_root() / "downloads")) as archive:
            found = {
                part: tuple(archive.read(one).decode().split())
                for part in ("train", "val")
                for one in names
                if f"/{one}".endswith(f"/{LISTS}/{part}.txt")
            }
        return {**super().subsets(), **found}

    def load(self, case: str, files: Files) -> tuple[Volume, list[Target]]:
        """The video, its objects, and what people drew."""
        frames, masks = (self._folder(files, VIDEOS, place, case) for place in (FRAMES, MASKS))
        volume, segments, ignore = read_video(frames, masks, self._folder(files, SCRIBBLES, SETS, case))
        size = volume.shape, volume.spacing_mm
        return volume, [
            Target(case, one.name, one.number, one.mask, *size, ignore, scribbles=one.scribbles) for one in segments
        ]

    def _folder(self, files: Files, source: RemoteFile, place: str, case: str) -> Path:
        """The unpacked folder of one video in an archive."""
        members = [name for name in files.names(source) if _in(name, f"{place}/{case}") and not name.endswith("/")]
        if not members:
            raise DownloadError(
                f"{source.filename} has no folder {place}/{case}: it is not the published archive; delete it from the "
                f"downloads folder and run `intrabench data get {self.name}` again"
            )
        return files.take(source, *members)[0].parent


def _in(member: str, place: str) -> bool:
    """Whether a file of an archive lies in a folder, which may lie in others."""
    return f"/{place}/" in f"/{member}" and "__MACOSX" not in member
