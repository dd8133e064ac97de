"""Folders of videos, each a folder of frames and a folder of masks with palette, as DAVIS has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from intrabench.datasets.convert.segments import Segment
from intrabench.datasets.convert.video import people, pictures_in, read_video
from intrabench.datasets.folder.layout import Layout, LoadedCase, first_of
from intrabench.datasets.folder.rules import IGNORE, Rules

PLACES = (("JPEGImages/480p", "Annotations/480p"), ("images", "masks"), ("images", "labels"))
"""Where videos and their masks are: as DAVIS has them, and as pictures of other data sets."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Videos(Layout):
    """A folder with a folder of frames for each video, and another one with a folder of masks for each.

    content: both folders of each video by its name. scribbles: the folder with a folder of scribbles for each, if any.
    """

    content: Mapping[str, tuple[Path, Path]]
    scribbles: Path | None = None

    @property
    def version(self) -> str:
        """That of the data set; since version 3 the white of masks in black and white is an object."""
        return "3"

    def local_files(self, case: str) -> tuple[Path, ...]:
        """All frames, masks and scribbles."""
        pictures = (path for folder in self.content[case] for path in pictures_in(folder))
        return *pictures, *people(self._scribbles(case))

    def load(self, case: str, rules: Rules) -> LoadedCase:
        """The frames, as ``(frame, y, x, colour)``, and the objects in their masks."""
        volume, segments, ignored = read_video(*self.content[case], self._scribbles(case), rules.pixels)
        return LoadedCase(volume, [*segments, *([Segment(IGNORE, ignored, 0)] if ignored.any() else [])])

    def _scribbles(self, case: str) -> Path | None:
        return self.scribbles / case if self.scribbles else None


def videos(path: Path, label: Path | None, channel: int) -> Videos | None:
    """A folder of videos and their masks, or two such folders."""
    places = [(path, label)] if label else [(path / frames, path / masks) for frames, masks in PLACES]
    read: dict[tuple[Path, ...], Videos] = {}
    for frames, masks in places:
        if frames.is_dir() and masks.is_dir():
            found = {one.name: (one, masks / one.name) for one in sorted(frames.iterdir()) if _is_video(one)}
            shown = {name: both for name, both in found.items() if both[1].is_dir()}
            if shown:
                left = [f"{name} has no folder of masks in {masks} and is left out" for name in found.keys() - shown]
                drawn = {one.name for one in masks.iterdir() if _is_video(one)}
                left += [f"{name} has no folder of frames in {frames} and is left out" for name in drawn - found.keys()]
                kind = f"videos in {frames.relative_to(path)}" if frames != path else "videos"
                read[frames, masks] = Videos(
                    kind=kind,
                    content=shown,
                    stated={"modality": "natural video, RGB"},
                    notes=tuple(sorted(left)),
                    scribbles=path / "Scribbles" if label is None else None,
                )
    return first_of(path, read)


def _is_video(folder: Path) -> bool:
    return folder.is_dir() and not folder.name.startswith(".") and bool(pictures_in(folder))
