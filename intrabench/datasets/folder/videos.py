"""Videos: a folder of frames and a folder of masks with palette for each, as DAVIS has them.

A video is a volume whose z is time: frame 0 is the first by name. A pixel counts as 1 mm, and so does a frame.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from intrabench.datasets.convert.label_map import segments_of
from intrabench.datasets.convert.photo import IGNORED, read_ids, read_photo
from intrabench.datasets.convert.photo_pairs import SUFFIXES
from intrabench.datasets.convert.segments import Segment
from intrabench.datasets.folder.layout import Layout, Loaded
from intrabench.datasets.folder.rules import IGNORE, Rules
from intrabench.errors import IntraBenchError
from intrabench.mask import Mask
from intrabench.volume import Volume

VOID = 255
"""The value of ignored pixels in the masks of DAVIS."""
PLACES = (("JPEGImages/480p", "Annotations/480p"), ("images", "masks"), ("images", "labels"))
"""Where videos and their masks are: as DAVIS has them, and as pictures of other data sets."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Videos(Layout):
    """A folder with a folder of frames for each video, and another one with a folder of masks for each.

    videos: both folders of each video by its name.
    """

    videos: Mapping[str, tuple[Path, Path]]

    def cases(self) -> tuple[str, ...]:
        """The names of the videos, sorted."""
        return tuple(self.videos)

    def local_files(self, case: str) -> tuple[Path, ...]:
        """All frames and masks."""
        return tuple(path for folder in self.videos[case] for path in _pictures(folder))

    def load(self, case: str, rules: Rules) -> Loaded:
        """The frames, as ``(frame, y, x, colour)``, and the objects in their masks."""
        frames, masks = map(_pictures, self.videos[case])
        named = {path.stem: path for path in masks}
        for frame in frames:
            if frame.stem not in named:
                raise IntraBenchError(f"{frame} has no mask of the same name in {self.videos[case][1]}; add it")
        if extra := named.keys() - {frame.stem for frame in frames}:
            raise IntraBenchError(
                f"{named[min(extra)]} has no frame of the same name in {self.videos[case][0]}; add it"
            )
        pictures = [read_photo(frame).array[0] for frame in frames]
        ids = [read_ids(named[frame.stem], "palette", VOID) for frame in frames]
        for frame, picture, labels in zip(frames, pictures, ids, strict=True):
            for path, shape in ((frame, picture.shape[:2]), (named[frame.stem], labels.shape)):
                if shape != pictures[0].shape[:2]:
                    size = f"{pictures[0].shape[0]} x {pictures[0].shape[1]}"
                    raise IntraBenchError(
                        f"{path} has {shape[0]} x {shape[1]} pixels, but {frames[0].name} has {size}; all frames and "
                        "masks of a video need the same size"
                    )
        labels = np.stack(ids)
        ignored = [Segment(IGNORE, Mask.of(labels == IGNORED), 0)] if (labels == IGNORED).any() else []
        return Loaded(Volume.from_canonical(np.stack(pictures)), [*segments_of(labels.clip(0), "object"), *ignored])


def videos(path: Path, label: Path | None, channel: int) -> Videos | None:
    """A folder of videos and their masks, or two such folders."""
    places = [(path, label)] if label else [(path / frames, path / masks) for frames, masks in PLACES]
    for frames, masks in places:
        if frames.is_dir() and masks.is_dir():
            found = {one.name: (one, masks / one.name) for one in sorted(frames.iterdir()) if _is_video(one)}
            shown = {name: both for name, both in found.items() if both[1].is_dir()}
            if shown:
                left = [f"{name} has no folder of masks in {masks} and is left out" for name in found.keys() - shown]
                kind = f"videos in {frames.relative_to(path)}" if frames != path else "videos"
                more = {"stated": {"modality": "natural video, RGB"}, "notes": tuple(sorted(left))}
                return replace(Videos(kind=kind, videos=shown), **more)  # type: ignore[arg-type]
    return None


def _is_video(folder: Path) -> bool:
    return folder.is_dir() and not folder.name.startswith(".") and bool(_pictures(folder))


def _pictures(folder: Path) -> list[Path]:
    """The pictures in a folder, by name."""
    files = sorted(folder.iterdir(), key=lambda path: path.name)
    return [path for path in files if path.suffix.lower() in SUFFIXES and not path.name.startswith(".")]
