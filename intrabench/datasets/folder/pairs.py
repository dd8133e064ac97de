"""Images with label maps: in two folders, in one folder, as two files, or in files that hold both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path

from intrabench.datasets.convert.segments import Segment
from intrabench.datasets.folder.dicom import Dicom
from intrabench.datasets.folder.layout import Layout, LoadedCase, first_of
from intrabench.datasets.folder.npz import is_case
from intrabench.datasets.folder.pairing import (
    DRAWN,
    NPZ,
    VOLUMES,
    Pair,
    case_of,
    check_name,
    ending,
    files_in,
    is_nameless,
    labelled,
    pair_up,
    parted,
    stem,
)
from intrabench.datasets.folder.reading import read_pair
from intrabench.datasets.folder.rules import Rules
from intrabench.errors import IntraBenchError, several
from intrabench.files.label_names import label_names
from intrabench.files.pictures import SUFFIXES as PICTURES
from intrabench.files.pictures import pages
from intrabench.mask import Mask

_IMAGES, _LABELS = ("images", "ct", "images/ct"), ("labels", "masks")
PLACES = (*product(_IMAGES, _LABELS), ("img", "gt"))
"""Folders of images and of their labels; the last as in the archives of RITM."""
PHOTOS = (".jpg", ".jpeg")
MASKS = tuple(PICTURES - {*PHOTOS})
"""No mask survives the compression of photographs."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Pairs(Layout):
    """Cases with one image each, and a label file or several of one structure each.

    regions: names of the values in label maps, with one or several values per name. more: further files that all cases
    are made from.
    """

    content: Mapping[str, Pair]
    regions: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    more: tuple[Path, ...] = ()

    @property
    def version(self) -> str:
        """That of the data set; since version 3 ``.npz`` files have first boxes, and masks of pictures void pixels.

        Since version 4 the pages of a TIFF file are a stack. Since version 5 values have names that files say, or that
        are known of a public data set, whose regions no file says. Series of DICOM are read as `Dicom` does.
        """
        if any(pair.image and pair.image.is_dir() for pair in self.content.values()):
            return Dicom(kind="DICOM", content={}).version
        if (self.regions and not self.more) or any(_is_named(pair.label) for pair in self.content.values()):
            return "5"
        if any(pair.image and pages(pair.image) > 1 for pair in self.content.values()):
            return "4"
        later = any(pair.image and ending(pair.image) in (NPZ, *PICTURES) for pair in self.content.values())
        return "3" if later else super().version

    def patient(self, case: str) -> str:
        """The image, if the name of the case says whose labels it has, too."""
        return self.content[case].patient or case

    def time(self, case: str) -> str:
        """The time point, if a rule says it."""
        return self.content[case].time

    def series(self, case: str) -> str:
        """Which scan of the patient at that time it is, and who drew on it, if a rule says it."""
        return self.content[case].series

    def complete(self) -> tuple[str, ...]:
        """Those with one image and labels, also if one file holds both."""
        return tuple(
            case
            for case, pair in self.content.items()
            if not pair.problem and pair.image and (pair.image != pair.label or is_case(pair.image))
        )

    def local_files(self, case: str) -> tuple[Path, ...]:
        """The files of the case, and those that all cases use."""
        return *self.content[case].files, *self.more

    def load(self, case: str, rules: Rules) -> LoadedCase:
        """The image and its segments, with the names of the regions."""
        pair = self.content[case]
        if pair.problem or pair.image is None or not pair.labels:
            raise IntraBenchError(pair.problem)
        for path in (pair.image, *(path for _, path in pair.labels)):
            check_name(path)
        loaded = read_pair(pair.image, pair.labels, pair.channel, rules)
        return replace(loaded, segments=self._named(loaded.segments)) if self.regions else loaded

    def _named(self, segments: Sequence[Segment]) -> list[Segment]:
        """The named regions in the folder's order, then the values without a name."""
        masks = {segment.number: segment.mask for segment in segments}
        named = [
            Segment(name, Mask.union([masks[value] for value in values if value in masks]), values[0])
            for name, values in self.regions.items()
            if masks.keys() & set(values)
        ]
        numbers = {value for values in self.regions.values() for value in values}
        return named + [segment for segment in segments if segment.number not in numbers]


def two_folders(path: Path, label: Path | None, channel: int) -> Pairs | None:
    """A folder with two folders of `PLACES`, or two folders of images and labels."""
    if label is not None:
        both = path.is_dir() and label.is_dir()
        return _paired("two folders", files_in(path), files_in(label), channel) if both else None
    places = [place for place in PLACES if all((path / name).is_dir() for name in place)]
    read: dict[tuple[Path, ...], Pairs] = {
        (path / first, path / second): _paired(
            f"{first}/ and {second}/", files_in(path / first), files_in(path / second), channel
        )
        for first, second in places
    }
    return first_of(path, read)


