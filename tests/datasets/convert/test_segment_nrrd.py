"""Files of several segments: NRRD as 3D Slicer writes it, NIfTI with a channel per segment."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import nibabel as nib
import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.datasets.convert.segment_nrrd import drawn_in, has_segments
from intrabench.errors import IntraBenchError
from intrabench.volume import Grid
from tests.wording import without_reasons

SHAPE = (12, 10, 8)
GRID = Grid(SHAPE, np.array([[-1.0, 0, 0, 3], [0, -2.0, 0, 4], [0, 0, 3.0, 5], [0, 0, 0, 1]]))


def masks() -> tuple[np.ndarray, np.ndarray]:
    """Two masks that overlap, ``(x, y, z)``."""
    head, mass = np.zeros(SHAPE, dtype=bool), np.zeros(SHAPE, dtype=bool)
    head[2:9, 3:8, 1:7], mass[4:11, 2:6, 4:8] = True, True
    return head, mass


def write(path: Path, array: np.ndarray, header: Sequence[str], first: Sequence[int] = (0, 0, 0)) -> Path:
    """An NRRD in LPS on the voxels of `GRID` from `first` on; `array`: ``(x, y, z)``, or layers of such."""
    origin = np.diag((-1, -1, 1)) @ (GRID.affine[:3, :3] @ first + GRID.affine[:3, 3])
    layered = array.ndim == 4
    lines = [
        "NRRD0004",
        "type: unsigned char",
        f"dimension: {array.ndim}",
        "space: left-posterior-superior",
        f"sizes: {' '.join(map(str, array.shape))}",
        f"space directions: {'none ' * layered}(1,0,0) (0,2,0) (0,0,3)",
        f"kinds: {'list ' * layered}domain domain domain",
        "encoding: raw",
        f"space origin: ({','.join(map(str, origin))})",
        *header,
        "",
        "",
    ]
    path.write_bytes("\n".join(lines).encode() + array.astype(np.uint8).T.tobytes())
    return path


def described(*segments: tuple[str, int, int]) -> list[str]:
    """Header lines of segments: name, layer, value."""
    return [
        f"Segment{index}_{key}:={value}"
        for index, (name, layer, number) in enumerate(segments)
        for key, value in (("ID", f"s{index}"), ("Name", name), ("Layer", layer), ("LabelValue", number))
    ]


def read(path: Path, grid: Grid = GRID) -> dict[str, np.ndarray]:
    """The segments of a file by name, in file order."""
    found = {}
    for segment in (drawn.onto(grid) for drawn in drawn_in(path)):
        canonical = grid.to_canonical(np.zeros(grid.shape)).shape
        found[f"{segment.name} {segment.number}"] = grid.from_canonical(segment.mask.to_array(canonical))
    return found


def test_values_of_one_layer(tmp_path: Path) -> None:
    head, mass = masks()
    path = write(tmp_path / "a.seg.nrrd", np.where(mass, 7, head), described(("Head", 0, 1), ("Mass", 0, 7)))
    assert has_segments(path)
    found = read(path)
    assert list(found) == ["Head 1", "Mass 7"]
    assert np.array_equal(found["Head 1"], head & ~mass)
    assert np.array_equal(found["Mass 7"], mass)


def test_values_without_a_segment_are_segments_without_a_name(tmp_path: Path, wording: SnapshotAssertion) -> None:
    head, mass = masks()
    drawn = np.where(mass, 7, head)
    found = read(write(tmp_path / "a.seg.nrrd", drawn, described(("Head", 0, 1))))
    assert list(found) == ["Head 1", " 7"]
    assert np.array_equal(found[" 7"], mass)
    with pytest.raises(IntraBenchError) as caught:
        read(write(tmp_path / "b.seg.nrrd", drawn, described(("Head", 0, 1), ("Skull", 0, 1))))
    assert caught == wording


def test_layers_overlap(tmp_path: Path) -> None:
    head, mass = masks()
    layers = np.stack([head, 3 * mass])
    found = read(write(tmp_path / "a.seg.nrrd", layers, described(("Head", 0, 1), ("Mass", 1, 3))))
    assert np.array_equal(found["Head 1"], head)
    assert np.array_equal(found["Mass 3"], mass)


def test_files_of_older_versions_have_a_layer_per_segment_and_say_no_values(tmp_path: Path) -> None:
    head, mass = masks()
    names = ["Segment0_Name:=Head", "Segment1_Name:=Mass", "Segment1_Color:=1 0 0"]
    found = read(write(tmp_path / "a.seg.nrrd", np.stack([head, mass]), names))
    assert np.array_equal(found["Head 1"], head)
    assert np.array_equal(found["Mass 1"], mass)
    assert list(read(write(tmp_path / "b.seg.nrrd", head, names[:1]))) == ["Head 1"]


def test_a_file_that_is_cropped_to_what_was_drawn(tmp_path: Path) -> None:
    head, _ = masks()
    path = write(tmp_path / "a.seg.nrrd", head[2:9, 3:8, 1:7], described(("Head", 0, 1)), first=(2, 3, 1))
    assert np.array_equal(read(path)["Head 1"], head)


def test_what_lies_beyond_the_image_is_cut_off_and_counted(tmp_path: Path) -> None:
    head, _ = masks()
    path = write(tmp_path / "a.seg.nrrd", head, described(("Head", 0, 1)), first=(5, 0, 0))
    moved = np.zeros_like(head)
    moved[5:] = head[:-5]
    assert np.array_equal(read(path)["Head 1"], moved)
    (drawn,) = drawn_in(path)
    assert drawn.beyond(GRID) == head.sum() - moved.sum() == 60
    assert drawn.beyond(Grid((99, 99, 99), GRID.affine)) == 0


@pytest.mark.parametrize("codes", ["RAS", "SPL", "PIR"])
def test_the_order_of_axes_of_the_image_does_not_matter(tmp_path: Path, codes: str) -> None:
    head, _ = masks()
    path = write(tmp_path / "a.seg.nrrd", head, described(("Head", 0, 1)))
    turned = nib.Nifti1Image(head.astype(np.uint8), GRID.affine)
    wanted = nib.orientations.ornt_transform(
        nib.io_orientation(GRID.affine), nib.orientations.axcodes2ornt(tuple(codes))
    )
    turned = turned.as_reoriented(wanted)
    assert np.array_equal(read(path, Grid(turned.shape, turned.affine))["Head 1"], np.asarray(turned.dataobj))


def test_nothing_drawn(tmp_path: Path) -> None:
    empty = write(tmp_path / "a.seg.nrrd", np.zeros((1, 1, 1)), described(("Head", 0, 1)))
    assert has_segments(empty)
    assert read(empty) == {}
    assert read(write(tmp_path / "b.seg.nrrd", masks()[0], described(("Head", 0, 2), ("Mass", 0, 1)))).keys() == {
        "Mass 1"
    }


def test_plain_label_maps_have_no_segments(tmp_path: Path) -> None:
    assert not has_segments(write(tmp_path / "a.nrrd", masks()[0], []))
    nib.save(nib.Nifti1Image(masks()[0].astype(np.uint8), GRID.affine), tmp_path / "a.nii.gz")
    assert not has_segments(tmp_path / "a.nii.gz")
    assert not has_segments(tmp_path / "a.mha")


@pytest.mark.parametrize("background", [True, False])
def test_a_channel_per_segment(tmp_path: Path, background: bool) -> None:
    head, mass = masks()
    channels = [~(head | mass)] * background + [head, np.zeros_like(head), mass]
    path = tmp_path / "a.nii.gz"
    nib.save(nib.Nifti1Image(np.stack(channels, axis=-1).astype(np.uint8), GRID.affine), path)
    assert has_segments(path)
    found = read(path)
    assert list(found) == [" 1", " 3"]
    assert np.array_equal(found[" 1"], head)
    assert np.array_equal(found[" 3"], mass)


def test_files_that_cannot_be_read(tmp_path: Path, wording: SnapshotAssertion) -> None:
    head, _ = masks()
    layer = write(tmp_path / "layer.seg.nrrd", head, described(("Head", 4, 1)))
    with pytest.raises(IntraBenchError) as caught:
        read(layer)
    assert caught == wording
    cut = write(tmp_path / "cut.seg.nrrd", head, described(("Head", 0, 1)))
    cut.write_bytes(cut.read_bytes()[:-100])
    with pytest.raises(IntraBenchError) as caught:
        read(cut)
    assert without_reasons(str(caught.value)) == wording
    cut.write_bytes(b"NRRD0004\nnothing")
    with pytest.raises(IntraBenchError) as caught:
        has_segments(cut)
    assert without_reasons(str(caught.value)) == wording
    numbered = nib.Nifti1Image(np.stack([head, 3 * head], axis=-1).astype(np.uint8), GRID.affine)
    nib.save(numbered, tmp_path / "n.nii.gz")
    with pytest.raises(IntraBenchError) as caught:
        read(tmp_path / "n.nii.gz")
    assert caught == wording
