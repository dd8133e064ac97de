"""Recognise the layout of a path."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from intrabench.datasets.convert.photo import SUFFIXES as PICTURES
from intrabench.datasets.folder.annotated import annotated_photos, photos_beside_annotations
from intrabench.datasets.folder.dicom import dicom
from intrabench.datasets.folder.layout import Layout
from intrabench.datasets.folder.nnunet import nnunet
from intrabench.datasets.folder.pairing import ending, files_in
from intrabench.datasets.folder.pairs import one_folder, one_image, photos_beside_masks, two_folders
from intrabench.datasets.folder.videos import videos
from intrabench.errors import IntraBenchError, several

UNDERSTOOD = (
    "an nnU-Net folder, images/ with labels/ or masks/, img/ with gt/, images beside labels whose names end in _seg, "
    "_label or _mask, photographs NAME.jpg beside masks NAME.png, IMAGE:label=LABEL of two files or folders, videos as "
    "DAVIS has them, images/ with annotations/ of several people, or "
    "NAME_human_segmentations.npz beside NAME.jpg, DICOM images with SEG or RTSTRUCT, .npz of CVPR 2025"
)

_LAYOUTS = (
    *(nnunet, videos, annotated_photos, photos_beside_annotations),
    *(two_folders, one_folder, photos_beside_masks, one_image),
)
"""Specific layouts before general ones."""


def recognise(path: Path, label: Path | None, channel: int) -> Layout:
    """The layout of a folder or file. If several fit, the most specific one, with a note that names the others.

    Raises:
        IntraBenchError: the path does not exist, or no layout is recognised.
    """
    for place in (path, label):
        if place is not None and not place.exists():
            raise IntraBenchError(f"{place} does not exist; check the path, or mount the drive")
    try:
        found = _fitting(path, label, channel)
    except OSError as error:
        raise IntraBenchError(
            f"{error.filename or path} cannot be read ({error.strerror}); check its permissions"
        ) from error
    if not found and path.is_file():
        raise IntraBenchError(f"{path} is a single file without labels; give them as {path}:label=FILE")
    pictures = [] if found or path.is_file() else [one for one in files_in(path) if ending(one) in PICTURES]
    if pictures:
        raise IntraBenchError(
            f"{path} has {several(len(pictures), 'picture')}, such as {pictures[0].name}, but no masks that are "
            "recognised; expected NAME.png beside NAME.jpg, NAME_mask.png beside NAME.png, images/ with masks/, or "
            "NAME_human_segmentations.npz beside NAME.jpg"
        )
    if not found:
        raise IntraBenchError(f"{path} has no layout that is recognised; expected {UNDERSTOOD}")
    chosen, *others = found
    also = [f"it could also be read as {other.kind}; {chosen.kind} is more specific" for other in others]
    return replace(chosen, notes=(*chosen.notes, *also))


def _fitting(path: Path, label: Path | None, channel: int) -> list[Layout]:
    """The layouts that fit; DICOM only if no other does, because every file must be opened."""
    layouts = [understand(path, label, channel) for understand in _LAYOUTS]
    found: list[Layout] = [layout for layout in layouts if layout is not None]
    if not found and (series := dicom(path, label, channel)):
        found = [series]
    return found
