"""The ``.npz`` files of the CVPR challenges: of 2025 on interactive 3D segmentation, and of 2024, also of pictures."""

from __future__ import annotations

import pickle
import zipfile
from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np

from intrabench.datasets.convert.challenge_boxes import first_boxes, table_rows, unpickled
from intrabench.datasets.convert.label_map import segments_of
from intrabench.datasets.convert.photo import as_photo
from intrabench.datasets.folder.layout import LoadedCase
from intrabench.errors import IntraBenchError, reading
from intrabench.files.headers import Arrays
from intrabench.files.label_values import WHOLE, LabelValues
from intrabench.mask import Array, Box
from intrabench.volume import Volume, check_intensities

_READ = ("imgs", "gts", "spacing", "boxes", "boxes_table")
_FLAT = "the file states no spacing, so a pixel counts as 1 mm"
_NOTE = "the file does not state an orientation, so the array is used as it is, with the spacing as x, y, z"


def read_npz(image: Path, label: Path, values: LabelValues = WHOLE) -> LoadedCase:
    """``imgs`` ``(D, H, W)`` and ``spacing`` from one file, ``gts`` ``(D, H, W)`` from the same or another file.

    The array is used as the canonical one because the files have no orientation. ``spacing`` is taken as x, y, z in mm,
    as SimpleITK gives it for a scan; the official script of 2025 measures as if it were z, y, x. ``boxes`` (or the same
    numbers without pickle, ``boxes_table``) are the first boxes of the labels in ascending order; without them a
    segmentation begins with no box. They lie in the file of ``gts``, else in that of ``imgs``. Those of 2024, which are
    no dictionaries, are not read. ``gts`` ``(H, W)`` are of a picture ``(H, W)`` or ``(H, W, 3)``.

    Raises:
        IntraBenchError: the file is truncated or not npz, an array is missing, or arrays do not fit together.
    """
    imgs, gts = _array(image, "imgs"), _array(label, "gts")
    if imgs.shape not in ((gts.shape, (*gts.shape, 3)) if gts.ndim == 2 else (gts.shape,)) or gts.ndim not in (2, 3):
        raise IntraBenchError(
            f"{label} has gts of shape {gts.shape}, but imgs of {image.name} have {imgs.shape}; expected one "
            "shape (D, H, W), or that of a picture, (H, W) and (H, W, 3); export both again"
        )
    check_intensities(imgs, str(image))
    labels = values.labels(gts, str(label))
    if gts.ndim == 2:
        notes = (_FLAT, *_unread(image, label, ("imgs", "gts")))
        return LoadedCase(replace(as_photo(imgs), notes=notes), segments_of(labels[None], "object"))
    spacing = _array(image, "spacing")
    lengths = spacing.shape == (3,) and spacing.dtype.kind in "iuf"
    if not lengths or not (np.isfinite(spacing) & (spacing > 0)).all():
        raise IntraBenchError(f"{image} has the spacing {spacing.tolist()}, expected three lengths in mm; correct it")
    x, y, z = (float(length) for length in spacing)
    volume = replace(Volume.from_canonical(imgs, (z, y, x)), notes=(_NOTE, *_unread(image, label, _READ)))
    segments = segments_of(labels)
    boxes = next((found for path in dict.fromkeys((label, image)) if (found := _boxes(path))), [])
    if not boxes:
        return LoadedCase(volume, [replace(segment, boxes=()) for segment in segments])
    without = len(segments) - len(boxes)
    if without and not (without == 1 and gts.min() > 0):  # the challenge takes the lowest label for the background
        raise IntraBenchError(
            f"{label} has {len(boxes)} boxes for {len(segments)} labels, expected one for each; export it again"
        )
    drawn = [None] * without + [(box,) for box in boxes]
    return LoadedCase(volume, [replace(one, boxes=box) for one, box in zip(segments, drawn, strict=True)])


def is_case(path: Path) -> bool:
    """Whether a file holds a scan and its labels; a file that cannot be read holds nothing."""
    with suppress(OSError, zipfile.BadZipFile), Arrays(path) as stored:
        return {"imgs", "gts"} <= set(stored)
    return False


def _boxes(path: Path) -> list[Box]:
    """The first boxes in a file; none if it has none."""
    with reading(path), Arrays(path) as stored:
        if "boxes_table" in stored:
            return first_boxes(table_rows(stored["boxes_table"]), str(path))
        try:
            rows = unpickled(stored.stored("boxes")) if _has_first_boxes(stored) else []
        except pickle.UnpicklingError as error:
            raise IntraBenchError(
                f"{path} has boxes that are more than numbers ({error}), and nothing else is read from a file; write "
                "boxes_table instead, or leave boxes out"
            ) from error
        return first_boxes(rows, str(path))


def _has_first_boxes(stored: Arrays) -> bool:
    """Whether a file has boxes of 2025, which are objects; those of 2024 are plain numbers."""
    return "boxes" in stored and stored.announced("boxes")[1].hasobject


def _unread(image: Path, label: Path, names: Collection[str]) -> tuple[str, ...]:
    """A note on arrays that are not read. names: those that are."""
    found: set[str] = set()
    for path in dict.fromkeys((image, label)):
        with reading(path), Arrays(path) as stored:
            found |= set(stored) - {name for name in names if name != "boxes" or _has_first_boxes(stored)}
    return (f"the file has other arrays, which are not read: {', '.join(sorted(found))}",) if found else ()


def _array(path: Path, name: str) -> Array:
    with reading(path), Arrays(path) as stored:
        found = set(stored)
        if name in found:
            return stored[name]
    remedy = "give the files that contain it as IMAGES:label=LABELS" if name == "gts" else "export it again"
    raise IntraBenchError(f"{path} has no array {name!r}, only {', '.join(sorted(found))}; {remedy}")
