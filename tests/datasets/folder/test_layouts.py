"""Every layout, down to the voxels and labels of the store; and what it says of files that do not fit."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import nibabel as nib
import numpy as np
import pytest
from PIL import Image
from syrupy.assertion import SnapshotAssertion

from intrabench.datasets.cases import store
from intrabench.datasets.convert.challenge_boxes import FIELDS
from intrabench.datasets.folder.npz import read_npz
from intrabench.errors import IntraBenchError
from intrabench.registry import registry
from tests.datasets.folder.made import AFFINE, NO_FILES, SHAPE, found, image, labels, load, nnunet, pair, same, save
from tests.wording import without_reasons

pytestmark = pytest.mark.usefixtures("data")

DRAWN = labels()
THREE = {"liver.1": DRAWN == 1, "tumour.1": DRAWN == 2, "cyst.1": DRAWN == 5}
PLAIN = {"label_1.1": DRAWN == 1, "label_2.1": DRAWN == 2, "label_5.1": DRAWN == 5}


def test_nnunet(tmp_path: Path) -> None:
    root = nnunet(tmp_path / "Dataset007_Liver")
    dataset = registry.make("datasets", str(root))
    assert (dataset.name, dataset.short_spec, dataset.card.modality) == ("Dataset007_Liver", "Dataset007_Liver", "CT")
    assert dataset.cases() == ("case_000", "case_001")
    assert same(found(root, "case_001"), THREE)
    volume = store.open_case(dataset, "case_001").volume
    assert np.array_equal(volume.grid.from_canonical(volume.array), image(1))
    assert volume.modality == "CT"


def test_nnunet_of_version_1_with_all_channels_in_one_file(tmp_path: Path, wording: SnapshotAssertion) -> None:
    told = {
        "name": "BRATS",
        "licence": "CC-BY-SA 4.0",
        "reference": "somebody",
        "modality": {"0": "FLAIR", "1": "T1"},
        "labels": {"0": "background", "1": "edema", "2": "core", "5": "else"},
    }
    root = nnunet(tmp_path / "Task01", told, cases=0)
    save(root / "imagesTr" / "b_01.nii.gz", np.stack([image(1), image(2)], axis=-1))
    save(root / "labelsTr" / "b_01.nii.gz", labels())
    save(root / "labelsTr" / "._b_01.nii.gz", labels())  # macOS
    dataset = registry.make("datasets", f"{root}:channel=1")
    assert (dataset.short_spec, dataset.card.modality, dataset.card.title) == ("Task01:channel=1", "T1", "BRATS")
    assert (dataset.card.licence, dataset.card.citation) == ("CC-BY-SA 4.0", "somebody")
    assert dataset.card.caveats == wording
    assert list(found(f"{root}:channel=1", "b_01")) == ["edema.1", "core.1", "else.1"]
    volume = store.open_case(dataset, "b_01").volume
    assert np.array_equal(volume.grid.from_canonical(volume.array), image(2))
    with pytest.raises(IntraBenchError) as caught:
        registry.make("datasets", f"{root}:channel=2")
    assert caught == wording


def test_nnunet_with_regions_an_ignored_value_and_a_file_per_channel(tmp_path: Path) -> None:
    told = {
        "channel_names": {"0": "T1", "1": "T2"},
        "labels": {"background": 0, "whole": [1, 2], "core": [2], "ignore": 5},
    }
    root = nnunet(tmp_path / "regions", told, cases=1)
    save(root / "imagesTr" / "case_000_0001.nii.gz", image(7))
    assert same(found(f"{root}:channel=1", "case_000"), {"whole.1": (DRAWN == 1) | (DRAWN == 2), "core.1": DRAWN == 2})
    scene = store.open_case(registry.make("datasets", f"{root}:channel=1"), "case_000")
    assert np.array_equal(scene.volume.grid.from_canonical(scene.volume.array), image(7))
    for target in scene.targets():
        ignored = scene.volume.grid.from_canonical(target.ignore.to_array(target.shape))
        assert np.array_equal(ignored, DRAWN == 5)


def test_nnunet_with_files_that_lie_elsewhere(tmp_path: Path) -> None:
    scan, drawn = save(tmp_path / "scans" / "a.nii.gz", image()), save(tmp_path / "drawn" / "b.nii.gz", labels())
    listed = {"one": {"images": [str(scan)], "label": "../drawn/b.nii.gz"}}
    told = {"channel_names": {"0": "MR"}, "labels": {"background": 0, "liver": 1}, "dataset": listed}
    root = tmp_path / "listed"
    root.mkdir()
    (root / "dataset.json").write_text(json.dumps(told))
    assert same(found(root, "one"), {"liver.1": DRAWN == 1, "label_2.1": DRAWN == 2, "label_5.1": DRAWN == 5})
    assert drawn.exists()


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"labels": ["liver"]}',
        '{"labels": {"liver": "one"}}',
        "{}",
        '{"labels": {}, "dataset": {"a": {"label": "x"}}}',
    ],
)
def test_a_dataset_json_that_is_malformed(tmp_path: Path, text: str, wording: SnapshotAssertion) -> None:
    root = nnunet(tmp_path / "bad")
    (root / "dataset.json").write_text(text)
    with pytest.raises(IntraBenchError) as caught:
        registry.make("datasets", str(root))
    assert without_reasons(str(caught.value)) == wording


def test_nnunet_cases_without_image_or_label(tmp_path: Path, wording: SnapshotAssertion) -> None:
    root = nnunet(tmp_path / "holes", cases=3)
    (root / "imagesTr" / "case_000_0000.nii.gz").unlink()
    (root / "labelsTr" / "case_001.nii.gz").unlink()
    assert registry.make("datasets", str(root)).cases() == ("case_000", "case_001", "case_002")
    with pytest.raises(IntraBenchError) as caught:
        load(root, "case_000")
    assert caught == wording
    with pytest.raises(IntraBenchError) as caught:
        load(root, "case_001")
    assert caught == wording
    assert same(found(root, "case_002"), THREE)


@pytest.mark.parametrize("folder", ["labels", "masks"])
def test_two_folders_in_one(tmp_path: Path, folder: str) -> None:
    root = pair(tmp_path / "lab")
    (root / "labels").rename(root / folder)
    assert registry.make("datasets", str(root)).cases() == ("c1",)
    assert same(found(root, "c1"), PLAIN)


@pytest.mark.parametrize(
    ("name", "drawn"), [("c1_img", "c1_seg"), ("c1-CT", "c1.label"), ("c1_0000", "c1"), ("c1", "c1-segmentation_mask")]
)
def test_endings_of_names(tmp_path: Path, name: str, drawn: str) -> None:
    root = pair(tmp_path / "lab")
    (root / "images" / "c1.nii.gz").rename(root / "images" / f"{name}.nii.gz")
    (root / "labels" / "c1.nii.gz").rename(root / "labels" / f"{drawn}.nii.gz")
    assert registry.make("datasets", str(root)).cases() == ("c1",)
    assert same(found(root, "c1"), PLAIN)


def test_names_that_are_equal_keep_their_endings(tmp_path: Path, wording: SnapshotAssertion) -> None:
    root = pair(pair(tmp_path / "lab", "p1_ct"), "p1_mr")
    save(root / "labels" / "other_seg.nii.gz", labels())
    assert registry.make("datasets", str(root)).cases() == ("other", "p1_ct", "p1_mr")
    assert same(found(root, "p1_mr"), PLAIN)
    with pytest.raises(IntraBenchError) as caught:
        load(root, "other")
    assert caught == wording


def test_labels_that_are_missing_or_too_many(tmp_path: Path, wording: SnapshotAssertion) -> None:
    root = pair(pair(pair(tmp_path / "lab", "a"), "b"), "c")
    (root / "labels" / "a.nii.gz").unlink()
    save(root / "labels" / "b_seg.nii.gz", labels())
    assert registry.make("datasets", str(root)).cases() == ("a", "b", "c")
    with pytest.raises(IntraBenchError) as caught:
        load(root, "a")
    assert caught == wording
    with pytest.raises(IntraBenchError) as caught:
        load(root, "b")
    assert caught == wording
    assert same(found(root, "c"), PLAIN)


def test_images_beside_their_labels(tmp_path: Path) -> None:
    save(tmp_path / "flat" / "x.nii.gz", image())
    save(tmp_path / "flat" / "x_seg.nii.gz", labels())
    assert same(found(tmp_path / "flat", "x"), PLAIN)


def test_one_image_and_its_label(tmp_path: Path, wording: SnapshotAssertion) -> None:
    scan, drawn = save(tmp_path / "p1" / "scan.nii.gz", image()), save(tmp_path / "elsewhere" / "seg.nii", labels())
    spec = f"{scan}:label={drawn}"
    assert registry.make("datasets", spec).short_spec == "p1"
    assert same(found(spec, "scan elsewhere seg"), PLAIN)
    with pytest.raises(IntraBenchError) as caught:
        registry.make("datasets", str(scan))
    assert caught == wording
    with pytest.raises(IntraBenchError, match=r"no.nii does not exist"):
        registry.make("datasets", f"{scan}:label=no.nii")
    other, alone = tmp_path / "1.dcm", tmp_path / "all.zip"
    other.write_bytes(bytes(128) + b"DICM")
    alone.touch()
    for spec in (f"{other}:label={drawn}", f"{scan}:label={other}", str(alone)):
        with pytest.raises(IntraBenchError) as caught:
            registry.make("datasets", spec)
        assert caught == wording


@pytest.mark.parametrize(
    ("label", "case"),
    [
        ("p1/anna.nii.gz", "scan anna"),
        ("p1/bob.nii", "scan bob"),
        ("p1/anna/scan.nii.gz", "scan anna scan"),
        ("p1/bob/scan.nii.gz", "scan bob scan"),
        ("p1/scan.nrrd", "scan scan"),
    ],
)
def test_labels_of_several_people_are_cases_of_one_patient(tmp_path: Path, label: str, case: str) -> None:
    """The name is made of the two files alone, so nobody's labels replace those of others."""
    scan = save(tmp_path / "p1" / "scan.nii.gz", image())
    (tmp_path / label).parent.mkdir(exist_ok=True)
    (tmp_path / label).touch()
    dataset = registry.make("datasets", f"{scan}:label={tmp_path / label}")
    assert dataset.cases() == (case,)
    assert dataset.patient(case) == "scan"
    assert dataset.short_spec == "p1"


