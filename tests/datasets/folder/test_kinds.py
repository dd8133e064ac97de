"""Kinds of files that people have: each gives the right targets, a note, or one sentence that leads there."""

from __future__ import annotations

import gzip
import struct
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import pytest
from PIL import Image
from scipy import ndimage
from syrupy.assertion import SnapshotAssertion

from intrabench.errors import IntraBenchError
from intrabench.registry import registry
from tests.datasets.folder.made import AFFINE, NO_FILES, image, labels, pair

RNG = np.random.default_rng(0)
PHOTO = RNG.integers(0, 255, (24, 32, 3)).astype(np.uint8)
DRAWN = np.zeros((24, 32), np.uint8)
DRAWN[3:10, 3:12], DRAWN[12:20, 15:28] = 1, 2
WHITE = np.where(DRAWN == 1, 255, 0).astype(np.uint8)
COLOURS = np.array([(0, 0, 0), (255, 0, 0), (0, 255, 128)], np.uint8)
RED_AND_GREEN = COLOURS[DRAWN]
GREY = DRAWN[..., None].repeat(3, 2)
RING = np.where(ndimage.morphological_gradient(WHITE, 3) > 0, 128, WHITE).astype(np.uint8)
BOTH = {"object.1": 63, "object.2": 104}
ONE = {"object.1": 63}
NAMES = '[labels]\n"#FF0000" = "cat"\n"#00ff80" = "dog"\n'
NAMED = {"cat.1": 63, "dog.1": 104}
TURNED = Image.Exif()
TURNED[0x0112] = 6

Make = Callable[[Path], object]


def put(path: Path, what: np.ndarray | Image.Image | bytes, **options: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(what, bytes):
        path.write_bytes(what)
    else:
        (Image.fromarray(what) if isinstance(what, np.ndarray) else what).save(path, **options)


def mask(what: np.ndarray | Image.Image | bytes, name: str = "a.png", rules: str = "", **options: Any) -> Make:
    """A folder with one photograph and this mask."""

    def make(root: Path) -> None:
        put(root / "images" / "a.png", PHOTO)
        put(root / "masks" / name, what, **options)
        (root / "dataset.toml").write_text(rules)

    return make


def photo(what: np.ndarray | Image.Image | bytes, name: str = "a.png", **options: Any) -> Make:
    """A folder with this photograph and its mask."""

    def make(root: Path) -> None:
        put(root / "images" / name, what, **options)
        put(root / "masks" / "a.png", WHITE)

    return make


def palette(drawn: np.ndarray, *colours: int) -> Image.Image:
    picture = Image.fromarray(drawn)
    picture.putpalette(colours)
    return picture


def deep(colours: np.ndarray) -> bytes:
    """A PNG file with 16 bits per colour."""
    height, width, _ = colours.shape
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in colours)
    parts = {
        b"IHDR": struct.pack(">IIBBBBB", width, height, 16, 2, 0, 0, 0),
        b"IDAT": zlib.compress(rows),
        b"IEND": b"",
    }
    chunks = [struct.pack(">I", len(d)) + t + d + struct.pack(">I", zlib.crc32(t + d)) for t, d in parts.items()]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def alpha(colours: np.ndarray, shown: np.ndarray) -> np.ndarray:
    return np.dstack([colours, shown])


