"""Choosing one of several acquisitions that a scanner stored as one series."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from intrabench.datasets.convert.dicom_file import read_dataset
from intrabench.errors import IntraBenchError


def one_acquisition(paths: Sequence[Path], referenced: Collection[str]) -> list[Path]:
    """The files of the acquisition that labels name most, where slices of one series share positions; else all files.

    referenced: SOPInstanceUIDs that the labels name.

    Raises:
        IntraBenchError: positions are shared and labels do not tell which acquisition they are of.
    """
    tags = ("SOPInstanceUID", "AcquisitionNumber", "ImagePositionPatient")
    headers = [(path, read_dataset(path, *tags)) for path in paths]
    positions = {tuple(header.get("ImagePositionPatient") or ()) for _, header in headers}
    if len(positions) == len(headers) or len(headers) < 2 or () in positions:
        return list(paths)
    groups: dict[str, list[tuple[Path, bool]]] = {}
    for path, header in headers:
        is_named = str(header.get("SOPInstanceUID", "")) in referenced
        groups.setdefault(str(header.get("AcquisitionNumber", "")), []).append((path, is_named))
    counts = {number: sum(is_named for _, is_named in files) for number, files in groups.items()}
    best = max(counts.values())
    if best == 0 or list(counts.values()).count(best) > 1:
        raise IntraBenchError(
            f"the series in {paths[0].parent} holds {len(groups)} acquisitions with slices at equal positions, and its "
            "labels do not tell which one they belong to; keep one acquisition"
        )
    return [path for number, files in groups.items() if counts[number] == best for path, _ in files]
