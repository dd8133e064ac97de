"""The contract of data sets: named cases, each with one scan and its targets."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

from intrabench.datasets.validate import fitted
from intrabench.errors import IntraBenchError, WrongType, attempt, kind
from intrabench.fetch.archive import member_names, open_members
from intrabench.fetch.remote import RemoteFile
from intrabench.fetch.source import Source
from intrabench.fetch.transfer import DownloadError, Progress
from intrabench.files.names import check_utf8
from intrabench.specs import specs
from intrabench.specs.component import Component
from intrabench.specs.values import expect, expect_items
from intrabench.target import Target, TargetInfo
from intrabench.volume import Volume
from intrabench.workspace import data_root

Gathered: TypeAlias = Sequence[tuple[TargetInfo, Sequence[int]]]
Watch = Callable[[str], AbstractContextManager[Progress]]
"""Shows the progress of the named download while the context lasts."""


@dataclass(frozen=True)
class DatasetCard:
    """What a reader of results must know about the data. `labels` says what they are and where they come from.

    instances: what an instance is. paper: its number in the IntRaBench paper. cases, targets: how many there are, after
    conversion, where that is known; a case without targets does not count. part_of names the published data sets that
    the scans are from, as the weights registry calls them; empty: unknown. names: of a label, or of a target
    (``label.instance``), what people would type to have it segmented, and synonyms; where there are none, it is the
    label.
    """

    title: str
    modality: str
    licence: str = "not stated"
    citation: str = "not stated"
    homepage: str = ""
    labels: str = "not stated"
    instances: str = ""
    paper: str = ""
    cases: int | None = None
    targets: int | None = None
    part_of: tuple[str, ...] = ()
    caveats: tuple[str, ...] = ()
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def names_of(self, info: TargetInfo) -> tuple[str, ...]:
        """What people call a target; empty if only its label says."""
        return tuple(self.names.get(info.id) or self.names.get(info.label, ()))

    def called(self, info: TargetInfo) -> str:
        """What pages for people call a target: the first of its names, or its label."""
        return next(iter(self.names_of(info)), info.label)


@dataclass(frozen=True)
class Files:
    """Gives `Dataset.load` the published files; each is downloaded when it is first requested.

    downloads: folder of downloaded files. unpacked: folder that is emptied once the case is converted.
    """

    downloads: Path
    unpacked: Path
    watch: Watch | None = None

    def fetch(self, source: Source) -> Path:
        """The checked file, or folder of files, of `source`."""
        if self.watch is None or source.is_here(self.downloads):
            return source.fetch(self.downloads)
        with self.watch(source.title) as progress:
            return source.fetch(self.downloads, progress)

    def names(self, source: Source) -> list[str]:
        """The names of the files inside the archive of `source`."""
        return member_names(self.fetch(source))

    def kept(self, name: str) -> Path:
        """Where to write a file that will be kept beside the converted case."""
        path = self.unpacked.parent / "kept" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def find(self, source: Source, *endings: str) -> list[Path]:
        """The paths of the members of an archive whose names end in `endings` (whole parts of a path), in that order.

        The folders around them may differ between archives.

        Raises:
            DownloadError: no member fits, or several do.
        """
        names = [name for name in self.names(source) if "__MACOSX" not in name]
        found = []
        for ending in endings:
            fitting = [name for name in names if f"/{name}".endswith(f"/{ending}")]
            if len(fitting) != 1:
                raise DownloadError(
                    f"{source.place(self.downloads)} has {len(fitting)} files {ending}, expected one: it is not the "
                    "file expected; delete it and run again."
                )
            found += fitting
        return self.take(source, *found)

    def take(self, source: Source, *members: str) -> list[Path]:
        """The paths of `members` (their names inside the archive of `source`), in the order given."""
        limit = source.member_mb * 1_000_000 if isinstance(source, RemoteFile) else None
        paths = open_members(self.fetch(source), members, self.unpacked / Path(source.title).stem, limit)
        return [paths[member] for member in members]


@dataclass(frozen=True)
class Dataset(Component):
    """Base of all data sets. A subclass is a frozen dataclass whose fields are its parameters.

    `version` changes whenever the data or their conversion do. A data set of one's own is this much::

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

    card: ClassVar[DatasetCard]
    extra: ClassVar[str] = ""
    """The extra that conversion needs: ``pip install 'intrabench[EXTRA]'``."""

    @abstractmethod
    def cases(self) -> tuple[str, ...]:
        """The names of the cases. This must be quick and must not download a case."""

    @abstractmethod
    def load(self, case: str, files: Files) -> tuple[Volume, Sequence[Target]]:
        """The scan and the targets of one case; `files` gives the files of `sources` and `case_sources`."""

    def sources(self) -> tuple[Source, ...]:
        """The published files that all cases need."""
        return ()

    def case_sources(self, case: str) -> tuple[Source, ...]:
        """The published files that only this case needs; `load` may use only some of them."""
        return ()

    def local_files(self, case: str) -> tuple[Path, ...]:
        """The user's own files that a case is made from. If one of them changes, the case is converted again."""
        return ()

    def noted(self) -> tuple[Path, ...]:
        """Files in the data folder in which something was noted of `local_files`; they go when the data set does."""
        return ()

    def patient(self, case: str) -> str:
        """The patient that a case is of. Cases of one patient are one unit in intervals, tests and ranks.

        Must be as quick as `cases`. Default: each case is of its own patient.
        """
        return case

    def time(self, case: str) -> str:
        """When the scan of a case was made; empty: unknown. Cases of a patient at other times are follow-ups.

        A date as ``2021-03-04`` or ``20210304``, also with a time of day; a number; or a text such as ``t2``, which is
        before ``t10``. Must be as quick as `cases`.
        """
        return ""

    def series(self, case: str) -> str:
        """Which of several scans of a patient at one time a case is, such as ``MR T1``; empty: unknown.

        Where a patient has several cases at one time, the prior of a case is that of the same series.
        """
        return ""

    def remarks(self) -> Sequence[str]:
        """What is unusual about the data set as a whole, such as files that are left out, one sentence each."""
        return ()

    def subsets(self) -> Mapping[str, Sequence[str]]:
        """Named choices of cases, for ``--cases subset:NAME``; every data set has `smoke`, its first two."""
        return {"smoke": self.cases()[:2]}

    def megabytes(self) -> float:
        """The most that has to be downloaded for all cases; 0 if nothing has to be, or if it is unknown."""
        listed = set(self.sources())
        if type(self).case_sources is not Dataset.case_sources:  # cases() may need a file that is not downloaded yet
            listed.update(source for case in self.cases() for source in self.case_sources(case))
        return sum(source.megabytes for source in listed)

    @cached_property
    def spec(self) -> str:
        """``name:key=value,...`` with every parameter; keys are made from it."""
        return specs.spec_of(self)

    @cached_property
    def short_spec(self) -> str:
        """``name:key=value,...`` with only the parameters that differ from their defaults, for people to read."""
        return specs.short_spec_of(self)

    @property
    def argument(self) -> str:
        """The argument for the command line: the short spec, or the path of a folder."""
        return self.short_spec

    @property
    def stored_as(self) -> Dataset:
        """The data set whose stored cases it uses: its own, unless it only changes what is seen of another one."""
        return self

    def gathered(self, infos: tuple[TargetInfo, ...]) -> Gathered | None:
        """The targets of a case, each with the places of the stored ones, `infos`, that it consists of; None: the same.

        Must be quick, as it is asked when a run is planned.
        """
        return None

    def seen(self, volume: Volume) -> Volume:
        """What models and prompters see of a stored image; nothing of a change is stored."""
        return volume

    def moved(self, target: Target) -> Target:
        """Where a stored target is in the image that is `seen`; without voxels if it left it."""
        return target


