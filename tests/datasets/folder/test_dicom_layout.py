"""Folders of DICOM series, down to the voxels and labels of the store; and what is said of files that do not fit."""

from __future__ import annotations

import errno
import io
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pydicom
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.datasets.cases import store
from intrabench.datasets.cases.timepoints import follow_ups
from intrabench.datasets.convert import dicom_series
from intrabench.datasets.convert.dicom_series import find_series
from intrabench.errors import IntraBenchError
from intrabench.registry import registry
from intrabench.workspace import data_root
from tests.datasets.convert.dicom_files import change, save, uid, write_ct, write_rtstruct, write_seg
from tests.datasets.folder.made import NO_FILES, SHAPE, found, image, labels, load, same
from tests.wording import without_reasons

pytestmark = pytest.mark.usefixtures("data")

DRAWN = labels()
SQUARES = [np.array([[4.5, 4.5, z], [4.5, 9.5, z], [8.5, 9.5, z], [8.5, 4.5, z]]) for z in (4.0, 6.0)]
INSIDE = np.zeros(SHAPE, dtype=bool)
INSIDE[5:9, 5:10, 2:4] = True
"""Contours on two slices, and the 40 voxels in them."""
THICK, THIN, P2 = "p1 2 1.2.4", "p1 4 1.2.3", "p2 00000001"
"""The cases: PatientID, SeriesNumber if there is one, and the end of the series UID."""


def dicom_folder(root: Path) -> Path:
    """Two patients: the first with two series and all kinds of drawings, the second with one series and one drawing."""
    scan = (image().T + 1000).astype(np.uint16)
    names = [{"SeriesInstanceUID": series, "SeriesNumber": number} for series, number in (("1.2.3", 4), ("1.2.4", 2))]
    thin = write_ct(root / "p1" / "thin", scan, PatientID="p1", **names[0])
    thick = write_ct(root / "p1" / "thick", scan[::2], PatientID="p1", spacing=(5, 1, 1), **names[1])
    other = write_ct(
        root / "p2", scan[::-1], PatientID="p2", FrameOfReferenceUID=uid("other"), SeriesInstanceUID="1.2.50000000001"
    )
    write_ct(root / "p3", scan, PatientID="p3", FrameOfReferenceUID=uid("nothing drawn"))
    drawn = DRAWN.T
    write_seg(root / "p1" / "seg.dcm", thin, {"Liver": drawn == 1, "Tumour": drawn == 2})
    write_rtstruct(root / "p1" / "rt.dcm", thin, {"GTV": SQUARES})
    write_seg(root / "p1" / "thick.dcm", thick, {"Liver": (drawn == 1)[::2]})
    write_seg(root / "p2" / "seg.dcm", other, {"Liver": (drawn == 1)[::-1]})
    return root


def test_dicom(tmp_path: Path, wording: SnapshotAssertion) -> None:
    root = dicom_folder(tmp_path / "study")
    dataset = registry.make("datasets", str(root))
    assert dataset.cases() == (THICK, THIN, P2)
    assert [dataset.patient(case) for case in dataset.cases()] == ["p1", "p1", "p2"]
    assert dataset.card.modality == "CT"
    assert dataset.card.caveats == wording
    affine = np.diag([-1.0, -1.0, 2.0, 1.0])
    targets = found(root, THIN, affine)
    assert {key: targets[key].sum() for key in targets} == {"GTV.1": 40, "Liver.1": 144, "Tumour.1": 49}
    assert np.array_equal(targets["Liver.1"], DRAWN == 1)
    assert np.array_equal(targets["Tumour.1"], DRAWN == 2)
    assert np.array_equal(targets["GTV.1"], INSIDE)
    affine[2, 2] = 5
    assert same(found(root, THICK, affine), {"Liver.1": (DRAWN == 1)[:, :, ::2]})
    scan = store.open_case(dataset, THIN).volume
    assert np.array_equal(scan.grid.from_canonical(scan.array), image())


