"""DICOM series: find them in a folder, and read one as a volume on the grid of its files."""

from __future__ import annotations

import filecmp
import hashlib
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from intrabench.datasets.convert import dicom_mosaic, dicom_phase, dicom_pixels, dicom_plane, dicom_references
from intrabench.datasets.convert.dicom_file import NotDicom, read_dataset, required
from intrabench.datasets.convert.dicom_phase import Image, Named, Phase, one_phase
from intrabench.datasets.convert.dicom_pixels import assembled, check_grey, open_frames, read_file, read_frame
from intrabench.datasets.convert.dicom_plane import Plane, Vectors, frame_groups
from intrabench.datasets.convert.dicom_references import References
from intrabench.datasets.convert.dicom_stack import Gaps, stack
from intrabench.errors import IntraBenchError, several
from intrabench.files.documents import Unreadable, read_json, write_json
from intrabench.files.grid import SAME, Original
from intrabench.mask import Array
from intrabench.volume import Volume, check_intensities
from intrabench.workspace import data_root

_IDENTITY = ("SOPInstanceUID", "SeriesInstanceUID", "FrameOfReferenceUID", "Modality")
_ABOUT = ("SeriesNumber", "SeriesDescription", "PatientID", "StudyInstanceUID", "StudyDate", "StudyTime", "ImageType")
_FOUND = (*_IDENTITY, *_ABOUT, *dicom_references.LISTS)
_DATE = re.compile(r"(\d{4})(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])$")
_TIME = re.compile(r"(\d\d)(\d\d)?(\d\d)?")
_DRAWN = ("SEG", "RTSTRUCT")  # modalities of segmentations
_SHARED, _FRAMES = "SharedFunctionalGroupsSequence", "PerFrameFunctionalGroupsSequence"  # only in multi-frame files
_READ = (
    *(*_IDENTITY, "PatientID", _SHARED, _FRAMES, "NumberOfFrames"),
    *(*dicom_plane.TAGS, *dicom_pixels.TAGS, *dicom_mosaic.TAGS, *dicom_phase.TAGS),
)


@dataclass(frozen=True)
class FoundSeries:
    """A series in a folder, or a file of one of SEG or RTSTRUCT, as described by its headers; missing texts are empty.

    number: the SeriesNumber. study: the StudyInstanceUID. study_date, study_time: as 2021-03-04 and 10:15:00.
    frame_of_reference: empty if a file has several. instances: SOPInstanceUIDs of the files. refers_to: for SEG and
    RTSTRUCT, the UIDs of the series that they were drawn on: those that a file names or, if none of these is in the
    folder, those there that hold single images that it names. images_named: how many single images those are, also
    elsewhere. localizer: whether its images are for orientation only.
    """

    uid: str
    modality: str
    number: str
    description: str
    patient_id: str
    study: str
    study_date: str
    study_time: str
    frame_of_reference: str
    paths: tuple[Path, ...]
    instances: frozenset[str]
    refers_to: tuple[str, ...] = ()
    images_named: int = 0
    localizer: bool = False

    @property
    def refers(self) -> bool:
        """Whether it names series or images, wherever these are."""
        return bool(self.refers_to or self.images_named)


def listing_of(folder: Path) -> Path:
    """The file of the `Listing` of a folder."""
    return data_root() / "dicom" / f"{hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:32]}.json"


