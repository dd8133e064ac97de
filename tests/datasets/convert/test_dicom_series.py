"""DICOM series: every voxel in its place in the patient, and one clear sentence for what is no volume."""

from __future__ import annotations

import shutil
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pydicom
import pytest
from pydicom.uid import EnhancedCTImageStorage, ExplicitVRLittleEndian, JPEGLSLossless, RLELossless
from syrupy.assertion import SnapshotAssertion

from intrabench.datasets.convert.dicom_series import Series, find_series, read_series
from intrabench.datasets.convert.upright import equal_steps
from intrabench.errors import IntraBenchError
from tests.datasets.convert.dicom_files import (
    AXIAL,
    CORONAL,
    OBLIQUE,
    SAGITTAL,
    change,
    item,
    save,
    uid,
    write_ct,
    write_rtstruct,
    write_seg,
)
from tests.wording import without_reasons

STORED = np.random.default_rng(0).integers(0, 3000, (6, 13, 11)).astype(np.uint16)
ORIENTATIONS = {"axial": AXIAL, "coronal": CORONAL, "sagittal": SAGITTAL, "oblique": OBLIQUE}


def in_file_order(series: Series) -> np.ndarray:
    """``(slice, row, column)``"""
    return series.volume.grid.from_canonical(series.volume.array).transpose(2, 1, 0)


def where(series: Series, slice_: int, row: int, column: int) -> np.ndarray:
    """The LPS millimetres of a voxel, by the canonical affine and the canonical index of its value."""
    value = in_file_order(series)[slice_, row, column]
    (index,) = np.argwhere(series.volume.array == value)
    return (series.volume.affine @ (*index, 1))[:3] * (-1, -1, 1)


@pytest.mark.parametrize("orientation", ORIENTATIONS.values(), ids=ORIENTATIONS)
def test_voxels_are_where_the_files_say(tmp_path: Path, orientation: tuple[float, ...]) -> None:
    stored = np.arange(6 * 13 * 11, dtype=np.uint16).reshape(6, 13, 11)  # every value once
    paths = write_ct(tmp_path, stored, (2.5, 0.7, 0.9), (-10.1, 20.2, 3.3), orientation)
    series = read_series(sorted(paths))
    assert series.volume.array.dtype == np.int16
    assert np.array_equal(in_file_order(series), stored.astype(int) - 1000)
    row, column = np.array(orientation[3:]) * 0.7, np.array(orientation[:3]) * 0.9
    for index in ((0, 0, 0), (5, 12, 10), (3, 1, 2)):
        place = np.cross(column, row) / 0.63 * 2.5 * index[0] + row * index[1] + column * index[2]
        assert where(series, *index) == pytest.approx(place + (-10.1, 20.2, 3.3), abs=1e-4)
    assert sorted(series.volume.spacing_mm) == [0.7, 0.9, 2.5]
    assert series.instances == {uid(series.uid, index): index for index in range(6)}
    assert (series.frame_of_reference, series.volume.modality, series.volume.notes) == (uid("frame"), "CT", ())


def test_gantry_tilt_is_a_sheared_affine_and_told(tmp_path: Path, wording: SnapshotAssertion) -> None:
    step = (0, -2 * np.tan(np.radians(12.5)), 2)
    series = read_series(write_ct(tmp_path, STORED, step=step))
    assert series.volume.grid.affine[:3, 2] == pytest.approx(np.multiply(step, (-1, -1, 1)), abs=1e-5)
    assert np.array_equal(in_file_order(series), STORED.astype(int) - 1000)
    assert series.volume.notes == wording


@pytest.mark.parametrize("syntax", [RLELossless, JPEGLSLossless])
@pytest.mark.parametrize(("slope", "dtype"), [(1, np.int16), (0.5, np.float32)])
def test_compressed_series_are_the_uncompressed_ones(tmp_path: Path, syntax: str, slope: float, dtype: type) -> None:
    tags = {"RescaleSlope": slope, "RescaleIntercept": -1000}
    plain = read_series(write_ct(tmp_path / "plain", STORED, **tags)).volume
    packed = read_series(write_ct(tmp_path / "packed", STORED, syntax=syntax, **tags)).volume
    assert packed.array.dtype == plain.array.dtype == dtype
    assert np.array_equal(packed.array, plain.array)


def test_every_slice_has_its_own_rescaling(tmp_path: Path) -> None:
    paths = write_ct(tmp_path, STORED, Modality="PT")
    slopes = [1, 0.5, 0.123, 2, 0, 0.01]
    for path, slope in zip(paths, slopes, strict=True):
        change(path, RescaleSlope=slope, RescaleIntercept=0)
    series = read_series(paths)
    expected = (STORED * np.array(slopes)[:, None, None]).astype(np.float32)
    assert np.array_equal(in_file_order(series), expected)
    assert series.volume.modality == "PT"