def test_a_series_of_several_phases(tmp_path: Path, wording: SnapshotAssertion) -> None:
    """The segmentation tells which one is used; if it names nothing, dataset.toml does."""
    scan, root = (image().T + 1000).astype(np.uint16), tmp_path / "ct"
    first, second, third = (
        write_ct(root / str(number), scan + number, SeriesInstanceUID=f"1.2.{number}", EchoTime=f"{1.6 * number:.1f}")
        for number in (1, 2, 3)
    )
    for path in (*first, *second, *third):
        change(path, SeriesInstanceUID="1.2.9")
    seg = write_seg(root / "seg.dcm", second, {"Liver": (DRAWN == 1).T})

    def check(number: int) -> None:
        volume, (liver,) = registry.make("datasets", str(root)).load("patient 1.2.9", NO_FILES)
        assert volume.notes == wording
        assert np.array_equal(volume.grid.from_canonical(volume.array), image() + number)
        assert liver.mask.voxels == 144

    check(2)
    data = pydicom.dcmread(seg)
    for frame in data.PerFrameFunctionalGroupsSequence:
        del frame.DerivationImageSequence
    save(seg, data, ReferencedSeriesSequence=None, SourceImageSequence=None)
    with pytest.raises(IntraBenchError) as caught:
        check(0)
    assert caught == wording
    for rule, number in (("3", 3), ("{ EchoTime = 1.6 }", 1)):
        (root / "dataset.toml").write_text(f"phase = {rule}\n")
        check(number)
    for rule in ("0", "true", '"late"', "{}", "{ EchoTime = [1.6] }", "{ Echo = 1.6 }"):
        (root / "dataset.toml").write_text(f"phase = {rule}\n")
        with pytest.raises(IntraBenchError) as caught:
            check(0)
        assert caught == wording


def test_what_was_drawn_on_another_phase_is_left_out(tmp_path: Path, wording: SnapshotAssertion) -> None:
    """The phase with most of what was drawn is used, unless dataset.toml chooses; each has its own segmentation."""
    scan, root = (image().T + 1000).astype(np.uint16), tmp_path / "ct"
    for number, voxels in enumerate((DRAWN == 1, INSIDE & (np.arange(SHAPE[2]) == 2)), start=1):
        images = write_ct(
            root / str(number), scan + number, SeriesInstanceUID=f"1.2.{number}", TriggerTime=400 * number
        )
        seg = write_seg(root / f"{number}.dcm", images, {"LV": voxels.T})
        change(seg, ReferencedSeriesSequence=None)
        for path in images:
            change(path, SeriesInstanceUID="1.2.9")
    for rule, number, voxels in (("", 1, 144), ("phase = 1", 1, 144), ("phase = { TriggerTime = 800 }", 2, 20)):
        (root / "dataset.toml").write_text(rule)
        volume, (target,) = registry.make("datasets", str(root)).load("patient 1.2.9", NO_FILES)
        assert np.array_equal(volume.grid.from_canonical(volume.array), image() + number)
        assert target.mask.voxels == voxels
        assert [note.replace(str(tmp_path), "") for note in volume.notes] == wording


@pytest.mark.parametrize("kind", ["SEG", "RTSTRUCT"])
def test_what_was_drawn_on_a_slice_in_a_gap(tmp_path: Path, kind: str, wording: SnapshotAssertion) -> None:
    """It is on no slice that is there, also if they are resampled; a stretch without a gap is another choice."""
    root = tmp_path / "ct"
    images = write_ct(root, (image().T + 1000).astype(np.uint16), SeriesInstanceUID="1.2.3")
    squares = [SQUARES[0] + [0, 0, 2 * number] for number in range(4)]
    if kind == "SEG":
        write_seg(root / "drawn", images, {"GTV": (DRAWN == 1).T})
    else:
        write_rtstruct(root / "drawn", images, {"GTV": squares})
    images[3].unlink()
    (root / "dataset.toml").write_text('gaps = "resample"')
    dataset = registry.make("datasets", str(root))
    with pytest.raises(IntraBenchError) as caught:
        dataset.load(*dataset.cases(), NO_FILES)
    assert caught == wording
    (root / "dataset.toml").write_text('gaps = "longest"\noutside = "cut"')
    dataset = registry.make("datasets", str(root))
    assert dataset.load(*dataset.cases(), NO_FILES)[0].shape == (3 if kind == "SEG" else 6, 18, 20)