@dataclass(frozen=True)
class Listing:
    """The series of a folder as they were read last, in the data folder: ten thousand headers take ten seconds.

    place: the file. state: a hash of the names, sizes and times of all files of the folder.
    """

    folder: Path
    place: Path
    state: str

    @classmethod
    def of(cls, folder: Path, files: Iterable[Path]) -> Listing:
        """That of a folder with these files."""
        stats = [(str(path.relative_to(folder)), path.stat()) for path in files]
        state = repr([(_FOUND, *((name, stat.st_size, stat.st_mtime_ns) for name, stat in stats))])
        return cls(folder, listing_of(folder), hashlib.sha256(os.fsencode(state)).hexdigest())

    def read(self) -> list[FoundSeries] | None:
        """The series, sorted by UID; None if files have changed since, or nothing was written."""
        with suppress(OSError, Unreadable, KeyError, TypeError):
            stored = read_json(self.place, {"state": str, "series": list[dict[str, Any]]})
            if stored["state"] == self.state:
                return [self._series(one) for one in stored["series"]]
        return None

    def write(self, series: Sequence[FoundSeries]) -> None:
        """Keep the series, if the data folder can be written."""
        listed = [
            vars(one)
            | {"paths": [str(path.relative_to(self.folder)) for path in one.paths]}
            | {"instances": sorted(one.instances)}
            for one in series
        ]
        with suppress(OSError, UnicodeEncodeError):
            write_json(self.place, {"state": self.state, "series": listed}, private=True)

    def _series(self, stored: dict[str, Any]) -> FoundSeries:
        more: dict[str, Any] = {"paths": tuple(self.folder / path for path in stored["paths"])}
        more |= {"instances": frozenset(stored["instances"]), "refers_to": tuple(stored["refers_to"])}
        return FoundSeries(**stored | more)


@dataclass(frozen=True, eq=False)
class Series:
    """A series as a volume whose file grid is ``(column, row, slice)``, with slices ordered along the normal.

    instances: SOPInstanceUID to the index of the slice; empty for a multi-frame file. levels: the place of each slice
    on the third axis of the grid, as in `Stack`. others: the images of phases that are not used.
    """

    volume: Volume
    uid: str
    frame_of_reference: str
    instances: Mapping[str, int]
    levels: Vectors
    others: frozenset[Named] = frozenset()

    @property
    def uneven(self) -> bool:
        """Whether slices are not where the grid has them, so that the series is to be resampled (`equal_steps`)."""
        return bool(np.abs(self.levels - np.arange(len(self.levels))).max() > SAME)

    @property
    def remedy(self) -> str:
        """What to do about what was drawn between the slices, for messages."""
        other = ', or write gaps = "longest" in dataset.toml to use slices without a gap' if self.uneven else ""
        return f"provide the series that it was drawn on{other}"

    def has_not(self, images: Collection[str]) -> bool:
        """Whether all images that something names are of phases that are not used; False if it names none."""
        return bool(images) and all((uid, 0) in self.others for uid in images)

    def slices_at(self, places: Vectors) -> Vectors:
        """The indices of slices, as fractions, at places on the third axis of the grid; beyond its ends, too."""
        within = np.interp(places, self.levels, np.arange(len(self.levels)))
        return np.asarray(within + places - places.clip(self.levels[0], self.levels[-1]))


@dataclass(frozen=True, eq=False)
class _Slice:
    """One plane of a series, a function that reads its values, and what tells it from others at its position."""

    plane: Plane
    read: Callable[[], Array]
    image: Image


def find_series(folder: Path, listing: bool = True) -> tuple[list[FoundSeries], dict[Path, str]]:
    """All series in a folder and its subfolders, sorted by UID; only headers are read, once.

    Each file of SEG and RTSTRUCT is on its own, because they may be drawn on different images. DICOMDIR, hidden files
    and files of other formats, whatever they are called, are skipped. DICOM files with damaged headers, and ``.dcm``
    files that are not DICOM, are left out; the second result has a sentence for each. listing: a `Listing` may be read
    and written.

    Raises:
        IntraBenchError: the folder does not exist.
    """
    if not folder.is_dir():
        raise IntraBenchError(f"{folder} is not a folder; give the folder that holds the DICOM files")
    files = sorted(files_below(folder))
    if not listing:
        return _read_headers(files)
    stored = Listing.of(folder, files)
    if (known := stored.read()) is not None:
        return known, {}
    found, broken = _read_headers(files)
    if not broken:  # what cannot be read may be readable next time, although the file is the same
        stored.write(found)
    return found, broken


def files_below(folder: Path) -> Iterator[Path]:
    """The files of a folder at any depth, without hidden ones and links to nothing."""
    return filter(_is_file, paths_below(folder))


def paths_below(folder: Path) -> Iterator[Path]:
    """All that is in a folder at any depth and is no folder, without what is hidden; sorted folder by folder."""
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name[0] != ".")
        yield from (Path(place, name) for name in sorted(names) if name[0] != ".")


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # of a folder that may not be searched; whoever reads the file names it
        return True


