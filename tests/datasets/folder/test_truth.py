"""Truth that is cut, shifted or sheared: refused or told, by `data check` and by `run`; other cases go on."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import nibabel as nib
import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.datasets.cases import store
from intrabench.mask import Floats
from intrabench.registry import registry
from intrabench.results.parts import read_rows
from tests.conftest import Said
from tests.datasets.convert.dicom_files import CORONAL, SAGITTAL, change, uid, write_ct, write_rtstruct, write_seg
from tests.datasets.folder.made import SHAPE, image, labels, pair, save
from tests.wording import line_with, sentence_with

Say = Callable[..., Said]
SCAN = (image().T + 1000).astype(np.uint16)  # 10 slices
LIVER, TUMOUR = (labels() == 1).T, (labels() == 2).T  # on slices 1 to 4; 4 to 6 and 8


Study = Callable[[Path], list[Path]]

SERIES = {"p1": "1.2.840.10000001", "p2": "1.2.840.10000002"}
DRAWN = {"p1": "1.2.840.20000001", "p2": "1.2.840.20000002"}
P1, P2 = "p1 10000001", "p2 10000002"
"""The cases: PatientID and the end of the series UID."""


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """Puts two patients with a SEG each into a folder; returns the slices of the second."""
    made = tmp_path_factory.mktemp("study")
    for patient in ("p1", "p2"):
        tags = {"SeriesInstanceUID": SERIES[patient], "FrameOfReferenceUID": uid(patient)}
        slices = write_ct(made / patient / "ct", SCAN, PatientID=patient, **tags)
        write_seg(
            made / patient / "seg.dcm", slices, {"Liver": LIVER, "Tumour": TUMOUR}, SeriesInstanceUID=DRAWN[patient]
        )

    def copied(root: Path) -> list[Path]:
        shutil.copytree(made, root)
        return [root / path.relative_to(made) for path in slices]

    return copied


def both(say: Say, root: Path, *words: str) -> tuple[Said, Said]:
    """What `data check` and `run` say."""
    run = ("run", "--model", "box_fill", "--prompter", "box_slice", "--dataset", str(root), "--out", "out")
    return say("data", "check", str(root), *words), say(*run, *words)


def played() -> dict[tuple[str, str], str]:
    """The status of each target."""
    return {(row["case"], row["target"]): row["status"] for row in read_rows(Path("out")).iter_rows(named=True)}


def taken(root: Path, case: str) -> dict[str, int]:
    """The voxels of the targets of a case."""
    dataset = registry.make("datasets", str(root))
    return {info.id: info.voxels for info in store.prepare(dataset, case).targets}


@pytest.mark.parametrize(
    ("missing", "lost"),
    [
        (range(3), "Liver was drawn on 4 slices, of which the series SERIES lacks 2 (72 of 144 voxels)"),
        (range(6, 10), "Tumour was drawn on 4 slices, of which the series SERIES lacks 2 (17 of 49 voxels)"),
        (range(0, 10, 2), "Liver was drawn on 4 slices, of which the series SERIES lacks 2 (72 of 144 voxels)"),
        ([2], "lacks 1 of its slices"),
    ],
    ids=["first", "last", "every second", "middle"],
)
def test_a_series_without_some_of_the_slices_of_its_seg(
    study: Study, tmp_path: Path, say: Say, missing: Sequence[int], lost: str
) -> None:
    slices = study(tmp_path / "d")
    for index in missing:
        slices[index].unlink()
    said = lost.replace("SERIES", SERIES["p2"])
    check, run = both(say, tmp_path / "d")
    assert (check.code, run.code) == (1, 1)
    assert said in check.out
    assert said in run.err
    assert "in dataset.toml" in check.out
    assert played() == {(P1, "Liver.1"): "ok", (P1, "Tumour.1"): "ok", (P2, "*"): "no_data"}


def test_the_rest_of_a_cut_structure_is_used_if_the_user_says_so(
    study: Study, tmp_path: Path, say: Say, wording: SnapshotAssertion
) -> None:
    for path in study(tmp_path / "d")[6:]:
        path.unlink()
    rules = tmp_path / "d" / "dataset.toml"
    rules.write_text('outside = "cut"')
    assert taken(tmp_path / "d", P2) == {"Liver.1": 144, "Tumour.1": 32}
    check, run = both(say, tmp_path / "d")
    assert (check.code, run.code) == (0, 0)
    for printed in (check.out, run.err):
        assert "17 of 49 voxels" in printed
        assert line_with(printed, "cut off") == wording
        assert line_with(printed, "segmentations name") == wording
    rules.write_text('outside = "omit"')
    assert taken(tmp_path / "d", P2) == {"Liver.1": 144}
    text = both(say, tmp_path / "d")[1].err
    assert "17 of 49 voxels" in text
    assert line_with(text, "17 of 49 voxels") == wording
    rules.write_text('[labels]\nLiver = "liver"')  # what is not used needs no choice
    assert taken(tmp_path / "d", P2) == {"liver.1": 144}


def test_the_longest_stretch_of_a_series_with_a_gap(study: Study, tmp_path: Path, say: Say) -> None:
    study(tmp_path / "d")[2].unlink()
    (tmp_path / "d" / "dataset.toml").write_text('gaps = "longest"\noutside = "cut"')
    assert taken(tmp_path / "d", P2) == {"Liver.1": 72, "Tumour.1": 49}  # slices 3 to 9
    stored = store.open_case(registry.make("datasets", str(tmp_path / "d")), P2).volume
    assert np.array_equal(stored.grid.from_canonical(stored.array), image()[:, :, 3:])
    check, run = both(say, tmp_path / "d")
    note = f"{P2}: slices are at uneven distances; of 9, only the 7 from 6.00 to 18.00 mm along the normal are used"
    assert (check.code, run.code) == (0, 0)
    assert note in check.out
    assert note in run.err


def uneven(root: Path, steps: Sequence[float], orientation: Sequence[float] = SAGITTAL) -> tuple[list[Path], Floats]:
    """A series whose values are ten times its places along the normal in mm, and these places."""
    places = np.append(0, np.cumsum(steps)).round(3)
    scan = np.repeat(1000 + 10 * places, 18 * 20).reshape(-1, 18, 20).astype(np.uint16)
    slices = write_ct(root / "ct", scan, PatientID="p1", SeriesInstanceUID=SERIES["p1"], orientation=orientation)
    for path, place in zip(slices, places, strict=True):
        change(path, ImagePositionPatient=(place * np.cross(orientation[:3], orientation[3:])).tolist())
    return slices, places


def draw(path: Path, kind: str, slices: list[Path], places: Floats, orientation: Sequence[float]) -> None:
    """Draw 4 x 7 pixels on the slices 3, 4 and 5."""
    across, down = np.reshape(orientation, (2, 3))
    if kind == "SEG":
        drawn = np.zeros((len(slices), 18, 20), dtype=bool)
        drawn[3:6, 5:9, 5:12] = True
        write_seg(path, slices, {"Liver": drawn})
    else:
        corners = np.array([(4.5, 4.5), (11.5, 4.5), (11.5, 8.5), (4.5, 8.5)]) @ [across, down]
        write_rtstruct(path, slices, {"Liver": [corners + at * np.cross(across, down) for at in places[3:6]]})


@pytest.mark.parametrize("orientation", [SAGITTAL, CORONAL], ids=["sagittal", "coronal"])
@pytest.mark.parametrize("kind", ["SEG", "RTSTRUCT"])
def test_uneven_steps_are_resampled_if_the_user_says_so(
    tmp_path: Path, say: Say, kind: str, orientation: Sequence[float]
) -> None:
    """Values stay where they are; a slice has what is drawn on the slice that is nearest."""
    root = tmp_path / "d"
    slices, places = uneven(root, [2, 2, 2, 2, 5.4, 2, 2, 2.6, 2, 2.6], orientation)
    draw(root / "drawn", kind, slices, places, orientation)
    check, run = both(say, root)
    assert (check.code, run.code) == (1, 1)
    assert 'gaps = "longest"' in check.out
    (root / "dataset.toml").write_text('gaps = "resample"')
    nearest = np.abs(np.linspace(0, places[-1], 13)[:, None] - places).argmin(axis=1)  # 24.6 mm in steps of about 2
    count = int(np.isin(nearest, (3, 4, 5)).sum())
    assert (count, taken(root, P1)) == (5, {"Liver.1": 28 * 5})
    stored = store.open_case(registry.make("datasets", str(root)), P1)
    assert sorted((*stored.volume.shape, *stored.volume.spacing_mm)) == [1, 1, 2.05, 13, 18, 20]
    normal = np.cross(orientation[:3], orientation[3:]) * (-1, -1, 1)
    at = (
        np.moveaxis(np.indices(stored.volume.shape), 0, -1) @ stored.volume.affine[:3, :3].T
        + stored.volume.affine[:3, 3]
    )
    assert np.abs(stored.volume.array - 10 * (at @ normal)).max() <= 0.51
    inside = stored.targets()[0].mask.to_array(stored.volume.shape)
    assert set(np.abs((at[inside] @ normal)[:, None] - places).argmin(axis=1)) == {3, 4, 5}
    check, run = both(say, root)
    assert (check.code, run.code) == (0, 0)
    for printed in (check.out, run.err):
        assert "11 slices to 13" in printed


@pytest.mark.parametrize("kind", ["SEG", "RTSTRUCT"])
def test_steps_that_are_nearly_equal_are_taken_as_equal(tmp_path: Path, kind: str) -> None:
    """Every slice keeps its values and what was drawn on it."""
    slices, places = uneven(tmp_path / "d", [2, 2.2, 2, 1.8, 2.2, 1.8, 2, 2])
    draw(tmp_path / "d" / "drawn", kind, slices, places, SAGITTAL)
    dataset = registry.make("datasets", str(tmp_path / "d"))
    index = store.prepare(dataset, P1)
    assert {info.id: info.voxels for info in index.targets} == {"Liver.1": 84}
    stored = store.open_case(dataset, P1)
    inside = stored.targets()[0].mask.to_array(stored.volume.shape)
    assert sorted(set(stored.volume.array[inside] / 10)) == places[3:6].tolist()
    assert "off equal steps" in index.notes[0]


def test_the_longest_stretch_with_labels(tmp_path: Path) -> None:
    slices, places = uneven(tmp_path / "d", [2] * 7 + [7] + [2] * 3)
    drawn = np.zeros((12, 18, 20), dtype=bool)
    drawn[9:11, 5:9, 5:12] = True
    write_seg(tmp_path / "d" / "seg", slices, {"Liver": drawn})
    (tmp_path / "d" / "dataset.toml").write_text('gaps = "longest"')
    assert taken(tmp_path / "d", P1) == {"Liver.1": 56}
    volume = store.open_case(registry.make("datasets", str(tmp_path / "d")), P1).volume
    assert np.unique(volume.array // 10).tolist() == places[8:].tolist()


def test_files_that_are_broken_or_belong_nowhere_are_told_by_runs(
    study: Study, tmp_path: Path, say: Say, wording: SnapshotAssertion
) -> None:
    root = tmp_path / "d"
    slices = study(root)
    stray = write_ct(
        tmp_path / "elsewhere", SCAN, FrameOfReferenceUID=uid("elsewhere"), SeriesInstanceUID="1.2.840.30000001"
    )
    square = np.array([[1, 1, 2], [3, 1, 2], [3, 3, 2]])
    write_rtstruct(root / "stray", stray, {"a": [square]})
    broken = {"cut": slices[3].read_bytes()[:300], "odd": slices[3].read_bytes()[:132] + bytes(range(256))}
    broken["empty.dcm"] = b""
    for name, content in broken.items():
        (root / "p2" / name).write_bytes(content)
    check, run = both(say, root)
    assert (check.code, run.code) == (0, 0)
    for printed in (check.out, run.err):
        assert line_with(printed, "stray was drawn") == wording
        for name in broken:
            (line,) = [line for line in printed.splitlines() if f"{root / 'p2' / name} " in line]
            assert line == wording
    assert len(played()) == 4


@pytest.mark.parametrize("harm", [300, 0], ids=["header", "empty"])
@pytest.mark.parametrize("place", ["seg.dcm", "labels/deep/seg.dcm"])
def test_a_case_whose_segmentation_cannot_be_read_fails(
    study: Study, tmp_path: Path, say: Say, harm: int, place: str, wording: SnapshotAssertion
) -> None:
    """It is not left out, as the scan of a patient without segmentation is."""
    root = tmp_path / "d"
    study(root)
    write_ct(root / "p3", SCAN, PatientID="p3", FrameOfReferenceUID=uid("p3"))
    bad = root / "p2" / place
    bad.parent.mkdir(parents=True, exist_ok=True)
    (root / "p2" / "seg.dcm").rename(bad)
    whole = bad.read_bytes()
    bad.write_bytes(whole[:harm])
    check, run = both(say, root)
    assert (check.code, run.code) == (1, 1)
    why = f"{root / 'p2' / 'ct'} lacks its segmentation, which may be a file that cannot be read: {bad} "
    for printed in (check.out, run.err):
        assert why in printed
        assert sentence_with(printed, "move that file away") == wording
        assert line_with(printed, "1 of 3 image") == wording
    sound = {(P1, "Liver.1"): "ok", (P1, "Tumour.1"): "ok"}
    assert played() == sound | {(P2, "*"): "no_data"}
    bad.write_bytes(whole)
    assert both(say, root)[1].code == 0
    assert played() == sound | {(P2, "Liver.1"): "ok", (P2, "Tumour.1"): "ok"}


def test_a_case_whose_only_image_cannot_be_read_fails(
    study: Study, tmp_path: Path, say: Say, wording: SnapshotAssertion
) -> None:
    root = tmp_path / "d"
    for path in study(root):
        path.write_bytes(path.read_bytes()[:300])
    check, run = both(say, root)
    assert (check.code, run.code) == (1, 1)
    assert sentence_with(run.err, "d, case p2 ") == wording
    assert "not in this folder" not in run.err
    assert played()["p2 1 20000002", "*"] == "no_data"  # named by the series of the segmentation


def test_a_broken_slice_does_not_make_cases_of_scans_without_segmentation(
    study: Study, tmp_path: Path, say: Say, wording: SnapshotAssertion
) -> None:
    root = tmp_path / "d"
    slices = study(root)
    write_ct(root / "p2" / "scout", SCAN[:1], PatientID="p2", FrameOfReferenceUID=uid("p2"))
    (root / "p2" / "ct" / "more.dcm").write_bytes(slices[3].read_bytes()[:300])
    check, run = both(say, root)
    assert (check.code, run.code) == (0, 0)
    assert line_with(run.err, "1 of 3 image") == wording
    (root / "p2" / "more.dcm").write_bytes(slices[3].read_bytes()[:300])  # may be of either series
    assert both(say, root)[1].code == 1
    assert {case for case, _ in played()} == {P1, P2, f"p2 {uid(root / 'p2' / 'scout')[-8:]}"}


def test_a_structure_set_beyond_its_series_does_not_hide_the_sound_ones(tmp_path: Path) -> None:
    slices = write_ct(tmp_path / "d" / "ct", SCAN, PatientID="p1", SeriesInstanceUID=SERIES["p1"])
    corners = np.array([[4.5, 4.5], [4.5, 9.5], [8.5, 9.5], [8.5, 4.5]])
    inside = [np.column_stack([corners, np.full(4, 2.0 * z)]) for z in (2, 3)]
    beyond = [np.column_stack([corners, np.full(4, 2.0 * z)]) for z in (9, 10)]
    beside = [points + [300, 0, 0] for points in inside]
    write_rtstruct(tmp_path / "d" / "rt", slices, {"GTV": inside, "Couch": beside})
    assert taken(tmp_path / "d", P1) == {"GTV.1": 40}
    write_rtstruct(tmp_path / "d" / "rt", slices, {"GTV": inside, "Cord": beyond})
    (tmp_path / "d" / "dataset.toml").write_text('outside = "omit"')
    assert taken(tmp_path / "d", P1) == {"GTV.1": 40}
    (tmp_path / "d" / "dataset.toml").write_text('outside = "cut"')
    assert taken(tmp_path / "d", P1) == {"GTV.1": 40, "Cord.1": 20}


def square(z: float, side: float = 5) -> np.ndarray:
    """A contour around `side` x `side` voxels in the plane of a slice."""
    corners = np.array([[4.5, 4.5], [4.5, 4.5 + side], [4.5 + side, 4.5 + side], [4.5 + side, 4.5]])
    return np.column_stack([corners, np.full(4, 2.0 * z)])


def test_contours_that_are_odd_are_told(tmp_path: Path, say: Say, wording: SnapshotAssertion) -> None:
    slices = write_ct(tmp_path / "d" / "ct", SCAN, PatientID="p1", SeriesInstanceUID=SERIES["p1"])
    twice, thick, thin = [square(2), square(2), square(3)], [square(2), square(4)], [square(2, 0.3)]
    write_rtstruct(tmp_path / "d" / "rt", slices, {"Twice": twice, "Thick": thick, "Thin": thin})
    assert taken(tmp_path / "d", P1) == {"Twice.1": 50, "Thick.1": 50}
    check, run = both(say, tmp_path / "d")
    for printed in (check.out, run.err):
        assert line_with(printed, "neighbouring slices") == wording
        assert line_with(printed, "region Thin") == wording
        assert "the region Twice" not in printed


def test_contours_through_centres(tmp_path: Path, say: Say) -> None:
    slices = write_ct(tmp_path / "d" / "ct", SCAN, PatientID="p1", SeriesInstanceUID=SERIES["p1"])
    traced = [square(z, 9) + (0.5, 0.5, 0) for z in range(6)]  # from 5 to 14
    write_rtstruct(tmp_path / "d" / "rt", slices, {"Traced": traced, "Too": traced[:1], "Drawn": [square(2)]})
    assert taken(tmp_path / "d", P1) == {"Traced.1": 600, "Too.1": 100, "Drawn.1": 25}
    check, run = both(say, tmp_path / "d")
    for printed in (check.out, run.err):
        assert printed.count("count as inside") == 1
    (tmp_path / "d" / "dataset.toml").write_text('contours = "exclusive"')
    assert taken(tmp_path / "d", P1) == {"Traced.1": 384, "Too.1": 64, "Drawn.1": 25}
    assert "count as outside" in both(say, tmp_path / "d")[0].out


def test_a_copy_of_a_segmentation_does_not_count(study: Study, tmp_path: Path, say: Say) -> None:
    study(tmp_path / "d")
    seg = tmp_path / "d" / "p2" / "seg.dcm"
    (tmp_path / "d" / "p2" / "z.dcm").write_bytes(seg.read_bytes())
    assert taken(tmp_path / "d", P2) == {"Liver.1": 144, "Tumour.1": 49}
    copy = f"{tmp_path / 'd' / 'p2' / 'z.dcm'} is a copy of {seg}, so it does not count"
    assert copy in both(say, tmp_path / "d")[1].err


def test_a_file_whose_two_grids_differ_is_told(tmp_path: Path, say: Say) -> None:
    root = pair(tmp_path / "lab")
    for name in ("images", "labels"):
        scan = nib.load(root / name / "c1.nii.gz")
        scan.set_qform(np.diag([3.0, 3, 3, 1]), 1)
        nib.save(scan, root / name / "c1.nii.gz")
    note = "c1: the sform of the file is used; its qform differs: spacing 3 x 3 x 3 instead of 1 x 1 x 2.5 mm"
    check, run = both(say, root)
    assert note in check.out
    assert note in run.err


@pytest.mark.parametrize("ending", [".nii.gz", ".seg.nrrd"])
def test_labels_on_nearly_the_grid_of_their_image(tmp_path: Path, say: Say, ending: str) -> None:
    """In all kinds of files: a hundredth of a voxel is nothing, a tenth is told, more is refused or resampled."""
    import SimpleITK as sitk

    root = pair(tmp_path / "lab")
    (root / "labels" / "c1.nii.gz").unlink()

    def shifted(mm: float) -> None:
        label = sitk.GetImageFromArray(labels().T)
        label.SetSpacing((1, 1, 2.5))
        label.SetOrigin((-40 + mm, -12, -9))
        if ending == ".seg.nrrd":
            for number, value in enumerate((1, 2, 5)):
                label.SetMetaData(f"Segment{number}_Name", f"label_{value}")
                label.SetMetaData(f"Segment{number}_LabelValue", str(value))
        sitk.WriteImage(label, str(root / "labels" / f"c1{ending}"))

    voxels = {"label_1.1": 144, "label_2.1": 49, "label_5.1": 8}
    for mm, told in ((0.005, False), (0.05, True)):
        shifted(mm)
        assert taken(root, "c1") == voxels
        for printed in (both(say, root)[0].out, both(say, root)[1].err):
            assert (f"{mm} voxels off" in printed) == told
    shifted(0.8)
    differs = f"origin {0.8 if ending == '.nii.gz' else 0.2} mm in x"
    check, run = both(say, root)
    assert (check.code, run.code) == (1, 1)
    for printed in (check.out, run.err):
        assert f"its image: {differs}" in printed
    (root / "dataset.toml").write_text("resample = true")
    assert taken(root, "c1") == voxels  # moved by a whole voxel
    check, run = both(say, root)
    for printed in (check.out, run.err):
        assert f"({differs}" in printed


@pytest.mark.parametrize("length", [1e-9, 1e-5, 1e6])
def test_voxels_that_cannot_be(tmp_path: Path, say: Say, length: float, wording: SnapshotAssertion) -> None:
    affine = np.diag([length, 1, 2.5, 1])
    save(tmp_path / "lab" / "images" / "c1.nii.gz", image(), affine)
    save(tmp_path / "lab" / "labels" / "c1.nii.gz", labels(), affine)
    said = say("data", "check", str(tmp_path / "lab"))
    assert said.code == 1
    assert f"of {length:g} x" in said.out
    assert said.out == wording


def test_which_volume_of_a_file_with_four_axes_is_used(tmp_path: Path, say: Say, wording: SnapshotAssertion) -> None:
    root = pair(tmp_path / "lab")
    save(root / "images" / "c1.nii.gz", np.stack([image(), image(1), image(2)], axis=3))
    note = "c1: the file has 3 channels or time points, of which number 0 (counted from 0) is used"
    check, run = both(say, root)
    assert note in check.out
    assert note in run.err
    words = ("--model", "box_fill", "--prompter", "box_slice", "--dataset", str(root), "--out", "out", "--dry-run")
    assert f"lab, note: {note}" in say("run", *words).out
    assert note in both(say, root)[1].err  # the stored case has it, too
    assert line_with(say("data", "check", f"{root}:channel=2").out, "which number") == wording


def sheared(root: Path) -> np.ndarray:
    """A ball of radius 8 mm around the middle of a scan with sheared axes; returns the affine."""
    affine = np.array([[1.0, 0.3, 1.4, 0], [0, 0.9, 0.8, 0], [0, 0, 1.1, 0], [0, 0, 0, 1]])
    indices = np.stack(np.indices((40, 44, 30)), axis=-1)
    places = indices @ affine[:3, :3].T
    distance = np.linalg.norm(places - places[20, 22, 15], axis=-1)
    save(root / "images" / "c1.nii.gz", (1000 - 10 * distance).astype(np.int16), affine)
    save(root / "labels" / "c1.nii.gz", (distance < 8).astype(np.uint8), affine)
    return affine


def test_a_sheared_scan_is_refused(tmp_path: Path, say: Say, wording: SnapshotAssertion) -> None:
    sheared(tmp_path / "lab")
    check, run = both(say, tmp_path / "lab")
    assert (check.code, run.code) == (1, 1)
    for printed in (check.out, run.err):
        assert "are 45.8 degrees off" in printed
        assert re.findall(r"the axes of .*", printed)[0] == wording


def test_a_sheared_scan_is_resampled_if_the_user_says_so(tmp_path: Path) -> None:
    """The ball has the volume of a ball, its size along each axis, and its image stays where it is."""
    affine = sheared(tmp_path / "lab")
    (tmp_path / "lab" / "dataset.toml").write_text('shear = "resample"')
    dataset = registry.make("datasets", str(tmp_path / "lab"))
    store.prepare(dataset, "c1")
    stored = store.open_case(dataset, "c1")
    (target,) = stored.targets()
    volume = stored.volume
    assert volume.grid.skew_degrees < 1e-6
    assert target.volume_ml == pytest.approx(4 / 3 * np.pi * 0.8**3, rel=0.01)
    low, high = np.reshape(target.mask.box, (2, 3))
    assert (high - low) * volume.spacing_mm == pytest.approx([16, 16, 16], abs=1.2)
    middle = (low + high - 1) / 2 @ volume.affine[:3, :3].T + volume.affine[:3, 3]
    assert middle == pytest.approx(affine[:3, :3] @ [20, 22, 15], abs=0.6)
    brightest = np.argwhere(volume.array == volume.array.max()).mean(axis=0)
    assert brightest @ volume.affine[:3, :3].T + volume.affine[:3, 3] == pytest.approx(middle, abs=1.0)


def test_gantry_tilt_keeps_slices_and_contours(tmp_path: Path) -> None:
    """Slices shifted by whole pixels are shifted back without loss."""
    slices = write_ct(tmp_path / "d" / "ct", SCAN, PatientID="p1", SeriesInstanceUID=SERIES["p1"], step=(0, 1, 2))
    write_seg(tmp_path / "d" / "seg", slices, {"Liver": LIVER, "Tumour": TUMOUR})
    (tmp_path / "d" / "dataset.toml").write_text('shear = "resample"')
    assert taken(tmp_path / "d", P1) == {"Liver.1": 144, "Tumour.1": 49}
    volume = store.open_case(registry.make("datasets", str(tmp_path / "d")), P1).volume
    assert (volume.shape, volume.spacing_mm) == ((10, 27, 20), (2.0, 1.0, 1.0))
    array = volume.grid.from_canonical(volume.array)
    for z in range(10):
        assert np.array_equal(array[:, z : z + 18, z], image()[:, :, z])


def test_float_noise_and_oblique_affines_are_no_shear(tmp_path: Path, say: Say) -> None:
    turn = np.array([[0.8, -0.36, 0.48], [0.6, 0.48, -0.64], [0, 0.8, 0.6]])
    affine = np.eye(4)
    affine[:3, :3] = turn * (1, 1, 2.5) + np.random.default_rng(0).normal(0, 1e-4, (3, 3))
    for folder, array in (("images", image()), ("labels", labels())):
        path = save(tmp_path / "lab" / folder / "c1.nii.gz", array, affine)
        assert nib.load(path).shape == SHAPE
    assert say("data", "check", str(tmp_path / "lab")).code == 0


OUTSIDE = """
from dataclasses import dataclass
import numpy as np
from intrabench import Dataset, DatasetCard, Mask, Target, Volume

