"""Masks on resampled scans come back to the voxels of the files, and from there."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations, product
from pathlib import Path

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.datasets.convert.segments import Segment
from intrabench.datasets.convert.upright import equal_steps, from_files, on_files, upright
from intrabench.mask import Mask
from intrabench.registry import registry
from intrabench.results.parts import read_rows
from intrabench.volume import Volume, read_grid_array, sitk_affine
from tests.conftest import Said
from tests.datasets.convert.dicom_files import change, uid, write_ct, write_seg
from tests.datasets.folder.made import save

SHAPE = (14, 12, 9)
AXES = [(order, signs) for order in permutations(range(3)) for signs in product((1, -1), repeat=3)]
LEVELS = np.array([0, 1, 2.4, 3, 4, 5.5, 6, 7, 8])


def ball(shape: tuple[int, ...] = SHAPE) -> np.ndarray:
    """An ellipsoid in file order."""
    places = [(np.arange(extent) - extent / 2) / (0.3 * extent) for extent in shape]
    return sum(np.square(place) for place in np.meshgrid(*places, indexing="ij")) < 1


@pytest.mark.parametrize("share", [0.5, -0.5, 0.3, 1.77])
@pytest.mark.parametrize("how", ["shear", "steps", "both"])
def test_what_is_drawn_on_the_files_comes_back_to_them(how: str, share: float) -> None:
    """In any order of axes, also where centres lie between two voxels: to the last voxel."""
    image = np.random.default_rng(0).normal(size=SHAPE).astype(np.float32)
    for order, signs in AXES:
        affine = np.eye(4)
        affine[:3, :3] = np.eye(3)[:, order] * signs * (1, 1, 2)
        affine[:3, 2] += (how != "steps") * share * affine[:3, 1]
        volume = Volume.from_file_order(image, affine)
        drawn = volume.grid.to_canonical(ball())
        segments = [Segment("ball", Mask.of(drawn))]
        if how != "shear":
            volume, segments = equal_steps(volume, segments, LEVELS)
        if how != "steps":
            volume, segments = upright(volume, segments)
        array, grid = on_files(segments[0].mask, volume)
        np.testing.assert_array_equal(array, drawn)
        np.testing.assert_array_equal(grid.from_canonical(array), ball())
        np.testing.assert_allclose(grid.affine, affine, atol=1e-9)  # the ends of these levels are those of the slices
        played = from_files(drawn * np.uint8(3), volume)
        np.testing.assert_array_equal(played == 3, segments[0].mask.to_array(volume.shape))


def test_slices_closer_than_the_step_have_the_nearest_mask() -> None:
    """Of two slices between which there is none of the equal steps only one is played."""
    volume = Volume.from_file_order(np.random.default_rng(0).normal(size=(6, 6, 6)), np.eye(4))
    drawn = np.zeros((6, 6, 6), dtype=bool)
    drawn[2:4, 2:4, 1:4] = True
    mask = Mask.of(volume.grid.to_canonical(drawn))
    made, (segment,) = equal_steps(volume, [Segment("a", mask)], np.array([0, 1, 2, 2.3, 3, 4]))
    array, grid = on_files(segment.mask, made)
    assert (made.shape, array.shape) == ((5, 6, 6), (6, 6, 6))
    np.testing.assert_array_equal(grid.from_canonical(array), drawn)
    assert grid.affine[2, 2] == pytest.approx(0.8)


FILES = {
    "resample": ('gaps = "resample"', [0, 2, 4, 6, 8, 11, 13, 15, 17, 19], 0.0),
    "longest": ('gaps = "longest"', [-9, -0.6, 0, 2, 4, 6, 8, 10, 10.6, 17], 0.0),
    "shear": ('shear = "resample"', [*range(0, 20, 2)], 0.25),
    "resample and shear": ('gaps = "resample"\nshear = "resample"', [0, 2, 4, 6, 8, 11, 13, 15, 17, 19], 0.15),
    "longest and shear": ('gaps = "longest"\nshear = "resample"', [-9, -0.6, 0, 2, 4, 6, 8, 10, 10.6, 17], -0.25),
}
"""The option, the places of slices in mm, and by how much each is shifted along x per mm."""


@pytest.mark.parametrize("kind", FILES)
def test_exported_masks_lie_on_the_series_as_others_read_it(
    kind: str, tmp_path: Path, say: Callable[..., Said], wording: SnapshotAssertion
) -> None:
    """Predictions with a voxel for each one of the series, played and exported: the same voxels on the same grid."""
    import SimpleITK as sitk

    option, places, tilt = FILES[kind]
    scan = np.random.default_rng(0).integers(0, 1500, (len(places), 16, 18)).astype(np.uint16)
    images = write_ct(tmp_path / "lab" / "ct", scan, SeriesInstanceUID=uid(kind))
    for path, place in zip(images, places, strict=True):
        change(path, ImagePositionPatient=[round(tilt * place, 6), 0.0, float(place)])
    used = np.array(["longest" not in option or 0 <= place <= 10 for place in places])
    lesion, body = np.zeros((2, *scan.shape), dtype=bool)
    lesion[3:7, 4:11, 5:12] = body[used] = True
    segments = {"lesion": lesion[used], "body": body[used]}
    write_seg(tmp_path / "lab" / "seg", [path for path, here in zip(images, used, strict=True) if here], segments)
    (tmp_path / "lab" / "dataset.toml").write_text(option)
    step = (places[-1] - places[0]) / (len(places) - 1)
    affine = np.array([[-1, 0, -tilt * step, -tilt * places[0]], [0, -1, 0, 0], [0, 0, step, places[0]], [0, 0, 0, 1]])
    if not tilt:
        reader = sitk.ImageSeriesReader()
        reader.SetFileNames(reader.GetGDCMSeriesFileNames(str(tmp_path / "lab" / "ct")))
        np.testing.assert_allclose(sitk_affine(reader.Execute()), affine, atol=1e-6)
    (case,) = registry.make("datasets", str(tmp_path / "lab")).cases()
    save(tmp_path / "p" / f"{case}.nii.gz", (2 - lesion.T).astype(np.uint8), affine)  # 2: all other voxels
    model = f'masks:folder={tmp_path / "p"},labels="lesion=1,body=1,body=2"'
    words = ("--prompter", "box_volume", "--dataset", str(tmp_path / "lab"), "--out", str(tmp_path / "out"))
    assert say("run", "--model", model, *words, "--save-masks", "--workers", "0").code == 0
    dice = dict(read_rows(tmp_path / "out").select("label", "dice").iter_rows())
    assert dice["lesion"] == 1
    said = say("export", "masks", str(tmp_path / "nii"), "--out", str(tmp_path / "out"))
    assert said.out.partition("\n")[2] == wording
    for label, expected in (("lesion", lesion), ("body", body)):
        (path,) = (tmp_path / "nii").rglob(f"{label}.1__*.nii.gz")
        array, own = read_grid_array(path)
        np.testing.assert_array_equal(array.T, expected)
        np.testing.assert_allclose(own, affine, atol=1e-5)
    model = f"masks:folder={tmp_path / 'nii' / 'lab'},instances=files"
    assert say("run", "--model", model, *words[:-1], str(tmp_path / "again"), "--workers", "0").code == 0
    assert dict(read_rows(tmp_path / "again").select("label", "dice").iter_rows()) == dice