def test_two_folders_anywhere(tmp_path: Path) -> None:
    """Cases keep the names of their files; the data set says whose labels it has."""
    root = pair(tmp_path / "lab")
    spec = f"{root / 'images'}:label={root / 'labels'}"
    assert same(found(spec, "c1"), PLAIN)
    assert registry.make("datasets", spec).short_spec == "images:label=labels"
    (root / "labels").rename(root / "labels of bob")
    named = registry.make("datasets", f"{root / 'images'}:label={root / 'labels of bob'},channel=0")
    assert named.short_spec == "images:label=labels_of_bob"
    assert named.spec.startswith("images:label=labels_of_bob,channel=0,place=")
    (root / "anna").mkdir()
    (root / "labels of bob").rename(root / "anna" / "labels")
    assert registry.make("datasets", f"{root / 'images'}:label={root / 'anna/labels'}").short_spec == (
        "images:label=anna-labels"
    )
    assert same(found(f"{root / 'images'}:label={root / 'anna/labels'}", "c1"), PLAIN)


def test_two_images_of_one_name_are_told(tmp_path: Path, wording: SnapshotAssertion) -> None:
    root = nnunet(tmp_path / "set")
    save(root / "imagesTr" / "case_000_0000.nii", image(5))
    with pytest.raises(IntraBenchError) as caught:
        load(root, "case_000")
    assert caught == wording
    load(root, "case_001")


