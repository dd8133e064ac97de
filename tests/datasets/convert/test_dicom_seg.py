"""DICOM segmentations: voxel for voxel on the grid of their series, however sloppy; refusals in one sentence."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pydicom
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.datasets.convert.dicom_seg import read_seg
from intrabench.datasets.convert.dicom_series import Series, read_series
from intrabench.datasets.convert.segments import Segment, kept_segments
from intrabench.errors import IntraBenchError
from intrabench.files.grid import OtherGrid
from tests.datasets.convert.dicom_files import (
    STACKS,
    change,
    save,
    uid,
    write_ct,
    write_seg,
)

RANDOM = np.random.default_rng(0)
STORED = RANDOM.integers(0, 3000, (8, 13, 11)).astype(np.uint16)
LOW, HIGH = RANDOM.random(STORED.shape) < 0.4, RANDOM.random(STORED.shape) < 0.6
LOW[5:] = HIGH[:3] = False  # frames for some slices only; both for two


def in_file_order(segment: Segment, series: Series) -> np.ndarray:
    """``(slice, row, column)``"""
    return series.volume.grid.from_canonical(segment.mask.to_array(series.volume.shape)).transpose(2, 1, 0)


@pytest.fixture
def images(tmp_path: Path) -> list[Path]:
    return write_ct(tmp_path / "ct", STORED)


@pytest.mark.parametrize(("orientation", "step"), STACKS.values(), ids=STACKS)
def test_overlapping_segments_of_one_label(tmp_path: Path, orientation: Any, step: Any) -> None:
    images = write_ct(tmp_path / "ct", STORED, (2.5, 0.7, 0.9), (-10.1, 20.2, 3.3), orientation, step)
    series = read_series(images)
    path = write_seg(tmp_path / "seg", images, [("liver", LOW), ("tumour", HIGH), ("tumour", LOW & HIGH)])
    found, _ = read_seg(path, series)
    assert [(segment.name, segment.number) for segment in found] == [("liver", 1), ("tumour", 2), ("tumour", 3)]
    for segment, mask in zip(found, (LOW, HIGH, LOW & HIGH), strict=True):
        assert np.array_equal(in_file_order(segment, series), mask)


def test_fractions_of_at_least_half_are_inside(tmp_path: Path, images: list[Path]) -> None:
    series = read_series(images)
    fractions = np.where(LOW, 0.9, np.where(HIGH, 0.45, 0.0))
    fractions[3, 0, :3] = [0.5, 0.505, 0.495]  # stored as 128, 129 and 126 of 255
    (segment,), _ = read_seg(write_seg(tmp_path / "seg", images, {"a": fractions}, "FRACTIONAL"), series)
    expected = LOW.copy()
    expected[3, 0, :3] = [True, True, False]
    assert np.array_equal(in_file_order(segment, series), expected)
    assert "has fractions" in segment.beside
    (hard,), _ = read_seg(write_seg(tmp_path / "hard", images, {"a": LOW.astype(float)}, "FRACTIONAL"), series)
    assert (hard.beside, hard.mask.voxels) == ("", LOW.sum())


def test_two_frames_at_one_position_are_equal(tmp_path: Path, images: list[Path], wording: SnapshotAssertion) -> None:
    """A segmentation of several time points would be their union."""
    for other, same in ((LOW, True), (np.roll(LOW, 1, axis=2), False)):
        path = write_seg(tmp_path / "seg", images, {"a": LOW, "b": other})
        seg = pydicom.dcmread(path)
        for frame in seg.PerFrameFunctionalGroupsSequence:
            frame.SegmentIdentificationSequence[0].ReferencedSegmentNumber = 1
        if same:
            (segment,), _ = read_seg(save(path, seg), read_series(images))
            assert segment.mask.voxels == LOW.sum()
    with pytest.raises(IntraBenchError) as caught:
        read_seg(save(path, seg), read_series(images))
    assert caught == wording


@pytest.mark.parametrize("spacing", [None, 5.0], ids=["without spacing", "with a wrong spacing"])
def test_frames_far_apart_stay_in_their_slices(tmp_path: Path, images: list[Path], spacing: float | None) -> None:
    mask = LOW.copy()
    mask[[1, 3]] = False
    seg = pydicom.dcmread(write_seg(tmp_path / "seg", images, {"a": mask}))
    measures = seg.SharedFunctionalGroupsSequence[0].PixelMeasuresSequence[0]
    measures.SpacingBetweenSlices = spacing
    if spacing is None:
        del measures.SpacingBetweenSlices
    series = read_series(images)
    (segment,), _ = read_seg(save(tmp_path / "sparse", seg), series)
    assert np.array_equal(in_file_order(segment, series), mask)


def test_frames_on_other_slices_than_the_images_that_they_name(
    tmp_path: Path, images: list[Path], wording: SnapshotAssertion
) -> None:
    """Someone changed the places of the images afterwards."""
    seg = write_seg(tmp_path / "seg", images, {"a": LOW})
    for path, place in zip(images, reversed(range(len(images))), strict=True):
        change(path, ImagePositionPatient=[0, 0, 2 * place])
    _, notes = read_seg(seg, read_series(images))
    assert notes == wording


def test_frames_that_run_the_other_way(tmp_path: Path, images: list[Path]) -> None:
    """Upside down and from head to feet, as ITK-SNAP and others export."""
    turned = write_ct(tmp_path / "turned", STORED[::-1, ::-1], origin=(0, 12, 14), orientation=(1, 0, 0, 0, -1, 0))
    series = read_series(images)
    assert np.array_equal(read_series(turned).volume.array, series.volume.array)
    (segment,), _ = read_seg(write_seg(tmp_path / "seg", turned, {"a": LOW[::-1, ::-1]}), series)
    assert np.array_equal(in_file_order(segment, series), LOW)


def test_another_grid_is_resampled_by_nearest_neighbour(tmp_path: Path, images: list[Path]) -> None:
    """A segmentation of thick slices, each over two of the images, with pixels half as large, in a smaller field."""
    fine = LOW[:4].repeat(2, 1).repeat(2, 2)[:, 4:, 6:]
    thick = write_ct(tmp_path / "thick", fine.astype(np.uint16), (4, 0.5, 0.5), (2.75, 1.75, 1))
    series = read_series(images)
    path = write_seg(tmp_path / "seg", thick, {"a": fine})
    with pytest.raises(OtherGrid, match=r"spacing .*resample = true"):
        read_seg(path, series)
    (segment,), _ = read_seg(path, series, resample=True)
    assert "they are resampled" in segment.beside
    expected = np.zeros_like(LOW)
    expected[:, 2:, 3:] = LOW[:4].repeat(2, 0)[:, 2:, 3:]
    assert np.array_equal(in_file_order(segment, series), expected)


@pytest.mark.parametrize("shift", [0.005, 0.05, 0.3, 3])
def test_a_grid_that_is_a_little_off(tmp_path: Path, images: list[Path], shift: float) -> None:
    """Up to a hundredth of a voxel: nothing; up to a tenth: a note; beyond: another grid; whole voxels: the same."""
    path = write_seg(tmp_path / "seg", write_ct(tmp_path / "other", STORED, origin=(shift, 0, 0)), {"a": LOW})
    series = read_series(images)
    if shift == 0.3:
        with pytest.raises(OtherGrid, match=r"0\.3 mm in x"):
            read_seg(path, series)
    else:
        (segment,), _ = read_seg(path, series)
        there, columns = in_file_order(segment, series), LOW.shape[2] - int(shift)
        assert np.array_equal(there[:, :, int(shift) :], LOW[:, :, :columns])
        assert not there[:, :, : int(shift)].any()
        assert ("0.05 voxels off" in segment.beside) == (shift == 0.05)
        assert ("off" in segment.beside) == (shift > 0.01)  # 3: "cut off"


@pytest.mark.parametrize("kind", ["BINARY", "LABELMAP"])
def test_segments_without_a_voxel_are_told_once(
    tmp_path: Path, images: list[Path], kind: str, wording: SnapshotAssertion
) -> None:
    names = ["nothing", *"cdefg"]
    masks = [("a", LOW & ~HIGH), *((name, LOW & False) for name in names), ("b", HIGH)]
    segments, notes = read_seg(write_seg(tmp_path / "seg", images, masks, kind), read_series(images))
    assert [(segment.name, segment.number) for segment in segments] == [("a", 1), ("b", 8)]
    assert notes == wording


def test_a_label_map_is_the_same_as_binary_segments(tmp_path: Path, images: list[Path]) -> None:
    """Of 8 and 16 bits, with any numbers and background; values that it does not describe have no name."""
    series = read_series(images)
    masks = {"liver": LOW & ~HIGH, "tumour": HIGH}
    expected, _ = read_seg(write_seg(tmp_path / "binary", images, masks), series)
    seg = pydicom.dcmread(write_seg(tmp_path / "map", images, masks, "LABELMAP"))
    assert (seg.SOPClassUID, seg.BitsAllocated) == ("1.2.840.10008.5.1.4.1.1.66.7", 8)

    def check(*named: tuple[str, int]) -> None:
        found, notes = read_seg(save(tmp_path / "map", seg), series)
        assert [(one.name, one.number) for one in found] == list(named)
        for one, other in zip(found, expected, strict=True):
            assert np.array_equal(in_file_order(one, series), in_file_order(other, series))
        assert notes == ()

    check(("liver", 1), ("tumour", 2))
    seg.PixelData = np.array([7, 300, 4], dtype=np.uint16)[np.frombuffer(seg.PixelData, np.uint8)].tobytes()
    seg.BitsAllocated, seg.BitsStored, seg.HighBit, seg.PixelPaddingValue = 16, 16, 15, 7
    for item_ in seg.SegmentSequence:
        item_.SegmentNumber = [7, 300, 4][item_.SegmentNumber]
    check(("liver", 300), ("tumour", 4))
    seg.SegmentSequence = [one for one in seg.SegmentSequence if one.SegmentNumber == 300]
    check(("liver", 300), ("", 4))
    seg.PixelData = np.where((values := np.frombuffer(seg.PixelData, np.uint16)) == 7, 0, values).tobytes()
    check(("liver", 300), ("", 4))
    seg.PixelPaddingValue = None
    check(("liver", 300), ("", 4))


UNNAMED: dict[str, Any] = {"ReferencedSeriesSequence": None, "SourceImageSequence": None}


@pytest.mark.parametrize("tags", [{}, UNNAMED, {"FrameOfReferenceUID": "1.2.3"}], ids=["all", "frame", "series"])
def test_one_reference_of_two_is_enough(tmp_path: Path, images: list[Path], tags: dict[str, Any]) -> None:
    assert (
        read_seg(write_seg(tmp_path / "seg", images, {"a": LOW}, **tags), read_series(images))[0][0].mask.voxels
        == LOW.sum()
    )


def test_another_series_in_the_same_frame_of_reference(
    tmp_path: Path, images: list[Path], wording: SnapshotAssertion
) -> None:
    path = write_seg(tmp_path / "seg", write_ct(tmp_path / "other", STORED), {"a": LOW})
    assert read_seg(path, read_series(images))[0][0].mask.voxels == LOW.sum()
    far = write_ct(tmp_path / "far", STORED, origin=(500, 0, 0))
    path = write_seg(tmp_path / "seg", far, {"a": LOW})
    (segment,), _ = read_seg(path, read_series(images))
    assert (segment.mask.any(), segment.lost) == (False, "")
    assert f"has {LOW.sum()} voxels" in segment.beside
    assert segment.beside == wording
    with pytest.raises(IntraBenchError) as caught:
        kept_segments([segment], "omit")
    assert caught == wording


@pytest.mark.parametrize(
    ("kept", "slices", "cut"),
    [(slice(3), 5, 2), (slice(2, 8), 5, 2), (slice(0, 8, 2), 5, 2), (slice(1, 8, 2), 5, 3)],
    ids=["no last ones", "no first ones", "every second", "every other"],
)
def test_slices_that_the_series_lacks_are_told(
    tmp_path: Path, images: list[Path], kept: slice, slices: int, cut: int, wording: SnapshotAssertion
) -> None:
    path = write_seg(tmp_path / "seg", images, {"a": LOW, "in slice 2": LOW & (np.arange(8) == 2)[:, None, None]})
    series = read_series(images[kept])
    found, _ = read_seg(path, series)
    there = np.zeros(8, dtype=bool)
    there[kept] = True
    lost = int(LOW[~there].sum())
    assert f"drawn on {slices} slices" in found[0].lost
    assert f"lacks {cut} ({lost} of" in found[0].lost
    assert found[0].lost.endswith(f" {LOW.sum()} voxels)")
    assert found[0].lost.replace(series.uid, "UID") == wording
    assert bool(found[1].lost) == (not there[2])


def test_a_series_without_any_of_the_slices_that_were_drawn_on(
    tmp_path: Path, images: list[Path], wording: SnapshotAssertion
) -> None:
    path = write_seg(tmp_path / "seg", images, {"a": LOW & (np.arange(8) % 2 == 1)[:, None, None]})
    (segment,), _ = read_seg(path, read_series(images[::2]))
    assert segment.lost == wording
    assert "lacks 2 (" in segment.lost


def test_a_slice_that_no_segment_is_on_may_be_missing(tmp_path: Path, images: list[Path]) -> None:
    path = write_seg(tmp_path / "seg", images, {"a": LOW})
    (segment,), _ = read_seg(path, read_series(images[:5]))
    assert (segment.lost, segment.beside, segment.mask.voxels) == ("", "", LOW.sum())


@pytest.mark.parametrize("tags", [{}, UNNAMED], ids=["series", "frame"])
def test_another_series_in_another_frame_of_reference(
    tmp_path: Path, images: list[Path], tags: dict[str, Any], wording: SnapshotAssertion
) -> None:
    other = read_series(write_ct(tmp_path / "other", STORED, FrameOfReferenceUID="1.2.3"))
    path = write_seg(tmp_path / "seg", images, {"a": LOW}, **tags)
    uid(tmp_path / "ct") if not tags else "other images"
    with pytest.raises(IntraBenchError) as caught:
        read_seg(path, other)
    assert caught == wording


def edited(edit: Callable[[Any], Any]) -> Callable[[Path], None]:
    def harm(path: Path) -> None:
        seg = pydicom.dcmread(path)
        edit(seg)
        save(path, seg)

    return harm


def shifted(seg: Any, position: list[float]) -> None:
    seg.PerFrameFunctionalGroupsSequence[1].PlanePositionSequence[0].ImagePositionPatient = position


def numbered(seg: Any) -> None:
    seg.SharedFunctionalGroupsSequence[0].SegmentIdentificationSequence[0].ReferencedSegmentNumber = 7


BROKEN = r"seg cannot be read: it is truncated or damaged \(.+\); fetch or export it again"
REFUSED: dict[str, tuple[Callable[[Path], Any], str]] = {
    "no end": (lambda p: p.write_bytes(p.read_bytes()[:-30]), BROKEN.replace(".+", "30 bytes are missing at its end")),
    "no half": (lambda p: p.write_bytes(p.read_bytes()[:-4000]), BROKEN),
    "few pixels": (lambda p: change(p, PixelData=b"\0\0"), r"seg has 2 bytes of pixels, but its header describes \d+"),
    "no pixels": (lambda p: change(p, PixelData=None), r"seg has no PixelData: it is truncated, or"),
    "no segments": (lambda p: change(p, SegmentSequence=[]), r"seg describes no segments; export it again"),
    "no sequence": (lambda p: change(p, SegmentSequence=None), r"seg has no SegmentSequence"),
    "no shared tags": (lambda p: change(p, SharedFunctionalGroupsSequence=None), BROKEN),
    "no frames": (lambda p: change(p, PerFrameFunctionalGroupsSequence=None), r"seg \(frame 1\) has no PlanePosition"),
    "no label": (edited(lambda seg: delattr(seg.SegmentSequence[0], "SegmentLabel")), BROKEN),
    "no type": (edited(lambda seg: delattr(seg.SegmentSequence[0], "SegmentedPropertyTypeCodeSequence")), BROKEN),
    "scan": (lambda p: change(p, Modality="CT"), r"seg is a CT file, expected a SEG; give the segmentation"),
    "a frame less": (lambda p: change(p, NumberOfFrames=2), r"seg has 2 frames, but describes \d; export it again"),
    "half the rows": (
        lambda p: change(p, Rows=12),
        r"seg has \d+ bytes of pixels, but its header describes \d+; export",
    ),
    "frames of nothing": (edited(numbered), r"seg has frames of the segment 7, which it does not describe; export"),
    "a number twice": (
        edited(lambda seg: seg.SegmentSequence.append(seg.SegmentSequence[0])),
        r"seg describes two segments under one number \(\[1, 1\]\); export it again",
    ),
    "no whole": (
        lambda p: change(p, SegmentationType="FRACTIONAL", MaximumFractionalValue=0),
        r"seg has the MaximumFractionalValue 0, so no fraction is defined; export it again",
    ),
    "text": (lambda p: p.write_text("no DICOM" * 50), r"seg is not a DICOM file"),
    "uneven": (
        edited(lambda seg: shifted(seg, [0, 0, 2.9])),
        r"seg has frames at uneven distances, expected a regular",
    ),
    "shifted": (
        edited(lambda seg: shifted(seg, [0.4, 0, 2])),
        r"seg has frames that are not on a regular grid",
    ),
}


@pytest.mark.parametrize(("harm", "sentence"), REFUSED.values(), ids=REFUSED)
def test_refusals(tmp_path: Path, images: list[Path], harm: Callable[[Path], Any], sentence: str) -> None:
    path = write_seg(tmp_path / "seg", images, {"a": LOW})
    harm(path)
    with pytest.raises(IntraBenchError, match=sentence) as refused:
        read_seg(path, read_series(images))
    assert "\n" not in str(refused.value)


def test_without_highdicom_a_sentence_says_what_to_do(
    tmp_path: Path, images: list[Path], monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    series, path = read_series(images), write_seg(tmp_path / "seg", images, {"a": LOW})
    monkeypatch.setitem(sys.modules, "highdicom", None)
    with pytest.raises(IntraBenchError) as caught:
        read_seg(path, series)
    assert caught == wording
