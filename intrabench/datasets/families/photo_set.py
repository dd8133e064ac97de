"""Base of the sets of natural images: one archive with a folder of pictures and a folder of masks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import ClassVar

from intrabench.datasets.base import Dataset, Files, published_names
from intrabench.datasets.convert.photo import Coding, photo_case
from intrabench.datasets.convert.photo_pairs import paired
from intrabench.errors import IntraBenchError
from intrabench.fetch.remote import RemoteFile
from intrabench.target import Target
from intrabench.volume import Volume

FBRS = "https://github.com/saic-vul/fbrs_interactive_segmentation/releases/download/v1.0"
"""First publication of the archives that are commonly used to evaluate interactive segmentation."""

PAGE = "https://github.com/emb-ai/rclicks"
UNPINNED = "no checksum of the archive is published; compare the files before you compare results with others"


@dataclass(frozen=True)
class PhotoSet(Dataset):
    """A case is a picture, called by its file name without suffix; `card.cases` is the number of pictures.

    images, masks: names of the folders, at any depth of the archive. longest: the longest allowed side in pixels;
    larger pictures and masks are reduced.
    """

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