def test_other_formats(tmp_path: Path) -> None:
    root = tmp_path / "mha"
    for folder, array in (("images", image()), ("labels", labels())):
        (root / folder).mkdir(parents=True)
        import SimpleITK as sitk

        written = sitk.GetImageFromArray(array.T)
        written.SetSpacing((1, 1, 2.5))
        written.SetOrigin((-40, -12, -9))
        sitk.WriteImage(written, str(root / folder / f"c1.{'mha' if folder == 'images' else 'nrrd'}"))
    assert same(found(root, "c1"), PLAIN)


def test_a_label_on_another_grid_is_refused_unless_it_may_be_resampled(
    tmp_path: Path, wording: SnapshotAssertion
) -> None:
    root = pair(tmp_path / "lab")
    coarse = AFFINE.copy()
    coarse[:3, :3] *= 2
    coarse[:3, 3] += AFFINE[:3, :3] @ (0.5, 0.5, 0.5)  # a voxel of it is 8 of the image, exactly
    save(root / "labels" / "c1.nii.gz", labels()[::2, ::2, ::2], coarse)
    with pytest.raises(IntraBenchError) as caught:
        load(root, "c1")
    assert caught == wording
    (root / "dataset.toml").write_text("resample = true")
    expected = labels()[::2, ::2, ::2].repeat(2, axis=0).repeat(2, axis=1).repeat(2, axis=2)
    assert same(found(root, "c1"), {"label_1.1": expected == 1, "label_2.1": expected == 2, "label_5.1": expected == 5})