def test_what_several_files_say_of_one_image(tmp_path: Path, wording: SnapshotAssertion) -> None:
    """Structures of one name are instances of it; a patient of another name is told."""
    root = tmp_path / "ct"
    images = write_ct(root, (image().T + 1000).astype(np.uint16), PatientID="p1")
    write_rtstruct(root / "first.dcm", images, {"GTV": SQUARES[:1], "one": SQUARES}, SeriesInstanceUID="1.2.1")
    tags = {"SeriesInstanceUID": "1.2.2", "PatientID": "p2"}
    write_rtstruct(root / "second.dcm", images, {"GTV": SQUARES, "two": SQUARES}, **tags)
    dataset = registry.make("datasets", str(root))
    volume, targets = dataset.load(*dataset.cases(), NO_FILES)
    assert {target.id: target.mask.voxels for target in targets} == {"GTV.1": 20, "GTV.2": 40, "one.1": 40, "two.1": 40}
    assert [note.replace(str(tmp_path), "") for note in volume.notes] == wording


def test_series_of_several_modalities_keep_their_own(tmp_path: Path) -> None:
    root = dicom_folder(tmp_path / "study")
    for path in (root / "p2").iterdir():
        tags = pydicom.dcmread(path)
        if tags.Modality == "CT":
            tags.Modality = "MR"
            tags.save_as(path)
    dataset = registry.make("datasets", str(root))
    assert dataset.card.modality == ""
    for case, modality in ((THIN, "CT"), (P2, "MR")):
        store.prepare(dataset, case)
        assert store.open_case(dataset, case).volume.modality == modality


def test_a_slice_that_is_truncated_is_told_of_its_case_alone(tmp_path: Path, wording: SnapshotAssertion) -> None:
    root = dicom_folder(tmp_path / "study")
    path = min(path for path in (root / "p2").iterdir() if path.name != "seg.dcm")
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(IntraBenchError) as caught:
        load(root, P2)
    assert caught == wording
    assert list(found(root, THICK, np.diag([-1.0, -1.0, 5.0, 1.0]))) == ["Liver.1"]


def test_a_file_that_may_not_be_read_is_named_and_the_others_are_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    root = dicom_folder(tmp_path / "study")
    opened = io.open

    def refusing(file: Any, *args: Any, **options: Any) -> Any:
        if str(file).endswith("secret"):
            raise PermissionError(errno.EACCES, "Permission denied", str(file))
        return opened(file, *args, **options)

    (root / "p1" / "0secret").write_bytes(b"")
    (tmp_path / "alone").mkdir()
    (tmp_path / "alone" / "secret").write_bytes(b"")
    monkeypatch.setattr("io.open", refusing)
    monkeypatch.setattr("builtins.open", refusing)
    dataset = registry.make("datasets", str(root))
    assert dataset.cases() == (THICK, THIN, P2)
    (told,) = [note for note in dataset.card.caveats if "secret" in note]
    assert "0secret cannot be read" in told
    assert told.endswith("it is left out")
    with pytest.raises(IntraBenchError) as caught:
        registry.make("datasets", str(tmp_path / "alone"))
    assert without_reasons(str(caught.value)) == wording