def test_values_beyond_int16_and_signed_ones(tmp_path: Path) -> None:
    wide = STORED.copy()
    wide[4, 2, 3] = 60_000
    array = in_file_order(read_series(write_ct(tmp_path / "wide", wide)))
    assert array.dtype == np.float32
    assert np.array_equal(array, wide.astype(int) - 1000)
    signed = STORED.astype(np.int16) - 1500
    series = read_series(write_ct(tmp_path / "signed", signed, RescaleSlope=None, RescaleIntercept=None))
    assert in_file_order(series).dtype == np.int16
    assert np.array_equal(in_file_order(series), signed)


def test_spacing_is_that_of_positions_not_of_thickness(tmp_path: Path) -> None:
    series = read_series(write_ct(tmp_path, STORED, SliceThickness=5))
    assert (series.volume.spacing_mm, series.volume.notes) == ((2.0, 1.0, 1.0), ())


def test_one_slice_takes_its_thickness(tmp_path: Path, wording: SnapshotAssertion) -> None:
    path = write_ct(tmp_path, STORED)[2]
    series = read_series([path])
    assert (series.volume.spacing_mm, series.volume.shape) == ((2.0, 1.0, 1.0), (1, 13, 11))
    assert series.volume.notes == wording
    assert read_series([change(path, SliceThickness=None, SpacingBetweenSlices=3)]).volume.spacing_mm[0] == 3
    with pytest.raises(IntraBenchError) as caught:
        read_series([change(path, SpacingBetweenSlices=None)])
    assert caught == wording
    with pytest.raises(IntraBenchError, match="neither SliceThickness nor SpacingBetweenSlices"):
        read_series([change(path, SliceThickness=-2)])


def moved(index: int, *position: float) -> Callable[[list[Path]], None]:
    return lambda paths: void(change(paths[index], ImagePositionPatient=list(position)))


def changed(index: int, **tags: Any) -> Callable[[list[Path]], None]:
    return lambda paths: void(change(paths[index], **tags))


def cut(index: int, size: int) -> Callable[[list[Path]], None]:
    return lambda paths: void(paths[index].write_bytes(paths[index].read_bytes()[:size]))


def void(_: object) -> None:
    """Nothing."""


def spread(paths: list[Path]) -> None:
    """Steps of 1.8, 1.8, 2.1, 2.4, 2.4 mm."""
    for path, z in zip(paths, (0, 1.8, 3.6, 5.7, 8.1, 10.5), strict=True):
        change(path, ImagePositionPatient=[0, 0, z])