def test_a_label_with_a_channel_per_segment(tmp_path: Path) -> None:
    channels = np.stack([value == DRAWN for value in (0, 1, 2, 5)], axis=-1).astype(np.uint8)
    root = pair(tmp_path / "lab", drawn=channels)
    assert same(found(root, "c1"), {"label_1.1": DRAWN == 1, "label_2.1": DRAWN == 2, "label_3.1": DRAWN == 5})


def test_cvpr_npz(tmp_path: Path) -> None:
    root = tmp_path / "npz"
    root.mkdir()
    scan = image().T.astype(np.int32).clip(0, 255).astype(np.uint8)
    given = [{**dict.fromkeys(FIELDS, 1), "z_max": value, "z_mid_y_max": np.int64(4)} for value in (1, 2, 3)]
    np.savez_compressed(root / "CT_a.npz", imgs=scan, gts=DRAWN.T, spacing=(1.0, 1.5, 2.5), boxes=given)
    for name in ("imgs", "gts"):
        shutil.copytree(root, tmp_path / "both" / name)
    for spec in (root, root / "CT_a.npz", tmp_path / "both"):
        dataset = registry.make("datasets", str(spec))
        store.prepare(dataset, "CT_a")
        scene = store.open_case(dataset, "CT_a")
        assert scene.volume.spacing_mm == (2.5, 1.5, 1.0)
        assert np.array_equal(scene.volume.array, scan)
        assert scene.volume.modality == ""  # the grey values are no Hounsfield units
        for target, value in zip(scene.targets(), (1, 2, 5), strict=True):
            assert np.array_equal(target.mask.to_array(target.shape), value == DRAWN.T)
        boxes = [target.boxes for target in scene.targets()]
        assert boxes == [((1, 1, 1, 2, 5, 2),), ((1, 1, 1, 3, 5, 2),), ((1, 1, 1, 4, 5, 2),)]
        assert dataset.version == "3", "cases that were stored without their boxes are converted again"
        assert scene.problems() == []


def test_pictures_in_npz(tmp_path: Path, wording: SnapshotAssertion) -> None:
    """As of the CVPR challenge of 2024: no spacing, and boxes are plain numbers."""
    grey, drawn = np.arange(60, dtype=np.uint8).reshape(6, 10), np.zeros((6, 10), np.uint8)
    drawn[1:3, 2:5], drawn[4, 1:9] = 1, 7
    colours = np.stack([grey, grey[::-1], grey + 1], axis=-1)
    np.savez(tmp_path / "2D_grey.npz", imgs=grey, gts=drawn)
    np.savez(tmp_path / "2D_rgb.npz", imgs=colours, gts=drawn, boxes=np.array([[2, 1, 4, 2]]))
    np.savez(tmp_path / "3D_a.npz", **NPZ_FILE, boxes=np.array([[1, 1, 1, 2, 2, 2]]))
    dataset = registry.make("datasets", str(tmp_path))
    assert dataset.cases() == ("2D_grey", "2D_rgb", "3D_a")
    for case, array in (("2D_grey", np.stack([grey] * 3, axis=-1)), ("2D_rgb", colours)):
        volume, targets = dataset.load(case, NO_FILES)
        assert np.array_equal(volume.array, array[None])
        assert (volume.is_photo, volume.spacing_mm) == (True, (1, 1, 1))
        assert [(one.id, one.boxes) for one in targets] == [("object.1", None), ("object.2", None)]
        assert np.array_equal(targets[1].mask.to_array(volume.shape)[0], drawn == 7)
        assert volume.notes == wording
    volume, targets = dataset.load("3D_a", NO_FILES)
    assert [(one.id, one.boxes) for one in targets] == [("label_1.1", ()), ("label_2.1", ()), ("label_5.1", ())]
    assert volume.notes == wording