@dataclass(frozen=True)
class Outside(Dataset):
    name = "outside"
    version = "1"
    card = DatasetCard("Targets outside", "CT")

    def cases(self):
        return "fine", "outside"

    def load(self, case, files):
        volume = Volume.from_canonical(np.arange(1000).reshape(10, 10, 10))
        start = (0, 0, 0) if case == "fine" else (0, 0, 8)
        mask = Mask.of(np.ones((3, 3, 3), bool), start)
        return volume, [Target(case, "cell", 1, mask, volume.shape, volume.spacing_mm)]
"""


def test_a_target_outside_of_its_scan_from_a_class(tmp_path: Path, say: Say, wording: SnapshotAssertion) -> None:
    (tmp_path / "outside.py").write_text(OUTSIDE)
    words = ("--plugin", str(tmp_path / "outside.py"))
    check = say("data", "check", "outside", *words)
    run = say("run", "--model", "box_fill", "--prompter", "box_slice", "--dataset", "outside", "--out", "out", *words)
    assert (check.code, run.code) == (1, 1)
    for printed in (check.out, run.err):
        assert line_with(printed.replace("CANNOT BE USED: ", ""), "outside: target") == wording
        assert "data set outside" not in printed  # each line names data set and case already
    assert played() == {("fine", "cell.1"): "ok", ("outside", "*"): "no_data"}
