"""The sets of natural images, from miniatures of their archives to the store, pixel for pixel."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image
from syrupy.assertion import SnapshotAssertion

from intrabench.datasets.cases import store
from intrabench.datasets.cases.stored_case import StoredCase
from intrabench.datasets.photo_sets import PhotoSet
from intrabench.errors import IntraBenchError
from intrabench.mask import Array
from intrabench.registry import registry
from tests.versions import guard_case
from tests.wording import without_reasons

RNG = np.random.default_rng(0)
NAMES = ("grabcut", "berkeley", "davis345", "coco_mval", "tetris")
Pack = Callable[[str, Mapping[str, bytes], int], PhotoSet]


@pytest.fixture
def pack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pack:
    """Puts an archive into the downloads folder; the data set, told to expect so many pictures."""

    def packed(name: str, members: Mapping[str, bytes], count: int) -> PhotoSet:
        monkeypatch.setenv("INTRABENCH_DATA", str(tmp_path))
        dataset: PhotoSet = registry.make("datasets", name)
        monkeypatch.setattr(type(dataset), "card", replace(dataset.card, cases=count))
        (tmp_path / "downloads").mkdir(exist_ok=True)
        with zipfile.ZipFile(tmp_path / "downloads" / dataset.source.filename, "w") as archive:
            for member, content in members.items():
                archive.writestr(member, content)
        return dataset

    return packed


def encoded(array: Array, suffix: str) -> bytes:
    """A picture, RGB or grey, as a file of this kind."""
    content = io.BytesIO()
    Image.fromarray(array).save(content, {"jpg": "JPEG"}.get(suffix, suffix))
    return content.getvalue()


def photo(suffix: str, shape: tuple[int, int] = (24, 36)) -> bytes:
    return encoded(RNG.integers(0, 256, (*shape, 3), dtype=np.uint8), suffix)


def discs(shape: tuple[int, int], *values: int) -> Array:
    """Discs side by side in an empty mask."""
    y, x = np.ogrid[: shape[0], : shape[1]]
    mask = np.zeros(shape, dtype=np.uint8)
    for number, value in enumerate(values):
        centre, radius = (number + 0.5) * shape[1] / len(values), min(shape[0], shape[1] // len(values)) / 3
        mask[(y - shape[0] // 2) ** 2 + (x - centre) ** 2 < radius**2] = value
    return mask


def read(content: bytes) -> Array:
    """As RClicks reads pictures and masks: blue, green, red."""
    found = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_COLOR)
    assert found is not None
    return found


def prepared(dataset: PhotoSet, case: str) -> StoredCase:
    store.prepare(dataset, case)
    return store.open_case(dataset, case)


def check(dataset: PhotoSet, case: str, picture: Array, ids: Array) -> None:
    """The case shows this picture (blue first), and each number above 0 is a target, surrounded by what is -1."""
    scene = prepared(dataset, case)
    assert np.array_equal(scene.volume.array, picture[None, ..., ::-1])
    assert scene.volume.modality == "natural RGB"
    assert [target.instance for target in scene.targets()] == [value for value in np.unique(ids) if value > 0]
    for target in scene.targets():
        assert target.label == "object"
        assert np.array_equal(target.mask.to_array(scene.volume.shape)[0], ids == target.instance)
        assert np.array_equal(target.ignore.to_array(scene.volume.shape)[0], ids == -1)
    guard_case(scene, dataset, pixels=False)


def test_grabcut(pack: Pack) -> None:
    photos = {"banana1.bmp": photo("bmp"), "106024.jpg": photo("jpg"), "book.JPG": photo("jpg")}
    masks = {}
    for name in photos:
        mask = discs((24, 36), 255, 64)
        mask[:2], mask[-1] = 128, 127
        masks[name.partition(".")[0]] = encoded(np.dstack([mask] * 3) if name == "book.JPG" else mask, "bmp")
    dataset = pack(
        "grabcut",
        {
            **{f"GrabCut/data_GT/{name}": content for name, content in photos.items()},
            **{f"GrabCut/boundary_GT/{stem}.bmp": content for stem, content in masks.items()},
            "GrabCut/data_GT/Thumbs.db": b"no picture",
            "__MACOSX/GrabCut/data_GT/._banana1.bmp": b"no picture",
            "GrabCut/boundary_GT_lasso/banana1.bmp": photo("bmp"),
        },
        3,
    )
    assert dataset.cases() == ("106024", "banana1", "book")
    for name, content in photos.items():
        band = read(masks[name.partition(".")[0]])[..., 0]
        check(dataset, name.partition(".")[0], read(content), np.where(band == 128, -1, band > 128))
    assert [target.ignore.voxels for target in prepared(dataset, "book").targets()] == [72]


def test_berkeley(pack: Pack) -> None:
    members, masks = {}, {}
    for stem, centre in (("189011a", 255), ("189011b", 200), ("3096.v2", 129)):
        members[f"Berkeley/images/{stem}.jpg"] = photo("jpg")
        masks[stem] = np.dstack([discs((24, 36), centre)] * 3)
        # as RClicks finds them, by the name up to the first dot
        members[f"Berkeley/masks/{stem.partition('.')[0]}.png"] = encoded(masks[stem], "png")
    dataset = pack("berkeley", members, 3)
    assert dataset.cases() == ("189011a", "189011b", "3096.v2")
    assert [dataset.patient(case) for case in dataset.cases()] == ["189011", "189011", "3096.v2"]
    for stem, mask in masks.items():
        check(dataset, stem, read(members[f"Berkeley/images/{stem}.jpg"]), mask[..., 0] > 128)


@pytest.mark.parametrize(
    ("name", "folder"), [("davis345", "DAVIS345"), ("davis345", "DAVIS"), ("coco_mval", "COCO_MVal")]
)
def test_davis_and_coco_merge_what_is_marked(pack: Pack, name: str, folder: str) -> None:
    members, masks = {}, {}
    for stem in ("cake07_000000504711", "traffic light01 (2)", "10"):
        members[f"{folder}/img/{stem}.jpg"] = photo("jpg")
        mask = Image.fromarray(discs((24, 36), 1, 2))
        mask.putpalette([0, 0, 0, 128, 0, 0, 0, 1, 0])
        content = io.BytesIO()
        mask.save(content, "png")
        members[f"{folder}/gt/{stem}.png"] = content.getvalue()
        masks[stem] = np.asarray(mask) > 0
    dataset = pack(name, members, 3)
    assert dataset.cases() == ("10", "cake07_000000504711", "traffic light01 (2)")
    for stem, mask in masks.items():
        check(dataset, stem, read(members[f"{folder}/img/{stem}.jpg"]), mask)


def test_tetris(pack: Pack) -> None:
    members, sizes = {}, {"an.image.with.dots": (24, 36), "large": (1300, 2600), "tall": (2731, 40)}
    for stem, shape in sizes.items():
        members[f"TETRIS/images/{stem}.jpg"] = photo("jpg", shape)
        mask = discs(shape, 1, 2, 3)
        colours = np.array([[0, 0, 0], [9, 0, 0], [0, 7, 1], [255, 255, 255]], dtype=np.uint8)  # red first
        members[f"TETRIS/masks/{stem}.png"] = encoded(colours[mask], "png")
    dataset = pack("tetris", members, 3)
    assert dataset.cases() == tuple(sizes)
    for stem, expected in (("an.image.with.dots", (24, 36)), ("large", (1024, 2048)), ("tall", (2048, 30))):
        picture = cv2.resize(read(members[f"TETRIS/images/{stem}.jpg"]), expected[::-1])
        numbers = read(members[f"TETRIS/masks/{stem}.png"]).astype(np.int32) @ (65536, 256, 1)
        ids = np.zeros(expected, dtype=int)
        for value in (9, 7 * 256 + 65536, 2**24 - 1):
            ids[cv2.resize((numbers == value).astype(np.uint8), expected[::-1]) > 0] = value
        check(dataset, stem, picture, ids)
    assert len(prepared(dataset, "large").targets()) == 3


@pytest.mark.parametrize(
    ("removed", "count"),
    [
        ("GrabCut/boundary_GT/b.bmp", 2),
        ("GrabCut/data_GT/b.jpg", 1),
        ("", 50),
    ],
)
def test_an_archive_of_other_content(pack: Pack, removed: str, count: int, wording: SnapshotAssertion) -> None:
    members = {f"GrabCut/data_GT/{stem}.jpg": photo("jpg") for stem in "ab"}
    members |= {f"GrabCut/boundary_GT/{stem}.bmp": encoded(discs((24, 36), 255), "bmp") for stem in "ab"}
    members.pop(removed, None)
    dataset = pack("grabcut", members, count)
    with pytest.raises(IntraBenchError) as caught:
        dataset.cases()
    assert caught == wording


@pytest.mark.parametrize(
    ("harmed", "content"),
    [
        ("images/a.jpg", photo("jpg")[:-300]),
        ("masks/a.png", encoded(discs((24, 30), 255), "png")),
        ("masks/a.png", encoded(discs((24, 36)), "png")),
    ],
)
def test_a_case_that_cannot_be_used(pack: Pack, harmed: str, content: bytes, wording: SnapshotAssertion) -> None:
    members = {"images/a.jpg": photo("jpg"), "masks/a.png": encoded(discs((24, 36), 255), "png"), harmed: content}
    dataset = pack("berkeley", members, 1)
    with pytest.raises(IntraBenchError) as caught:
        store.prepare(dataset, "a")
    assert without_reasons(str(caught.value)) == wording


@pytest.mark.parametrize("name", NAMES)
def test_without_the_archive(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTRABENCH_DATA", str(tmp_path))
    dataset: PhotoSet = registry.make("datasets", name)
    with pytest.raises(IntraBenchError, match=rf"{dataset.source.filename} .*intrabench data get {name}"):
        dataset.cases()
    assert dataset.sources() == (dataset.source,)
    assert dataset.card.modality == "natural RGB"
    assert all((dataset.card.cases, dataset.card.targets, dataset.card.citation, dataset.card.caveats))


def test_how_many_there_are() -> None:
    cards = [registry.find("datasets", name).load().card for name in NAMES]
    assert [(card.cases, card.targets) for card in cards] == [
        (50, 50),
        (100, 100),
        (345, 345),
        (800, 800),
        (2000, 2531),
    ]