PICTURES: Mapping[str, tuple[Make, dict[str, int] | None]] = {
    "a mask in JPEG": (mask(WHITE, "a.jpg"), None),
    "a mask in JPEG with a coding": (mask(WHITE, "a.jpg", 'coding = "any"'), None),
    "a mask in JPEG, cut": (mask(WHITE, "a.jpg", "threshold = 0.5"), ONE),
    "a mask in TIFF packed as JPEG": (mask(WHITE, "a.tif", compression="jpeg"), None),
    "colours": (mask(RED_AND_GREEN), None),
    "colours with names": (mask(RED_AND_GREEN, rules=NAMES), NAMED),
    "colours without all names": (mask(RED_AND_GREEN, rules='[labels]\n"#ff0000" = "cat"'), {"cat.1": 63}),
    "colours, packed": (mask(RED_AND_GREEN, rules='coding = "packed"'), BOTH),
    "colours, any": (mask(RED_AND_GREEN, rules='coding = "any"'), {"object.1": 167}),
    "colours with a smooth border": (
        mask(Image.fromarray(RED_AND_GREEN).resize((96, 72), Image.Resampling.BILINEAR).resize((32, 24)), rules=NAMES),
        None,
    ),
    "a photograph for a mask": (mask(PHOTO, rules=NAMES), None),
    "colours of 16 bits": (mask(deep(GREY.astype(int) * 300), rules='coding = "packed"'), None),
    "colours behind transparency": (mask(alpha(RED_AND_GREEN, 255 * (DRAWN > 0).astype(np.uint8)), rules=NAMES), NAMED),
    "a shape in transparency": (mask(alpha(np.full_like(PHOTO, 255), WHITE), rules='coding = "any"'), None),
    "a palette with colours and names": (mask(palette(DRAWN, *COLOURS.ravel()), rules=NAMES), NAMED),
    "a palette that begins with white": (mask(palette((WHITE == 0).astype(np.uint8), 255, 255, 255, 0, 0, 0)), None),
    "grey in colours": (mask(GREY), BOTH),
    "grey with transparency": (mask(Image.fromarray(WHITE).convert("LA")), ONE),
    "16 bits": (mask(300 * DRAWN.astype(np.uint16)), BOTH),
    "fractions": (mask(DRAWN / np.float32(2), "a.tif"), None),
    "whole floats": (mask(DRAWN.astype(np.float32), "a.tif"), BOTH),
    "one bit": (mask(Image.fromarray(WHITE).convert("1")), ONE),
    "one level of grey on borders": (mask(RING), None),
    "one level of grey": (mask(np.choose(DRAWN, [0, 128, 255]).astype(np.uint8)), BOTH),
    "a mask on its side": (mask(np.rot90(DRAWN)), None),
    "a mask that its tag turns": (mask(np.rot90(DRAWN), exif=TURNED), BOTH),
    "a file of 0 bytes": (mask(b""), None),
    "a photograph of 16 bits": (photo(deep(PHOTO.astype(int) * 200)), ONE),
    "a photograph in CMYK": (photo(Image.fromarray(PHOTO).convert("CMYK"), "a.jpg"), ONE),
    "a photograph with a profile": (photo(PHOTO, icc_profile=b"Display P3"), ONE),
    "a photograph in sRGB": (photo(PHOTO, icc_profile=b"s\0R\0G\0B\0 IEC"), ONE),
    "a photograph of one colour": (photo(np.zeros_like(PHOTO)), None),
    "a photograph with NaN": (photo(np.where(DRAWN > 0, np.nan, PHOTO[..., 0]).astype(np.float32), "a.tif"), None),
}  # fmt: skip


def volume(change: Callable[[Path], object]) -> Make:
    """A folder with a scan and its labels, changed afterwards."""

    def make(root: Path) -> None:
        pair(root, drawn=np.where(labels() > 2, 0, labels()))
        (root / "dataset.toml").write_text('[labels]\n1 = "one"\n2 = "two"\n')
        change(root)

    return make


def instead(folder: str, array: np.ndarray, change: Callable[[Any], object] = id) -> Make:
    """Another image or label map."""

    def put(root: Path) -> None:
        scan = nib.Nifti1Image(array, AFFINE)
        change(scan.header)
        nib.save(scan, root / folder / "c1.nii.gz")

    return volume(put)


def written(name: str, head: str = "", **replaced: str) -> Make:
    """The scan and its labels as NRRD or MetaImage, with more lines in the header of the scan, or changed ones."""

    def put(root: Path) -> None:
        import SimpleITK as sitk  # takes a while

        for folder in ("images", "labels"):
            path = root / folder / "c1.nii.gz"
            sitk.WriteImage(sitk.ReadImage(path), path.with_name(name))
            path.unlink()
        data = (root / "images" / name).read_bytes()
        for old, new in replaced.items():
            assert old.encode() in data
            data = data.replace(old.encode(), new.encode(), 1)
        (root / "images" / name).write_bytes(data.replace(b"\n", b"\n" + head.encode(), 1))

    return volume(put)


def without_orientation(root: Path) -> None:
    for folder in ("images", "labels"):
        scan: Any = nib.load(root / folder / "c1.nii.gz")
        data = bytearray(nib.MGHImage(np.asarray(scan.dataobj), AFFINE).to_bytes())
        data[28:30] = b"\0\0"
        (root / folder / "c1.mgz").write_bytes(gzip.compress(bytes(data)))
        (root / folder / "c1.nii.gz").unlink()


def strays(root: Path) -> None:
    for name in ("images/b.h5", "images/c.nii.zst", "labels/more/d.h5", "README", "notes.txt", ".hidden/e.h5"):
        put(root / name, b"data")
    (root / "loop").symlink_to(root)