def _read_headers(files: Iterable[Path]) -> tuple[list[FoundSeries], dict[Path, str]]:
    from pydicom.uid import MediaStorageDirectoryStorage

    grouped: dict[tuple[str, Path], list[tuple[Path, Any]]] = {}
    broken: dict[Path, str] = {}
    for path in files:
        try:
            header = read_dataset(path, *_FOUND)
            if header.file_meta.get("MediaStorageSOPClassUID") == MediaStorageDirectoryStorage:
                continue
            for keyword in _IDENTITY[:2]:
                required(header, keyword, path)
        except IntraBenchError as error:
            if not isinstance(error, NotDicom) or path.suffix.lower() == ".dcm":
                broken[path] = str(error)
            continue
        alone = path if header.get("Modality") in _DRAWN else Path()
        grouped.setdefault((str(header.SeriesInstanceUID), alone), []).append((path, header))
    references = {key: References.of(files[0][1]) for key, files in sorted(grouped.items())}
    found = [_found(key[0], grouped[key], named) for key, named in references.items()]
    return [_referring(*one, found) for one in zip(found, references.values(), strict=True)], broken


def _found(uid: str, files: Sequence[tuple[Path, Any]], references: References) -> FoundSeries:
    def text(keyword: str) -> str:
        return str(files[0][1].get(keyword) or "").strip()

    return FoundSeries(
        uid,
        text("Modality"),
        _number(files[0][1]),
        text("SeriesDescription"),
        text("PatientID"),
        text("StudyInstanceUID"),
        _joined("-", _DATE.match(text("StudyDate"))),
        _joined(":", _TIME.match(text("StudyTime"))),
        # structure sets state it among their references
        "".join(references.frames) if len(references.frames) == 1 else "",
        tuple(path for path, _ in files),
        frozenset(str(header.SOPInstanceUID) for _, header in files),
        localizer="LOCALIZER" in (files[0][1].get("ImageType") or ()),
    )


def _joined(sign: str, found: re.Match[str] | None) -> str:
    """The parts of a date or time; empty if it is none."""
    return sign.join(found.groups("00")) if found else ""


def _number(header: Any) -> str:
    """The SeriesNumber; empty if it is missing or no number."""
    with suppress(AttributeError, TypeError, ValueError):
        return str(int(header.SeriesNumber))
    return ""


def _referring(series: FoundSeries, references: References, others: Sequence[FoundSeries]) -> FoundSeries:
    if series.modality not in _DRAWN:
        return series
    named = references.series
    if named.isdisjoint(other.uid for other in others):
        named = frozenset(one.uid for one in others if not one.instances.isdisjoint(references.instances)) or named
    return replace(series, refers_to=tuple(sorted(named)), images_named=len(references.instances))


def read_series(
    paths: Sequence[Path],
    gaps: Gaps = "refuse",
    drawn: Vectors | None = None,
    drawn_on: Sequence[Collection[Named]] = (),
    phase: Phase | None = None,
) -> Series:
    """Read the files of one series, in any order, also multi-frame files (Enhanced CT, MR or PET).

    Mosaics of Siemens are taken apart.

    gaps, drawn: as for `stack`. drawn_on, phase: as for `one_phase`.

    Raises:
        IntraBenchError: there are no files, files of several series, different files of one instance, pixels other
            than grey values, missing tags, truncated pixels, a constant image, several images at one position of which
            `one_phase` chooses none, or planes that `stack` refuses.
    """
    if not paths:
        raise IntraBenchError("a series needs at least one file; check its folder")
    name = f"the series in {paths[0].parent}"
    more = tuple(phase) if isinstance(phase, Mapping) else ()
    files, copies = _once([(path, read_dataset(path, *_READ, *more)) for path in paths], name)
    opened = lru_cache(maxsize=1)(open_frames)
    slices = [slice_ for path, header in files for slice_ in _slices(path, header, opened)]
    images = [slice_.image for slice_ in slices]
    used, told = one_phase(images, drawn_on, phase, name)
    slices = [slices[index] for index in used]
    stacked = stack([slice_.plane for slice_ in slices], name, gaps, drawn)
    ordered = [slices[index] for index in stacked.order]
    array = assembled([slice_.read for slice_ in ordered], ordered[0].plane.shape)
    check_intensities(array, name)
    volume = Volume.from_file_order(array, stacked.affine)
    part = len(ordered) < len(slices)
    first = files[0][1]
    return Series(
        replace(
            volume,
            modality=str(first.get("Modality", "")),
            notes=(*copies, *told, *stacked.notes, *_contradictions(files)),
            original=Original.of(volume.grid, stacked.all_levels) if part else None,
        ),
        str(first.SeriesInstanceUID),
        str(first.get("FrameOfReferenceUID", "")),
        {one.image.uid: place for place, one in enumerate(ordered) if not one.image.part},
        stacked.levels,
        _names(images) - _names([one.image for one in slices]),
    )


