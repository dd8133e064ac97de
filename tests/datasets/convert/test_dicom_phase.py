"""Series in which a scanner stored several phases: one image per position, and which ones is said."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pydicom
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.datasets.convert.dicom_file import read_dataset
from intrabench.datasets.convert.dicom_phase import Named, Phase
from intrabench.datasets.convert.dicom_references import References
from intrabench.datasets.convert.dicom_seg import read_seg
from intrabench.datasets.convert.dicom_series import Series, read_series
from intrabench.datasets.convert.rtstruct import read_rtstruct
from intrabench.errors import IntraBenchError
from tests.datasets.convert.dicom_files import change, item, save, uid, write_ct, write_rtstruct, write_seg
from tests.datasets.convert.test_dicom_series import write_enhanced

RANDOM = np.random.default_rng(0)
PLANE = RANDOM.integers(0, 100, (13, 11)).astype(np.uint16)
"""Of all images; to each is added 100 x its phase (from 1) + its slice (from 0)."""


def phases(folder: Path, tags: Sequence[dict[str, Any]], *starts: int) -> list[list[Path]]:
    """Phases of six slices each, in one series. tags: of each phase; starts: the slice with which it begins."""
    made = []
    for number, (more, start) in enumerate(zip(tags, starts or [0] * len(tags), strict=True), start=1):
        array = np.stack([PLANE + 100 * number + slice_ for slice_ in range(start, start + 6)])
        paths = write_ct(
            folder / str(number), array, origin=(0, 0, 2.0 * start), SeriesInstanceUID=f"1.2.{number}", **more
        )
        made.append([change(path, SeriesInstanceUID="1.2.9") for path in paths])
    return made


def taken(series: Series) -> list[int]:
    """100 x the phase + the slice of each image of a series."""
    first = series.volume.grid.from_canonical(series.volume.array)[0, 0]
    return [int(value) + 1000 - int(PLANE[0, 0]) for value in first]


def of(phase: int, slices: range = range(6)) -> list[int]:
    return [100 * phase + slice_ for slice_ in slices]


def named(paths: Sequence[Path]) -> list[Named]:
    return [(str(read_dataset(path, "SOPInstanceUID").SOPInstanceUID), 0) for path in paths]


def refusal(paths: Sequence[Path], drawn_on: Sequence[Any] = (), phase: Phase | None = None) -> str:
    with pytest.raises(IntraBenchError) as caught:
        read_series(paths, drawn_on=drawn_on, phase=phase)
    return str(caught.value)


TAGS: dict[str, list[dict[str, Any]]] = {
    "acquisitions": [{"AcquisitionNumber": 7}, {"AcquisitionNumber": 12}],
    "echoes": [{"EchoTime": time, "AcquisitionNumber": 1} for time in ("2.3", "11.5", "4.6")],
    "b-values": [{"DiffusionBValue": value, "ImageType": ["ORIGINAL", "PRIMARY"]} for value in (800.0, 0.0)],
    "types": [{"ImageType": ["ORIGINAL", "PRIMARY", part]} for part in ("M", "P")],
    "many": [{"TemporalPositionIdentifier": number} for number in range(1, 9)],
    "nothing": [{}, {}],
}


@pytest.mark.parametrize("name", TAGS)
def test_phases_and_the_tag_that_tells_them_apart(tmp_path: Path, name: str, wording: SnapshotAssertion) -> None:
    made = phases(tmp_path, TAGS[name])
    paths = [path for one in made for path in one]
    assert refusal(paths) == wording
    order = {"echoes": [1, 3, 2], "b-values": [2, 1], "nothing": []}.get(name, [*range(1, len(made) + 1)])
    for number, phase in enumerate(order, start=1):
        series = read_series(paths, phase=number)
        assert taken(series) == of(phase)
    if order:
        assert series.volume.notes == wording
    assert refusal(paths, phase=len(order) + 1) == wording
    assert taken(read_series(made[0], phase=7)) == of(1)  # that has one image per position


def test_times_that_differ_in_all_images_order_them(tmp_path: Path, wording: SnapshotAssertion) -> None:
    """Neither of two tags that divide the four phases together does alone; numbers that differ everywhere do not."""
    tags = [{"EchoTime": echo, "ImageType": ["ORIGINAL", kind]} for kind in "MP" for echo in ("2.3", "4.6")]
    made = phases(tmp_path, tags)
    for phase, one in enumerate(made):
        for slice_, path in enumerate(one):
            change(path, TriggerTime=f"{100 - 10 * phase + slice_}", AcquisitionNumber=10 * phase + slice_)
    paths = [path for one in made for path in one]
    assert refusal(paths) == wording
    assert taken(read_series(paths, phase=1)) == of(4)
    assert taken(read_series(paths, phase={"EchoTime": 2.3, "ImageType": "P"})) == of(3)
    assert refusal(paths, phase={"EchoTime": 2.3}) == wording
    assert refusal(paths, phase={"EchoTime": 2.4}) == wording


def test_values_of_tags_choose(tmp_path: Path, wording: SnapshotAssertion) -> None:
    """One image without diffusion beside thirty directions, which only their order tells apart."""
    tags = [{"DiffusionBValue": 0.0}, {"DiffusionBValue": 1000.0}, {"DiffusionBValue": 1000.0}]
    paths = [path for one in phases(tmp_path, tags) for path in one]
    series = read_series(paths, phase={"DiffusionBValue": 0.0})
    assert taken(series) == of(1)
    assert series.volume.notes == wording
    assert refusal(paths, phase={"DiffusionBValue": 1000.0}) == wording


def test_the_phase_that_was_drawn_on_is_taken(tmp_path: Path, wording: SnapshotAssertion) -> None:
    first, second = phases(tmp_path, TAGS["acquisitions"])
    series = read_series([*first, *second], drawn_on=[named(second[2:4])], phase=1)
    assert taken(series) == of(2)
    assert series.volume.notes == wording
    series = read_series([*first, *second], drawn_on=[named([*first[3:], *second[2:4]])])
    assert taken(series) == of(1)
    assert series.volume.notes == wording


def test_slices_that_only_another_acquisition_has_are_added_where_labels_name_them(
    tmp_path: Path, wording: SnapshotAssertion
) -> None:
    first, second = phases(tmp_path, TAGS["acquisitions"], 0, 4)  # slices 0 to 5 and 4 to 9
    both = [*first, *second]
    series = read_series(both, drawn_on=[named([*first[1:6], *second[2:4]])])
    assert taken(series) == [*of(1), 206, 207]
    assert series.volume.notes == wording
    series = read_series(both, phase=2)
    assert taken(series) == of(2, range(4, 10))
    assert series.volume.notes == wording
    assert refusal(both) == wording
    assert refusal([*first, *second[:3], *second[4:]], phase=2) == wording


def test_one_named_image_per_position_is_taken_whatever_its_tags_say(
    tmp_path: Path, wording: SnapshotAssertion
) -> None:
    first, second = phases(tmp_path, TAGS["nothing"])
    series = read_series([*first, *second], drawn_on=[named([*first[:2], *second[2:]]), named(first[:2])])
    assert taken(series) == [*of(1, range(2)), *of(2, range(2, 6))]
    assert series.volume.notes == wording
    refusal([*first, *second], [named([*first[:2], *second[2:4]])])
    refusal([*first, *second], [named([*first, *second]), named(first[:2])])


def test_labels_that_do_not_tell(tmp_path: Path, wording: SnapshotAssertion) -> None:
    first, second = phases(tmp_path, TAGS["acquisitions"])
    for images in ([], [first[0], second[0]], [*first, *second]):
        assert refusal([*first, *second], [named(images)]) == wording


def test_frames_tell_more_than_the_list_of_all_images(tmp_path: Path) -> None:
    first, second = phases(tmp_path, TAGS["acquisitions"])
    mask = np.zeros((6, 13, 11), dtype=np.uint8)
    mask[2:4, 3:9, 3:9] = 1
    seg = read_dataset(write_seg(tmp_path / "seg.dcm", second, {"tumour": mask}))
    for named_too in (second, [*first, *second]):
        images = [item(ReferencedSOPInstanceUID=uid_) for uid_, _ in named(named_too)]
        seg.ReferencedSeriesSequence[0].ReferencedInstanceSequence = images
        whole, frames = References.drawn_on([seg])
        assert whole == set(named(named_too))
        assert frames == set(named(second[2:4]))
        assert taken(read_series([*first, *second], drawn_on=(whole, frames))) == of(2)


def test_frames_and_contours_on_another_phase_are_left_out(tmp_path: Path, wording: SnapshotAssertion) -> None:
    """One file has what was drawn on both phases: two structures, and one on the same slices of each."""
    first, second = phases(tmp_path, TAGS["echoes"][:2])
    box = np.zeros((6, 13, 11), dtype=bool)
    box[2:4, 3:9, 3:9] = True
    seg = pydicom.dcmread(write_seg(tmp_path / "seg", first, {"early": box, "late": box}))
    for frame in seg.PerFrameFunctionalGroupsSequence:
        (source,) = frame.DerivationImageSequence[0].SourceImageSequence
        if frame.SegmentIdentificationSequence[0].ReferencedSegmentNumber == 2:
            names = [uid_ for uid_, _ in named(first)]
            source.ReferencedSOPInstanceUID = named(second)[names.index(source.ReferencedSOPInstanceUID)][0]
    save(tmp_path / "seg", seg)
    corners = np.array([[3, 3], [3, 8], [8, 8], [8, 3]])
    flat = [np.column_stack([corners - shift, np.full(4, 4.0)]) for shift in (0.4, 0.6)]
    rt = pydicom.dcmread(write_rtstruct(tmp_path / "rt", first, {"both": flat, "late": flat[1:]}))
    for region, images in zip(rt.ROIContourSequence, ((first, second), (second,)), strict=True):
        for contour, paths in zip(region.ContourSequence, images, strict=True):
            contour.ContourImageSequence = [item(ReferencedSOPInstanceUID=named(paths)[2][0])]
    save(tmp_path / "rt", rt)
    series = read_series([*first, *second], phase=1)
    for read, expected in ((read_seg, {"early": 72}), (read_rtstruct, {"both": 25})):
        segments, notes = read(tmp_path / read.__name__.removeprefix("read_").removesuffix("struct"), series)
        assert {segment.name: segment.mask.voxels for segment in segments} == expected
        assert notes == wording


def test_phases_of_multi_frame_files(tmp_path: Path, wording: SnapshotAssertion) -> None:
    """Two echoes in one file, and a file for each; a segmentation names their frames."""
    order = [0, 3, 1, 4, 2, 5]  # the frames of `write_enhanced` differ in their values, and are put on three positions
    path = write_enhanced(tmp_path / "both", order)
    data = pydicom.dcmread(path)
    for number, frame in enumerate(data.PerFrameFunctionalGroupsSequence):
        frame.PlanePositionSequence[0].ImagePositionPatient = [0, 0, 2.0 * (number // 2)]
        frame.MREchoSequence = [item(EffectiveEchoTime=2.3 + number % 2)]
    save(path, data)
    whole = read_series([write_enhanced(tmp_path / "whole", list(range(6)))]).volume.array
    assert refusal([path]) == wording
    series = read_series([path], phase={"EffectiveEchoTime": 3.3})
    assert np.array_equal(series.volume.array, whole[3:])
    mask = np.zeros((3, 13, 11), dtype=np.uint8)
    mask[:2] = 1
    seg = read_dataset(write_seg(tmp_path / "seg", [write_enhanced(tmp_path / "source", [3, 4, 5])], {"a": mask}))
    for frame in seg.PerFrameFunctionalGroupsSequence:
        (source,) = frame.DerivationImageSequence[0].SourceImageSequence
        source.ReferencedFrameNumber *= 2
    assert {frame for _, frame in References.drawn_on([seg])[1]} == {2, 4}
    series = read_series([path], drawn_on=References.drawn_on([seg]))
    assert np.array_equal(series.volume.array, whole[3:])
    two = [
        write_enhanced(tmp_path / name, frames, SOPInstanceUID=uid(name), SeriesInstanceUID="1.2.9", InstanceNumber=n)
        for n, (name, frames) in enumerate({"a": [0, 1, 2], "b": [2, 1, 0]}.items(), start=1)
    ]
    series = read_series(two, phase=2)
    assert np.array_equal(series.volume.array, whole[:3])
    assert series.volume.notes == wording
    assert read_series(two, phase=1).volume.shape == (3, 13, 11)
