"""Rules that are proposed for folders in no known layout, and written by ``data check --write``."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.datasets.folder.folder import Folder, write_rule
from intrabench.datasets.folder.proposal import propose
from intrabench.datasets.folder.templates import sample
from intrabench.datasets.folder.unknown import Unrecognised
from intrabench.errors import IntraBenchError
from tests.conftest import Said
from tests.datasets.convert.dicom_files import write_ct
from tests.datasets.folder.made import image, labels, nnunet, pair, save

pytestmark = pytest.mark.usefixtures("data")

TWO, THREE = ("01", "02"), ("01", "02", "03")


def files(*patterns: str, **texts: Iterable[str]) -> list[str]:
    """The paths of patterns with all combinations of the texts of their fields."""
    chosen = [dict(zip(texts, one, strict=True)) for one in product(*texts.values())]
    return sorted({pattern.format(**one) for pattern in patterns for one in chosen})


def empty(root: Path, paths: Iterable[str]) -> Path:
    """Files without content; names alone have to decide."""
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).touch()
    return root


def proposed(root: Path) -> tuple[str, int, int] | None:
    found = propose(root)
    return found and (found.rule.lines(), found.complete, found.cases)


ACDC = [
    f"patient{case}/patient{case}_{what}.nii.gz"
    for case, end in (("001", 12), ("002", 10), ("003", 11))
    for what in ("4d", "frame01", "frame01_gt", f"frame{end}", f"frame{end}_gt")
]
REGULAR = {
    "two names": (
        files("volume-{n}.nii", "segmentation-{n}.nii", n="012"),
        ["volume-{case}.nii", "segmentation-{case}.nii"],
        3,
    ),
    "two folders": (
        files("imagesA/{n}.nii.gz", "annotations/{n}.nii.gz", n="xyz"),
        ["imagesA/{case}.nii.gz", "annotations/{case}.nii.gz"],
        3,
    ),
    "numbers behind words": (
        files("a/img{n}.nii.gz", "b/label{n}.nii.gz", n=THREE),
        ["a/img{case}.nii.gz", "b/label{case}.nii.gz"],
        3,
    ),
    "times in names": (
        ACDC,
        ["{patient}/{patient}_frame{time}.nii.gz", "{patient}/{patient}_frame{time}_gt.nii.gz"],
        6,
    ),
    "times in one name": (
        files("P{n}_{t}_ct.nii.gz", "P{n}_{t}_{s}_mask.nii.gz", n=TWO, t=("t0", "t1"), s=("liver", "spleen")),
        ["{patient}_{time}_ct.nii.gz", "{patient}_{time}_{label}_mask.nii.gz"],
        4,
    ),
    "times in folders": (
        files("{p}/{t}/mr.nii.gz", "{p}/{t}/mask.nii.gz", p=("anna", "ben"), t=("20190101", "2020-02-02")),
        ["{patient}/{time}/mr.nii.gz", "{patient}/{time}/mask.nii.gz"],
        4,
    ),
    "sessions of BIDS": (
        ["sub-02/ses-2/anat/sub-02_ses-2_T1w.nii.gz", "sub-02/ses-2/anat/sub-02_ses-2_mask.nii.gz"]
        + files("sub-{n}/ses-1/anat/sub-{n}_ses-1_T1w.nii.gz", "sub-{n}/ses-1/anat/sub-{n}_ses-1_mask.nii.gz", n=TWO),
        ["{patient}/{time}/anat/{patient}_{time}_T1w.nii.gz", "{patient}/{time}/anat/{patient}_{time}_mask.nii.gz"],
        3,
    ),
    "derivatives of BIDS": (
        files(
            "sub-{n}/anat/sub-{n}_T1w.nii.gz",
            "derivatives/labels/sub-{n}/anat/sub-{n}_T1w_label-lesion.nii.gz",
            n=THREE,
        ),
        ["{case}/anat/{case}_T1w.nii.gz", "derivatives/labels/{case}/anat/{case}_T1w_label-lesion.nii.gz"],
        3,
    ),
    "structures beside the scan": (
        files("case{n}/scan.nrrd", "case{n}/tumour.nrrd", "case{n}/lesion.nrrd", n=TWO),
        ["{case}/scan.nrrd", "{case}/{label}.nrrd"],
        2,
    ),
    "structures of which some are rare": (
        [*files("c{n}/ct.nii.gz", "c{n}/lesion1.nii.gz", n=THREE), "c01/lesion2.nii.gz"],
        ["{case}/ct.nii.gz", "{case}/{label}.nii.gz"],
        3,
    ),
    "structures of two words": (
        files("c{n}/ct.nii.gz", "c{n}/seg/{s}_left_mask.nii.gz", n=TWO, s=("lung", "kidney")),
        ["{case}/ct.nii.gz", "{case}/seg/{label}_mask.nii.gz"],
        2,
    ),
    "channels": (
        files("B{n}/B{n}_{c}.nii.gz", n=THREE, c=("flair", "t1", "t1ce", "t2", "seg")),
        [[f"{{case}}/{{case}}_{c}.nii.gz" for c in ("flair", "t1", "t1ce", "t2")], "{case}/{case}_seg.nii.gz"],
        3,
    ),
    "raters": (
        files("{p}/ct.nii.gz", "{p}/mask_rater{n}.nii.gz", p=("anna", "ben"), n="12"),
        ["{case}/ct.nii.gz", "{case}/mask_{rater}.nii.gz"],
        4,
    ),
    "patients in groups": (
        [f"site{n % 3}/c{n:02}/{what}.nii.gz" for n in range(12) for what in ("mr", "mask")],
        ["*/{case}/mr.nii.gz", "*/{case}/mask.nii.gz"],
        12,
    ),
    "patients in folders of sites": (
        files("R{n}/sub-r{n}s{m}/ses-1/sub-r{n}s{m}_T1w.nii.gz", "R{n}/sub-r{n}s{m}/ses-1/lesion.nii.gz", n=TWO, m=TWO),
        ["*/{patient}/{time}/{patient}_T1w.nii.gz", "*/{patient}/{time}/lesion.nii.gz"],
        4,
    ),
    "more cases than scans of a patient": (
        [f"{('oslo', 'rome')[n % 2]}/c{n}/{file}.nii.gz" for n in range(24) for file in ("mr", "wmh_seg")],
        ["*/{case}/mr.nii.gz", "*/{case}/wmh_seg.nii.gz"],
        24,
    ),
    "scans that the names of labels tell apart": (
        files("p{n}/p{n}_{v}_{t}{s}.nii.gz", n="12345", v=("2CH", "4CH"), t=("ED", "ES"), s=("", "_gt")),
        ["{patient}/{patient}_{case}.nii.gz", "{patient}/{patient}_{case}_gt.nii.gz"],
        20,
    ),
    "structures on one scan of several": (
        files("p{n}/mr/p{n}_{t}_{c}.nii", "p{n}/m/p{n}_{t}_{s}_mask.nii", n=TWO, t=TWO, c=("pd", "t2"), s=("a", "b")),
        [
            ["{patient}/mr/{patient}_{case}_pd.nii", "{patient}/mr/{patient}_{case}_t2.nii"],
            "{patient}/m/{patient}_{case}_{label}_mask.nii",
        ],
        4,
    ),
    "labels of most files only": (
        files("train/img/img{n}.nii.gz", "train/label/label{n}.nii.gz", n=THREE)
        + files("test/img/img{n}.nii.gz", n=("61", "62")),
        ["train/img/img{case}.nii.gz", "train/label/label{case}.nii.gz"],
        3,
    ),
    "labels of one scan of several": (
        files("c{n}/{s}.nii", n=THREE, s=("adc", "t2", "adc_tumor_r1", "t2_mask_r1", "t2_tumor_r1")),
        ["{case}/t2.nii", "{case}/t2_{label}.nii"],
        3,
    ),
    "the same names in two groups": (
        files("{g}/images/{n}.nii.gz", "{g}/labels/{n}.nii.gz", g=("train", "val"), n="12"),
        ["train/images/{case}.nii.gz", "train/labels/{case}.nii.gz"],
        2,
    ),
    "groups beside each other": (
        files("set/{g}/{g} ({n}){s}.png", g=("benign", "bad", "normal"), n="12", s=("", "_mask")),
        ["*/*/{case}.png", "*/*/{case}_mask.png"],
        6,
    ),
    "pictures": (
        files("{n}/photo_image.png", "{n}/photo_mask.png", n=THREE),
        ["{case}/photo_image.png", "{case}/photo_mask.png"],
        3,
    ),
    "the image is what has no word": (
        files("{n}/{n}.nii.gz", "{n}/{n}_roi.nii.gz", n=THREE),
        ["{case}/{case}.nii.gz", "{case}/{case}_roi.nii.gz"],
        3,
    ),
}


def lines(image: str | list[str], drawn: str) -> str:
    """The lines of a rule."""
    key = "structures" if "{label}" in drawn else "label"
    return f'image = {json.dumps(image)}\n{key} = "{drawn}"\n'


@pytest.mark.parametrize("name", REGULAR)
def test_names_give_the_rule(name: str, tmp_path: Path) -> None:
    paths, (scan, drawn), cases = REGULAR[name]
    assert proposed(empty(tmp_path, paths)) == (lines(scan, drawn), cases, cases)


@pytest.mark.parametrize(
    "paths",
    [
        [],
        ["readme.txt"],
        ["a/x.nii.gz", "b/y/z.nii.gz", "mask/foo.nii.gz"],
        files("c{n}/{n}_ct.nii.gz", n=THREE),
        files("c{n}/liver_mask.nii.gz", n=THREE),
        files("c{n}/a.nii.gz", "c{n}/b.nii.gz", n=THREE),
        [*files("c{n}/ct.nii.gz", n=THREE), "c01/mask.nii.gz"],
        [*files("c{n}/ct.nii.gz", "c{n}/lesion1.nii.gz", "c{n}/lesion2.nii.gz", n=("1",))],
    ],
)
def test_irregular_folders_have_no_rule(paths: list[str], tmp_path: Path) -> None:
    assert proposed(empty(tmp_path, paths)) is None


def test_values_decide_where_names_do_not(tmp_path: Path) -> None:
    for case in TWO:
        save(tmp_path / f"P{case}_ct.nii.gz", image())
        for structure in ("kidney", "liver"):
            save(tmp_path / f"P{case}_{structure}.nii.gz", labels())
    assert proposed(tmp_path) == (lines("{case}_ct.nii.gz", "{case}_{label}.nii.gz"), 2, 2)
    for case in TWO:
        save(tmp_path / "nameless" / case / "a.nii.gz", labels())
        save(tmp_path / "nameless" / case / "b.nii.gz", image() / 3)
        for name in ("A", "B", "C", "D"):
            save(tmp_path / "many" / case / f"{name}.nii.gz", image())
            save(tmp_path / "many" / case / f"{name}_gt.nii.gz", labels())
        save(tmp_path / "many" / case / "B_cine.nii.gz", np.stack([image()] * 3, axis=-1))
        for what, array in (("ct_seg", image()), ("lung_mask", labels()), ("lung_and_lesion_mask", labels())):
            save(tmp_path / "segmented" / what / f"{case}.nii.gz", array)
    assert proposed(tmp_path / "nameless") == (lines("{case}/b.nii.gz", "{case}/a.nii.gz"), 2, 2)
    assert proposed(tmp_path / "many") == (lines("{patient}/{case}.nii.gz", "{patient}/{case}_gt.nii.gz"), 8, 10)
    assert proposed(tmp_path / "segmented") == (
        lines("ct_seg/{case}.nii.gz", "lung_and_lesion_mask/{case}.nii.gz"),
        2,
        2,
    )


def test_what_a_rule_leaves_out_is_said(tmp_path: Path) -> None:
    root = empty(tmp_path / "one", files("c{n}/ct.nii.gz", "c{n}/seg.nii.gz", "c{n}/masks/{s}.nii.gz", n=TWO, s="ab"))
    found = propose(root)
    assert found is not None
    assert found.rule.lines() == lines("{case}/ct.nii.gz", "{case}/masks/{label}.nii.gz")
    assert found.unused == "{case}/seg.nii.gz"
    aligned = propose(
        empty(tmp_path / "two", files("c{n}/{a}{s}.nii.gz", n=TWO, a=("aligned_", ""), s=("img", "seg4", "seg9")))
    )
    assert aligned is not None
    assert aligned.rule.lines() == lines("{case}/aligned_img.nii.gz", "{case}/aligned_{label}.nii.gz")
    assert aligned.unused == "{case}/img.nii.gz, {case}/seg4.nii.gz, {case}/seg9.nii.gz"
    most = propose(empty(tmp_path / "most", REGULAR["labels of most files only"][0]))
    assert most is not None
    assert most.unused == "files such as test/img/img61.nii.gz"
    (root / "c03").mkdir()
    (root / "c03" / "ct.nii.gz").touch()
    assert proposed(root) == (found.rule.lines(), 2, 3)


def test_of_a_large_folder_a_part_is_looked_at(tmp_path: Path) -> None:
    paths = files("{n}_ct.nii.gz", "{n}_{s}_mask.nii.gz", n=[f"{n:04}" for n in range(300)], s="ab")
    root = empty(tmp_path, paths)
    assert len(sample(root)) == 60
    assert proposed(root) == (lines("{case}_ct.nii.gz", "{case}_{label}_mask.nii.gz"), 300, 300)


def test_the_refusal_says_what_was_seen(tmp_path: Path, wording: SnapshotAssertion) -> None:
    made = {
        "rule": files("case_{n}/ct.nii.gz", "case_{n}/organs/{s}_mask.nii.gz", n=THREE, s=("liver", "lung", "skin")),
        "public": files("case_000{n}/imaging.nii.gz", n=THREE),
        "images only": files("images/{n}.nii.gz", n=THREE),
        "one level up": ["set/images/a.nii.gz", "set/labels/a.nii.gz"],
        "no suffixes": ["a.nii.gz", "b.nii.gz", "x/c.nii.gz", "y/z.txt", "w/d.png"],
        "photographs": ["a.jpg", "b.jpg"],
        "texts": ["a.txt"],
        "odd names": ["a*\n/ct.nii.gz", "{b}/ct.nii.gz"],
        "unknown": ["images/1.tif", "images/2.tif", "manual/1.gif", "manual/2.gif", "manual/3.mhd", "manual/3.raw"],
        "unfit labels": files("images/{n}_ct.nii.gz", "labels/{n}_liver.nii.gz", n=THREE),
    }
    said = {}
    for name, paths in made.items():
        with pytest.raises(Unrecognised) as caught:
            _ = Folder(empty(tmp_path / name, paths)).layout
        said[name] = list(caught.value.args)
        assert max(map(len, said[name])) - len(str(tmp_path)) < 100
    assert said == wording
    assert "\n" not in str(caught.value)


def test_most_files_that_are_not_used_are_named(tmp_path: Path, wording: SnapshotAssertion) -> None:
    root = empty(tmp_path, ["a.nii.gz", "a_seg.nii.gz", *files("c{n}/x.nii.gz", n=TWO)])
    assert Folder(root).remarks() == ()
    empty(root, ["c03/x.nii.gz"])
    assert Folder(root).remarks() == wording


OLD = b'\xef\xbb\xbf# mine\r\nspacing = [\r\n1.0,\r\n2.0, 2.0]\r\n\r\n[names] # called\r\nliver = "the liver"\r\n'


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (None, b"%s"),
        (b"", b"%s"),
        (b'name = "lab"', b'name = "lab"\n%s'),
        (b'[labels]\n1 = "liver"\n', b'%s\n[labels]\n1 = "liver"\n'),
        (b'licence = """\n[labels]\n"""\n[labels]\n', b'licence = """\n[labels]\n"""\n%s\n[labels]\n'),
        (OLD, OLD.replace(b"[names]", b"%s\r\n[names]")),
    ],
)
def test_lines_are_written_above_the_tables(old: bytes | None, new: bytes, tmp_path: Path) -> None:
    root = empty(tmp_path / "set", files("c{n}/ct.nii.gz", "c{n}/tumour.nii.gz", n=TWO))
    if old is not None:
        (root / "dataset.toml").write_bytes(old)
    rule = lines("{case}/ct.nii.gz", "{case}/tumour.nii.gz").encode()
    file = write_rule(root)
    assert file.read_bytes() == new.replace(b"%s", rule.replace(b"\n", b"\r\n") if b"\r" in new else rule)
    assert Folder(root).cases() == ("c01", "c02")
    assert [path.name for path in root.iterdir() if path.is_file()] == ["dataset.toml"]


def test_series_with_masks_from_the_command_line(
    tmp_path: Path, say: Callable[..., Said], wording: SnapshotAssertion
) -> None:
    root = tmp_path / "clinic"
    for number, case in enumerate(("anna", "ben")):
        array = image(number).T + 1000
        write_ct(root / case / "CT", array, PatientID=case, SeriesInstanceUID=f"1.2.{number}")
        for value, name in ((1, "liver"), (2, "lesions")):
            mask = (labels() == value).astype(np.uint8)
            save(root / case / "masks" / f"{name}.nii.gz", mask, np.diag([-1.0, -1.0, 2.0, 1.0]))
    refused = say("data", "check", str(root))
    assert (refused.code, refused.out) == (2, "")
    assert refused.err == wording
    assert not (root / "dataset.toml").exists()
    said = say("data", "check", str(root), "--write")
    assert said.code == 0
    assert said.out == wording
    assert (root / "dataset.toml").read_text() == lines("{case}/CT/", "{case}/masks/{label}.nii.gz")


def test_nothing_is_written_where_nothing_is_proposed(
    tmp_path: Path, say: Callable[..., Said], wording: SnapshotAssertion
) -> None:
    folders = [
        pair(tmp_path / "known"),
        empty(tmp_path / "irregular", ["a.nii.gz", "b/c.nii.gz"]),
        pair(pair(nnunet(tmp_path / "two layouts")), "c2"),
        empty(tmp_path / "ruled", files("c{n}/ct.nii.gz", "c{n}/tumour.nii.gz", n=TWO)),
    ]
    (folders[-1] / "dataset.toml").write_text('image = "{case}/ct.nii.gz"\nlabel = "{case}/tumour.nii.gz"\n')
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    for folder in (*folders, "phantom"):
        said = say("data", "check", str(folder), "--write")
        assert (said.code, said.out) == (2, "")
        assert said.err == wording
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_a_file_that_cannot_be_written_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = empty(tmp_path, files("c{n}/ct.nii.gz", "c{n}/tumour.nii.gz", n=TWO))
    (root / "dataset.toml").write_text('name = "lab"\n')

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(IntraBenchError, match="disk is full"):
        write_rule(root)
    assert [(path.name, path.read_text()) for path in root.iterdir() if path.is_file()] == [
        ("dataset.toml", 'name = "lab"\n')
    ]
