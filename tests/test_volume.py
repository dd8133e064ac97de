"""One geometry: 48 orders and flips, exact inverses, files, bad files."""

from __future__ import annotations

import itertools
from pathlib import Path

import nibabel as nib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from intrabench.errors import IntraBenchError
from intrabench.volume import Grid, Volume, read_image, read_labels, write_nifti

ORDERS = [
    "".join(flip[0] if keep else flip[1] for flip, keep in zip(order, signs, strict=True))
    for order in itertools.permutations(("RL", "AP", "SI"))
    for signs in itertools.product((True, False), repeat=3)
]


def scan() -> Volume:
    array = np.random.default_rng(0).integers(-100, 100, (5, 6, 7)).astype(np.int16)
    return Volume.from_canonical(array, (3.0, 0.7, 0.8))


def reordered(volume: Volume, codes: str) -> tuple[np.ndarray, np.ndarray]:
    """The same scan as a file with the given axis codes would hold it."""
    start = nib.orientations.axcodes2ornt(("S", "A", "R"))
    step = nib.orientations.ornt_transform(start, nib.orientations.axcodes2ornt(tuple(codes)))
    array = nib.orientations.apply_orientation(volume.array, step)
    return array, volume.affine @ nib.orientations.inv_ornt_aff(step, volume.shape)


def test_there_are_48_orders() -> None:
    assert len(set(ORDERS)) == 48


@pytest.mark.parametrize("codes", ORDERS)
def test_every_order_is_the_same_canonical_volume_and_goes_back(codes: str) -> None:
    original = scan()
    array, affine = reordered(original, codes)
    assert "".join(nib.aff2axcodes(affine)) == codes
    volume = Volume.from_file_order(array, affine)
    assert np.array_equal(volume.array, original.array)
    assert volume.array.flags.c_contiguous
    assert volume.grid.canonical_shape == original.shape
    assert np.allclose(volume.affine, original.affine)
    assert volume.spacing_mm == (3.0, 0.7, 0.8)
    assert np.array_equal(volume.grid.from_canonical(volume.array), array)


def test_canonical_means_superior_anterior_right() -> None:
    assert nib.aff2axcodes(scan().affine) == ("S", "A", "R")


@given(st.floats(-20, 20), st.floats(-20, 20))
def test_an_oblique_affine_keeps_the_array_and_the_spacing(first: float, second: float) -> None:
    a, b = np.deg2rad([first, second])
    turn = np.array([[np.cos(a), -np.sin(a), 0], [np.sin(a), np.cos(a), 0], [0, 0, 1]])
    tilt = np.array([[1, 0, 0], [0, np.cos(b), -np.sin(b)], [0, np.sin(b), np.cos(b)]])
    straight = scan()
    affine = straight.affine.copy()
    affine[:3, :3] = turn @ tilt @ affine[:3, :3]
    oblique = Volume.from_file_order(straight.array, affine)
    assert np.array_equal(oblique.array, straight.array)
    assert oblique.spacing_mm == straight.spacing_mm
    point = np.array([2, 3, 4, 1])
    assert np.allclose(oblique.affine @ point, affine @ point)


def test_spacing_is_rounded_to_1e_4_mm_and_below_001_mm_to_three_digits() -> None:
    lengths = (0.97656, 1.23454, 0.000123456)
    assert Volume.from_canonical(np.zeros((2, 2, 2)), lengths).spacing_mm == (0.9766, 1.2345, 0.000123)
    assert Volume.from_canonical(np.zeros((2, 2, 2))).spacing_mm == (1, 1, 1)


def test_channels_stay_last() -> None:
    array = np.random.default_rng(0).integers(0, 255, (4, 5, 6, 3)).astype(np.uint8)
    volume = Volume.from_file_order(array, np.diag([-1.0, 1, 1, 1]))
    assert volume.shape == (6, 5, 4)
    assert np.array_equal(volume.array, array[::-1].transpose(2, 1, 0, 3))
    assert np.array_equal(volume.grid.from_canonical(volume.array), array)


def test_itk_and_nifti_files_of_one_scan_agree(tmp_path: Path) -> None:
    import SimpleITK as sitk

    image = sitk.GetImageFromArray(np.random.default_rng(1).integers(0, 9, (4, 5, 6)).astype(np.int16))
    image.SetSpacing((0.5, 0.6, 2.0))
    image.SetOrigin((10, -20, 30))
    image.SetDirection((0, 1, 0, -1, 0, 0, 0, 0, -1))
    volumes = []
    for name in ("scan.nrrd", "scan.mha", "scan.nii.gz"):
        sitk.WriteImage(image, str(tmp_path / name))
        volumes.append(read_image(tmp_path / name))
    for volume in volumes[1:]:
        assert np.array_equal(volume.array, volumes[0].array)
        assert np.allclose(volume.affine, volumes[0].affine, atol=1e-5)
    world = image.TransformIndexToPhysicalPoint((1, 2, 3))
    index = np.linalg.solve(volumes[0].affine, [-world[0], -world[1], world[2], 1])[:3].round().astype(int)
    assert volumes[0].array[tuple(index)] == image[1, 2, 3]