def test_dicom_without_drawings_or_of_other_patients(tmp_path: Path, wording: SnapshotAssertion) -> None:
    root = dicom_folder(tmp_path / "study")
    (root / "p2" / "seg.dcm").unlink()
    only = tmp_path / "only"
    (root / "p2").rename(only)
    with pytest.raises(IntraBenchError) as caught:
        registry.make("datasets", str(only))
    assert caught == wording
    (root / "p1" / "seg.dcm").rename(only / "seg.dcm")
    with pytest.raises(IntraBenchError) as caught:
        registry.make("datasets", str(only))
    assert caught == wording


ASKED, HERE, TOO = "1.2.840.5.70000001", "1.2.840.5.10000002", "1.2.840.5.10000003"


def stale(root: Path, drawn: str = "RTSTRUCT", **tags: Any) -> Path:
    """A SEG or RTSTRUCT, on a scan with other UIDs than the one that is there now, `HERE`.

    tags: of that scan. The structure set has 40 voxels in two slices, the segmentation those of `DRAWN`.
    """
    scan = (image().T + 1000).astype(np.uint16)
    gone = write_ct(root.parent / "gone", scan, SeriesInstanceUID=ASKED, **tags)
    write_ct(root / "ct", scan, SeriesInstanceUID=HERE, SeriesNumber=4, SeriesDescription="Thorax")
    if drawn == "SEG":
        return write_seg(root / "drawn", gone, {"Liver": DRAWN.T == 1, "Tumour": DRAWN.T == 2})
    return write_rtstruct(root / "drawn", gone, {"GTV": SQUARES})


def beside(root: Path, **tags: Any) -> None:
    """Adds another scan."""
    given: dict[str, Any] = {"SeriesInstanceUID": TOO, "SeriesNumber": 5, **tags}
    write_ct(root / "more" / given["SeriesInstanceUID"], (image(1).T + 1000).astype(np.uint16), **given)


@pytest.mark.parametrize("drawn", ["SEG", "RTSTRUCT"])
def test_the_only_series_of_a_study_and_frame_is_taken_for_one_that_is_gone(
    tmp_path: Path, drawn: str, wording: SnapshotAssertion
) -> None:
    """Those of other studies and frames, and a localizer and a dose on the same images, do not make it two."""
    root = tmp_path / "study"
    stale(root, drawn)
    beside(root, StudyInstanceUID=uid("another"))
    beside(root, FrameOfReferenceUID=uid("another"), SeriesInstanceUID="1.2.840.5.4")
    beside(root, ImageType=["ORIGINAL", "PRIMARY", "LOCALIZER"], SeriesInstanceUID="1.2.840.5.6")
    beside(root, Modality="RTDOSE", SeriesInstanceUID="1.2.840.5.5")
    dataset = registry.make("datasets", str(root))
    (case,) = dataset.cases()
    assert case == "patient 4 10000002"
    targets = found(root, case, np.diag([-1.0, -1.0, 2.0, 1.0]))
    masks = {"SEG": {"Liver.1": DRAWN == 1, "Tumour.1": DRAWN == 2}, "RTSTRUCT": {"GTV.1": INSIDE}}
    assert same(targets, masks[drawn])
    volume, _ = dataset.load(case, NO_FILES)
    assert np.array_equal(volume.grid.from_canonical(volume.array), image())
    assert {"scan": volume.notes, "data set": dataset.card.caveats} == wording


def test_each_file_of_a_series_of_segmentations_has_its_own_images(tmp_path: Path) -> None:
    scan, root = (image().T + 1000).astype(np.uint16), tmp_path / "study"
    for number in (1, 2):
        images = write_ct(root / str(number), scan, SeriesInstanceUID=f"1.2.{number}")
        mask = np.equal(DRAWN.T, number)
        write_seg(root / f"seg{number}", images, {"Liver": mask}, SeriesInstanceUID="1.2.9")
    dataset = registry.make("datasets", str(root))
    targets = {case: dataset.load(case, NO_FILES)[1] for case in dataset.cases()}
    assert {case: [one.mask.voxels for one in found] for case, found in targets.items()} == {
        "patient 1.2.1": [144],
        "patient 1.2.2": [49],
    }


