"""Pictures and masks of natural images: colours, numbers, sizes and pairs, pixel for pixel as OpenCV reads them."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image
from syrupy.assertion import SnapshotAssertion

from intrabench.datasets.cases.stored_case import StoredCase, read_index, write_case
from intrabench.datasets.convert.photo import IGNORED, Coding, photo_case, photo_targets, read_ids, read_photo
from intrabench.datasets.convert.photo_size import resize_ids, resize_photo, within
from intrabench.datasets.photo_sets import paired
from intrabench.errors import IntraBenchError
from intrabench.mask import Array
from intrabench.volume import Volume

DAVIS = Path(__file__).parents[4] / "shared" / "data" / "natural"
"""Frames and masks of DAVIS: davis_SEQUENCE_NUMBER.jpg and .png. They may not be handed on."""
RNG = np.random.default_rng(0)
COLOURS = RNG.integers(0, 256, (20, 30, 3), dtype=np.uint8)


def saved(path: Path, array: Array, mode: str | None = None, **options: object) -> Path:
    picture = Image.fromarray(array)
    (picture.convert(mode) if mode else picture).save(path, **options)
    return path


def bgr(path: Path) -> Array:
    """As RClicks reads pictures and masks."""
    found = cv2.imread(str(path))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("suffix", "mode"), [("png", "RGB"), ("jpg", "RGB"), ("bmp", "RGB"), ("png", "L"), ("png", "1")]
)
def test_a_picture_is_one_canonical_slice(tmp_path: Path, suffix: str, mode: str) -> None:
    path = saved(tmp_path / f"a.{suffix}", COLOURS, mode)
    volume = read_photo(path)
    assert volume.shape == (1, 20, 30)
    assert volume.spacing_mm == (1, 1, 1)
    assert volume.array.dtype == np.uint8
    assert np.array_equal(volume.array[0], bgr(path)[..., ::-1])


def test_palettes_and_transparency(tmp_path: Path) -> None:
    palette = Image.fromarray(COLOURS).quantize(16)
    palette.save(tmp_path / "palette.png")
    assert np.array_equal(read_photo(tmp_path / "palette.png").array[0], np.asarray(palette.convert("RGB")))
    shades = np.dstack([COLOURS, np.full(COLOURS.shape[:2], 255, np.uint8)])
    shades[:10, :, 3] = 0
    found = read_photo(saved(tmp_path / "alpha.png", shades)).array[0]
    assert (found[:10] == 255).all()
    assert np.array_equal(found[10:], COLOURS[10:])


def test_sixteen_bits_of_grey_stay(tmp_path: Path) -> None:
    grey = RNG.integers(0, 2**16, (20, 30), dtype=np.uint16)
    volume = read_photo(saved(tmp_path / "grey.png", grey))
    assert volume.array.shape == (1, 20, 30)
    assert np.array_equal(volume.array[0], grey)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_the_orientation_of_the_camera_is_applied(tmp_path: Path, orientation: int) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    path = saved(tmp_path / "a.jpg", COLOURS, exif=exif, quality=95)
    assert np.array_equal(read_photo(path).array[0], bgr(path)[..., ::-1])
    assert read_ids(path, "packed").shape == ((20, 30) if orientation < 5 else (30, 20))


def test_codings_are_those_of_rclicks(tmp_path: Path) -> None:
    levels = RNG.choice(np.array([0, 1, 64, 128, 129, 255], dtype=np.uint8), (20, 30, 3))
    levels[:5] = 0
    path = saved(tmp_path / "mask.png", levels)
    read = bgr(path).astype(np.int32)
    band = read[..., 0]
    assert np.array_equal(read_ids(path, "any"), read.max(axis=2) > 0)
    assert np.array_equal(read_ids(path, "channel0"), np.where(band == 128, -1, band > 128))
    assert np.array_equal(read_ids(path, "packed"), read @ (65536, 256, 1))


@pytest.mark.parametrize(("dtype", "mode"), [(np.uint8, "P"), (np.uint8, "L"), (np.uint16, None), (bool, None)])
def test_numbers_of_a_palette(tmp_path: Path, dtype: type, mode: str | None) -> None:
    numbers = RNG.integers(0, 2 if dtype is bool else 5, (20, 30)).astype(dtype)
    path = tmp_path / "mask.png"
    picture = Image.fromarray(numbers)
    if mode == "P":
        picture.putpalette(RNG.integers(0, 256, 768, dtype=np.uint8).tobytes())
    picture.save(path)
    assert np.array_equal(read_ids(path, "palette"), numbers)
    assert np.array_equal(read_ids(path, "palette", void=1) == IGNORED, numbers == 1)


def test_targets_bear_their_numbers_and_what_is_ignored() -> None:
    ids = np.zeros((6, 8), dtype=np.int32)
    ids[0, 0], ids[2:4, 2:5], ids[5, 7], ids[1] = 7, 2**24 - 1, IGNORED, 3
    volume = Volume.from_canonical(COLOURS[None, :6, :8])
    found = photo_targets(ids, "street", volume, "car")
    assert [target.id for target in found] == ["car.3", "car.7", "car.16777215"]
    for target in found:
        assert (target.case, target.shape, target.spacing_mm) == ("street", (1, 6, 8), (1, 1, 1))
        assert np.array_equal(target.mask.to_array((1, 6, 8))[0], ids == target.instance)
        assert np.array_equal(target.ignore.to_array((1, 6, 8))[0], ids == IGNORED)
    assert photo_targets(np.full((6, 8), 4), "full", volume)[0].mask.voxels == 48
    assert photo_targets(np.zeros((6, 8), int), "empty", volume) == []


def test_the_store_keeps_colours_numbers_and_what_is_ignored(tmp_path: Path) -> None:
    ids = RNG.integers(-1, 4, (20, 30))
    volume = Volume.from_canonical(COLOURS[None])
    write_case(tmp_path, "one", volume, photo_targets(ids, "one", volume), {})
    index = read_index(tmp_path, "again")
    assert index is not None
    scene = StoredCase(tmp_path, index, "again")
    assert scene.volume.array.dtype == np.uint8
    assert np.array_equal(scene.volume.array, COLOURS[None])
    assert np.array_equal(scene.volume.affine, volume.affine)
    for target in scene.targets():
        assert np.array_equal(target.mask.to_array((1, 20, 30))[0], ids == target.instance)
        assert np.array_equal(target.ignore.to_array((1, 20, 30))[0], ids == -1)
    assert scene.problems() == []


@pytest.mark.parametrize(
    ("shape", "longest", "expected"),
    [
        ((480, 854), None, (480, 854)),
        ((2048, 10), 2048, (2048, 10)),
        ((4000, 3000), 2048, (2048, 1536)),
        ((2731, 4096), 2048, (1366, 2048)),  # half a pixel rounds up
        ((3000, 3000), 2048, (2048, 2048)),
        ((1, 9000), 2048, (1, 2048)),
    ],
)
def test_the_longer_side_is_limited(shape: tuple[int, int], longest: int | None, expected: tuple[int, int]) -> None:
    assert within(shape, longest) == expected


@pytest.mark.parametrize("shape", [(50, 75), (100, 150), (67, 100), (99, 101), (1, 1)])
def test_smaller_to_the_bit_as_opencv(shape: tuple[int, int]) -> None:
    picture = RNG.integers(0, 256, (100, 150, 3), dtype=np.uint8)
    assert np.array_equal(resize_photo(picture, shape), smaller(picture, shape))
    assert np.array_equal(resize_photo(picture[..., 0], shape), smaller(picture[..., 0], shape))
    ids = RNG.choice([0, 5, 70000], (100, 150))
    expected = np.zeros(shape, dtype=int)
    for value in (5, 70000):
        expected[smaller((ids == value).astype(np.uint8), shape) > 0] = value
    assert np.array_equal(resize_ids(ids, shape), expected)


def smaller(array: Array, shape: tuple[int, int]) -> Array:
    return cv2.resize(array, shape[::-1], interpolation=cv2.INTER_LINEAR)


def test_half_a_pixel_is_kept_and_the_larger_number_lies_on_top() -> None:
    ids = np.array([[1, 2, 0, 3, 4, 5], [1, 2, 0, 3, 6, 7]])
    assert resize_ids(ids, (1, 3)).tolist() == [[2, 3, 0]]  # four numbers with a quarter each: nobody has half


def test_a_large_case_becomes_smaller_with_its_mask(tmp_path: Path) -> None:
    image = saved(tmp_path / "a.png", np.repeat(np.repeat(COLOURS, 2, 0), 2, 1))
    ids = np.zeros((40, 60), dtype=np.uint8)
    ids[:10, :20], ids[20:, 30:] = 1, 2
    volume, targets = photo_case("a", image, saved(tmp_path / "b.png", ids), "palette", longest=30)
    assert np.array_equal(volume.array[0], COLOURS)
    assert [(target.instance, target.mask.box) for target in targets] == [
        (1, (0, 0, 0, 1, 5, 10)),
        (2, (0, 10, 15, 1, 20, 30)),
    ]


@pytest.mark.parametrize(("name", "objects", "void"), [("bear_00000", [1], 0), ("tennis_00000", [1, 2], 225)])
def test_frames_of_davis(name: str, objects: list[int], void: int) -> None:
    image, mask = DAVIS / f"davis_{name}.jpg", DAVIS / f"davis_{name}.png"
    if not image.exists():
        pytest.skip(f"the frames of DAVIS are not in {DAVIS}")
    volume, targets = photo_case(name, image, mask, "palette", void=255)
    assert np.array_equal(volume.array[0], bgr(image)[..., ::-1])
    numbers = np.asarray(Image.open(mask))
    assert [target.instance for target in targets] == objects
    for target in targets:
        assert np.array_equal(target.mask.to_array(volume.shape)[0], numbers == target.instance)
        assert target.ignore.voxels == void


def test_names_pair(tmp_path: Path) -> None:
    found = paired(
        [
            "set/img/b.v1.2.jpg",
            "set/img/b.v1.3.JPG",
            "set/img/traffic light.jpg",
            "set/img/.DS_Store",
            "set/img/Thumbs.db",
        ],
        ["set/gt/traffic light.png", "set/gt/b.v1.2.png", "set/gt/b.v1.3.png", "set/gt/._b.v1.2.png"],
    )
    assert found == {
        "b.v1.2": ("set/img/b.v1.2.jpg", "set/gt/b.v1.2.png"),
        "b.v1.3": ("set/img/b.v1.3.JPG", "set/gt/b.v1.3.png"),
        "traffic light": ("set/img/traffic light.jpg", "set/gt/traffic light.png"),
    }
    assert paired(["a.b.jpg"], ["a.png"]) == {"a.b": ("a.b.jpg", "a.png")}


@pytest.mark.parametrize(
    ("images", "masks"),
    [
        (["a.jpg", "b.jpg"], ["a.png"]),
        (["a.jpg"], ["a.png", "b.png"]),
        (["a.jpg", "a.png"], ["a.png"]),
        (["a.1.jpg", "a.2.jpg"], ["a.png"]),
    ],
)
def test_names_that_do_not_pair(images: list[str], masks: list[str], wording: SnapshotAssertion) -> None:
    with pytest.raises(ValueError) as caught:
        paired(images, masks)
    assert caught == wording


def test_bad_files_are_told_in_one_sentence(tmp_path: Path) -> None:
    image, mask = saved(tmp_path / "a.jpg", COLOURS), saved(tmp_path / "a.png", COLOURS[..., 0] // 64)
    cut, text, noisy = (tmp_path / name for name in ("cut.jpg", "text.png", "noisy.jpg"))
    cut.write_bytes(image.read_bytes()[:-200])
    text.write_text("no picture")
    saved(noisy, COLOURS[..., 0])
    small = saved(tmp_path / "small.png", np.ones((10, 30), np.uint8))
    empty = saved(tmp_path / "empty.png", np.zeros((20, 30), np.uint8))
    cases: list[tuple[Path, Path, Coding, str]] = [
        (cut, mask, "palette", "cut.jpg cannot be read: it is truncated"),
        (text, mask, "palette", "text.png cannot be read"),
        (tmp_path / "b.jpg", mask, "palette", "b.jpg does not exist"),
        (image, noisy, "palette", "noisy.jpg is compressed as JPEG"),
        (image, saved(tmp_path / "rgb.png", COLOURS), "palette", "rgb.png has no number per pixel, but 600 colours"),
        (image, small, "any", "small.png has 10 x 30 pixels, but its picture a.jpg has 20 x 30"),
        (image, empty, "any", "empty.png contains no object, so case one has no target"),
        (image, mask, "colour", "there is no mask coding 'colour'"),  # type: ignore[list-item]
    ]
    for bad_image, bad_mask, coding, said in cases:
        with pytest.raises(IntraBenchError, match=said):
            photo_case("one", bad_image, bad_mask, coding)