def test_where_the_boxes_of_cvpr_npz_are(tmp_path: Path) -> None:
    """Beside the labels or the image; none means that there is to be none, and other layouts say nothing."""
    table = np.ones((3, 7), int)
    both = {"imgs": image().T, "spacing": (1, 1, 1)}
    for name, first, second in (
        ("image", {"boxes_table": table}, {}),
        ("labels", {"boxes_table": table + 1}, {"boxes_table": table}),
    ):
        np.savez(tmp_path / f"{name}.npz", **both, **first)
        np.savez(tmp_path / f"{name}_gt.npz", gts=DRAWN.T, **second)
        loaded = read_npz(tmp_path / f"{name}.npz", tmp_path / f"{name}_gt.npz")
        assert [segment.boxes for segment in loaded.segments] == [((1, 1, 1, 2, 2, 2),)] * 3
    np.savez(tmp_path / "none.npz", **both, gts=DRAWN.T)
    assert [one.boxes for one in read_npz(tmp_path / "none.npz", tmp_path / "none.npz").segments] == [()] * 3
    dataset = registry.make("datasets", str(tmp_path / "none.npz"))
    store.prepare(dataset, "none")
    assert [target.boxes for target in store.open_case(dataset, "none").targets()] == [()] * 3
    assert [
        target.boxes for target in registry.make("datasets", str(pair(tmp_path / "lab"))).load("c1", NO_FILES)[1]
    ] == [None] * 3
    np.savez(tmp_path / "no_background.npz", **both, gts=DRAWN.T + 1, boxes_table=table)
    found = read_npz(tmp_path / "no_background.npz", tmp_path / "no_background.npz").segments
    assert [one.boxes for one in found] == [None, *[((1, 1, 1, 2, 2, 2),)] * 3]


def test_cvpr_npz_with_labels_of_their_own(tmp_path: Path, wording: SnapshotAssertion) -> None:
    images, truth = tmp_path / "val", tmp_path / "val_gt"
    images.mkdir()
    truth.mkdir()
    np.savez(images / "a.npz", imgs=image().T, spacing=(1, 1, 1))
    np.savez(truth / "a.npz", gts=DRAWN.T)
    dataset = registry.make("datasets", f"{images}:label={truth}")
    assert [target.id for target in dataset.load("a", NO_FILES)[1]] == ["label_1.1", "label_2.1", "label_5.1"]
    with pytest.raises(IntraBenchError) as caught:
        load(images, "a")
    assert caught == wording


def test_other_arrays_of_cvpr_npz_are_named(tmp_path: Path, wording: SnapshotAssertion) -> None:
    np.savez(tmp_path / "a.npz", **NPZ_FILE, recist=DRAWN.T, direction=np.eye(3))
    notes = read_npz(tmp_path / "a.npz", tmp_path / "a.npz").volume.notes
    assert notes == wording
    np.savez(tmp_path / "b.npz", **NPZ_FILE)
    assert read_npz(tmp_path / "b.npz", tmp_path / "b.npz").volume.notes == notes[:1]


NPZ_FILE = {"imgs": image().T, "gts": DRAWN.T, "spacing": (1, 1, 1)}


