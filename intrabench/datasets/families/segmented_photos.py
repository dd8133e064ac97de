"""Base of the data sets of superpixels: one archive of photographs that people divided into segments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar

from numpy.typing import NDArray

from intrabench.datasets.base import Dataset, Files, published_names
from intrabench.datasets.convert.annotations import annotated, read_annotations
from intrabench.datasets.convert.photo import read_photo
from intrabench.errors import IntraBenchError
from intrabench.fetch.remote import RemoteFile
from intrabench.target import Target
from intrabench.volume import Volume

Places = dict[str, tuple[str, str]]
"""The members of an archive with photograph and annotation of each case."""


@dataclass(frozen=True)
class SegmentedPhotos(Dataset):
    """A case is a photograph, called by its file name without suffix; its parts are subsets.

    parts: names of the parts. images, annotations: the folders of photographs and of annotations, at any depth of the
    archive, in which each part has a folder. suffix: of annotations.
    """

    source: ClassVar[RemoteFile]
    parts: ClassVar[tuple[str, ...]] = ("train", "test")
    images: ClassVar[str] = "images"
    annotations: ClassVar[str] = "csv_groundTruth"
    suffix: ClassVar[str] = ".csv"

    def sources(self) -> tuple[RemoteFile, ...]:
        """The archive."""
        return (self.source,)

    def cases(self) -> tuple[str, ...]:
        """The names of the photographs; unknown until the archive is here."""
        return tuple(sorted(case for part in self._published().values() for case in part))

    def subsets(self) -> Mapping[str, Sequence[str]]:
        """The parts, as they are published."""
        return {**super().subsets(), **{part: tuple(sorted(cases)) for part, cases in self._published().items()}}

    def load(self, case: str, files: Files) -> tuple[Volume, list[Target]]:
        """The photograph, and the segments of all people."""
        places = next(part[case] for part in self.places(files.names(self.source)).values() if case in part)
        picture, annotations = files.take(self.source, *places)
        volume = read_photo(picture)
        return volume, annotated(self.drawn(annotations, volume.shape[1:]), case, volume)

    def drawn(self, path: Path, shape: tuple[int, ...]) -> dict[int, NDArray[Any]]:
        """What people drew, label maps of `shape` ``(y, x)`` by number.

        Raises:
            IntraBenchError: the file cannot be read, or has another size than the photograph.
        """
        return read_annotations({path: 1}, shape)

    def places(self, names: Sequence[str]) -> dict[str, Places]:
        """By part, the members of each case; names: of all members.

        Raises:
            IntraBenchError: a photograph has no annotation, or none is there.
        """
        return {part: self.pairs(names, f"{self.images}/{part}", f"{self.annotations}/{part}") for part in self.parts}

    def pairs(self, names: Sequence[str], images: str, annotations: str) -> Places:
        """The members of each photograph in one folder, with its annotation in another.

        Raises:
            IntraBenchError: a photograph has no annotation, or none is there.
        """
        drawn: dict[str, list[str]] = {}
        for name in names:
            path = PurePosixPath(name)
            if path.name.endswith(self.suffix) and f"/{path.parent}".endswith(f"/{annotations}"):
                drawn.setdefault(path.name.removesuffix(self.suffix), []).append(name)
        found = {}
        for name in names:
            path = PurePosixPath(name)
            if path.suffix in (".jpg", ".png") and f"/{path.parent}".endswith(f"/{images}") and path.name[0] != ".":
                fitting = drawn.get(path.stem, [])
                if len(fitting) != 1:
                    raise self._other(f"it has {len(fitting)} files {annotations}/{path.stem}{self.suffix}, not one")
                found[path.stem] = name, fitting[0]
        if not found:
            raise self._other(f"it has no photographs in {images}")
        return found

    def _published(self) -> dict[str, Places]:
        return self.places(published_names(self, self.source))

    def _other(self, why: str) -> IntraBenchError:
        again = self.source.terms or "delete it and download it again"
        return IntraBenchError(f"{self.source.filename} is not the published archive ({why}); {again}")