def test_names_of_files_tell_nothing_and_hidden_ones_are_left_out(tmp_path: Path) -> None:
    root = tmp_path / "study"
    images = write_ct(root / "ct", (image().T + 1000).astype(np.uint16), SeriesInstanceUID="1.2.3")
    write_seg(root / "seg", images, {"Liver": DRAWN.T == 1})
    images[2].rename(images[2].with_suffix(".nii"))
    for place in (root / ".trash" / "a.dcm", root / "ct" / "._001.dcm"):
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(b"no DICOM")
    write_ct(root / ".trash" / "ct", (image().T + 1000).astype(np.uint16))
    (ct, seg), broken = find_series(root)
    assert (len(ct.paths), seg.paths, broken) == (10, (root / "seg",), {})
    volume, (liver,) = registry.make("datasets", str(root)).load("patient 1.2.3", NO_FILES)
    assert (volume.shape[0], liver.mask.voxels, volume.notes) == (10, 144, ())


def test_what_is_drawn_on_a_series_and_on_one_that_is_gone_is_one_case(tmp_path: Path) -> None:
    root = tmp_path / "study"
    stale(root)
    images = sorted((root / "ct").iterdir(), key=lambda path: pydicom.dcmread(path).ImagePositionPatient[2])
    write_seg(root / "seg", images, {"Liver": DRAWN.T == 1})
    volume, segments = registry.make("datasets", str(root)).load("patient 4 10000002", NO_FILES)
    assert {one.id: one.mask.voxels for one in segments} == {"Liver.1": 144, "GTV.1": 40}
    assert [str(root / "drawn") in note for note in volume.notes] == [True]


def test_images_that_are_there_under_a_new_series_are_those_that_were_drawn_on(tmp_path: Path) -> None:
    """Images decide where series do not; nothing is noted."""
    root = tmp_path / "study"
    path = stale(root)
    (images,) = (
        one.ContourImageSequence
        for frame in (pydicom.dcmread(path).ReferencedFrameOfReferenceSequence)
        for study in frame.RTReferencedStudySequence
        for one in study.RTReferencedSeriesSequence
    )
    for slice_, named in zip(sorted((root / "ct").iterdir()), images, strict=True):
        change(slice_, SOPInstanceUID=named.ReferencedSOPInstanceUID)
    beside(root)
    dataset = registry.make("datasets", str(root))
    volume, (gtv,) = dataset.load("patient 4 10000002", NO_FILES)
    assert (volume.notes, gtv.mask.voxels) == ((), 40)


STALE: dict[str, tuple[dict[str, Any], list[dict[str, Any]], dict[str, Any]]] = {
    "two candidates": ({}, [{}], {}),
    "another frame": ({"FrameOfReferenceUID": uid("another")}, [], {}),
    "another study": ({"StudyInstanceUID": uid("another")}, [], {}),
    "another frame and study": ({"FrameOfReferenceUID": uid("another"), "StudyInstanceUID": uid("another")}, [{}], {}),
    "many of them": (
        {"FrameOfReferenceUID": uid("another")},
        [{"SeriesInstanceUID": f"1.2.840.5.8{n}"} for n in range(4)],
        {},
    ),
    "no study": ({}, [], {"StudyInstanceUID": ""}),
    "nothing named": ({}, [{}], {"ReferencedFrameOfReferenceSequence": None, "FrameOfReferenceUID": uid("frame")}),
    "two frames": ({"FrameOfReferenceUID": uid("another")}, [], {"FrameOfReferenceUID": uid("frame")}),
}
"""Tags of the scan that was drawn on, other scans in the folder, and changes of the structure set."""


