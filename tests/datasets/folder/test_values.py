"""Folders whose files hold several pictures, values that are no labels, or names of values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scipy import ndimage
from syrupy.assertion import SnapshotAssertion

from intrabench.datasets.cases import store
from intrabench.errors import IntraBenchError
from intrabench.registry import registry
from tests.datasets.folder.made import AFFINE, NO_FILES, found, image, labels, load, nnunet, pair, same, save
from tests.files.test_label_names import entry, labelled
from tests.files.test_label_values import HARD, compressed, disc
from tests.files.test_pictures import IMAGEJ, tiff

SCAN = np.random.default_rng(0).integers(0, 60_000, (12, 10, 8)).astype(np.uint16)
DRAWN = np.zeros(SCAN.shape, np.uint8)
DRAWN[2:9, 3:7, 2:6], DRAWN[10, 1:3, 1:3] = 1, 3


def stacks(root: Path, drawn: np.ndarray = DRAWN, text: str = "") -> Path:
    for folder, arrays in (("images", SCAN), ("labels", drawn)):
        (root / folder).mkdir(parents=True, exist_ok=True)
        tiff(root / folder / "a.tif", arrays, text if folder == "images" else "", (2, 4))
    return root


def test_a_stack_of_pages_is_a_volume(tmp_path: Path) -> None:
    root = stacks(tmp_path / "lab", text=IMAGEJ.replace("=4", "=12").replace("micron", "mm"))
    dataset = registry.make("datasets", str(root))
    assert (dataset.version, dataset.card.modality) == ("4", "")
    store.prepare(dataset, "a")
    case = store.open_case(dataset, "a")
    assert np.array_equal(case.volume.array, SCAN)
    assert case.volume.spacing_mm == (2.0, 0.25, 0.5)
    one, three = case.targets()
    assert np.array_equal(one.mask.to_array(one.shape), DRAWN == 1)
    assert (three.label, three.mask.voxels) == ("label_3", 4)


def test_another_spacing_does_not_count_and_is_told(tmp_path: Path, wording: SnapshotAssertion) -> None:
    root = stacks(tmp_path / "lab", text=IMAGEJ.replace("=4", "=12").replace("micron", "mm"))
    (root / "dataset.toml").write_text("spacing = [3.0, 1.0, 1.0]\n")
    tiff(root / "labels" / "a.tif", DRAWN, IMAGEJ.replace("=4", "=12").replace("micron", "cm"), (1, 1))
    volume, _ = registry.make("datasets", str(root)).load("a", NO_FILES)
    assert volume.spacing_mm == (3.0, 1.0, 1.0)
    assert volume.notes == wording


def test_a_stack_of_a_microscope_keeps_its_spacing(tmp_path: Path) -> None:
    root = stacks(tmp_path / "lab", text=IMAGEJ.replace("=4", "=12"))
    volume, (one, _) = registry.make("datasets", str(root)).load("a", NO_FILES)
    assert volume.spacing_mm == (0.002, 0.00025, 0.0005)
    assert one.volume_ml == pytest.approx(np.count_nonzero(DRAWN == 1) * 0.002 * 0.00025 * 0.0005 / 1000)


def test_the_spacing_of_a_stack_is_stated(tmp_path: Path, wording: SnapshotAssertion) -> None:
    root = stacks(tmp_path / "lab")
    with pytest.raises(IntraBenchError) as caught:
        load(root, "a")
    assert caught == wording
    (root / "dataset.toml").write_text("spacing = [3, 0.00025, 0.5]\n")
    volume, _ = registry.make("datasets", str(root)).load("a", NO_FILES)
    assert volume.spacing_mm == (3.0, 0.00025, 0.5)
    assert volume.notes == wording


@pytest.mark.parametrize("drawn", [DRAWN[:1], DRAWN[:5], DRAWN[:, :4]])
def test_labels_of_a_stack_have_its_size(tmp_path: Path, drawn: np.ndarray, wording: SnapshotAssertion) -> None:
    root = stacks(tmp_path / "lab", drawn)
    (root / "dataset.toml").write_text("spacing = [3.0, 1.0, 1.0]\n")
    with pytest.raises(IntraBenchError) as caught:
        load(root, "a")
    assert caught == wording


def test_labels_of_a_stack_are_one(tmp_path: Path, wording: SnapshotAssertion) -> None:
    root = stacks(tmp_path / "lab")
    (root / "labels" / "a.tif").unlink()
    (root / "dataset.toml").write_text("spacing = [3.0, 1.0, 1.0]\n")
    save(root / "labels" / "a.nii.gz", DRAWN.T)
    with pytest.raises(IntraBenchError) as caught:
        load(root, "a")
    assert caught == wording


def test_a_photograph_has_no_stack_of_masks(tmp_path: Path) -> None:
    root = stacks(tmp_path / "lab")
    Image.fromarray(SCAN[:10, :8, :3].astype(np.uint8)).save(root / "images" / "a.tif")
    with pytest.raises(IntraBenchError, match=r"a\.tif has 12 pages"):
        load(root, "a")


def photo(root: Path, mask: np.ndarray | Image.Image, ending: str = "png", rules: str = "") -> Path:
    for folder in ("images", "masks"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    picture = mask if isinstance(mask, Image.Image) else Image.fromarray(mask)
    colours = np.random.default_rng(0).integers(0, 255, (*np.array(picture).shape[:2], 3)).astype(np.uint8)
    Image.fromarray(colours).save(root / "images" / "a.png")
    picture.save(root / "masks" / f"a.{ending}")
    (root / "dataset.toml").write_text(rules)
    return root


def in_photo(root: Path) -> np.ndarray:
    """The mask of the only target."""
    (one,) = registry.make("datasets", str(root)).load("a", NO_FILES)[1]
    return np.asarray(one.mask.to_array(one.shape)[0])


def test_an_antialiased_mask_is_no_label_map(tmp_path: Path, wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        load(photo(tmp_path / "lab", disc()), "a")
    assert caught == wording
    assert np.array_equal(in_photo(photo(tmp_path / "lab", disc(), rules="threshold = 0.5")), HARD > 0)
    every = registry.make("datasets", str(photo(tmp_path / "lab", disc(), rules='threshold = "none"')))
    assert len(every.load("a", NO_FILES)[1]) == len(np.unique(disc())) - 1


@pytest.mark.parametrize("mode", ["L", "RGB", "1"])
@pytest.mark.parametrize("ending", ["jpg", "png"])
def test_black_and_white_masks_are_cut_at_a_threshold(tmp_path: Path, mode: str, ending: str) -> None:
    root = photo(tmp_path / "lab", Image.fromarray(HARD).convert(mode), ending, "threshold = 0.5")
    expected = compressed(HARD) > 127 if ending == "jpg" else HARD > 0
    assert np.count_nonzero(in_photo(root) != expected) <= (20 if ending == "jpg" else 0)


def test_colours_are_no_shades_of_grey(tmp_path: Path, wording: SnapshotAssertion) -> None:
    red = np.zeros((*HARD.shape, 3), np.uint8)
    red[..., 0] = HARD
    for rules in ("threshold = 0.5", ""):
        with pytest.raises(IntraBenchError) as caught:
            load(photo(tmp_path / "lab", red, rules=rules), "a")
        assert caught == wording


def test_soft_masks_of_volumes(tmp_path: Path, wording: SnapshotAssertion) -> None:
    soft = ndimage.gaussian_filter((labels() == 1).astype(np.float32), 1.0)
    soft /= soft.max()
    for drawn in (soft, np.rint(255 * soft).astype(np.uint8)):
        root = pair(tmp_path / "lab", drawn=drawn)
        with pytest.raises(IntraBenchError) as caught:
            load(root, "c1")
        assert caught == wording
    (root / "dataset.toml").write_text("threshold = 0.3\n")
    assert same(found(root, "c1"), {"label_1.1": np.rint(255 * soft) >= 0.3 * 255})


def test_a_soft_mask_in_each_channel(tmp_path: Path) -> None:
    soft = np.stack([ndimage.gaussian_filter((labels() == n).astype(np.float32), 0.7) for n in (1, 2)], axis=-1)
    root = pair(tmp_path / "lab", drawn=soft)
    (root / "dataset.toml").write_text("threshold = 0.5\n")
    assert same(found(root, "c1"), {"label_1.1": soft[..., 0] >= 0.5, "label_2.1": soft[..., 1] >= 0.5})


def test_labels_near_whole_numbers_are_rounded(tmp_path: Path, wording: SnapshotAssertion) -> None:
    root = tmp_path / "lab"
    save(root / "images" / "c1.nii.gz", image())
    save(root / "labels" / "c1.nii.gz", labels().astype(np.float32) * np.float32(1.0000001))
    with pytest.raises(IntraBenchError) as caught:
        load(root, "c1")
    assert caught == wording
    (root / "dataset.toml").write_text("round = true\n")
    assert same(found(root, "c1"), {f"label_{n}.1": labels() == n for n in (1, 2, 5)})


@pytest.mark.parametrize(
    "rules",
    [
        "threshold = 128",
        "threshold = 1",
        "threshold = true",
        'threshold = "some"',
        "spacing = [1,2]",
        "spacing = [1,1,0]",
        'threshold=0.5\ncoding="any"',
        "round = 1",
        '[labels]\n"#000000" = "liver"',
        'threshold=0.5\n[labels]\n"#ff0000"="liver"',
    ],
)
def test_options_that_do_not_fit(tmp_path: Path, rules: str, wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        registry.make("datasets", str(photo(tmp_path / "lab", HARD, rules=rules)))
    assert caught == wording


def test_files_name_their_values(tmp_path: Path) -> None:
    """A table in the header of labels, and one beside them; what the folder says comes first."""
    root = pair(pair(tmp_path / "lab", "a"), "b")
    assert registry.make("datasets", str(root)).version == "2"
    assert list(found(root, "b")) == ["label_1.1", "label_2.1", "label_5.1"]
    text = entry(1, "liver") + entry(2, "tumour")
    table = root / "labels" / "b_ColorTable.ctbl"
    table.write_text("1 liver 9 9 9 255\n2 tumour 9 9 9 255\n")
    labelled(root / "labels" / "a.nii.gz", text, array=labels(), affine=AFFINE)
    dataset = registry.make("datasets", str(root))
    assert (dataset.version, table in dataset.local_files("b")) == ("5", True)
    for case in "ab":
        assert list(found(root, case)) == ["liver.1", "tumour.1", "label_5.1"]
    (root / "dataset.toml").write_text('[labels]\n1 = "one"\n"tum*" = "two"\n')
    assert list(found(root, "a")) == ["one.1", "two.1"]
    root = nnunet(tmp_path / "net", {"labels": {"background": 0, "spleen": 1}}, cases=1)
    labelled(root / "labelsTr" / "case_000.nii.gz", text, array=labels(), affine=AFFINE)
    assert list(found(root, "case_000")) == ["spleen.1", "tumour.1", "label_5.1"]