def cases_of(dataset: Dataset) -> tuple[str, ...]:
    """The names of the cases.

    Raises:
        WrongType: `cases` returned something else.
    """
    found: Any = dataset.cases()
    expect_items(str, found, f"{dataset.name}.cases returned", "a tuple of names, such as ('case-1', 'case-2')")
    for case in found:
        if not check_utf8(case, f"case of data set {dataset.name}:"):
            raise WrongType(f"{dataset.name}.cases returned an empty name, expected names such as 'case-1'")
    return tuple(found)


def patient_of(dataset: Dataset, case: str) -> str:
    """The patient that a case is of.

    Raises:
        IntraBenchError: `patient` failed, or returned something else (WrongType).
    """
    return _said(dataset, "patient", case, f"a name, such as {case!r}", empty=False)


def time_of(dataset: Dataset, case: str) -> str:
    """When the scan of a case was made; empty if that is unknown.

    Raises:
        IntraBenchError: `time` failed, or returned something else (WrongType), or a date that begins with the day.
    """
    found = _said(dataset, "time", case, "a text, such as '2021-03-04'").strip()
    if re.match(r"\d{1,2}[./-]\d{1,2}[./-]\d{2}", found):
        raise IntraBenchError(f"{dataset.name}: the time of case {case} is {found!r}; write dates as 2021-03-04")
    return found


