"""What the header of an image says about its grid twice, in other units or not at all, one sentence each.

And what it says about its values, if that is not what they are used for.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from intrabench.errors import IntraBenchError, reading
from intrabench.files.grid import Grid
from intrabench.files.headers import fields_of, nifti

_LABEL = 1002
"""What the `intent_code` of NIfTI says of labels."""
_SPACINGS = ("space directions", "spacings", "elementspacing", "elementsize")
_ORIENTATIONS = ("space", "transformmatrix", "rotation", "orientation")
"""Fields of NRRD and MetaImage."""
_SPACES = ("right-anterior-superior", "ras", "left-anterior-superior", "las", "left-posterior-superior", "lps")
"""Spaces of NRRD whose axes point to sides of a patient."""
_LPS = "its axes are taken to point to Left, Posterior, Superior"
_FROM = ("RL", "AP", "IS")
"""Where an axis of MetaImage comes from that points along x, y or z, or against it."""


def geometry_notes(path: Path) -> tuple[str, ...]:
    """Notes on the header of a NIfTI, Analyze, NRRD, MetaImage or MGH file; none on others.

    Raises:
        IntraBenchError: the header cannot be read.
    """
    with reading(path):
        if _is_nifti(path):
            return tuple(_of_nifti(nifti(path)))
        if path.name.lower().endswith((".nrrd", ".nhdr", ".mha", ".mhd")):
            return tuple(_of_fields(path))
        if path.name.lower().endswith((".mgz", ".mgh")) and not _states_axes(path):
            return ("the file states no spacing and no orientation; voxels of 1 mm in coronal slices are taken",)
    return ()


def _is_nifti(path: Path) -> bool:
    return path.name.lower().endswith((".nii", ".nii.gz", ".img", ".hdr"))


def _of_nifti(image: Any) -> list[str]:
    from nibabel.nifti1 import Nifti1Pair
    from nibabel.orientations import aff2axcodes

    names = {"L": "Left", "R": "Right", "P": "Posterior", "A": "Anterior", "I": "Inferior", "S": "Superior"}
    axes = ", ".join(names[one] for one in aff2axcodes(image.affine))
    unstated = f"the file states no orientation; its axes are taken to point to {axes}"
    if not isinstance(image, Nifti1Pair):
        return [unstated]
    header, notes = image.header, []
    if header["intent_code"] == _LABEL:
        notes.append("the file says that its values are labels, but they are read as intensities")
    unit = header.get_xyzt_units()[0]
    if unit not in ("mm", "unknown"):
        notes.append(f"the file says that its lengths are in {unit}, but they are read as mm; correct its header")
    if not header["qform_code"] and not header["sform_code"]:
        return [*notes, unstated]
    if header["qform_code"] and header["sform_code"]:
        sform, qform = _forms(image)
        if not qform:
            notes.append("the sform of the file is used; its qform is damaged")
        # a qform near half a turn is off by parts of a voxel, for lack of digits
        elif sform and (sform.apart(qform) > 1 or not np.allclose(sform.steps, qform.steps, rtol=0.01)):
            notes.append(f"the sform of the file is used; its qform differs: {sform.difference(qform)}")
    return notes


def fitting(path: Path, labels: Grid, image: Path | None, grid: Grid) -> str:
    """In words, which of the two grids of a NIfTI file would fit, if it is not that in use.

    labels: the grid in use of the file at `path`; grid: that of the scan in the file `image`, if there is one.
    """
    if (qform := _qform(path)) and grid.same_as(qform):
        return " (its qform fits, not its sform)"
    if image and (qform := _qform(image)) and qform.same_as(labels):
        return " (it fits the qform of the image, not the sform)"
    return ""


def _forms(image: Any) -> tuple[Grid | None, Grid | None]:
    """The grids of the sform and the qform of a NIfTI file, None where it has none that can be."""
    found: dict[str, Grid] = {}
    for form in ("sform", "qform"):
        with suppress(IntraBenchError, ValueError):  # ValueError: the three numbers of a qform are of no rotation
            if image.header[f"{form}_code"]:
                found[form] = Grid((*image.shape, 1, 1)[:3], np.asarray(getattr(image, f"get_{form}")()))
    return found.get("sform"), found.get("qform")


def _qform(path: Path) -> Grid | None:
    """The grid of the qform of a NIfTI file that has a sform, too, so that this one is not in use."""
    from nibabel.nifti1 import Nifti1Pair

    image = nifti(path) if _is_nifti(path) else None
    sform, qform = _forms(image) if isinstance(image, Nifti1Pair) else (None, None)
    return qform if sform else None


def _states_axes(path: Path) -> bool:
    """Whether an MGH file says that its spacing and orientation count; nibabel puts others in their place."""
    with gzip.open(path) if path.suffix.lower() == ".mgz" else path.open("rb") as file:
        return any(file.read(30)[28:])


def _anatomical(fields: Mapping[str, str]) -> list[str]:
    """Notes on the two orientations of a MetaImage, a matrix and letters."""
    matrix = np.array(fields.get("transformmatrix", "").split(), dtype=float)
    stated = fields.get("anatomicalorientation", "").upper()
    if matrix.size != 9 or len(stated) != 3 or not set(stated) <= set("".join(_FROM)):
        return []
    axes = [(int(np.abs(row).argmax()), row) for row in matrix.reshape(3, 3)]
    found = "".join(_FROM[axis][int(row[axis] < 0)] for axis, row in axes)
    return [f"the file states the orientation {stated}, but its matrix, which is used, is {found}"] * (found != stated)


def _of_fields(path: Path) -> list[str]:
    fields = fields_of(path)
    notes = []
    if not fields.keys() & set(_SPACINGS):
        notes.append("the file states no spacing; a voxel counts as 1 mm along each axis")
    if not fields.keys() & set(_ORIENTATIONS):
        notes.append(f"the file states no orientation; {_LPS}")
    elif fields.get("space", "LPS").lower() not in _SPACES:
        notes.append(f"the file states no sides of a patient (space: {fields['space']}); {_LPS}")
    if other := [kind for kind in fields.get("kinds", "").lower().split() if kind not in ("domain", "space", "???")]:
        notes.append(f"the file says that one of its axes is of the kind {other[0]}, but it is read as one in space")
    notes += _anatomical(fields)
    others = sorted(set(re.findall(r'"([^"]*)"', fields.get("space units", ""))) - {"mm", ""})
    if others:
        notes.append(f"the file says that its lengths are in {others[0]}, but they are read as mm; correct its header")
    return notes
