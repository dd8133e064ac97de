"""What the header of an image says about its grid twice, in other units or not at all, one sentence each."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from intrabench.errors import reading
from intrabench.files.headers import fields_of, nifti

_SPACINGS = ("space directions", "spacings", "elementspacing", "elementsize")
_ORIENTATIONS = ("space", "transformmatrix", "rotation", "orientation")
"""Fields of NRRD and MetaImage."""
_SHIFT = 0.1
"""In voxels: what two grids may differ by."""


def geometry_notes(path: Path) -> tuple[str, ...]:
    """Notes on the grid of a NIfTI, Analyze, NRRD or MetaImage file; none on others.

    Raises:
        IntraBenchError: the header cannot be read.
    """
    with reading(path):
        if path.name.lower().endswith((".nii", ".nii.gz", ".img", ".hdr")):
            return tuple(_of_nifti(nifti(path)))
        if path.name.lower().endswith((".nrrd", ".nhdr", ".mha", ".mhd")):
            return tuple(_of_fields(path))
    return ()


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
        try:
            qform = image.get_qform()
        except ValueError:  # its three numbers are of no rotation
            return [*notes, "the sform of the file is used; its qform is damaged"]
        notes += _compared(image.get_sform(), qform, image.shape[:3])
    return notes


def _compared(sform: NDArray[Any], qform: NDArray[Any], shape: tuple[int, ...]) -> list[str]:
    """How the two grids that a NIfTI file may have differ: in their spacing, or else in where their corners lie."""
    lengths = [np.linalg.norm(form[:3, :3], axis=0) for form in (sform, qform)]
    if not np.allclose(lengths[0], lengths[1], rtol=0.01):
        shown = (" x ".join(f"{length:.3g}" for length in spacing) for spacing in lengths)
        return ["the sform of the file gives voxels of {} mm and is used; its qform gives {} mm".format(*shown)]
    corners = np.stack(np.meshgrid(*((0, extent - 1) for extent in shape), [1]), axis=-1).reshape(-1, 4)
    apart = float(np.linalg.norm(corners @ (sform - qform).T, axis=1).max())
    if apart <= _SHIFT * lengths[0].min():
        return []
    return [f"the sform of the file is used; by its qform, voxels lie up to {apart:.3g} mm elsewhere"]


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
