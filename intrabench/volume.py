"""Volumes in one canonical geometry, and the exact inverse to the grid of the file.

Only this module and the conversion of data sets know about orientation, spacing and files.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, floor, log10
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from intrabench.errors import IntraBenchError, reading
from intrabench.files.atomic import atomically
from intrabench.files.geometry import fitting, geometry_notes
from intrabench.files.grid import Grid as Grid
from intrabench.files.grid import Original, on_same_grid
from intrabench.files.headers import nifti, sitk_reader
from intrabench.files.label_values import kind_of, whole_numbers
from intrabench.mask import TURNED, Array, Plane, frozen, reordered

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Volume:
    """A scan: array ``(z, y, x)`` or ``(z, y, x, channel)``; indices grow towards Superior, Anterior, Right.

    `grid` is that of the array. It is the grid of the file, or else `original` says where the voxels of the files lie,
    to which `datasets.convert.upright.on_files` brings masks back. `modality` comes from the data set's card or from
    DICOM (``CT``, ``MR, T1-weighted``, ...) and is empty if unknown. `notes` say what is unusual about the case, one
    sentence each; runs and ``data check`` tell them. `case` is its name in a data set, empty if it is of none. `plane`
    is that in which it is read, and `scan` what it is a view of if that is not axial (`turned`). All models and
    prompters share a volume, so its array cannot be written into.
    """

    array: Array
    grid: Grid
    modality: str = ""
    notes: tuple[str, ...] = ()
    case: str = ""
    original: Original | None = None
    plane: Plane = "axial"
    scan: Volume | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "array", frozen(self.array))

    @classmethod
    def from_file_order(cls, array: Array, affine: Array) -> Volume:
        """Make a volume from an array in file order and its affine to RAS millimetres."""
        grid = Grid(_spatial(array.shape), np.asarray(affine, dtype=np.float64))
        return cls(grid.to_canonical(array), grid)

    @classmethod
    def from_canonical(cls, array: Array, spacing_mm: Sequence[float] = (1.0, 1.0, 1.0)) -> Volume:
        """Make a volume from a canonical array; spacing along ``(z, y, x)`` in millimetres."""
        z, y, x = spacing_mm
        affine = np.array([[0, 0, x, 0], [0, y, 0, 0], [z, 0, 0, 0], [0, 0, 0, 1]], dtype=np.float64)
        return cls.from_file_order(array, affine)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Spatial shape ``(z, y, x)``."""
        return _spatial(self.array.shape)

    @property
    def affine(self) -> NDArray[np.float64]:
        """Affine of the canonical array: index ``(z, y, x)`` to RAS millimetres."""
        return self.grid.canonical_affine

    def turned(self, plane: Plane) -> Volume:
        """The scan as it is read in a plane: slices first, as if they were axial; itself if they are.

        Its grid is only that of an array of this spacing. Where its voxels lie in the body, `upright` knows.
        """
        if plane == self.plane:
            return self
        if plane not in self._turned:
            axes = TURNED[plane]
            array = np.ascontiguousarray(self.array.transpose(*axes, *range(3, self.array.ndim)))
            plain = Volume.from_canonical(array, reordered(self.spacing_mm, axes))
            said: dict[str, Any] = {"modality": self.modality, "notes": self.notes, "case": self.case}
            self._turned[plane] = replace(plain, **said, plane=plane, scan=self)
        return self._turned[plane]

    @property
    def upright(self) -> Volume:
        """The scan with canonical axes."""
        return self if self.scan is None else self.scan

    @cached_property
    def _turned(self) -> dict[Plane, Volume]:
        """The copies in other planes, which all share as they do the scan."""
        return {}

    @property
    def is_photo(self) -> bool:
        """Whether this is a photograph: one slice, rows from top to bottom, columns from left to right of a screen."""
        return self.modality.startswith("natural")

    @cached_property
    def is_ct(self) -> bool:
        """Whether this is CT: as `modality` states or, if that does not say, as the values look.

        8-bit values are not: such a CT was windowed before it was stored.
        """
        stated = states_ct(self.modality) and self.array.dtype != np.uint8
        return in_hounsfield(self.array) is True if stated is None else stated

    @cached_property
    def spacing_mm(self) -> tuple[float, float, float]:
        """Spacing along ``(z, y, x)`` in millimetres, rounded so that float noise never moves a click.

        To 1e-4 mm, and to three digits of what is below 0.01 mm, as in microscopy.
        """
        z, y, x = (_rounded(float(norm)) for norm in np.linalg.norm(self.affine[:3, :3], axis=0))
        return z, y, x