REFUSED = {
    "same place": (moved(3, 0, 0, 8), r"up to 2 images at one position, .*/\d{3} and /.*; keep one of each"),
    "one missing": (lambda p: p.pop(2), r"lacks 1 of its slices, the first one between 2.00 and 6.00 mm.*download the"),
    "more missing": (lambda p: p.__delitem__(slice(2, 5)), r"lacks 3 of its .* 2.00 and 10.00 mm along.* is 2.00 mm"),
    "uneven": (moved(3, 0, 0, 6.5), r"steps between slices from 1.500 to 2.500 mm, so slices are up to 0.2 steps off"),
    "two at one place": (moved(3, 0, 0, 4.1), r"steps between slices from 0.100 to 3.900 mm, so slices are up to 0.8"),
    "more and more": (spread, r"steps between slices from 1.800 to 2.400 mm, so slices are up to 0.14 steps off"),
    "sideways": (moved(3, 0.3, 0, 6), r"shifted sideways by up to 0.30 pixels"),
    "orientations": (changed(3, ImageOrientationPatient=CORONAL), r"mixes orientations \(.*without localizers"),
    "no orientation": (changed(3, ImageOrientationPatient=[1, 0, 0, 1, 0, 0]), r"expected two perpendicular vectors"),
    "spacings": (changed(3, PixelSpacing=[1, 1.1]), r"mixes pixel spacings \("),
    "sizes": (changed(3, Rows=11, Columns=13), r"mixes matrix sizes 13x11 and 11x13 \(.*provide slices of one size"),
    "two series": (changed(3, SeriesInstanceUID="1.2.3"), r"consists of 2 series \(1.2.3, .*read them one by one"),
    "position": (changed(3, ImagePositionPatient=None), r"/\d{3} has no ImagePositionPatient: it is truncated, or"),
    "spacing": (changed(3, PixelSpacing=None), r"/\d{3} has no PixelSpacing"),
    "no distance": (changed(3, PixelSpacing=[0, 1]), r"/\d{3} has the PixelSpacing \[0.0, 1.0\], expected dist"),
    "negative": (changed(3, PixelSpacing=[1, -1]), r"/\d{3} has the PixelSpacing \[1.0, -1.0\], expected dist"),
    "identity": (cut(3, 300), r"/\d{3} has no SeriesInstanceUID"),
    "half a position": (changed(3, ImagePositionPatient=[0, 1]), r"Patient \[0.0, 1.0\], expected 3 numbers"),
    "no end": (cut(3, -20), r"/\d{3} cannot be read: it is truncated or damaged \(20 bytes are missing at its end\)"),
    "few pixels": (changed(3, PixelData=b"\0" * 20), r"it is truncated or damaged \(The number of bytes of pixel data"),
    "no pixels": (changed(3, PixelData=None), r"it is truncated or damaged \("),
    "colour": (changed(3, SamplesPerPixel=3, PhotometricInterpretation="RGB"), r"/\d{3} holds RGB pixels, expected"),
    "palette": (changed(3, PhotometricInterpretation="PALETTE COLOR"), r"holds PALETTE COLOR pixels, expected grey"),
    "table": (changed(3, ModalityLUTSequence=[item()]), r"/\d{3} has a table of values \(ModalityLUTSequence\)"),
    "film": (changed(3, NumberOfFrames=12), r"/\d{3} has 12 frames without a position of each \(a film"),
    "text": (lambda p: p[3].write_text("no DICOM" * 50), r"/\d{3} is not a DICOM file, it lacks the letters DICM"),
    "gone": (lambda p: p[3].unlink(), r"/\d{3} does not exist"),
    "drawn": (changed(3, Modality="SEG"), r"/\d{3} is SEG, expected images; provide the series that it was drawn on"),
    "nothing": (lambda p: p.clear(), r"a series needs at least one file"),
}  # fmt: skip


@pytest.mark.parametrize(("harm", "sentence"), REFUSED.values(), ids=REFUSED)
def test_refusals(tmp_path: Path, harm: Callable[[list[Path]], Any], sentence: str) -> None:
    paths = write_ct(tmp_path, STORED)
    harm(paths)
    with pytest.raises(IntraBenchError, match=sentence) as refused:
        read_series(paths)
    assert "\n" not in str(refused.value)


def test_what_the_files_of_a_series_contradict_is_told(tmp_path: Path, wording: SnapshotAssertion) -> None:
    paths = write_ct(tmp_path, STORED)
    changed(3, FrameOfReferenceUID="1.2.3", Modality="MR", PatientID="another")(paths)
    series = read_series(paths)
    assert series.volume.notes == wording
    assert np.array_equal(in_file_order(series), STORED.astype(int) - 1000)


def test_a_file_given_twice_is_named(tmp_path: Path, wording: SnapshotAssertion) -> None:
    paths = write_ct(tmp_path, STORED)
    shutil.copy(paths[1], tmp_path / "copy")
    series = read_series([*paths, tmp_path / "copy"])
    assert np.array_equal(in_file_order(series), STORED.astype(int) - 1000)
    assert series.volume.notes == wording
    change(tmp_path / "copy", PixelData=STORED[0].tobytes())
    with pytest.raises(IntraBenchError) as caught:
        read_series([*paths, tmp_path / "copy"])
    assert caught == wording


def test_a_step_that_is_uneven_by_less_than_a_hundredth_is_not_told(tmp_path: Path) -> None:
    paths = write_ct(tmp_path, STORED)
    moved(3, 0, 0, 6.015)(paths)
    volume = read_series(paths).volume
    assert (volume.spacing_mm, volume.notes) == ((2.0, 1.0, 1.0), ())


def placed(folder: Path, places: Sequence[float] | np.ndarray, side: int = 11) -> list[Path]:
    """A series with slices at these z, in mm."""
    stored = np.random.default_rng(0).integers(0, 3000, (len(places), side, side)).astype(np.uint16)
    paths = write_ct(folder, stored)
    for index, z in enumerate(places):
        moved(index, 0, 0, z)(paths)
    return paths