@pytest.mark.parametrize("name", STALE)
def test_a_series_that_is_gone_and_no_other_that_is_certain(
    tmp_path: Path, name: str, wording: SnapshotAssertion
) -> None:
    root = tmp_path / "study"
    tags, more, changes = STALE[name]
    path = stale(root, **tags)
    change(path, **changes)
    for image_ in (root / "ct").iterdir() if name == "no study" else ():
        change(image_, **changes)
    for other in more:
        beside(root, **other)
    with pytest.raises(IntraBenchError) as caught:
        registry.make("datasets", str(root))
    assert caught == wording
    drawn_series(root, "1.2.840.5.60000001", PatientID="P", StudyInstanceUID="1.9", FrameOfReferenceUID="1.9")
    dataset = registry.make("datasets", str(root))
    assert dataset.cases() == ("P 60000001",)
    assert len([note for note in dataset.card.caveats if str(path) in note]) == 1


def test_a_series_whose_images_may_be_what_cannot_be_read_is_not_replaced(
    tmp_path: Path, wording: SnapshotAssertion
) -> None:
    root = tmp_path / "study"
    stale(root)
    broken = root / "broken.dcm"
    broken.write_bytes((tmp_path / "gone" / "000").read_bytes()[:300])
    with pytest.raises(IntraBenchError) as caught:
        registry.make("datasets", str(root))
    assert caught == wording
    broken.unlink()
    assert names_in(root) == ["patient 4 10000002"]


def test_segmentations_without_images(tmp_path: Path, wording: SnapshotAssertion) -> None:
    root = tmp_path / "study"
    change(stale(root, "SEG"), ReferencedSeriesSequence=None)
    shutil.rmtree(root / "ct")
    with pytest.raises(IntraBenchError) as caught:
        registry.make("datasets", str(root))
    assert caught == wording


def drawn_series(root: Path, series: str, **tags: Any) -> str:
    """Adds a series with a SEG to a folder; returns its folder."""
    images = write_ct(root / series / "ct", (image().T + 1000).astype(np.uint16), SeriesInstanceUID=series, **tags)
    write_seg(root / series / "seg.dcm", images, {"Liver": DRAWN.T == 1})
    return series


def names_in(root: Path) -> list[str]:
    """The names of the cases, as the folder gives them now."""
    return list(registry.make("datasets", str(root)).cases())


def test_a_case_keeps_its_name_when_series_are_added_and_removed(tmp_path: Path) -> None:
    """Also the only series of a patient, one with the number of another, and those without numbers."""
    root = tmp_path / "study"
    drawn_series(root, "1.2.840.5.70000001", PatientID="P", SeriesNumber=4)
    assert names_in(root) == ["P 4 70000001"]
    drawn_series(root, "1.2.840.5.10000002", PatientID="P", SeriesNumber=4)
    drawn_series(root, "1.2.840.5.10000003", PatientID="P")
    drawn_series(root, "1.2.840.5.10000004", PatientID="Q", SeriesNumber=0)
    assert names_in(root) == ["P 10000003", "P 4 10000002", "P 4 70000001", "Q 0 10000004"]
    shutil.rmtree(root / "1.2.840.5.10000002")
    assert names_in(root) == ["P 10000003", "P 4 70000001", "Q 0 10000004"]
    dataset = registry.make("datasets", str(root))
    assert [dataset.patient(case) for case in dataset.cases()] == ["P", "P", "Q"]


def test_series_without_a_patient_and_uids_with_equal_ends(tmp_path: Path) -> None:
    root = tmp_path / "anonymous"
    first, second = (
        "1.3.12.2.1107.5.30000010071607034867100001234.0.0.0",
        "1.3.12.2.1107.5.30000010071607034867100005678.0.0.0",
    )
    for series in (first, second):
        drawn_series(root, series, PatientID="")
    assert names_in(root) == ["00001234", "00005678"]  # all UIDs of this scanner end in .0.0.0
    dataset = registry.make("datasets", str(root))
    assert [dataset.patient(case) for case in dataset.cases()] == ["00001234", "00005678"]
    for series in ("1.2.1.12345678", "1.2.2.12345678"):
        drawn_series(tmp_path / "equal", series, PatientID="P")
    assert names_in(tmp_path / "equal") == ["P 1.2.1.12345678", "P 1.2.2.12345678"]