def series_of(dataset: Dataset, case: str) -> str:
    """Which of several scans of a patient at one time a case is; empty if that is unknown.

    Raises:
        IntraBenchError: `series` failed, or returned something else (WrongType).
    """
    return _said(dataset, "series", case, "a text, such as 'MR T1'")


def _said(dataset: Dataset, what: str, case: str, expected: str, empty: bool = True) -> str:
    """What a method of a data set says about a case, a text that can be stored."""
    method = f"{dataset.name}.{what}"
    found: Any = attempt(lambda: getattr(dataset, what)(case), f"{method} failed for case {case}", "repair it")
    if not isinstance(found, str) or not (found or empty):
        actual = "an empty text" if found == "" else kind(found)
        raise WrongType(f"{method} returned {actual} for case {case}, expected {expected}")
    return check_utf8(found, f"{method} of case {case}:")


def load_case(dataset: Dataset, case: str, files: Files) -> tuple[Volume, Sequence[Target]]:
    """The scan and the targets of one case, as `fitted` makes them.

    Raises:
        WrongType: `load` returned something else.
        IntraBenchError: scan and targets do not fit together.
    """
    found: Any = dataset.load(case, files)
    method = f"{dataset.name}.load"
    if not isinstance(found, tuple) or len(found) != 2:
        actual = f"a tuple of {len(found)}" if isinstance(found, tuple) else kind(found)
        raise WrongType(f"{method} returned {actual}, expected two things: the Volume and the list of its targets")
    volume, targets = found
    wanted = "a Volume, as from read_image or Volume.from_canonical(array, spacing_mm)"
    expect(Volume, volume, f"{method} returned", wanted, " for the scan")
    expect_items(Target, targets, f"{method} returned", "a list of Target, as from targets_of", " for the targets")
    return volume, fitted(volume, targets)


class NotFetched(IntraBenchError):
    """The cases of a data set are unknown until its archive is downloaded."""


def published_names(dataset: Dataset, source: Source) -> list[str]:
    """The names of the files inside an archive whose members define the cases.

    Raises:
        NotFetched: the archive is not in the downloads folder yet.
    """
    path = source.place(data_root() / "downloads")
    if not path.exists():
        raise NotFetched(
            f"the cases of {dataset.name} are unknown until {source.title} is downloaded; "
            f"run: intrabench data get {dataset.argument}"
        )
    return member_names(path)


def data_size(megabytes: float) -> str:
    """A size as text; a dash for none."""
    if not megabytes:
        return "-"
    return f"{megabytes / 1000:.1f} GB" if megabytes >= 1000 else f"{max(megabytes, 1):.0f} MB"
