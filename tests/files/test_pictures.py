"""Picture files that hold several pictures: a stack of slices, a photograph with more behind it, or a refusal."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, TiffImagePlugin
from syrupy.assertion import SnapshotAssertion

from intrabench.errors import IntraBenchError
from intrabench.files.label_files import read_label_file
from intrabench.files.pictures import notes_on, open_picture, pages, read_stack

STACK = np.random.default_rng(0).integers(0, 60_000, (4, 6, 5)).astype(np.uint16)
IMAGEJ = "ImageJ=1.53t\nimages=4\nslices=4\nunit=micron\nspacing=-2.0\nloop=false\n"
OME = (
    '<?xml version="1.0"?><OME xmlns="o"><Image ID="a"><Pixels SizeC="{c}" SizeT="1" SizeX="5" SizeY="6" SizeZ="4" '
    'PhysicalSizeX="0.25" PhysicalSizeY="500" PhysicalSizeYUnit="{unit}" PhysicalSizeZ="2"/></Image></OME>'
)


def tiff(path: Path, arrays: Any, text: str = "", per_unit: tuple[float, float] = (1, 1), **tags: Any) -> Path:
    """Pages of a TIFF file; the text and the pixels per unit along x and y are of the first one."""
    info = TiffImagePlugin.ImageFileDirectory_v2()
    info[282], info[283] = per_unit
    if text:
        info[270], info.tagtype[270] = text.encode(), TiffImagePlugin.TiffTags.ASCII
    first, *others = [Image.fromarray(one) for one in arrays]
    first.save(path, save_all=True, append_images=others, tiffinfo=info, **tags)
    return path


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int32, np.float32])
@pytest.mark.parametrize("compression", [None, "tiff_lzw"])
def test_pages_are_read_in_order(tmp_path: Path, dtype: type, compression: str | None) -> None:
    path = tiff(tmp_path / "a.tif", STACK.astype(dtype), compression=compression)
    stack = read_stack(path)
    assert (pages(path), stack.array.dtype, stack.spacing_mm) == (4, dtype, None)
    assert np.array_equal(stack.array, STACK.astype(dtype))


@pytest.mark.parametrize(
    ("text", "spacing"),
    [
        (IMAGEJ, (2e-3, 0.25e-3, 0.5e-3)),
        (IMAGEJ.replace("micron", r"\u00B5m"), (2e-3, 0.25e-3, 0.5e-3)),
        (IMAGEJ.replace("micron", "mm"), (2.0, 0.25, 0.5)),
        (IMAGEJ.replace("micron", "pixel"), None),
        (IMAGEJ.replace("unit=micron\n", ""), None),
        (IMAGEJ.replace("spacing=-2.0\n", ""), None),
        (OME.format(c=1, unit="µm"), (2e-3, 0.5, 0.25e-3)),
        (OME.format(c=1, unit="nm"), (2e-3, 0.5e-3, 0.25e-3)),
        (OME.format(c=1, unit="pixel"), None),
        ("a scan", None),
        ("", None),
    ],
)
def test_the_spacing_is_what_the_file_states(tmp_path: Path, text: str, spacing: tuple[float, ...] | None) -> None:
    found = read_stack(tiff(tmp_path / "a.tif", STACK, text, (2, 4))).spacing_mm
    assert found == (spacing if spacing is None else pytest.approx(spacing))


def test_smaller_versions_of_a_picture_do_not_count(tmp_path: Path) -> None:
    small = TiffImagePlugin.ImageFileDirectory_v2()
    small[254] = 1
    with TiffImagePlugin.AppendingTiffWriter(tmp_path / "a.tif", new=True) as file:
        Image.fromarray(STACK[0]).save(file, "TIFF")
        file.newFrame()
        Image.fromarray(STACK[0, ::2, ::2]).save(file, "TIFF", tiffinfo=small)
    with Image.open(tmp_path / "a.tif") as picture:
        assert picture.n_frames == 2  # type: ignore[attr-defined]
    assert pages(tmp_path / "a.tif") == 1
    assert np.array_equal(np.array(open_picture(tmp_path / "a.tif")), STACK[0])


COLOURS = np.zeros((2, 6, 5, 3), np.uint8)


NO_STACKS: Mapping[str, tuple[Any, str]] = {
    "sizes": ([STACK[0], STACK[1, :3]], ""),
    "kinds": ([STACK[0], STACK[1].astype(np.uint8)], ""),
    "colours": (COLOURS, ""),
    "channels": (STACK, IMAGEJ + "channels=2\nframes=2\n"),
    "channels of OME": (STACK, OME.format(c=4, unit="µm")),
    "lost pages": (STACK[:3], IMAGEJ),
}


@pytest.mark.parametrize("kind", NO_STACKS)
def test_what_is_no_stack(tmp_path: Path, kind: str, wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        read_stack(tiff(tmp_path / "a.tif", *NO_STACKS[kind]))
    assert caught == wording


def test_a_large_stack_of_imagej_describes_its_first_page_only(tmp_path: Path) -> None:
    path = tiff(tmp_path / "a.tif", STACK[:1], IMAGEJ)
    assert pages(path) == 4
    with pytest.raises(IntraBenchError, match="its description says 4"):
        read_stack(path)


@pytest.mark.parametrize("ending", ["tif", "png", "webp", "gif"])
def test_one_picture_is_expected(tmp_path: Path, ending: str, wording: SnapshotAssertion) -> None:
    path, arrays = tmp_path / f"a.{ending}", (STACK[:2] >> 8).astype(np.uint8)
    Image.fromarray(arrays[0]).save(path, save_all=True, append_images=[Image.fromarray(arrays[1])])
    with pytest.raises(IntraBenchError) as caught:
        open_picture(path)
    assert caught == wording
    if ending == "png":
        with pytest.raises(IntraBenchError, match="has 2 pictures"):
            read_label_file(path)


def test_the_first_of_a_photograph_is_used_and_the_others_are_named(tmp_path: Path, wording: SnapshotAssertion) -> None:
    arrays = [np.full((8, 8, 3), value, np.uint8) for value in (40, 200)]
    first, second = map(Image.fromarray, arrays)
    first.save(tmp_path / "a.jpg", "MPO", save_all=True, append_images=[second])
    picture = open_picture(tmp_path / "a.jpg")
    assert abs(int(np.array(picture).mean()) - 40) < 5
    assert notes_on(picture) == wording
    first.save(tmp_path / "b.jpg")
    assert notes_on(open_picture(tmp_path / "b.jpg")) == ()