def test_dates_of_studies_are_times(tmp_path: Path) -> None:
    """With the time of day for two studies of a date; series of a study are no follow-ups of each other."""
    root = tmp_path / "study"
    for number, (study, date, clock, what) in enumerate(
        [
            ("first", "20190504", "101500", "T1"),
            ("first", "20190504", "101500", "T2"),
            ("second", "20210304", "153000.25", "T2"),
            ("third", "20210304", "08", "T2"),
            ("unknown", "", "120000", "T2"),
            ("removed", "", "120000", "T2"),
        ]
    ):
        tags = {"StudyInstanceUID": uid(study), "StudyDate": date, "StudyTime": clock, "SeriesDescription": what}
        drawn_series(root, f"1.2.3.1000000{number}", PatientID="P", **tags)
    for path in (root / "1.2.3.10000005" / "ct").iterdir():
        change(path, StudyDate="00000000")
    drawn_series(root, "1.2.3.20000000", PatientID="Q", StudyInstanceUID=uid("Q"), StudyDate="20210304")
    for dataset in (registry.make("datasets", str(root)) for _ in range(2)):  # then from the list of headers
        assert {case: dataset.time(case) for case in dataset.cases()} == {
            "P 10000000": "2019-05-04",
            "P 10000001": "2019-05-04",
            "P 10000002": "2021-03-04 15:30:00",
            "P 10000003": "2021-03-04 08:00:00",
            "P 10000004": "",
            "P 10000005": "",
            "Q 20000000": "2021-03-04",
        }
        assert dataset.series("P 10000001") == "CT T2"
        pairs = {one.case: one.prior for one in follow_ups(dataset)}
        assert pairs == {"P 10000003": "P 10000001", "P 10000002": "P 10000003"}


def test_a_series_number_that_is_none(tmp_path: Path) -> None:
    drawn_series(tmp_path / "d", "1.2.840.5.70000001", PatientID="P", SeriesNumber=4)
    for path in (tmp_path / "d" / "1.2.840.5.70000001" / "ct").iterdir():
        tags = pydicom.dcmread(path)
        tags[0x00200011] = pydicom.DataElement(0x00200011, "SH", "four")
        tags.save_as(path)
    assert names_in(tmp_path / "d") == ["P 70000001"]


def test_headers_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until a file is added, changed or removed; what cannot be read is tried again."""
    root, read = tmp_path / "study", list[Path]()
    drawn_series(root, "1.2.840.5.70000001", PatientID="P")
    reader = dicom_series.read_dataset

    def counted(path: Path, *keywords: str) -> Any:
        read.append(path)
        return reader(path, *keywords)

    monkeypatch.setattr(dicom_series, "read_dataset", counted)
    first = find_series(root)
    assert len(read) == 11
    assert find_series(root) == first
    assert len(read) == 11
    seg = root / "1.2.840.5.70000001" / "seg.dcm"
    content = seg.read_bytes()
    seg.unlink()
    assert [one.modality for one in find_series(root)[0]] == ["CT"]
    seg.write_bytes(content[:300])
    for _ in range(2):
        assert list(find_series(root)[1]) == [seg]
    assert len(read) == 11 + 10 + 11 + 11
    seg.write_bytes(content)
    assert find_series(root) == first
    (place,) = (data_root() / "dicom").iterdir()
    place.write_text("{")
    assert find_series(root) == first
    assert place.stat().st_size > 1000
    store.remove(registry.make("datasets", str(root)))
    assert not place.exists(), "it has names of patients"