def _rounded(length: float) -> float:
    return round(length, max(4, 2 - floor(log10(length))))


def _spatial(shape: Sequence[int]) -> tuple[int, int, int]:
    if len(shape) not in (3, 4):
        raise IntraBenchError(f"expected a 3D array, with or without channels, but the shape is {tuple(shape)}")
    return int(shape[0]), int(shape[1]), int(shape[2])


def read_grid_array(path: Path) -> tuple[Array, NDArray[np.float64]]:
    """Read an image file as ``(array in file order, affine to RAS mm)``.

    nibabel reads NIfTI and its other formats, SimpleITK reads NRRD, MHA and the rest. Integers stay integers.

    Raises:
        IntraBenchError: missing, unreadable or truncated file, more than three axes.
    """
    if not path.exists():
        raise IntraBenchError(f"{path} does not exist; check the path or fetch the data set again")
    with reading(path, "not an image"):
        array, affine = _read_nibabel(path) if _is_nibabel(path) else _read_sitk(path)
    while array.ndim > 3 and array.shape[-1] == 1:
        array = array[..., 0]
    _check_axes(path, array.shape)
    return array, affine


def _check_axes(path: Path, shape: Sequence[int]) -> None:
    if len(shape) != 3:
        remedy = "split it into 3D files" if len(shape) > 3 else "save it with three axes, of which one may be 1 long"
        raise IntraBenchError(f"{path} has the shape {tuple(shape)}, not that of one 3D image; {remedy}")


def read_grid(path: Path) -> Grid:
    """The grid of a 3D image file from its header, read as `read_grid_array` does.

    Raises:
        IntraBenchError: the header cannot be read, or is not that of one 3D image.
    """
    with reading(path, "not an image"):
        if _is_nibabel(path):
            image: Any = nifti(path)
            return Grid(_spatial((*image.shape, 1, 1)[:3]), np.asarray(image.affine, dtype=np.float64))
        reader = sitk_reader(path)
        return Grid(_spatial(reader.GetSize()), sitk_affine(reader))


def read_image(path: Path) -> Volume:
    """Read a scan as a canonical `Volume`; refuses constant images and voxels that are not finite."""
    array, affine = read_grid_array(path)
    check_intensities(array, str(path))
    return replace(_named(path, Volume.from_file_order, array, affine), notes=geometry_notes(path))


def check_intensities(array: Array, name: str) -> None:
    """Refuse images on which no model can be measured: NaN or infinite voxels, or one constant value."""
    if array.dtype.kind not in "biuf":
        raise IntraBenchError(
            f"{name} holds {kind_of(array.dtype)} instead of one number per voxel; convert it to grey values"
        )
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        count = int(array.size - np.isfinite(array).sum())
        raise IntraBenchError(f"{name} has {count} voxels that are NaN or infinite; replace them with real intensities")
    if array.size == 0 or array.min() == array.max():
        raise IntraBenchError(f"{name} is constant: all voxels have the same value; check that it is the right file")


def read_labels(path: Path, grid: Grid) -> Array:
    """Read a label map on `grid` as canonical integers ``(z, y, x)``; values may have gaps, floats must be whole.

    Raises:
        OtherGrid: the grid differs from the image's by more than a tenth of a voxel.
        IntraBenchError: values are not whole numbers.
    """
    return read_labels_on(path, grid)[0]


def read_labels_on(
    path: Path,
    grid: Grid,
    image: Path | None = None,
    remedy: str = "resample it to the image by nearest neighbour",
    to_labels: Callable[[Array, str], Array] = whole_numbers,
    reorder: bool = False,
) -> tuple[Array, tuple[str, ...]]:
    """As `read_labels`, and a note if the grids are a little apart.

    image: the file of the scan, of which another grid may fit. remedy: what to do if the grids differ. to_labels: makes
    labels of the values in the file, whose name it takes for messages (`LabelValues.labels`). reorder: the axes may
    have another order and other directions, if the voxels are at the same places.
    """
    array, affine = read_grid_array(path)
    own = _named(path, Grid, _spatial(array.shape), affine)
    if reorder:
        notes = on_same_grid(str(path), own.canonical, grid.canonical, remedy)
        return to_labels(own.to_canonical(array), str(path)), notes
    notes = on_same_grid(str(path), own, grid, remedy, hint=lambda: fitting(path, own, image, grid))
    return to_labels(grid.to_canonical(array), str(path)), notes