def npz(path: Path, label: Path | None, channel: int) -> Pairs | None:
    """A folder of ``.npz`` files that hold images and labels."""
    if label is not None or not path.is_dir():
        return None
    files = [file for file in files_in(path, [NPZ]) if not stem(file).endswith(DRAWN)]
    content = {stem(file): Pair(file, file, channel) for file in files}
    return Pairs(kind="npz of CVPR challenges", content=content) if content else None


def images_beside_labels(path: Path, label: Path | None, channel: int) -> Pairs | None:
    """A folder of images and labels, which have endings such as _seg, or of one image and one label without a name."""
    if label is not None or not path.is_dir():
        return None
    images, labels = parted(files_in(path, (*VOLUMES, *PICTURES)))
    found = _paired("images beside labels", images, labels, channel)
    if len(images) == len(labels) == 1 and is_nameless(labels[0]):
        found = replace(found, content={case_of(images[0]): Pair(images[0], labels[0], channel)})
    return found if labels else None


def case_folders(path: Path, label: Path | None, channel: int) -> Pairs | None:
    """A folder with one folder for each case, which has one volume, and one whose name says that it holds labels."""
    if label is not None or not path.is_dir():
        return None
    content = dict[str, Pair]()
    for folder in sorted(one for one in path.iterdir() if one.is_dir() and one.name[0] != "."):
        try:
            images, labels = parted(files_in(folder, VOLUMES))
        except PermissionError:
            content[folder.name] = Pair(None, None, problem=f"{folder} cannot be read; check its permissions")
            continue
        if images and labels:
            problem = "" if len(images) == len(labels) == 1 else _too_many(folder, images, labels)
            content[folder.name] = Pair(images[0], labels[0], channel, problem)
    found = Pairs(kind="a folder for each case", content=content)
    return found if found.complete() else None


def _too_many(folder: Path, images: Sequence[Path], labels: Sequence[Path]) -> str:
    names = ", ".join(one.name for one in (*images, *labels))
    return f"{folder} has {names}, of which one image and one label are expected; move the others elsewhere"


def photos_beside_masks(path: Path, label: Path | None, channel: int) -> Pairs | None:
    """A folder of photographs, each a JPEG beside a mask of the same name in another format: NAME.jpg, NAME.png."""
    if label is not None or not path.is_dir():
        return None
    photos, others = files_in(path, PHOTOS), files_in(path, MASKS)
    names = {stem(file) for file in photos}
    masks = [file for file in others if stem(file) in names]
    if not masks:
        return None
    lonely, _ = parted(file for file in others if stem(file) not in names)  # labels are of `images_beside_labels`
    many = several(len(lonely), "picture")
    notes = [f"left out for lack of a photograph of the same name: {many}, such as {one.name}" for one in lonely[:1]]
    return replace(_paired("photographs beside masks", photos, masks, channel), notes=tuple(notes))


def one_image(path: Path, label: Path | None, channel: int) -> Pairs | None:
    """An image file with its label file, by whose names the case is called; or an ``.npz`` file that holds both."""
    if not path.is_file() or (label is None and ending(path) != NPZ) or (label is not None and not label.is_file()):
        return None
    case = " ".join([stem(path), *(labelled(path, label) if label else [])])
    content = {case: Pair(path, label or path, channel, patient=stem(path))}
    return Pairs(kind="one image", content=content, stated=stated([path]))


def _paired(kind: str, images: Sequence[Path], labels: Sequence[Path], channel: int) -> Pairs:
    return Pairs(kind=kind, content=pair_up(images, labels, channel), stated=stated(images))


def stated(images: Sequence[Path]) -> dict[str, str]:
    """What a card can say of images: photographs state what they are; stacks of pages are none."""
    photos = bool(images) and all(ending(image) in PICTURES and pages(image) == 1 for image in images)
    return {"modality": "natural RGB"} if photos else {}


def channel_notes(place: Path, channels: Sequence[str], channel: int) -> list[str]:
    """That one of several channels is used. place: what has them, for messages.

    Raises:
        IntraBenchError: there is no such channel.
    """
    if channels and channel >= len(channels):
        raise IntraBenchError(f"{place} has no channel {channel}; it has {', '.join(channels)}, counted from 0")
    return [f"of the channels {', '.join(channels)} only {channels[channel]} is used"] if len(channels) > 1 else []


def _is_named(label: Path | None) -> bool:
    """Whether a label map has names of its values; False if it cannot be read, for its case says why."""
    if label is None or ending(label) not in VOLUMES:
        return False
    with suppress(IntraBenchError):
        return bool(label_names(label))
    return False
