"""Choose one of several acquisitions that a scanner stored as one series."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from intrabench.datasets.convert.dicom_file import read_dataset
from intrabench.errors import IntraBenchError

Position = tuple[float, ...]


def one_acquisition(paths: Sequence[Path], drawn_on: Collection[str]) -> list[Path]:
    """One file per position if slices of the series share positions; else all files.

    The acquisition with most of the images that labels were drawn on (their SOPInstanceUIDs) is chosen. At positions
    that it lacks, labelled images of another acquisition are used.

    Raises:
        IntraBenchError: slices share positions and the labels do not identify an acquisition, or different images of
            one acquisition do.
    """
    tags = ("SOPInstanceUID", "AcquisitionNumber", "ImagePositionPatient")
    headers = [(path, read_dataset(path, *tags)) for path in paths]
    slices = [
        (path, str(header.get("AcquisitionNumber", "")), _position(header), str(header.get("SOPInstanceUID", "")))
        for path, header in headers
    ]
    if len({position for _, _, position, _ in slices}) == len(slices) or not all(slice[2] for slice in slices):
        return list(paths)
    counts = dict.fromkeys((number for _, number, _, _ in slices), 0)
    for _, number, _, instance in slices:
        counts[number] += instance in drawn_on
    best = max(counts, key=lambda number: counts[number])
    if counts[best] == 0 or list(counts.values()).count(counts[best]) > 1:
        raise IntraBenchError(
            f"the series in {paths[0].parent} holds {len(counts)} acquisitions with slices at equal positions, and its "
            "labels do not identify one of them; keep one acquisition"
        )
    chosen: dict[Position, Path] = {}
    images: dict[Position, str] = {}
    for path, number, position, instance in slices:
        if number == best:
            if images.setdefault(position, instance) != instance:
                raise IntraBenchError(
                    f"the series in {path.parent} has two different slices at the same position ({chosen[position]} "
                    f"and {path}); keep one phase, echo or time point"
                )
            chosen.setdefault(position, path)
    for path, _, position, instance in slices:
        if instance in drawn_on:
            chosen.setdefault(position, path)
    return list(chosen.values())


def _position(header: object) -> Position:
    found = getattr(header, "ImagePositionPatient", None) or ()
    return tuple(round(float(part), 3) for part in found)