def test_steps_of_a_whole_body_scan(tmp_path: Path, wording: SnapshotAssertion) -> None:
    """Steps of 3.27 mm but for five, so that every slice is within a tenth of a step of a grid of equal steps."""
    steps = np.full(266, 3.27)
    steps[[30, 90, 150, 210]], steps[180] = 3.29, 3.19
    places = np.append(0, steps.cumsum()).round(4)
    slope, first = np.polyfit(np.arange(267), places, 1)
    volume = read_series(placed(tmp_path, places)).volume
    assert volume.grid.affine[2, 2:] == pytest.approx([slope, first], abs=1e-6)
    assert np.abs(places - first - slope * np.arange(267)).max() < 0.05
    assert volume.notes == wording
    assert in_file_order(read_series(placed(tmp_path, places), "resample")).shape == (267, 11, 11)


def test_the_longest_stretch_is_that_with_labels(tmp_path: Path) -> None:
    """Ten slices, a gap, and five slices that have the contours."""
    paths = placed(tmp_path, [*range(0, 20, 2), *range(30, 40, 2)])
    for drawn, first, count in ([], 0, 10), ([33.9, 36], 30, 5), ([2, 4, 34, 36], 0, 10), ([2, 34, 36], 30, 5):
        places = np.array([(0, 0, z) for z in drawn]).reshape(-1, 3)
        volume = read_series(paths, "longest", places).volume
        assert (volume.grid.shape[2], volume.grid.affine[2, 3]) == (count, first)
        assert ("what was drawn" in volume.notes[0]) == bool(drawn)
    odd = placed(tmp_path / "odd", [0, 3, *range(4, 24, 2)])  # the odd step is left out, not half of the rest
    assert read_series(odd, "longest").volume.grid.affine[2, 2:].tolist() == [2, 4]
    gap = placed(tmp_path / "gap", [0, 2, 4, *range(8, 20, 2)])  # nor are the two slices beside a gap a stretch
    for drawn, first, count in ([2, 4, 6], 0, 3), ([4, 6, 8, 10], 8, 6):
        volume = read_series(gap, "longest", np.array([(0, 0, z) for z in drawn])).volume
        assert (volume.grid.shape[2], volume.grid.affine[2, 3]) == (count, first)


@pytest.mark.parametrize("syntax", [RLELossless, JPEGLSLossless])
def test_truncated_compressed_pixels(tmp_path: Path, syntax: str, wording: SnapshotAssertion) -> None:
    paths = write_ct(tmp_path, STORED, syntax=syntax)
    cut(3, -40)(paths)
    with pytest.raises(IntraBenchError) as caught:
        read_series(paths)
    assert without_reasons(str(caught.value)) == wording


