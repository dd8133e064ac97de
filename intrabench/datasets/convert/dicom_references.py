"""References from a segmentation or structure set to the images that it was drawn on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from intrabench.datasets.convert.dicom_phase import Named
from intrabench.errors import IntraBenchError

LISTS = (
    "FrameOfReferenceUID",
    "ReferencedFrameOfReferenceSequence",
    "ReferencedSeriesSequence",
    "SourceImageSequence",
)
"""The top-level tags that hold references of a whole file."""
TAGS = (*LISTS, "SOPInstanceUID", "PerFrameFunctionalGroupsSequence", "ROIContourSequence")
"""The top-level tags that say what was drawn where."""

_RT_SERIES = "ReferencedFrameOfReferenceSequence.RTReferencedStudySequence.RTReferencedSeriesSequence"
_SERIES = ("ReferencedSeriesSequence.SeriesInstanceUID", f"{_RT_SERIES}.SeriesInstanceUID")
_INSTANCES = (
    "ReferencedSeriesSequence.ReferencedInstanceSequence.ReferencedSOPInstanceUID",
    f"{_RT_SERIES}.ContourImageSequence.ReferencedSOPInstanceUID",
    "SourceImageSequence.ReferencedSOPInstanceUID",
)
_CONTOURS = "ROIContourSequence.ContourSequence"
_DRAWN_ON = (
    "PerFrameFunctionalGroupsSequence.DerivationImageSequence.SourceImageSequence.ReferencedSOPInstanceUID",
    f"{_CONTOURS}.ContourImageSequence.ReferencedSOPInstanceUID",
)
_POSITIONS = "PerFrameFunctionalGroupsSequence.PlanePositionSequence"
_FRAMES = ("FrameOfReferenceUID", "ReferencedFrameOfReferenceSequence.FrameOfReferenceUID")


@dataclass(frozen=True)
class References:
    """The UIDs of the series, single images and frames of reference that a file names; each may be empty."""

    series: frozenset[str]
    instances: frozenset[str]
    frames: frozenset[str]

    @staticmethod
    def drawn_on(datasets: Sequence[Any]) -> tuple[frozenset[Named], frozenset[Named]]:
        """The images that segmentations name as a whole, and those that their frames or contours name."""
        whole = frozenset(one for dataset in datasets for one in _named(dataset, _INSTANCES))
        return whole, frozenset(one for dataset in datasets for one in _named(dataset, _DRAWN_ON))

    @staticmethod
    def of_frame(frame: Any) -> frozenset[str]:
        """The images that one frame of a SEG names."""
        return _values(frame, (_DRAWN_ON[0].partition(".")[2],))

    @staticmethod
    def of_contour(contour: Any) -> frozenset[str]:
        """The images that one contour of an RTSTRUCT names."""
        return _values(contour, (_DRAWN_ON[1].removeprefix(f"{_CONTOURS}."),))

    @classmethod
    def of(cls, dataset: Any) -> References:
        """The references of a `pydicom.Dataset`."""
        return cls(_values(dataset, _SERIES), _values(dataset, _INSTANCES), _values(dataset, _FRAMES))

    def check(self, path: Path, uid: str, frame_of_reference: str, instances: Mapping[str, int]) -> None:
        """Refuse a file that refers neither to images of the series `uid` nor to its frame of reference.

        Files without references pass; their geometry decides.
        """
        if uid in self.series or frame_of_reference in self.frames or not self.instances.isdisjoint(instances):
            return
        if self.series or self.instances or (self.frames and frame_of_reference):
            named = ", ".join(sorted(self.series)) or "other images"
            raise IntraBenchError(
                f"{path} was drawn on {named} in a different frame of reference than the series {uid}; "
                "provide the series that it was drawn on"
            )


def beside_named(sources: Sequence[frozenset[str]], places: NDArray[np.float64], instances: Mapping[str, int]) -> int:
    """How many frames or contours lie more than half a step off every image that they name.

    sources: the images that each names. places: its slice, as a fraction. instances: the slices of the images there.
    """
    named = [[instances[uid] for uid in source if uid in instances] for source in sources]
    return sum(
        bool(slices) and min(abs(place - one) for one in slices) > 0.5
        for slices, place in zip(named, places.tolist(), strict=True)
    )


def drawn_at(dataset: Any) -> NDArray[np.float64]:
    """A point ``(n, 3)`` of each frame of a SEG, or of each contour of an RTSTRUCT, in RAS mm."""
    found = [list(one.ImagePositionPatient) for one in _items(dataset, _POSITIONS) if one.get("ImagePositionPatient")]
    for contour in _items(dataset, _CONTOURS):
        stored = contour.get_item("ContourData")  # as bytes, because pydicom would make an object of every number
        found += [stored.value.split(b"\\", 3)[:3]] if stored is not None and stored.value else []
    return np.array(found, dtype=np.float64).reshape(-1, 3) * (-1, -1, 1)  # DICOM points to Left and Posterior


def _named(dataset: Any, chains: tuple[str, ...]) -> Iterator[Named]:
    """The images, or frames of images, at the ends of chains of sequences."""
    for sequences, _, keyword in (chain.rpartition(".") for chain in chains):
        for item in _items(dataset, sequences):
            if item.get(keyword):
                frames = item.get("ReferencedFrameNumber") or 0
                for frame in frames if isinstance(frames, Sequence) else (frames,):
                    yield str(item.get(keyword)), int(frame)


def _values(dataset: Any, chains: tuple[str, ...]) -> frozenset[str]:
    """All values at the ends of chains of sequences; anonymised files may lack parts of a chain."""
    found = set()
    for chain in chains:
        sequences, _, keyword = chain.rpartition(".")
        found |= {str(item.get(keyword)) for item in _items(dataset, sequences) if item.get(keyword)}
    return frozenset(found)


def _items(dataset: Any, sequences: str) -> list[Any]:
    """All items of a chain of sequences."""
    items = [dataset]
    for name in sequences.split(".") if sequences else ():
        items = [inner for item in items for inner in item.get(name) or ()]
    return items