@pytest.mark.parametrize(
    "arrays",
    [
        {"gts": DRAWN.T, "spacing": (1, 1, 1)},
        {"imgs": image().T, "gts": DRAWN, "spacing": (1, 1, 1)},
        {"imgs": image().T, "gts": DRAWN.T},
        {"imgs": image().T, "gts": DRAWN.T, "spacing": (1, 0, 1)},
        {"imgs": image().T, "gts": DRAWN.T * 0.5, "spacing": (1, 1, 1)},
        {"imgs": image().T * np.nan, "gts": DRAWN.T, "spacing": (1, 1, 1)},
        {**NPZ_FILE, "boxes": [{"z_min": 1}]},
        {**NPZ_FILE, "boxes_table": np.full((3, 7), 0.5)},
        {**NPZ_FILE, "boxes_table": np.ones((2, 7))},
        {**NPZ_FILE, "boxes": [Path("x")]},
    ],
)
def test_npz_that_do_not_fit(tmp_path: Path, arrays: dict[str, np.ndarray], wording: SnapshotAssertion) -> None:
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(IntraBenchError) as caught:
        load(tmp_path / "a.npz", "a")
    assert str(caught.value).replace("pathlib._local", "pathlib") == wording  # its name from Python 3.13 on


def test_pictures(tmp_path: Path, wording: SnapshotAssertion) -> None:
    root = tmp_path / "photos"
    (root / "images").mkdir(parents=True)
    (root / "masks").mkdir()
    picture = np.random.default_rng(0).integers(0, 255, (12, 16, 3)).astype(np.uint8)
    drawn = np.zeros((12, 16), dtype=np.uint8)
    drawn[2:5, 3:9], drawn[7:9, 1:4] = 1, 7
    Image.fromarray(picture).save(root / "images" / "a.png")
    Image.fromarray(drawn).save(root / "masks" / "a.png")
    dataset = registry.make("datasets", str(root))
    assert dataset.card.modality == "natural RGB"
    store.prepare(dataset, "a")
    scene = store.open_case(dataset, "a")
    assert np.array_equal(scene.volume.array, picture[None])
    first, second = scene.targets()
    assert (first.id, second.id) == ("object.1", "object.2")
    assert np.array_equal(first.mask.to_array(first.shape)[0], drawn == 1)
    assert np.array_equal(second.mask.to_array(second.shape)[0], drawn == 7)
    Image.fromarray(drawn[1:]).save(root / "masks" / "a.png")
    with pytest.raises(IntraBenchError) as caught:
        load(root, "a")
    assert caught == wording


@pytest.mark.parametrize("what", ["images", "labels"])
def test_files_that_are_truncated(tmp_path: Path, what: str, wording: SnapshotAssertion) -> None:
    path = pair(tmp_path / "lab") / what / "c1.nii.gz"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(IntraBenchError) as caught:
        load(tmp_path / "lab", "c1")
    assert without_reasons(str(caught.value)) == wording


def test_images_and_labels_that_cannot_be_used(tmp_path: Path, wording: SnapshotAssertion) -> None:
    root = pair(tmp_path / "lab")
    for drawn, said in ((DRAWN * 0.5, "values that are not whole"), (DRAWN.astype(np.int16) - 1, "holds the value -1")):
        save(root / "labels" / "c1.nii.gz", drawn)
        with pytest.raises(IntraBenchError, match=said):
            load(root, "c1")
    save(root / "images" / "c1.nii.gz", np.ones(SHAPE))
    with pytest.raises(IntraBenchError, match="is constant"):
        load(root, "c1")
    save(root / "images" / "c1.nii.gz", np.stack([image(), image(1)], axis=-1))
    with pytest.raises(IntraBenchError) as caught:
        load(f"{root}:channel=2", "c1")
    assert caught == wording


def test_folders_that_hold_nothing(tmp_path: Path, wording: SnapshotAssertion) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(IntraBenchError) as caught:
        registry.make("datasets", str(tmp_path / "empty"))
    assert caught == wording
    with pytest.raises(IntraBenchError, match=r"missing does not exist"):
        registry.make("datasets", str(tmp_path / "missing"))


def test_a_scaled_nifti_is_read_as_floats(tmp_path: Path) -> None:
    root = pair(tmp_path / "lab")
    written = nib.Nifti1Image(np.stack([image(), image(1)], axis=-1).astype(np.int16), AFFINE)
    written.header.set_slope_inter(0.5, 3)
    nib.save(written, root / "images" / "c1.nii.gz")
    volume = registry.make("datasets", f"{root}:channel=1").load("c1", NO_FILES)[0]
    assert volume.array.dtype == np.float32