def write_nifti(path: Path, array: Array, grid: Grid) -> None:
    """Write a canonical array ``(z, y, x)`` as NIfTI on a grid of files, completely or not at all."""
    from nibabel.nifti1 import Nifti1Image

    stored = array.astype(np.uint8) if array.dtype == bool else array
    image = Nifti1Image(grid.from_canonical(stored), grid.affine, dtype=stored.dtype)
    with atomically(path, durable=False) as part, part.open("wb") as file:
        if path.name.endswith(".gz"):
            with gzip.GzipFile("", "wb", 1, file, mtime=0) as packed:
                image.to_stream(packed)
        else:
            image.to_stream(file)


def _named(path: Path, make: Callable[..., T], *what: Any) -> T:
    """What is made of a file's content; errors name the file."""
    try:
        return make(*what)
    except IntraBenchError as error:
        raise IntraBenchError(f"{path}: {error}") from error


def _is_nibabel(path: Path) -> bool:
    return path.name.lower().endswith((".nii", ".nii.gz", ".mgz", ".mgh", ".img", ".hdr"))


def _read_nibabel(path: Path) -> tuple[Array, NDArray[np.float64]]:
    image: Any = nifti(path)
    if image.affine is None:
        raise IntraBenchError(f"{path} has no affine; export it with its orientation")
    proxy = image.dataobj
    scaled = (getattr(proxy, "slope", 1.0), getattr(proxy, "inter", 0.0)) not in ((1.0, 0.0), (None, None))
    # nibabel scales to float64; float32 is enough for intensities and half the memory
    array = np.asarray(proxy, dtype=np.float32) if scaled else np.asarray(proxy)
    if array.dtype == np.float64:
        array = array.astype(np.float32)
    return array, np.asarray(image.affine, dtype=np.float64)


def _read_sitk(path: Path) -> tuple[Array, NDArray[np.float64]]:
    import SimpleITK as sitk

    image = sitk_reader(path).Execute()
    array = sitk.GetArrayFromImage(image)
    _check_axes(path, array.shape)
    return array.transpose(2, 1, 0), sitk_affine(image)


def sitk_affine(image: Any) -> NDArray[np.float64]:
    """The affine to RAS millimetres of a 3D `SimpleITK.Image`, or of a reader that has read its header."""
    affine = np.eye(4)
    affine[:3, :3] = np.reshape(image.GetDirection(), (3, 3)) * image.GetSpacing()
    affine[:3, 3] = image.GetOrigin()
    affine[:2] *= -1  # ITK points to Left and Posterior, NIfTI to Right and Anterior
    return affine


_CT = re.compile(r"(?<!\bno )(?<!\bnon )(?<!\bnot )\b(ct|cta|cbct|cect|ncct|ldct|hrct|computed tomography)\b")
_OTHER = re.compile(
    r"\b(mri?|mra|magnetic resonance|t[12]\w*|flair|dwi|adc|swi|pet|pt|spect|nm|us|ultrasound|x ?ray(?! ct| computed)|"
    r"cr|dx|mg|xa|natural|rgb|photo\w*|microscopy|endoscopy|dermoscopy|fundus)\b"
)
_ENOUGH = 1_000_000
"""Voxels that are looked at."""


def states_ct(modality: str) -> bool | None:
    """Whether a stated modality is CT; None: it says neither CT nor anything else that is known, or both.

    ``CT``, ``ct, portal venous``, ``low-dose CT`` and ``computed tomography`` are CT; ``PET/CT`` may be either.
    """
    text = " ".join(re.findall(r"[a-z0-9]+", modality.lower()))
    ct, other = bool(_CT.search(text)), bool(_OTHER.search(text))
    return ct if ct != other else None


def in_hounsfield(array: NDArray[Any]) -> bool | None:
    """Whether the values of ``(z, y, x)`` look like Hounsfield units; False: they cannot be, None: it is not clear.

    Looks like them: values begin near -1000, as air does (one lower value may pad the image), and most of what is
    denser than lung lies between fat and soft tissue, -200 to 300. A crop without air is not clear. Channels,
    values without negative ones and values from a range below 100 cannot be Hounsfield units.
    """
    if array.ndim != 3:
        return False
    low, high = float(array.min()), float(array.max())
    if low >= 0 or high - low < 100:
        return False
    step = ceil((array.size / _ENOUGH) ** (1 / 3))
    seen = array[::step, ::step, ::step]
    if low < -1100:
        seen = seen[seen > low]
        low = float(seen.min(initial=0))
    dense = seen[seen > -600]
    if low > -900 or dense.size <= 0.02 * seen.size or np.mean(seen < -1100) > 0.01:
        return None
    # the largest value of 12 bits is 3071
    return True if np.mean(abs(dense - 50.0) <= 250) > 0.6 and np.mean(dense > 3100) < 0.01 else None
