"""Folders whose ``dataset.toml`` says where images and labels are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.datasets.folder.folder import Folder
from intrabench.errors import IntraBenchError, several
from intrabench.registry import registry
from tests.conftest import Said
from tests.datasets.convert.dicom_files import write_ct, write_seg
from tests.datasets.convert.test_segment_nrrd import GRID, described, masks, write
from tests.datasets.folder.made import AFFINE, NO_FILES, found, image, labels, load, same, save
from tests.wording import line_with

pytestmark = pytest.mark.usefixtures("data")

DRAWN = labels()
LIVER = (DRAWN == 1).astype(np.uint8)
LPS = np.diag([-1.0, -1.0, 2.0, 1.0])
"""Of the CT series."""


def lab(root: Path, toml: str, **files: np.ndarray) -> Path:
    """A folder with a ``dataset.toml``, and NIfTI files named without ``.nii.gz``."""
    for name, array in files.items():
        save(root / f"{name}.nii.gz", array)
    root.mkdir(exist_ok=True)
    (root / "dataset.toml").write_text(toml)
    return root


def opened(root: Path) -> Folder:
    dataset = registry.make("datasets", str(root))
    assert isinstance(dataset, Folder)
    return dataset


STRUCTURES = 'image = "{case}/ct.nii.gz"\nlabels = "{case}/segmentations/{label}.nii.gz"\n'
FLAT = 'image = "{case}.nii.gz"\nlabel = "{case}_seg.nii.gz"\n'


def segmented(root: Path, toml: str = STRUCTURES) -> Path:
    """Two scans, each with a folder of three structures, one of them empty."""
    for case in ("s01", "s02"):
        save(root / case / "ct.nii.gz", image(int(case[1:])))
        for name, value in (("liver", 1), ("lesions", 2), ("spleen", 7)):
            save(root / case / "segmentations" / f"{name}.nii.gz", np.isin(DRAWN, value).astype(np.uint8))
    return lab(root, toml)


def test_a_file_for_each_structure(tmp_path: Path, say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    root = segmented(tmp_path / "lab")
    assert opened(root).cases() == ("s01", "s02")
    assert same(found(root, "s01"), {"lesions.1": DRAWN == 2, "liver.1": DRAWN == 1})
    told = say("data", "check", str(root)).out.splitlines()
    assert [told[0], line_with(told, "spleen")] == wording


def test_names_of_structures_are_matched_under_labels(tmp_path: Path) -> None:
    rule = STRUCTURES.replace("labels", "structures")
    table = '[labels]\n1 = "no value"\n"les*" = { label = "lesion", instances = "components" }\n'
    root = segmented(tmp_path / "lab", rule + table)
    first, second = found(root, "s02").values()
    assert (first.sum(), second.sum()) == (48, 1)
    assert list(found(root, "s02")) == ["lesion.1", "lesion.2"]


def test_a_label_map_and_structures(tmp_path: Path, wording: SnapshotAssertion) -> None:
    """The file that both patterns fit is what the one with more fixed characters says."""
    rule = 'image = "{case}/ct.nii.gz"\nlabel = "{case}/seg.nii.gz"\nstructures = "{case}/{label}.nii.gz"\n'
    table = '[labels]\n2 = "tumour"\n"*" = "organ"\n'
    root = lab(tmp_path / "lab", rule + table, **{"b/ct": image(1), "b/liver": LIVER})
    save(root / "a" / "ct.nii.gz", image())
    save(root / "a" / "seg.nii.gz", np.where(DRAWN == 2, 2, 0).astype(np.uint8))
    save(root / "a" / "liver.nii.gz", (DRAWN == 1).astype(np.float32))
    assert same(found(root, "a"), {"tumour.1": DRAWN == 2, "organ.1": DRAWN == 1})
    assert opened(root).remarks() == wording


def test_values_of_a_structure_are_instances(tmp_path: Path, wording: SnapshotAssertion) -> None:
    rule = 'image = "{case}.nii.gz"\nstructures = "{case}/{case}*-{label}.nii.gz"\n'
    root = lab(tmp_path / "lab", rule, a=image(), **{"a/ab-lesion": DRAWN})
    volume, targets = opened(root).load("a", NO_FILES)
    assert [target.id for target in targets] == ["lesion.1", "lesion.2", "lesion.3"]
    assert volume.notes == wording


def test_structures_in_files_of_slicer(tmp_path: Path) -> None:
    """They are named as the files, whatever their segments are called, and may cover a part of the image."""
    root = lab(tmp_path / "lab", 'image = "{case}.nii.gz"\nstructures = "{case}/{label}.seg.nrrd"\n')
    save(root / "a.nii.gz", image()[:12, :10, :8], GRID.affine)
    head, mass = masks()
    (root / "a").mkdir()
    write(root / "a" / "skull.seg.nrrd", head[2:9, 3:8, 1:7], described(("Segment_1", 0, 1)), first=(2, 3, 1))
    write(root / "a" / "tumour.seg.nrrd", mass, described(("Segment_1", 0, 1)))
    assert same(found(root, "a", GRID.affine), {"skull.1": head, "tumour.1": mass})


def test_npz_has_no_structures(tmp_path: Path, wording: SnapshotAssertion) -> None:
    root = lab(tmp_path / "lab", 'image = "{case}.npz"\nstructures = "{case}/{label}.npz"\n')
    (root / "a").mkdir()
    np.savez(root / "a.npz", imgs=image().T, spacing=np.ones(3))
    np.savez(root / "a" / "liver.npz", gts=labels().T)
    with pytest.raises(IntraBenchError) as refused:
        load(root, "a")
    assert str(refused.value) == wording
    (root / "dataset.toml").write_text('image = "{case}.npz"\nlabel = "{case}/liver.npz"\n')
    assert len(opened(root).load("a", NO_FILES)[1]) == 3


def test_pictures_with_a_mask_for_each_object(tmp_path: Path) -> None:
    rule = 'image = "{case}/images/{case}.png"\nstructures = "{case}/masks/{label}.png"\n[labels]\n"*" = "nucleus"\n'
    root = tmp_path / "lab"
    for name, place in (("images/a", ...), ("masks/f3", np.s_[2:5, 3:7]), ("masks/0b", np.s_[6:8, 1:3])):
        (root / "a" / name).parent.mkdir(parents=True, exist_ok=True)
        pixels = np.zeros((12, 10), dtype=np.uint8)
        pixels[place] = np.arange(120).reshape(12, 10) if place is ... else 255
        Image.fromarray(pixels).save(root / "a" / f"{name}.png")
    volume, targets = opened(lab(root, rule)).load("a", NO_FILES)
    assert [(target.id, target.mask.voxels) for target in targets] == [("nucleus.1", 4), ("nucleus.2", 12)]
    assert volume.shape == (1, 12, 10)
    assert opened(root).card.modality == "natural RGB"


def test_soft_structures_are_refused_or_cut(tmp_path: Path, wording: SnapshotAssertion) -> None:
    rule = 'image = "{case}.nii.gz"\nstructures = "{case}-{label}.nii.gz"\n'
    root = lab(tmp_path / "lab", rule, a=image(), **{"a-liver": np.where(DRAWN == 1, 0.7, 0.2).astype(np.float32)})
    with pytest.raises(IntraBenchError) as refused:
        load(root, "a")
    assert str(refused.value) == wording
    lab(root, f"{rule}threshold = 0.5\n")
    assert same(found(root, "a"), {"liver.1": DRAWN == 1})


def test_structures_on_another_grid(tmp_path: Path, wording: SnapshotAssertion) -> None:
    root = segmented(tmp_path / "lab")
    moved = AFFINE.copy()
    moved[0, 3] -= 2  # by two voxels along x
    save(root / "s01" / "segmentations" / "liver.nii.gz", np.roll(DRAWN == 1, -2, axis=0).astype(np.uint8), moved)
    with pytest.raises(IntraBenchError) as refused:
        load(root, "s01")
    assert str(refused.value) == wording
    lab(root, f"{STRUCTURES}resample = true\n")
    assert np.array_equal(found(root, "s01")["liver.1"], DRAWN == 1)


def test_images_beside_labels_whose_names_both_fit(tmp_path: Path) -> None:
    root = lab(tmp_path / "lab", FLAT, P1=image(), P1_seg=labels(), P1_seg_2=image(1), P1_seg_2_seg=labels())
    assert opened(root).cases() == ("P1", "P1_seg_2")
    assert opened(root).layout.complete() == ("P1", "P1_seg_2")


def test_a_file_belongs_to_the_case_with_the_longest_name(tmp_path: Path) -> None:
    rule = 'image = "img/{case}.nii.gz"\nstructures = "seg/{case}_{label}.nii.gz"\n'
    root = lab(tmp_path / "lab", rule, **{"img/P1": image(), "img/P1_a": image(1)})
    for name in ("P1_liver", "P1_a_liver", "P1_left_lung"):
        save(root / "seg" / f"{name}.nii.gz", labels())
    pairs = opened(root).layout.content
    assert {case: [name for name, _ in pair.structures] for case, pair in pairs.items()} == {
        "P1": ["left_lung", "liver"],
        "P1_a": ["liver"],
    }


def test_raters_and_time_points(tmp_path: Path) -> None:
    rule = 'image = "{patient}/{time}/ct.nii.gz"\nlabel = "{patient}/{time}/{rater}.nii.gz"\n'
    root = tmp_path / "lab"
    for day in ("day1", "day2"):
        save(root / "P1" / day / "ct.nii.gz", image())
        save(root / "P1" / day / "anna.nii.gz", labels())
    save(root / "P1" / "day2" / "ben.nii.gz", np.where(DRAWN == 5, 5, 0).astype(np.uint8))
    dataset = opened(lab(root, rule))
    assert dataset.cases() == ("P1 day1 anna", "P1 day2 anna", "P1 day2 ben")
    assert [dataset.patient(case) for case in dataset.cases()] == ["P1"] * 3
    assert [dataset.layout.time(case) for case in dataset.cases()] == ["day1", "day2", "day2"]
    assert same(found(root, "P1 day2 ben"), {"label_5.1": DRAWN == 5})


@pytest.mark.parametrize(
    ("image_", "label", "cases", "pairs"),
    [
        (
            "{patient}/{time}/ct.nii.gz",
            "{patient}/{time}/{rater}.nii.gz",
            ["P1/20200102/ct anna ben", "P1/2021-03-04/ct ben anna", "P1/2021-10-01/ct anna", "P2/2021-03-04/ct anna"],
            {
                "P1 2021-03-04 anna": "P1 20200102 anna",
                "P1 2021-03-04 ben": "P1 20200102 ben",
                "P1 2021-10-01 anna": "P1 2021-03-04 anna",
            },
        ),
        (
            "{patient}/{time}/{case}.nii.gz",
            "{patient}/{time}/{case}_seg.nii.gz",
            ["P1/t2/ct ct_seg", "P1/t2/mr mr_seg", "P1/t10/mr mr_seg", "P1/t10/ct ct_seg"],
            {"P1 ct t10": "P1 ct t2", "P1 mr t10": "P1 mr t2"},
        ),
        (
            "{case}_{time}.nii.gz",
            "{case}_{time}_seg.nii.gz",
            ["P_1_10 P_1_10_seg", "P_1_9 P_1_9_seg"],
            {"P_1 10": "P_1 9"},
        ),
    ],
    ids=["raters", "series", "one"],
)
def test_a_rule_says_which_scans_are_follow_ups(
    tmp_path: Path, say: Callable[..., Said], image_: str, label: str, cases: list[str], pairs: dict[str, str]
) -> None:
    """The prior has the same name at its time, and is what the same person drew."""
    root = lab(tmp_path / "lab", f'image = "{image_}"\nlabel = "{label}"\n')
    for number, case in enumerate(cases):
        path, *drawn = case.split()
        save(root / f"{path}.nii.gz", image(number))
        for one in drawn:
            save((root / path).with_name(f"{one}.nii.gz"), labels())
    assert {one.case: one.prior for one in intrabench.follow_ups(root)} == pairs
    said = say("data", "check", str(root)).out
    assert f", {several(len(pairs), 'pair')} of follow-up\n" in said
    assert not any("prior" in line or "same time" in line for line in said.splitlines())
    prior, case = next(iter(intrabench.follow_ups(root))).open()
    assert (prior.index.case, case.index.case) in {(prior, case) for case, prior in pairs.items()}


def test_raters_of_a_case_and_times_of_a_case_are_of_one_patient(tmp_path: Path) -> None:
    raters = lab(
        tmp_path / "a",
        'image = "{case}.nii.gz"\nlabel = "{rater}/{case}.nii.gz"\n',
        **{"scan": image(), "anna/scan": labels()},
    )
    times = lab(tmp_path / "b", 'image = "{case}_{time}.nii.gz"\nlabel = "s/{case}_{time}.nii.gz"\n')
    save(times / "P_1_2.nii.gz", image())
    save(times / "s" / "P_1_2.nii.gz", labels())
    for root, case, patient in ((raters, "scan anna", "scan"), (times, "P_1 2", "P_1")):
        assert [(one, opened(root).patient(one)) for one in opened(root).cases()] == [(case, patient)]


def test_channels(tmp_path: Path, wording: SnapshotAssertion) -> None:
    rule = 'image = ["{case}/{case}_t1.nii.gz", "{case}/{case}_t2.nii.gz"]\nlabel = "{case}/{case}_*.nii.gz"\n'
    root = lab(tmp_path / "lab", rule, **{"a/a_t1": image(), "a/a_t2": image(1), "a/a_seg": labels()})
    first, second = opened(root), registry.make("datasets", f"{root}:channel=1")
    for dataset, seed in ((first, 0), (second, 1)):
        volume, targets = dataset.load("a", NO_FILES)
        assert np.array_equal(volume.grid.from_canonical(volume.array), image(seed))
        assert len(targets) == 3
    assert (first.remarks(), second.remarks()) == wording
    with pytest.raises(IntraBenchError) as refused:
        registry.make("datasets", f"{root}:channel=2")
    assert str(refused.value) == wording


def test_files_without_a_partner_and_files_for_one_place(tmp_path: Path, wording: SnapshotAssertion) -> None:
    rule = 'image = "{case}/ct*"\nlabel = "{case}/seg*.nii.gz"\n'
    root = lab(tmp_path / "lab", rule)
    for name in ("image/ct", "label/seg", "two/ct", "two/ct2", "two/seg", "both/ct", "both/seg1", "both/seg2", "c/ct"):
        save(root / f"{name}.nii.gz", labels() if "seg" in name else image())
    save(root / "c" / "seg.nii.gz", labels())
    (root / "c" / "ct.json").touch()  # no image
    layout = opened(root).layout
    assert layout.complete() == ("c",)
    assert [layout.content[case].problem for case in layout.cases()] == wording


def test_a_folder_with_one_scan(tmp_path: Path) -> None:
    root = lab(tmp_path / "s01", 'image = "ct.nii.gz"\nlabels = "{label}.nii.gz"\n', ct=image(), liver=LIVER)
    assert opened(root).cases() == ("s01",)


def test_nothing_fits(tmp_path: Path, wording: SnapshotAssertion) -> None:
    messages = []
    dicom, unknown = 'image = "{case}/dicom/"\nlabel = "{case}.nii.gz"\n', STRUCTURES.replace("ct.nii.gz", "*.gz.tmp")
    both = STRUCTURES.replace("ct.nii.gz", "CT.nii.gz")
    for number, rule in enumerate((STRUCTURES, dicom, unknown, both, "")):
        root = tmp_path / str(number)
        if rule:
            save(root / "s01" / "CT.nii.gz", image())
        lab(root, rule or STRUCTURES)
        with pytest.raises(IntraBenchError) as refused:
            opened(root).cases()
        messages.append(str(refused.value))
    assert messages == wording


UNFIT = (
    'image = "{case}.nii"',
    'label = "{case}.nii"',
    'image = "{case}.nii"\nlabel = "{case}_{label}.nii"',
    'image = "{case}.nii"\nlabels = "{case}_seg.nii"',
    'image = "{case}.nii"\nlabel = "seg.nii"',
    'image = "{case}.nii"\nlabel = "{patient}/{case}.nii"',
    'image = "{case}_{rater}.nii"\nlabel = "{case}.nii"',
    'image = ["{case}.nii", "{case}/{time}.nii"]\nlabel = "{case}.nii"',
    'image = ["{case}/ct/", "{case}/mr/"]\nlabel = "{case}.nii"',
    "image = []",
    'image = "*{case}.nii"\nlabel = "{case}_seg.nii"',
    'image = "{case}.nii"\nstructures = "{case}_seg.nii"',
    'image = "{case}.nii"\nlabel = "{case}/"',
    'image = "{case}/*.dcm"\nlabel = "{case}.nii"',
    'image = "{case}/"\nlabel = "{case}_seg.dcm"',
    'image = "{case}.nii"\nlabel = "{case}_{rater}.nii"\nstructures = "{case}_{label}.nii"',
    'image = "{case}.nii"\nlabel = "{case}_seg.nii"\nlayout = "nnunet"',
    'image = "/data/{case}.nii"\nlabel = "{case}_seg.nii"',
    'image = "{name}.nii"\nlabel = "{case}_seg.nii"',
    'image = "{case.nii"\nlabel = "{case}_seg.nii"',
    'image = 3\nlabel = "{case}_seg.nii"',
    'image = "{case}.nii"\nlabels = "{case}_{label}.nii"\nstructures = "{case}-{label}.nii"',
    'image = "{case}.nii"\nlabels = "{case}_{label}.nii"\n[labels]\n"*" = "all"',
)


@pytest.mark.parametrize("text", UNFIT)
def test_rules_that_do_not_fit(tmp_path: Path, wording: SnapshotAssertion, text: str) -> None:
    with pytest.raises(IntraBenchError) as refused:
        opened(lab(tmp_path / "lab", text))
    assert str(refused.value) == wording


def test_a_rule_and_a_folder_of_labels(tmp_path: Path, wording: SnapshotAssertion) -> None:
    root = segmented(tmp_path / "lab")
    with pytest.raises(IntraBenchError) as refused:
        registry.make("datasets", f"{root}:label={root}").cases()
    assert str(refused.value) == wording
    alone = registry.make("datasets", f"{root}/s01/ct.nii.gz:label={root}/s01/segmentations/liver.nii.gz")
    assert alone.cases() == ("ct segmentations liver",)  # files that are named need no rule


DICOM = 'image = "{patient}/dicom/"\nlabel = "{patient}/{patient}-seg.nii.gz"\n'


def scanned(root: Path, **more: Any) -> tuple[Path, list[Path]]:
    """A patient with a CT series in a folder in a folder."""
    scan = (image().T + 1000).astype(np.uint16)
    return lab(root, DICOM), write_ct(root / "p1" / "dicom" / "thin", scan, PatientID="p1", **more)


def test_a_dicom_series_with_a_mask(tmp_path: Path, wording: SnapshotAssertion) -> None:
    """The same as with a SEG, in whatever order of axes a converter wrote the mask."""
    root, images = scanned(tmp_path / "lab")
    write_seg(root / "p1" / "dicom" / "seg.dcm", images, {"Liver": DRAWN.T == 1})
    flipped = LPS @ np.array([[1.0, 0, 0, 0], [0, -1, 0, 17], [0, 0, 1, 0], [0, 0, 0, 1]])
    for array, affine in ((DRAWN == 1, LPS), ((DRAWN == 1)[:, ::-1], flipped)):
        save(root / "p1" / "p1-seg.nii.gz", array.astype(np.uint8), affine)
        assert same(found(root, "p1", LPS), {"label_1.1": DRAWN == 1})
    (root / "dataset.toml").write_text("")
    seg = registry.make("datasets", str(root))
    scan, (target,) = seg.load(seg.cases()[0], NO_FILES)
    (root / "dataset.toml").write_text(DICOM)
    volume, (same_target,) = opened(root).load("p1", NO_FILES)
    assert np.array_equal(target.mask.to_array(scan.shape), same_target.mask.to_array(volume.shape))
    assert np.array_equal(volume.array, scan.array)
    assert (volume.modality, volume.notes) == wording
    assert set(images) < set(opened(root).local_files("p1"))
    assert opened(root).version == seg.version


def test_a_mask_that_is_not_on_its_dicom_series(tmp_path: Path, wording: SnapshotAssertion) -> None:
    root, _ = scanned(tmp_path / "lab")
    moved = LPS.copy()
    moved[2, 3] = 1
    mask = save(root / "p1" / "p1-seg.nii.gz", labels(), moved)
    with pytest.raises(IntraBenchError) as refused:
        load(root, "p1")
    assert str(refused.value) == wording
    moved[2, 3] = -2  # one slice below
    save(mask, np.roll(DRAWN, 1, axis=2), moved)
    lab(root, f"{DICOM}resample = true\n")
    assert np.array_equal(found(root, "p1", LPS)["label_1.1"], DRAWN == 1)


def test_a_mask_on_a_series_with_a_gap(tmp_path: Path, wording: SnapshotAssertion) -> None:
    root, images = scanned(tmp_path / "lab")
    save(root / "p1" / "p1-seg.nii.gz", labels(), LPS)
    images[5].unlink()
    with pytest.raises(IntraBenchError) as refused:
        load(root, "p1")
    assert str(refused.value) == wording
    lab(root, f'{DICOM}gaps = "resample"\n')
    assert np.array_equal(found(root, "p1", LPS)["label_1.1"], DRAWN == 1)
    lab(root, f'{DICOM}gaps = "longest"\nresample = true\n')
    assert np.array_equal(found(root, "p1", LPS)["label_1.1"], (DRAWN == 1)[:, :, :5])


def test_a_mask_on_a_tilted_series(tmp_path: Path) -> None:
    root, _ = scanned(tmp_path / "lab", step=(0.0, 1.0, 2.0))
    sheared = LPS.copy()
    sheared[1, 2] = -1
    save(root / "p1" / "p1-seg.nii.gz", labels(), sheared)
    lab(root, f'{DICOM}shear = "resample"\n')
    _, targets = opened(root).load("p1", NO_FILES)
    assert targets[0].mask.voxels == (DRAWN == 1).sum()


def test_folders_without_one_image_series(tmp_path: Path, wording: SnapshotAssertion) -> None:
    root, _ = scanned(tmp_path / "lab", SeriesInstanceUID="1.2.3")
    save(root / "p1" / "p1-seg.nii.gz", labels(), LPS)
    (root / "p0" / "dicom").mkdir(parents=True)
    assert opened(root).cases() == ("p1",)
    with pytest.raises(IntraBenchError) as channel:
        registry.make("datasets", f"{root}:channel=1")
    scan = (image().T + 1000).astype(np.uint16)
    write_ct(root / "p1" / "dicom" / "thick", scan[::2], SeriesInstanceUID="1.2.4", SeriesNumber=3)
    with pytest.raises(IntraBenchError) as two:
        load(root, "p1")
    (root / "p1" / "dicom" / "damaged.dcm").write_text("no DICOM")
    with pytest.raises(IntraBenchError) as damaged:
        load(root, "p1")
    assert [str(one.value) for one in (channel, two, damaged)] == wording
