"""Miniatures of what was published: archives, scans in the formats and orientations of their files, labels in them."""

from __future__ import annotations

import gzip
import io
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import zstandard

from intrabench.datasets.base import Dataset
from intrabench.datasets.cases import store
from intrabench.mask import Array
from intrabench.registry import registry
from tests.datasets.convert.dicom_files import uid, write_ct
from tests.versions import guard_case

Spacing = tuple[float, float, float]

AXIS = {"S": 0, "I": 0, "A": 1, "P": 1, "R": 2, "L": 2}
"""The axis of a canonical array that runs along, or against, a letter."""


def noise(shape: Sequence[int], seed: int = 0, kind: str = "int16") -> Array:
    """A canonical scan, every voxel of which can be told from its neighbours."""
    return np.random.default_rng(seed).integers(0, 3000, tuple(shape)).astype(kind)


def box(shape: Sequence[int], *bounds: tuple[int, int]) -> Array:
    """A mask that is true from the first to before the second index of each axis."""
    inside = np.zeros(tuple(shape), dtype=bool)
    inside[tuple(slice(*bound) for bound in bounds)] = True
    return inside


def laid_out(canonical: Array, codes: str, spacing: Spacing) -> tuple[Array, Array]:
    """A canonical array as a file stores it whose axes grow towards `codes`, and the affine to RAS mm.

    spacing: of the canonical array, (z, y, x). The file's first voxel lies at (7, -11, 13) mm. Written without any help
    of the package, so that it can be held against it.
    """
    axes = [AXIS[code] for code in codes]
    stored = canonical.transpose(axes)
    stored = stored[tuple(slice(None, None, -1 if code in "IPL" else 1) for code in codes)]
    affine = np.eye(4)
    affine[:3, 3] = 7, -11, 13
    for column, (code, axis) in enumerate(zip(codes, axes, strict=True)):
        affine[:3, column] = 0
        affine[2 - axis, column] = -spacing[axis] if code in "IPL" else spacing[axis]
    return np.ascontiguousarray(stored), affine


def nifti(array: Array, affine: Array, packed: bool = True) -> bytes:
    """A NIfTI file of an array in file order, as ``.nii.gz`` or ``.nii``."""
    content = nib.Nifti1Image(array, affine, dtype=array.dtype).to_bytes()
    return gzip.compress(content, 1) if packed else content


def itk(suffix: str, array: Array, affine: Array) -> bytes:
    """A file in a format that ITK knows (``.mha``, ``.nrrd``) of an array in file order; `affine`: to RAS mm."""
    to_lps = np.diag([-1.0, -1.0, 1.0, 1.0]) @ affine
    spacing = np.linalg.norm(to_lps[:3, :3], axis=0)
    import SimpleITK as sitk

    image = sitk.GetImageFromArray(array.transpose(2, 1, 0))
    image.SetSpacing(spacing.tolist())
    image.SetOrigin(to_lps[:3, 3].tolist())
    image.SetDirection((to_lps[:3, :3] / spacing).ravel().tolist())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"image{suffix}"
        sitk.WriteImage(image, str(path), useCompression=True)
        return path.read_bytes()


def packed(members: Mapping[str, bytes]) -> bytes:
    """A zip of these files, with an entry for each of their folders, as most programs make it."""
    content = io.BytesIO()
    folders = {f"{parent}/" for name in members for parent in map(str, Path(name).parents) if parent != "."}
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for folder in sorted(folders):
            archive.writestr(folder, b"")
        for name, body in members.items():
            archive.writestr(name, body)
    return content.getvalue()


def encrypted(archive: bytes) -> bytes:
    """The same zip, whose members claim to be encrypted."""
    flagged = bytearray(archive)
    for signature, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        found = flagged.find(signature)
        while found >= 0:
            flagged[found + at] |= 1
            found = flagged.find(signature, found + 4)
    return bytes(flagged)


def made(spec: str) -> Dataset:
    """The data set."""
    dataset: Dataset = registry.make("datasets", spec)
    return dataset


def stored(spec: str, case: str) -> Path:
    """The folder of a case in the store."""
    return store.open_case(made(spec), case).folder


def check(spec: str, case: str, image: Array, masks: Mapping[str, Array], spacing: Spacing) -> None:
    """A stored case shows this canonical image, and these targets by id in this order, voxel for voxel."""
    scene = store.open_case(made(spec), case)
    assert scene.volume.array.dtype == image.dtype
    assert np.array_equal(scene.volume.array, image)
    assert scene.volume.spacing_mm == spacing
    assert [info.id for info in scene.index.targets] == list(masks)
    assert [info.voxels for info in scene.index.targets] == [np.count_nonzero(mask) for mask in masks.values()]
    for target, mask in zip(scene.targets(), masks.values(), strict=True):
        assert np.array_equal(target.mask.to_array(image.shape), mask), target.id
    assert scene.problems() == []
    names = sorted(path.name for path in scene.folder.iterdir())
    assert [name for name in names if name != "kept"] == ["case.json", "image.nii.zst", "targets.npz"]
    guard_case(scene, made(spec))


def check_file(spec: str, case: str, array: Array, affine: Array) -> None:
    """The stored image is the published one in the order of RAS, and results go back to the published grid."""
    with tempfile.TemporaryDirectory() as folder, open(stored(spec, case) / "image.nii.zst", "rb") as packed:
        with open(f"{folder}/image.nii", "wb") as plain:
            zstandard.ZstdDecompressor().copy_stream(packed, plain)
        image: Any = nib.load(f"{folder}/image.nii")
        published: Any = nib.as_closest_canonical(nib.Nifti1Image(array, affine, dtype=array.dtype))
        assert np.array_equal(image.dataobj, published.dataobj)
        assert np.allclose(image.affine, published.affine, atol=1e-4)
    volume = store.open_case(made(spec), case).volume
    assert np.array_equal(volume.grid.from_canonical(volume.array), array)
    assert np.allclose(volume.grid.affine, affine, atol=1e-4)


ORIGIN = (-90.5, -110.25, -333.0)


def ct_series(folder: Path, patient: str, array: Array, spacing: Spacing, **tags: Any) -> list[Path]:
    """The files of an axial CT of stored values, whose rows run to the back and columns to the left.

    All series of a patient share a study and a frame of reference.
    """
    own = {"PatientID": patient, "StudyInstanceUID": uid(patient), "FrameOfReferenceUID": uid(patient, "frame")}
    at = tags.pop("origin", ORIGIN)
    return write_ct(folder, array, spacing, at, **{**own, **tags})


def turned(array: Array) -> Array:
    """An array in the order of such files, canonical: rows run to the front, columns to the right."""
    return array[:, ::-1, ::-1]


def hounsfield(array: Array) -> Array:
    """The canonical scan of stored values: `write_ct` writes an intercept of -1000."""
    return turned(array).astype(np.int16) - np.int16(1000)


def cut_short(path: Path) -> None:
    """Let a file end too early."""
    path.write_bytes(path.read_bytes()[:-50])