def test_a_mask_written_back_lies_on_the_original_grid(tmp_path: Path) -> None:
    array, affine = reordered(scan(), "LPS")
    nib.save(nib.Nifti1Image(array, affine), tmp_path / "scan.nii.gz")
    volume = read_image(tmp_path / "scan.nii.gz")
    write_nifti(tmp_path / "mask.nii.gz", volume.array > 50, volume.grid)
    written = nib.load(tmp_path / "mask.nii.gz")
    assert np.allclose(written.affine, affine)
    assert np.array_equal(np.asarray(written.dataobj), (array > 50).astype(np.uint8))


def test_labels_have_the_grid_of_their_image_and_whole_values(tmp_path: Path) -> None:
    volume = scan()
    good, shifted = volume.affine, volume.affine.copy()
    shifted[0, 3] += 0.4
    labels = (volume.array > 0).astype(np.float32) * 7
    nib.save(nib.Nifti1Image(labels, good), tmp_path / "good.nii.gz")
    nib.save(nib.Nifti1Image(labels, shifted), tmp_path / "shifted.nii.gz")
    nib.save(nib.Nifti1Image(labels * 0.5, good), tmp_path / "half.nii.gz")
    nib.save(nib.Nifti1Image(labels[1:], good), tmp_path / "small.nii.gz")
    assert set(np.unique(read_labels(tmp_path / "good.nii.gz", volume.grid))) == {0, 7}
    assert read_labels(tmp_path / "good.nii.gz", volume.grid).dtype.kind == "i"
    for name, words in (
        ("shifted", "grid.* 0.4 mm in x;"),
        ("small", "grid.* shape"),
        ("half", "whole numbers"),
    ):
        with pytest.raises(IntraBenchError, match=f"{name}.*{words}"):
            read_labels(tmp_path / f"{name}.nii.gz", volume.grid)


def test_bad_files_get_one_sentence_with_their_name(tmp_path: Path) -> None:
    affine = np.eye(4)
    ramp = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
    holes = ramp.copy()
    holes[0, 0, :2] = np.nan, np.inf
    for name, array in {"four": np.stack([ramp, ramp], -1), "holes": holes, "flat": np.ones((3, 4, 5))}.items():
        nib.save(nib.Nifti1Image(array, affine), tmp_path / f"{name}.nii.gz")
    nib.save(nib.Nifti1Image(np.random.default_rng(0).normal(size=(30, 30, 30)), affine), tmp_path / "whole.nii.gz")
    (tmp_path / "cut.nii.gz").write_bytes((tmp_path / "whole.nii.gz").read_bytes()[:9000])
    (tmp_path / "text.nii.gz").write_text("no image")
    expected = {
        "four": "not that of one 3D image",
        "holes": "2 voxels that are NaN or infinite",
        "flat": "is constant: all voxels have the same value",
        "cut": "truncated",
        "text": "truncated or not an image",
        "absent": "does not exist",
    }
    for name, words in expected.items():
        with pytest.raises(IntraBenchError, match=words) as caught:
            read_image(tmp_path / f"{name}.nii.gz")
        assert f"{name}.nii.gz" in str(caught.value)
        assert "\n" not in str(caught.value)


def test_scaled_nifti_and_trailing_axes(tmp_path: Path) -> None:
    image = nib.Nifti1Image(np.arange(60, dtype=np.int16).reshape(3, 4, 5, 1), np.eye(4))
    image.header.set_slope_inter(2.0, -5.0)
    nib.save(image, tmp_path / "scaled.nii.gz")
    volume = read_image(tmp_path / "scaled.nii.gz")
    assert volume.array.dtype == np.float32
    assert volume.array[4, 3, 2] == 59 * 2 - 5
    assert volume.shape == (5, 4, 3)


def test_impossible_affines_are_refused() -> None:
    for affine in (np.diag([1.0, 0, 1, 1]), np.diag([1.0, np.nan, 1, 1])):
        with pytest.raises(IntraBenchError, match="affine"):
            Grid((3, 4, 5), affine)
