"""Folders of photographs: void pixels, masks beside pictures, annotations of several people beside pictures."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from syrupy.assertion import SnapshotAssertion

from intrabench.datasets.cases import store
from intrabench.errors import IntraBenchError
from intrabench.registry import registry
from intrabench.target import Target

SHAPE = (12, 16)
VOID = (224, 224, 192)
PEOPLE = np.stack([np.repeat([[1, 2]], 12, 0).repeat(8, 1), np.repeat([[1], [2], [3]], 4, 0).repeat(16, 1)])


def photo(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.random.default_rng(0).integers(0, 255, (*SHAPE, 3)).astype(np.uint8)).save(path)


def drawn(*values: int) -> np.ndarray:
    """A mask in which each number has the area of three rows."""
    ids = np.zeros(SHAPE, np.uint8)
    for number, value in enumerate(values):
        ids[3 * number : 3 * number + 3, 2:10] = value
    return ids


def mask(path: Path, ids: np.ndarray, void: tuple[int, int, int] | None = None) -> None:
    """A mask in grey, or with a palette in which 255 has a colour."""
    path.parent.mkdir(parents=True, exist_ok=True)
    picture = Image.fromarray(ids)
    if void is not None:
        picture.putpalette([*[0] * 3 * 255, *void])
    picture.save(path)


def targets(folder: Path, case: str = "a") -> list[Target]:
    dataset = registry.make("datasets", str(folder))
    store.prepare(dataset, case)
    return list(store.open_case(dataset, case).targets())


def pair(root: Path, ids: np.ndarray, void: tuple[int, int, int] | None = None, folders: str = "images masks") -> Path:
    first, second = folders.split()
    photo(root / first / "a.jpg")
    mask(root / second / "a.png", ids, void)
    return root


@pytest.mark.parametrize(
    ("values", "palette", "objects", "ignored"),
    [
        ((1, 2, 255), None, [1, 2], 24),  # grey, numbered from 1
        ((2, 255), VOID, [2], 24),  # the palette of DAVIS and PASCAL VOC, in a frame without the first object
        ((255,), None, [255], 0),  # black and white
        ((128, 255), None, [128, 255], 0),  # shades of grey
        ((2, 255), (255, 255, 255), [2, 255], 0),  # another palette
        ((1, 254, 255), None, [1, 254, 255], 0),  # so many objects
    ],
)
def test_255_is_void_where_it_is_no_object(
    tmp_path: Path, values: tuple[int, ...], palette: tuple[int, int, int] | None, objects: list[int], ignored: int
) -> None:
    ids = drawn(*values)
    found = targets(pair(tmp_path / "photos", ids, palette))
    assert [one.id for one in found] == [f"object.{at + 1}" for at in range(len(objects))]
    for one, value in zip(found, objects, strict=True):
        assert np.array_equal(one.mask.to_array(one.shape)[0], ids == value)
        assert one.ignore.voxels == ignored
    if ignored:
        assert np.array_equal(found[0].ignore.to_array(found[0].shape)[0], ids == 255)


def test_void_is_said_and_dataset_toml_decides(tmp_path: Path, wording: SnapshotAssertion) -> None:
    root = pair(tmp_path / "photos", drawn(1, 255))
    dataset = registry.make("datasets", str(root))
    assert dataset.load("a", None)[0].notes == wording  # type: ignore[arg-type]
    (root / "dataset.toml").write_text('[labels]\n"*" = "lesion"\n')
    (one,) = targets(root)
    assert (one.label, one.ignore.voxels) == ("lesion", 24)
    (root / "dataset.toml").write_text('[labels]\n1 = "cat"\n255 = "dog"\n')
    assert [(one.label, one.ignore.voxels) for one in targets(root)] == [("cat", 0), ("dog", 0)]


@pytest.mark.parametrize("folders", ["img gt", ". ."])
def test_where_masks_are(tmp_path: Path, folders: str) -> None:
    root = pair(tmp_path / "photos", drawn(1, 2), folders=folders)
    dataset = registry.make("datasets", str(root))
    assert (dataset.cases(), dataset.card.modality, dataset.remarks()) == (("a",), "natural RGB", ())
    assert [one.id for one in targets(root)] == ["object.1", "object.2"]


def test_a_photograph_without_mask_is_a_case_that_cannot_be_used(tmp_path: Path, wording: SnapshotAssertion) -> None:
    root = pair(tmp_path / "photos", drawn(1), folders=". .")
    photo(root / "b.jpg")
    dataset = registry.make("datasets", str(root))
    assert dataset.cases() == ("a", "b")
    with pytest.raises(IntraBenchError) as caught:
        dataset.load("b", None)  # type: ignore[arg-type]
    assert caught == wording


def people(root: Path, name: str, **arrays: np.ndarray) -> Path:
    root.mkdir(parents=True, exist_ok=True)
    np.savez(root / f"{name}_human_segmentations.npz", **arrays)
    return root


@pytest.mark.parametrize("beside", [True, False])
def test_what_several_people_drew(tmp_path: Path, beside: bool) -> None:
    root = tmp_path / "bsds"
    photo(root / "a.jpg" if beside else root / "images" / "a.jpg")
    people(root if beside else root / "annotations", "a", segmentations=PEOPLE.astype(np.uint8))
    dataset = registry.make("datasets", str(root))
    assert (dataset.cases(), dataset.card.modality, dataset.remarks()) == (("a",), "natural RGB", ())
    found = targets(root)
    assert [(one.id, one.person) for one in found] == [
        *((f"person1.{n}", "person1") for n in (1, 2)),
        *((f"person2.{n}", "person2") for n in (1, 2, 3)),
    ]
    assert [one.mask.voxels for one in found] == [96, 96, 64, 64, 64]


REFUSED: Mapping[str, str] = {
    "mixed": r"has 1 case as photographs beside annotations .* and 1 case as photographs beside masks",
    "no photographs": r"a_human_segmentations.npz has no photograph beside it; expected a.jpg or a.png",
    "no masks": r"2 files such as a.jpg, b.jpg; nearest: photographs with masks: NAME.png beside NAME.jpg",
}


@pytest.mark.parametrize(("kind", "said"), REFUSED.items())
def test_what_is_missing_is_named(tmp_path: Path, kind: str, said: str) -> None:
    root = tmp_path / "photos"
    if kind != "no photographs":
        photo(root / "a.jpg")
        photo(root / "b.jpg")
    if kind == "mixed":
        mask(root / "b.png", drawn(1))
    if kind != "no masks":
        people(root, "a", segmentations=PEOPLE)
    with pytest.raises(IntraBenchError, match=said):
        registry.make("datasets", str(root)).cases()


def test_two_pictures_of_one_name_are_told(tmp_path: Path, wording: SnapshotAssertion) -> None:
    for name in ("a.jpg", "a.png", "b.jpg"):
        photo(tmp_path / "photos" / "images" / name)
    for name in ("a", "b"):
        mask(tmp_path / "photos" / "annotations" / f"{name}.png", drawn(1, 2))
    with pytest.raises(IntraBenchError) as caught:
        targets(tmp_path / "photos")
    assert caught == wording
    assert len(targets(tmp_path / "photos", "b")) > 0


def test_a_photograph_with_more_behind_it_says_so(tmp_path: Path, wording: SnapshotAssertion) -> None:
    root = pair(tmp_path / "photos", drawn(1))
    with Image.open(root / "images" / "a.jpg") as picture:
        expected = np.array(picture)
        picture.save(root / "images" / "a.jpg", "MPO", save_all=True, append_images=[Image.new("RGB", (8, 8))])
    volume, _ = registry.make("datasets", str(root)).load("a", None)  # type: ignore[arg-type]
    assert volume.notes == wording
    assert np.abs(volume.array[0].astype(int) - expected).mean() < 20


def test_a_picture_that_is_changed_says_so(tmp_path: Path, wording: SnapshotAssertion) -> None:
    root = pair(tmp_path / "photos", drawn(1))
    turned, clear = Image.new("RGB", (16, 12)), Image.new("RGBA", (16, 12), (9, 9, 9, 0))
    clear.putpixel((0, 0), (9, 9, 9, 255))
    exif = Image.Exif()
    exif[0x0112] = 3  # by 180 degrees
    turned.putpixel((0, 0), (255, 255, 255))
    turned.save(root / "images" / "a.jpg", exif=exif, quality=100)
    clear.save(root / "images" / "b.png")
    mask(root / "masks" / "b.png", drawn(1))
    dataset = registry.make("datasets", str(root))
    first, second = (dataset.load(case, None)[0] for case in ("a", "b"))  # type: ignore[arg-type]
    assert (first.notes, second.notes) == (wording, wording)
    assert first.array[0, 11, 15].min() > 200
    assert second.array.min() == 9
    assert second.array[0, 1:].min() == 255


def test_files_that_belong_to_nothing_are_named(tmp_path: Path, wording: SnapshotAssertion) -> None:
    root = pair(tmp_path / "photos", drawn(1), folders=". .")
    assert registry.make("datasets", str(root)).remarks() == ()
    for name in ("x.png", "y.png"):
        mask(root / name, drawn(1))
    assert registry.make("datasets", str(root)).remarks() == wording
    root = tmp_path / "people"
    photo(root / "images" / "a.jpg")
    for name in ("a", "b"):
        people(root / "annotations", name, segmentations=PEOPLE)
    assert registry.make("datasets", str(root)).remarks() == wording
    root = pair(pair(tmp_path / "both", drawn(1)), drawn(1, 2), folders="images labels")
    dataset = registry.make("datasets", str(root))
    assert (len(targets(root)), dataset.remarks()) == (2, wording)
