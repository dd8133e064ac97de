"""Structure sets: which voxel centres lie inside contours, and refusals of contours that belong elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pydicom
import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from intrabench.datasets.convert.dicom_series import Series, read_series
from intrabench.datasets.convert.polygons import Contours, filled
from intrabench.datasets.convert.rtstruct import read_rtstruct
from intrabench.datasets.convert.segments import Segment, kept_segments
from intrabench.errors import IntraBenchError
from tests.datasets.convert.dicom_files import (
    STACKS,
    change,
    item,
    save,
    write_ct,
    write_rtstruct,
)

STORED = np.random.default_rng(0).integers(0, 3000, (8, 24, 20)).astype(np.uint16)
SIDE = 8
Corner = tuple[Fraction, Fraction]

eighths = st.integers(-16, 8 * SIDE + 16).map(lambda number: Fraction(number, 8))
corners = st.tuples(eighths, eighths)
polygons = st.lists(corners, min_size=3, max_size=9)


def fill(*shapes: Any, side: int = 12, contours: Contours = "inclusive") -> np.ndarray:
    """``(column, row)`` inside polygons of one slice."""
    floats = [np.array(shape, dtype=np.float64) for shape in shapes]
    return filled(floats, [0] * len(floats), (side, side, 1), contours)[:, :, 0]


def edges(shape: list[Corner]) -> list[tuple[Corner, Corner]]:
    return list(zip(shape, shape[1:] + shape[:1], strict=True))


def on_edge(shape: list[Corner], column: int, row: int) -> bool:
    return any(
        (b[0] - a[0]) * (row - a[1]) == (b[1] - a[1]) * (column - a[0])
        and min(a[0], b[0]) <= column <= max(a[0], b[0])
        and min(a[1], b[1]) <= row <= max(a[1], b[1])
        for a, b in edges(shape)
    )


def crossed(shape: list[Corner], column: int, row: int) -> bool:
    """Even-odd in exact numbers, by a ray along rows where `filled` goes along columns."""
    inside = False
    for a, b in edges(shape):
        if (a[0] > column) != (b[0] > column):
            inside ^= a[1] + (b[1] - a[1]) * (column - a[0]) / (b[0] - a[0]) < row
    return inside


@given(st.lists(polygons, min_size=1, max_size=3))
def test_centres_inside_are_those_of_exact_arithmetic(shapes: list[list[Corner]]) -> None:
    closed, opened = (fill(*shapes, side=SIDE, contours=rule) for rule in ("inclusive", "exclusive"))
    for column, row in np.ndindex(closed.shape):
        if any(on_edge(shape, column, row) for shape in shapes):
            assert closed[column, row], (column, row)
        else:
            parity = sum(crossed(shape, column, row) for shape in shapes) % 2
            assert closed[column, row] == opened[column, row] == parity, (column, row)


@given(polygons, st.sampled_from(("inclusive", "exclusive")))
def test_mirrored_and_turned_polygons_fill_mirrored_and_turned_voxels(shape: list[Corner], rule: Contours) -> None:
    within = fill(shape, side=SIDE, contours=rule)
    mirrored = fill([(SIDE - 1 - c, r) for c, r in shape], side=SIDE, contours=rule)
    turned = fill([(r, c) for c, r in shape][::-1], side=SIDE, contours=rule)
    assert np.array_equal(mirrored[::-1], within)
    assert np.array_equal(turned.T, within)


@given(st.tuples(*[st.integers(0, 8 * SIDE)] * 2), st.booleans())
def test_polygons_that_share_edges_share_no_more_than_these(middle: tuple[int, int], turned: bool) -> None:
    corners, middle_ = [(0, 0), (SIDE, 0), (SIDE, SIDE), (0, SIDE)], (Fraction(middle[0], 8), Fraction(middle[1], 8))
    triangles = [[a, b, middle_] for a, b in edges(corners)]
    triangles = [shape[::-1] if turned else shape for shape in triangles]
    closed = sum(fill(shape, side=SIDE).astype(int) for shape in triangles)
    opened = sum(fill(shape, side=SIDE, contours="exclusive").astype(int) for shape in triangles)
    for column, row in np.ndindex(closed.shape):
        sides = sum(on_edge(shape, column, row) for shape in triangles)
        assert (closed[column, row], opened[column, row]) == ((sides, 0) if sides else (1, 1)), (column, row)


@given(polygons, st.tuples(st.integers(-3, 3), st.integers(-3, 3)), st.integers(0, 8))
def test_shifts_and_the_first_vertex_change_nothing(shape: list[Corner], by: tuple[int, int], first: int) -> None:
    first %= len(shape)
    moved = [(c + by[0] + 3, r + by[1] + 3) for c, r in shape[first:] + shape[:first]]
    within = fill(shape, side=SIDE)
    shifted = fill(moved, side=SIDE + 6)[3 + by[0] : 3 + by[0] + SIDE, 3 + by[1] : 3 + by[1] + SIDE]
    assert np.array_equal(within, shifted)


def box(low: float, high: float) -> list[tuple[float, float]]:
    return [(low, low), (high, low), (high, high), (low, high)]


def test_a_box_takes_all_of_its_sides_or_none() -> None:
    expected = np.zeros((12, 12), dtype=bool)
    expected[2:7, 2:7] = True
    assert np.array_equal(fill(box(2, 6)), expected)
    assert np.array_equal(fill(box(1.5, 6.5)), expected)
    assert np.array_equal(fill(box(2 + 1e-9, 6 - 1e-9)), expected)  # float noise
    assert np.array_equal(fill(box(1, 7), contours="exclusive"), expected)
    assert np.array_equal(fill(box(1 - 1e-9, 7 + 1e-9), contours="exclusive"), expected)


def test_tracings_of_the_voxels_of_a_mask() -> None:
    disc = [(5 + c, 5 + r) for c, r in ((-5, 0), (-4, 3), (-3, 4), (0, 5), (3, 4), (4, 3))]
    disc += [(10 - c, 10 - r) for c, r in disc]
    assert (fill(disc).sum(), fill(disc, contours="exclusive").sum()) == (81, 69)  # 12 centres are on the circle
    for line in ([(3, 4)], [(3, 4), (7, 4)], [(3, 4), (3, 9)], [(3, 4), (6, 7), (3, 4)]):
        assert fill(line).sum() == 1 + max(abs(a - b) for a, b in zip(line[0], line[len(line) // 2], strict=True))
        assert not fill(line, contours="exclusive").any()


def test_holes_islands_and_keyholes() -> None:
    ring = fill(box(0.5, 10.5)) & ~fill(box(2.5, 8.5))
    assert np.array_equal(fill(box(0.5, 10.5), box(2.5, 8.5)), ring)
    assert np.array_equal(fill(box(2.5, 8.5), box(4.5, 6.5), box(0.5, 10.5)), ring | fill(box(4.5, 6.5)))
    keyhole = [*box(0.5, 10.5), (0.5, 0.5), *box(2.5, 8.5)[::-1], (2.5, 8.5)]
    assert np.array_equal(fill(keyhole), ring)
    assert not fill(box(1.5, 5.5), box(1.5, 5.5)).any()


def test_holes_and_keyholes_through_centres() -> None:
    closed = fill(box(1, 9)) & ~fill(box(3, 7), contours="exclusive")
    opened = fill(box(1, 9), contours="exclusive") & ~fill(box(3, 7))
    keyhole = [*box(1, 9), (1, 1), *box(3, 7)[:1], *box(3, 7)[::-1]]  # its cut goes from (1, 1) to (3, 3) and back
    for shapes in ((box(1, 9), box(3, 7)), (keyhole,)):
        assert np.array_equal(fill(*shapes), closed)
        assert np.array_equal(fill(*shapes, contours="exclusive"), opened)


def test_areas_of_discs() -> None:
    angles = np.linspace(0, 2 * np.pi, 720, endpoint=False)
    for radius, centre in ((20.3, 40.2), (35.7, 39.6)):
        disc = np.stack([centre + radius * np.cos(angles), centre + radius * np.sin(angles)], axis=1)
        assert fill(disc, side=80).sum() == pytest.approx(np.pi * radius**2, rel=0.005)


def test_slices_are_filled_each_by_its_own() -> None:
    shapes = [np.array(shape, dtype=float) for shape in (box(1, 5), box(2, 9), box(3, 4))]
    inside = filled(shapes, [2, 0, 2], (12, 12, 3))
    assert np.array_equal(inside[:, :, 0], fill(box(2, 9)))
    assert not inside[:, :, 1].any()
    assert np.array_equal(inside[:, :, 2], fill(box(1, 5), box(3, 4)))


def in_file_order(segment: Segment, series: Series) -> np.ndarray:
    """``(slice, row, column)``"""
    return series.volume.grid.from_canonical(segment.mask.to_array(series.volume.shape)).transpose(2, 1, 0)


def outlined(series: Series, slice_: float, shape: list[tuple[float, float]]) -> np.ndarray:
    """The LPS millimetres of a polygon ``(column, row)`` in a slice."""
    voxels = np.array([(column, row, slice_, 1) for column, row in shape])
    return (voxels @ series.volume.grid.affine.T)[:, :3] * (-1, -1, 1)


def block(slices: slice, low: int, high: int) -> np.ndarray:
    mask = np.zeros(STORED.shape, dtype=bool)
    mask[slices, low:high, low:high] = True
    return mask


@pytest.mark.parametrize(("orientation", "step"), STACKS.values(), ids=STACKS)
def test_regions_on_the_grid_of_the_series(tmp_path: Path, orientation: Any, step: Any) -> None:
    images = write_ct(tmp_path / "ct", STORED, (2.5, 0.7, 0.9), (-110.1, 20.2, 3.3), orientation, step)
    series = read_series(images)
    regions = {
        "shell": [outlined(series, z, box(*b)) for z in (2, 3, 4) for b in ((3, 12), (5, 9))],
        "nothing": [],
        "ball": [outlined(series, 7.3, box(0, 4))],  # not quite in the last slice
    }
    (shell, ball), _ = read_rtstruct(write_rtstruct(tmp_path / "rt", images, regions), series)
    assert (shell.name, shell.number, ball.name, ball.number) == ("shell", 1, "ball", 3)
    assert np.array_equal(in_file_order(shell, series), block(slice(2, 5), 3, 13) & ~block(slice(2, 5), 6, 9))
    assert np.array_equal(in_file_order(ball, series), block(slice(7, 8), 0, 5))


def test_contours_off_slices_and_on_others_than_they_name(tmp_path: Path, wording: SnapshotAssertion) -> None:
    images = write_ct(tmp_path / "ct", STORED)
    series = read_series(images)
    regions = {
        "between": [outlined(series, z, box(3, 12)) for z in (2.4, 3.4)],
        "near": [outlined(series, 5.04, box(3, 12))],
        "named": [outlined(series, z, box(3, 12)) for z in (2, 3)],
    }
    data = pydicom.dcmread(write_rtstruct(tmp_path / "rt", images, regions))
    for contour, image in zip(data.ROIContourSequence[2].ContourSequence, (images[2], images[5]), strict=True):
        contour.ContourImageSequence = [item(ReferencedSOPInstanceUID=pydicom.dcmread(image).SOPInstanceUID)]
    segments, notes = read_rtstruct(save(tmp_path / "rt", data), series)
    assert [np.flatnonzero(in_file_order(one, series).any(axis=(1, 2))).tolist() for one in segments] == [
        [2, 3],
        [5],
        [2, 3],
    ]
    assert segments[0].beside.partition("; also: ")[0] == wording
    assert "off the slices" not in segments[1].beside
    assert notes == wording


@pytest.fixture
def images(tmp_path: Path) -> list[Path]:
    return write_ct(tmp_path / "ct", STORED)


def test_contours_are_cut_off_at_the_sides(tmp_path: Path, images: list[Path], wording: SnapshotAssertion) -> None:
    series = read_series(images)
    contours = [outlined(series, 2, [(-5, -9), (3, -9), (3, 50), (-5, 50)]), outlined(series, 3, box(40, 50))]
    (segment,), _ = read_rtstruct(write_rtstruct(tmp_path / "rt", images, {"a": contours}), series)
    expected = np.zeros(STORED.shape, dtype=bool)
    expected[2, :, :4] = True
    assert np.array_equal(in_file_order(segment, series), expected)
    assert "to 30.5" in segment.beside
    assert segment.beside == wording


def test_what_encloses_nothing_is_left_out_and_told(
    tmp_path: Path, images: list[Path], wording: SnapshotAssertion
) -> None:
    """Points, open contours, contours without points, and regions without contours."""
    series = read_series(images)
    drawn = [outlined(series, slice_, box(2, 6)) for slice_ in (2, 3, 4)]
    regions = {"gtv": drawn, "isocentre": drawn[:1], "lost": drawn[:1], "spine": [], "skin": []}
    data = pydicom.dcmread(write_rtstruct(tmp_path / "rt", images, regions))
    gtv, isocentre, lost = (one.ContourSequence for one in data.ROIContourSequence)
    gtv[0].ContourGeometricType, gtv[2].ContourGeometricType = "OPEN_PLANAR", "OPEN_NONPLANAR"
    isocentre[0].ContourGeometricType, lost[0].ContourData = "POINT", None
    segments, notes = read_rtstruct(save(tmp_path / "rt", data), series)
    assert [(one.name, one.mask.voxels) for one in segments] == [("gtv", 25)]
    assert notes == wording


def test_regions_that_the_file_describes_oddly(tmp_path: Path, images: list[Path], wording: SnapshotAssertion) -> None:
    """In another frame of reference, in two parts, and without a description."""
    series = read_series(images)
    drawn = [outlined(series, slice_, box(2, 6)) for slice_ in (2, 3, 4)]
    data = pydicom.dcmread(write_rtstruct(tmp_path / "rt", images, dict.fromkeys("abcd", drawn)))
    described, contours = data.StructureSetROISequence, data.ROIContourSequence
    for one in described:
        one.ReferencedFrameOfReferenceUID = series.frame_of_reference
    described[0].ReferencedFrameOfReferenceUID = "1.2.3"
    del described[3]  # 4 has contours and no name
    contours.append(item(ReferencedROINumber=2, ContourSequence=[contours[1].ContourSequence.pop()]))
    segments, notes = read_rtstruct(save(tmp_path / "rt", data), series)
    assert [(one.name, one.number, one.mask.voxels) for one in segments] == [("b", 2, 75), ("c", 3, 75), ("", 4, 75)]
    assert notes == wording
    for one in described:
        one.ReferencedFrameOfReferenceUID = "1.2.3"  # of a series that is gone
    assert len(read_rtstruct(save(tmp_path / "rt", data), series)[0]) == 4
    described[1].ROINumber = 3
    with pytest.raises(IntraBenchError) as caught:
        read_rtstruct(save(tmp_path / "rt", data), series)
    assert caught == wording


def test_a_region_between_voxel_centres_is_empty(tmp_path: Path, images: list[Path]) -> None:
    series = read_series(images)
    (segment,), _ = read_rtstruct(
        write_rtstruct(tmp_path / "rt", images, {"dot": [outlined(series, 2, box(2.2, 2.8))]}), series
    )
    assert (segment.name, segment.mask.any()) == ("dot", False)


def test_references(tmp_path: Path, images: list[Path], wording: SnapshotAssertion) -> None:
    series = read_series(images)
    regions = {"a": [outlined(series, 2, box(2, 6))]}
    path = write_rtstruct(tmp_path / "rt", images, regions)
    elsewhere = read_series(write_ct(tmp_path / "elsewhere", STORED, FrameOfReferenceUID="1.2.3"))
    with pytest.raises(IntraBenchError) as caught:
        read_rtstruct(path, elsewhere)
    assert caught == wording
    same_frame = read_series(write_ct(tmp_path / "same", STORED))
    unnamed = write_rtstruct(tmp_path / "unnamed", images, regions, ReferencedFrameOfReferenceSequence=None)
    for file, scan in ((path, same_frame), (unnamed, series), (unnamed, elsewhere)):
        assert read_rtstruct(file, scan)[0][0].mask.voxels == 25


def flat(z: float) -> np.ndarray:
    return np.array([(*corner, z) for corner in box(2, 6)], dtype=float)


def contour(data: Any) -> list[Any]:
    return [item(ReferencedROINumber=1, ContourSequence=[item(ContourGeometricType="CLOSED_PLANAR", ContourData=data)])]


MISPLACED = {
    "on thin slices": ([flat(4), flat(4.5)], r"the region gtv has contours in several planes within one slice"),
    "slanted": ([flat(4) + np.outer([1, 0, 0, 0], [0, 0, 0.5])], r"the region gtv has a contour that extends .* 0.2"),
    "sagittal": ([np.roll(flat(4), 1, axis=1)], r"the region gtv has a contour that extends over 2.0 steps"),
}  # fmt: skip


@pytest.mark.parametrize(("contours", "sentence"), MISPLACED.values(), ids=MISPLACED)
def test_contours_that_belong_elsewhere(
    tmp_path: Path, images: list[Path], contours: list[np.ndarray], sentence: str
) -> None:
    path = write_rtstruct(tmp_path / "rt", images, {"fine": [flat(4)], "gtv": contours})
    with pytest.raises(IntraBenchError, match=f"rt: {sentence}.*; provide .*drawn on$"):
        read_rtstruct(path, read_series(images))


def test_regions_beyond_the_slices_and_beside_the_images(
    tmp_path: Path, images: list[Path], wording: SnapshotAssertion
) -> None:
    regions = {"fine": [flat(4)], "cut": [flat(4), flat(-1.1)], "gone": [flat(17)], "beside": [flat(4) + [100, 0, 0]]}
    path = write_rtstruct(tmp_path / "rt", images, regions)
    series = read_series(images)
    found = {segment.name: segment for segment in read_rtstruct(path, series)[0]}
    assert {name: segment.mask.voxels for name, segment in found.items()} == {
        "fine": 25,
        "cut": 25,
        "gone": 0,
        "beside": 0,
    }
    assert {name: segment.lost for name, segment in found.items()} == {
        "fine": "",
        "cut": wording,
        "gone": wording,
        "beside": "",
    }
    assert found["beside"].beside == wording
    with pytest.raises(IntraBenchError) as caught:
        kept_segments(list(found.values()), "refuse")
    assert caught == wording
    for outside, names, voxels in (("cut", list(found), 50), ("omit", ["fine", "beside"], 25)):
        kept, notes = kept_segments(list(found.values()), outside)
        assert [segment.name for segment in kept] == names
        assert sum(segment.mask.voxels for segment in kept) == voxels
        assert len(notes) == 4  # the fourth is on the contours through centres, once
    with pytest.raises(IntraBenchError) as caught:
        kept_segments([found["gone"]], "cut")
    assert caught == wording


BROKEN = r"cannot be read: it is truncated or damaged \(.+\); fetch or export it again"
REFUSED: dict[str, tuple[Callable[[Path], Any], str]] = {
    "no end": (lambda p: p.write_bytes(p.read_bytes()[:-100]), f"rt {BROKEN}"),
    "no contours": (lambda p: change(p, ROIContourSequence=None), r"rt has no ROIContourSequence: it is truncated, or"),
    "no regions": (lambda p: change(p, StructureSetROISequence=None), r"rt has no StructureSetROISequence"),
    "half a point": (lambda p: change(p, ROIContourSequence=contour([1, 2, 3, 4])), f"rt: the region a {BROKEN}"),
    "scan": (lambda p: change(p, Modality="CT"), r"rt is a CT file, expected an RTSTRUCT; give the structure set"),
    "text": (lambda p: p.write_text("no DICOM" * 50), r"rt is not a DICOM file"),
}


@pytest.mark.parametrize(("harm", "sentence"), REFUSED.values(), ids=REFUSED)
def test_refusals(tmp_path: Path, images: list[Path], harm: Callable[[Path], Any], sentence: str) -> None:
    path = write_rtstruct(tmp_path / "rt", images, {"a": [flat(4)]})
    harm(path)
    with pytest.raises(IntraBenchError, match=sentence) as refused:
        read_rtstruct(path, read_series(images))
    assert "\n" not in str(refused.value)


@pytest.mark.filterwarnings("ignore:Invalid value for VR DS")
def test_coordinates_that_are_not_finite(tmp_path: Path, images: list[Path], wording: SnapshotAssertion) -> None:
    path = write_rtstruct(tmp_path / "rt", images, {"a": [flat(4) * [1, np.nan, 1]]})
    with pytest.raises(IntraBenchError) as caught:
        read_rtstruct(path, read_series(images))
    assert caught == wording


def test_regions_through_centres(tmp_path: Path, images: list[Path], wording: SnapshotAssertion) -> None:
    """A square of 10 x 10 voxels in 6 slices, traced through its outer voxels, in millimetres of two decimals."""
    series = read_series(images)
    noise = np.random.default_rng(1).uniform(-0.01, 0.01, (6, 4, 3)) * (1, 1, 0)
    square = [outlined(series, z, box(4, 13)) + noise[z] for z in range(6)]
    coarse = [outlined(series, z, box(4, 13) + [(4, 8.4)]) for z in range(6)]
    path = write_rtstruct(tmp_path / "rt", images, {"square": square, "twice": square[:2], "coarse": coarse})
    for rule, voxels in (("inclusive", [600, 200, 600]), ("exclusive", [384, 128, 384])):
        found, _ = read_rtstruct(path, series, rule)
        assert [one.mask.voxels for one in found] == voxels
        _, notes = kept_segments(found, "refuse")
        assert notes == [wording(name=rule)]
        assert found[2].beside == ""
    assert np.array_equal(in_file_order(found[0], series), block(slice(0, 6), 5, 13))