def _names(images: Iterable[Image]) -> frozenset[Named]:
    """All that labels may call images."""
    return frozenset((one.uid, frame) for one in images for frame in (0, one.frame))


def _once(files: Sequence[tuple[Path, Any]], name: str) -> tuple[list[tuple[Path, Any]], list[str]]:
    """The files of one series without copies, and a note on these."""
    uids = sorted({str(required(header, "SeriesInstanceUID", path)) for path, header in files})
    if len(uids) > 1:
        raise IntraBenchError(f"{name} consists of {len(uids)} series ({', '.join(uids)}); read them one by one")
    seen: dict[str, tuple[Path, Any]] = {}
    copies: list[str] = []
    for path, header in files:
        if header.get("Modality") in _DRAWN:
            raise IntraBenchError(
                f"{path} is {header.Modality}, expected images; provide the series that it was drawn on"
            )
        instance = str(required(header, "SOPInstanceUID", path))
        first, _ = seen.setdefault(instance, (path, header))
        if first != path:
            if not filecmp.cmp(first, path, shallow=False):
                raise IntraBenchError(
                    f"{path} and {first} are different files of one image ({instance}); remove one of them"
                )
            copies.append(f"{path} of {first}")
    count = several(len(copies), "file")
    return list(seen.values()), [f"left out as copies: {count}, such as {copy}" for copy in copies[:1]]


_UNIQUE = {"PatientID": "patients", "FrameOfReferenceUID": "frames of reference", "Modality": "modalities"}


def _contradictions(files: Sequence[tuple[Path, Any]]) -> list[str]:
    """Notes on what the files of a series should name once."""
    notes = []
    for keyword, what in _UNIQUE.items():
        if (count := len({str(header.get(keyword, "")) for _, header in files})) > 1:
            notes.append(f"the files of the series name {count} {what}; they are stacked as one")
    return notes


def _slices(path: Path, header: Any, opened: Callable[[Path], Any]) -> Iterator[_Slice]:
    """The slices of a file; `opened`: opens one with several frames."""
    check_grey(header, path)
    uid, count = str(header.SOPInstanceUID), int(header.get("NumberOfFrames") or 1)

    def image(plane: Plane, frame: int, *groups: Any, part: bool = False) -> Image:
        return Image(plane.name, tuple(plane.position.round(3).tolist()), uid, frame, (*groups, header), part)

    if _SHARED in header:
        shared = frame_groups(header.get(_SHARED)[:1])
        for index in range(count):
            plane = Plane.of_frame(header, index, path)
            groups = frame_groups((header.get(_FRAMES) or ())[index : index + 1])
            own = image(plane, index + 1, *groups, *shared, part=True)
            yield _Slice(plane, partial(read_frame, opened, index, path), own)
    elif count > 1:
        raise IntraBenchError(
            f"{path} has {count} frames without a position of each (a film, or a secondary "
            "capture), expected slices; export the original series of the scanner"
        )
    elif dicom_mosaic.is_mosaic(header):
        for plane, read in dicom_mosaic.tiles(path):
            yield _Slice(plane, read, image(plane, 1, part=True))
    else:
        plane = Plane.of_file(header, path)
        compressed = required(header.file_meta, "TransferSyntaxUID", path).is_encapsulated
        yield _Slice(plane, partial(read_file, path, plane.shape, compressed), image(plane, 1))