def links(root: Path) -> None:
    """What git-annex leaves of files that were not fetched, and a link to itself."""
    for name, place in (("images/c1.nii.gz", "../.git/annex/1.nii.gz"), ("labels/c1.nii.gz", "c1.nii.gz")):
        (root / name).unlink()
        (root / name).symlink_to(place)


TWO = {"one.1": 144, "two.1": 49}
FROM_1 = np.where(labels() == 1, 2, 1).astype(np.uint8)
RGB = np.dtype([(colour, np.uint8) for colour in "RGB"])
VOLUMES: Mapping[str, tuple[Make, dict[str, int] | None]] = {
    "scaled labels": (instead("labels", labels(), lambda head: head.set_slope_inter(0.5, 0)), None),
    "labels from 1 on": (
        instead("labels", FROM_1),
        {"one.1": 3456, "two.1": 144},
    ),
    "labels below 0": (instead("labels", -labels().astype(np.int16)), None),
    "labels with NaN": (instead("labels", np.where(labels() > 2, np.nan, labels()).astype(np.float32)), None),
    "labels in colours": (instead("labels", labels().astype(RGB)), None),
    "a scan in colours": (instead("images", image().astype(np.uint8).astype(RGB)), None),
    "a complex scan": (instead("images", image().astype(np.complex64)), None),
    "a scan of two axes": (instead("images", image()[..., 0]), None),
    "a scan of five axes": (instead("images", image()[..., None, None].repeat(3, 4)), None),
    "a scan that says it has labels": (instead("images", image(), lambda head: head.set_intent("label")), TWO),
    "NRRD": (written("c1.nrrd"), TWO),
    "NRRD of a scanner": (written("c1.nrrd", **{"space: left-posterior-superior": "space: scanner-xyz"}), TWO),
    "NRRD with an axis of time": (written("c1.nrrd", **{"domain domain domain": "domain domain time"}), TWO),
    "MetaImage": (written("c1.mha"), TWO),
    "MetaImage with two orientations": (written("c1.mha", **{"Orientation = RAI": "Orientation = LPI"}), TWO),
    "MGH": (volume(without_orientation), TWO),
    "files of unknown kind": (volume(strays), TWO),
    "a damaged npz": (volume(lambda root: put(root / "x.npz", b"damaged")), TWO),
    "links to nothing": (volume(links), None),
    "a scan of 0 bytes": (volume(lambda root: put(root / "images" / "c1.nii.gz", b"")), None),
}


def frames(masks: np.ndarray, more: Callable[[Path], object] = id) -> Make:
    """A video of two frames."""

    def make(root: Path) -> None:
        for number in range(2):
            put(root / "images" / "v" / f"{number}.png", PHOTO)
            put(root / "masks" / "v" / f"{number}.png", masks)
        more(root)

    return make


def turned_back(root: Path) -> None:
    for number in range(2):
        put(root / "images" / "v" / f"{number}.png", np.rot90(PHOTO), exif=TURNED)


VIDEOS: Mapping[str, tuple[Make, dict[str, int] | None]] = {
    "a video in black and white": (frames(WHITE), {"object.1": 126}),
    "a video in colours": (frames(RED_AND_GREEN), None),
    "a video in colours with names": (
        frames(RED_AND_GREEN, lambda root: (root / "dataset.toml").write_text(NAMES)),
        {"cat.1": 126, "dog.1": 208},
    ),
    "a video that is turned": (frames(WHITE, turned_back), {"object.1": 126}),
    "a video with a frame in grey": (
        frames(WHITE, lambda root: put(root / "images/v/1.png", 99 * DRAWN.astype(np.uint16))),
        None,
    ),
    "a video with two frames of one name": (
        frames(WHITE, lambda root: put(root / "images" / "v" / "1.jpg", PHOTO)),
        None,
    ),
    "a video and masks of another": (
        frames(WHITE, lambda root: put(root / "masks" / "w" / "0.png", WHITE)),
        {"object.1": 126},
    ),
}


KINDS = {**PICTURES, **VOLUMES, **VIDEOS}


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_of_files(kind: str, tmp_path: Path, wording: SnapshotAssertion) -> None:
    make, expected = KINDS[kind]
    make(tmp_path / "set")
    dataset = registry.make("datasets", str(tmp_path / "set"))
    (case,) = dataset.cases()
    if expected is None:
        with pytest.raises(IntraBenchError) as caught:
            dataset.load(case, NO_FILES)
        assert caught == wording
        return
    scan, targets = dataset.load(case, NO_FILES)
    assert {one.id: one.mask.voxels for one in targets} == expected
    if told := [*dataset.remarks(), *scan.notes]:
        assert told == wording
