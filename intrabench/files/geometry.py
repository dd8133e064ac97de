"""What the header of an image says about its grid twice, in other units or not at all, one sentence each."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from intrabench.errors import IntraBenchError, reading
from intrabench.files.grid import Grid
from intrabench.files.headers import fields_of, nifti

_SPACINGS = ("space directions", "spacings", "elementspacing", "elementsize")
_ORIENTATIONS = ("space", "transformmatrix", "rotation", "orientation")
"""Fields of NRRD and MetaImage."""


def geometry_notes(path: Path) -> tuple[str, ...]:
    """Notes on the grid of a NIfTI, Analyze, NRRD or MetaImage file; none on others.

    Raises:
        IntraBenchError: the header cannot be read.
    """
    with reading(path):
        if _is_nifti(path):
            return tuple(_of_nifti(nifti(path)))
        if path.name.lower().endswith((".nrrd", ".nhdr", ".mha", ".mhd")):
            return tuple(_of_fields(path))
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


def _of_fields(path: Path) -> list[str]:
    fields = fields_of(path)
    notes = []
    if not fields.keys() & set(_SPACINGS):
        notes.append("the file states no spacing; a voxel counts as 1 mm along each axis")
    if not fields.keys() & set(_ORIENTATIONS):
        notes.append("the file states no orientation; its axes are taken to point to Left, Posterior, Superior")
    others = sorted(set(re.findall(r'"([^"]*)"', fields.get("space units", ""))) - {"mm", ""})
    if others:
        notes.append(f"the file says that its lengths are in {others[0]}, but they are read as mm; correct its header")
    return notes
