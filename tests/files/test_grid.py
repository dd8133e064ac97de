"""When two grids are the same, and what is said of their difference."""

from __future__ import annotations

import re
from pathlib import Path

import nibabel as nib
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from nibabel import orientations
from numpy.typing import NDArray
from syrupy.assertion import SnapshotAssertion

from intrabench.errors import IntraBenchError
from intrabench.files.geometry import geometry_notes
from intrabench.files.grid import Grid, OtherGrid, on_same_grid
from intrabench.files.label_values import LabelValues
from intrabench.volume import read_labels_on

AFFINE = np.array([[-1.0, 0, 0, 40], [0, -1.0, 0, 12], [0, 0, 2.5, -9], [0, 0, 0, 1]])
IMAGE = Grid((21, 18, 11), AFFINE)


def moved(*mm: float) -> np.ndarray:
    """The affine with another origin."""
    affine = AFFINE.copy()
    affine[:3, 3] += mm
    return affine


def turned(degrees: float) -> np.ndarray:
    """The affine with axes turned around z, about the origin of the voxels."""
    turn, angle = np.eye(4), np.radians(degrees)
    turn[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    affine = turn @ AFFINE
    affine[:3, 3] = AFFINE[:3, 3]
    return affine


DIFFERENT = {
    "origin": (IMAGE.shape, moved(0.8, 0, 0)),
    "origin in two axes": (IMAGE.shape, moved(0, -0.3, 1.25)),
    "turned by 3 degrees": (IMAGE.shape, turned(3)),
    "spacing": (IMAGE.shape, AFFINE @ np.diag([1, 1, 1.1, 1])),
    "shape": ((21, 18, 10), AFFINE),
    "cropped": ((11, 18, 11), moved(-2, 0, 0)),
    "mirrored": (IMAGE.shape, AFFINE @ np.diag([-1, 1, 1, 1])),
}


@pytest.mark.parametrize(("shape", "affine"), DIFFERENT.values(), ids=DIFFERENT)
def test_what_differs_and_by_how_much(
    shape: tuple[int, int, int], affine: np.ndarray, wording: SnapshotAssertion
) -> None:
    other = Grid(shape, affine)
    assert not IMAGE.same_as(other)
    with pytest.raises(OtherGrid) as caught:
        on_same_grid("a.nii", other, IMAGE, "mend it")
    assert caught == wording
    (note,) = on_same_grid("a.nii", other, IMAGE, "mend it", resample=True)
    assert f"({IMAGE.difference(other)})" in note
    assert IMAGE.difference(other) in str(caught.value)


def test_a_tenth_of_a_voxel_at_any_corner() -> None:
    """By the distances of corners: 20 voxels from the origin, 0.3 degrees are 0.1047 of a voxel of 1 mm."""
    for other, apart in (
        (moved(0.05, 0, 0), 0.05),
        (moved(0, 0, 0.05), 0.02),
        (moved(0.11, 0, 0), 0.11),
        (moved(0, 0, 0.2), 0.08),
        (turned(0.2), 20 * np.sin(np.radians(0.2))),
        (turned(0.3), 20 * np.sin(np.radians(0.3))),
        (AFFINE @ np.diag([1, 1, 1.009, 1]), 0.09),
        (AFFINE @ np.diag([1, 1, 1.011, 1]), 0.11),
    ):
        grid = Grid(IMAGE.shape, other)
        assert IMAGE.apart(grid) == pytest.approx(apart, abs=1e-4)
        assert IMAGE.same_as(grid) == (apart < 0.1)
    for mm, notes in ((0, 0), (0.005, 0), (0.02, 1), (0.09, 1)):
        assert len(on_same_grid("a.nii", Grid(IMAGE.shape, moved(mm, 0, 0)), IMAGE, "")) == notes
    assert IMAGE.apart(Grid((21, 18, 10), AFFINE)) == np.inf


def test_a_part_of_a_grid() -> None:
    """Whole voxels away, mirrored and with axes in another order; but not between voxels, or coarser."""
    swapped = AFFINE[:, [2, 0, 1, 3]]
    for affine in (moved(5, -70, 25), swapped, AFFINE @ np.diag([-1, 1, -1, 1])):
        assert IMAGE.apart(Grid((3, 4, 5), affine), part=True) < 1e-9
    half = Grid((3, 4, 5), moved(5.5, 0, 0))
    assert IMAGE.apart(half, part=True) == pytest.approx(0.5)
    assert IMAGE.difference(half, part=True).startswith("origin 0.5 mm")
    coarse = Grid((3, 4, 5), swapped @ np.diag([2, 1, 1, 1]))
    assert IMAGE.apart(coarse, part=True) == np.inf
    assert re.findall(r"[\d.]+", IMAGE.difference(coarse, part=True)) == ["1", "1", "5", "1", "1", "2.5"]


def save(path: Path, sform: np.ndarray, qform: np.ndarray) -> Path:
    """Noise from 0 to 4, with two grids."""
    image = nib.Nifti1Image(np.random.default_rng(0).integers(0, 5, IMAGE.shape).astype(np.uint8), sform)
    image.set_sform(sform, 1)
    image.set_qform(qform, 1)
    nib.save(image, path)
    return path


def test_the_other_grid_of_a_file_that_fits(tmp_path: Path, wording: SnapshotAssertion) -> None:
    far, elsewhere = moved(30, 0, 0), moved(0, 9, 0)
    good = save(tmp_path / "good.nii", AFFINE, AFFINE)
    two = save(tmp_path / "two.nii", far, AFFINE)
    assert geometry_notes(good) == ()
    assert geometry_notes(two) == wording
    third = save(tmp_path / "third.nii", elsewhere, far)
    for labels, affine, image in ((two, AFFINE, None), (good, far, two), (good, elsewhere, third)):
        with pytest.raises(OtherGrid) as caught:
            read_labels_on(labels, Grid(IMAGE.shape, affine), image)
        assert caught == wording


def test_labels_a_little_off_are_read(tmp_path: Path) -> None:
    exact, exactly = read_labels_on(save(tmp_path / "a.nii", AFFINE, AFFINE), IMAGE)
    near, nearly = read_labels_on(save(tmp_path / "b.nii", moved(0.05, 0, 0), moved(0.05, 0, 0)), IMAGE)
    assert np.array_equal(exact, near)
    assert (exactly, len(nearly)) == ((), 1)
    assert "0.05 voxels off" in nearly[0]


def test_a_grid_and_values_are_looked_at_together(tmp_path: Path) -> None:
    """A soft mask, stored in 0 to 1, a little off the grid."""
    soft = np.random.default_rng(0).random(IMAGE.shape).astype(np.float32)
    nib.save(nib.Nifti1Image(soft, moved(0.05, 0, 0)), tmp_path / "a.nii")
    with pytest.raises(IntraBenchError, match="not whole numbers"):
        read_labels_on(tmp_path / "a.nii", IMAGE)
    inside, notes = read_labels_on(tmp_path / "a.nii", IMAGE, to_labels=LabelValues(0.5).labels)
    assert np.array_equal(IMAGE.from_canonical(inside), soft >= 0.5)
    assert len(notes) == 1


@pytest.mark.parametrize(("axes", "whole"), [(((1, 0, 0), (0, 1, 0)), True), (((1, 0, 0), (1, 1e-7, 0)), False)])
@pytest.mark.parametrize("mm", [2e-4, 1.0, 5e3])
def test_voxels_have_a_volume_at_any_size(axes: tuple[tuple[float, ...], ...], whole: bool, mm: float) -> None:
    affine = np.eye(4)
    affine[:3, :3] = mm * np.transpose([*axes, (0, 0, 1)])
    if whole:
        assert Grid((2, 3, 4), affine).steps == pytest.approx([mm] * 3)
    else:
        with pytest.raises(IntraBenchError, match="singular"):
            Grid((2, 3, 4), affine)


@given(arrays(np.float64, (3, 3), elements=st.one_of(st.floats(-3, 3), st.sampled_from([-1.0, 0.0, 1.0]))))
def test_axes_are_those_of_nibabel(matrix: NDArray[np.float64]) -> None:
    assume(abs(np.linalg.det(matrix)) > 1e-3)
    affine = np.eye(4)
    affine[:3, :3], affine[:3, 3] = matrix, (7, -11, 13)
    shape, names = (4, 5, 6), ("S", "A", "R")
    theirs = orientations.ornt_transform(orientations.io_orientation(affine), orientations.axcodes2ornt(names))
    grid = Grid(shape, affine)
    voxels = np.arange(120).reshape(shape)
    assert np.array_equal(grid.to_canonical(voxels), orientations.apply_orientation(voxels, theirs))
    assert np.array_equal(grid.from_canonical(grid.to_canonical(voxels)), voxels)
    assert grid.canonical_affine.tobytes() == (affine @ orientations.inv_ornt_aff(theirs, shape)).tobytes()