def test_constant_images_are_refused(tmp_path: Path, wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        read_series(write_ct(tmp_path, STORED * 0))
    assert caught == wording


def test_reading_takes_less_than_three_volumes(tmp_path: Path) -> None:
    stored = np.random.default_rng(0).integers(0, 3000, (60, 128, 128)).astype(np.uint16)
    paths = write_ct(tmp_path, stored, orientation=CORONAL)  # is copied to become canonical
    read_series(paths[:2])  # imports
    tracemalloc.start()
    read_series(paths)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2.8 * stored.nbytes


def test_resampling_takes_less_than_three_volumes(tmp_path: Path) -> None:
    paths = placed(tmp_path, np.append(0, np.cumsum([2.0, 3.1, 2.0] * 20)), 128)
    equal_steps(read_series(paths[:4], "resample").volume, [], np.arange(4.0))  # imports
    tracemalloc.start()
    series = read_series(paths, "resample")
    made, _ = equal_steps(series.volume, [], series.levels)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert made.shape == (72, 128, 128)  # 142 mm in steps of 2 mm
    assert peak < 2.8 * made.array.nbytes


def write_enhanced(path: Path, order: list[int], **tags: Any) -> Path:
    """STORED as one multi-frame CT, frames in any order."""
    source = pydicom.dcmread(write_ct(path.parent / "single", STORED)[0])
    frames = [
        item(PlanePositionSequence=[item(ImagePositionPatient=[0, 0, 2.0 * index])], FrameContentSequence=[item()])
        for index in order
    ]
    shared = item(
        PlaneOrientationSequence=[item(ImageOrientationPatient=list(AXIAL))],
        PixelMeasuresSequence=[item(PixelSpacing=[1, 1], SliceThickness=2)],
        PixelValueTransformationSequence=[item(RescaleSlope=1, RescaleIntercept=-1000, RescaleType="HU")],
    )
    for keyword in ("ImagePositionPatient", "ImageOrientationPatient", "PixelSpacing", "RescaleSlope"):
        delattr(source, keyword)
    source.file_meta.MediaStorageSOPClassUID = source.SOPClassUID = EnhancedCTImageStorage
    source.file_meta.TransferSyntaxUID = ExplicitVRLittleEndian
    source.NumberOfFrames, source.PixelData = len(order), STORED[order].tobytes()
    source.SharedFunctionalGroupsSequence, source.PerFrameFunctionalGroupsSequence = [shared], frames
    return save(path, source, **tags)


def test_a_multi_frame_file_is_the_same_volume(tmp_path: Path) -> None:
    single = read_series(write_ct(tmp_path / "slices", STORED))
    series = read_series([write_enhanced(tmp_path / "enhanced", [3, 0, 5, 1, 4, 2])])
    assert series.volume.array.dtype == np.int16
    assert np.array_equal(series.volume.array, single.volume.array)
    np.testing.assert_allclose(series.volume.grid.affine, single.volume.grid.affine, atol=1e-9)
    assert (series.instances, series.frame_of_reference) == ({}, uid("frame"))


def test_refusals_of_multi_frame_files(tmp_path: Path, wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        read_series([write_enhanced(tmp_path / "enhanced", [0, 1, 2, 3, 2, 1])])
    assert caught == wording
    short = write_enhanced(tmp_path / "short", [0, 1, 2, 3])
    short.write_bytes(short.read_bytes()[:-50])
    with pytest.raises(IntraBenchError) as caught:
        read_series([short])
    assert without_reasons(str(caught.value)) == wording


def test_series_are_found_whatever_their_files_are_called(tmp_path: Path) -> None:
    told = {"SeriesNumber": 7, "SeriesDescription": "Thorax", "PatientID": "one "}
    first = write_ct(tmp_path / "deep" / "a", STORED, SeriesInstanceUID="1.2.1", **told)
    second = write_ct(
        tmp_path / "deep" / "b", STORED, SeriesInstanceUID="1.2.2", PatientID=None, StudyInstanceUID="1.9"
    )
    (tmp_path / "deep" / "notes.txt").write_text("hello")
    (tmp_path / "deep" / "empty").write_bytes(b"")
    masks = {"a": STORED > 1000}
    write_seg(tmp_path / "seg", first, masks, SeriesInstanceUID="1.2.3")
    square = np.array([[1, 1, 2], [3, 1, 2], [3, 3, 2]])
    write_rtstruct(tmp_path / "rt", second, {"a": [square]}, SeriesInstanceUID="1.2.4")
    found, _ = find_series(tmp_path)
    assert [(s.uid, s.modality, s.number, s.description, s.patient_id) for s in found] == [
        ("1.2.1", "CT", "7", "Thorax", "one"),
        ("1.2.2", "CT", "", "", ""),
        ("1.2.3", "SEG", "1", "", "one"),
        ("1.2.4", "RTSTRUCT", "", "", ""),
    ]
    assert [s.study for s in found] == [uid("study"), "1.9", uid("study"), "1.9"]
    assert [s.images_named for s in found] == [0, 0, 6, 6]
    assert [s.refers_to for s in found] == [(), (), ("1.2.1",), ("1.2.2",)]
    assert {s.frame_of_reference for s in found} == {uid("frame")}
    assert set(found[0].paths) == set(first)
    assert found[1].instances == set(read_series(found[1].paths).instances)


def test_references_to_single_images_are_resolved(tmp_path: Path) -> None:
    paths = write_ct(tmp_path / "ct", STORED, SeriesInstanceUID="1.2.1")
    write_ct(tmp_path / "other", STORED, SeriesInstanceUID="1.2.2")
    images = [item(ReferencedSOPInstanceUID=uid("1.2.1", 3))]
    seg = write_seg(
        tmp_path / "seg", paths, {"a": STORED > 1000}, ReferencedSeriesSequence=None, SourceImageSequence=None
    )
    assert {s.refers_to for s in find_series(tmp_path)[0]} == {()}
    change(seg, SourceImageSequence=images)
    assert {s.modality: s.refers_to for s in find_series(tmp_path)[0]} == {"CT": (), "SEG": ("1.2.1",)}
    for series, refers_to in (("1.2.8", "1.2.1"), ("1.2.2", "1.2.2")):  # one that is there counts before its images
        change(seg, ReferencedSeriesSequence=[item(SeriesInstanceUID=series)])
        assert find_series(tmp_path)[0][-1].refers_to == (refers_to,)
    change(seg, SourceImageSequence=None, ReferencedSeriesSequence=[item(SeriesInstanceUID="1.2.8")])
    assert find_series(tmp_path)[0][-1].refers_to == ("1.2.8",)


def test_a_folder_that_does_not_exist(tmp_path: Path, wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        find_series(tmp_path / "gone")
    assert caught == wording
