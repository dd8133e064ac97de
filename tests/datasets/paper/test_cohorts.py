"""Pinned cohorts: what lies in the package, and the rules that chose it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

import pytest

from intrabench.datasets import colorectal_livermets, hcc_tace
from intrabench.datasets.families.idc_set import cohort
from intrabench.fetch.idc import IdcSeries
from tests.conftest import Said
from tests.datasets.paper.conftest import Commons, make_cohorts
from tests.datasets.paper.miniatures import made

NAMES = ("adrenal_acc", "colorectal_livermets", "hcc_tace", "lnq", "rider_lung")
UID = re.compile(r"[1-9]\d*(\.(0|[1-9]\d*)){5,}")
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def pinned(name: str) -> list[tuple[str, IdcSeries]]:
    """Each series of each case."""
    return [(case, series) for case, listed in cohort(name).items() for series in listed]


@pytest.mark.parametrize(
    ("spec", "cases", "first", "last"),
    [
        ("adrenal_acc", 53, "Adrenal_Ki67_Seg_001", "Adrenal_Ki67_Seg_053"),
        ("colorectal_livermets", 171, "CRLM-CT-1001", "CRLM-CT-1198"),
        ("colorectal_livermets:cohort=all", 197, "CRLM-CT-1001", "CRLM-CT-1198"),
        ("hcc_tace", 66, "HCC_004", "HCC_098"),
        ("lnq", 513, "case_0002", "case_1100"),
        ("rider_lung", 59, "RIDER-1129164940_retest", "RIDER-9763310455_test"),
    ],
)
def test_each_set_has_its_cases(spec: str, cases: int, first: str, last: str) -> None:
    dataset = made(spec)
    found = dataset.cases()
    assert (len(found), found[0], found[-1]) == (cases, first, last)
    assert len(set(found)) == cases
    assert sorted(found) == list(found)
    if spec == dataset.name:
        assert dataset.card.cases == cases


def test_what_is_left_out_is_there_to_be_left_out() -> None:
    assert len(colorectal_livermets.LEFT_OUT) == 26
    assert set(cohort("colorectal_livermets")) >= colorectal_livermets.LEFT_OUT
    assert len(hcc_tace.LEFT_OUT) == 4
    assert set(cohort("hcc_tace")) >= hcc_tace.LEFT_OUT


@pytest.mark.parametrize("name", NAMES)
def test_each_case_has_one_series_of_labels_in_one_file_and_scans(name: str) -> None:
    kind = "RTSTRUCT" if name == "rider_lung" else "SEG"
    several = name in ("adrenal_acc", "rider_lung")
    for case, listed in cohort(name).items():
        kinds = Counter(series.kind for series in listed)
        assert kinds.keys() == {"CT", kind}, case
        assert kinds[kind] == 1, case
        assert kinds["CT"] == 1 or several, case
        assert [series.files for series in listed if series.kind == kind] == [1], case
        assert all(series.files > 20 for series in listed if series.kind == "CT"), case


@pytest.mark.parametrize("name", NAMES)
def test_identifiers_are_well_formed_and_unique(name: str) -> None:
    listed = pinned(name)
    assert len(set(listed)) == len(listed)
    series = {one for _, one in listed}
    assert len({one.uid for one in series}) == len({one.uuid for one in series}) == len(series)
    assert all(UID.fullmatch(one.uid) and len(one.uid) <= 64 and UUID.fullmatch(one.uuid) for one in series)
    assert all(one.mb > 0 for one in series)
    # only test and retest of one patient share a scan
    shared = Counter(one for _, one in listed)
    assert set(shared.values()) == ({1, 2} if name == "rider_lung" else {1})


def test_nodes_are_drawn_completely_in_120_scans() -> None:
    subsets = made("lnq").subsets()
    assert {name: len(cases) for name, cases in subsets.items()} == {
        "smoke": 2,
        "fully_annotated": 120,
        "partially_annotated": 393,
    }
    assert set(subsets["fully_annotated"]).isdisjoint(subsets["partially_annotated"])
    assert list(subsets["smoke"]) == list(subsets["fully_annotated"])[:2]


def test_scans_and_labels_are_described_as_the_rules_want() -> None:
    abouts: dict[tuple[str, str], set[str]] = {}
    for name in NAMES:
        for _, series in pinned(name):
            abouts.setdefault((name, series.kind), set()).add(series.about)
    assert all("Recon 3" in about for about in abouts["hcc_tace", "CT"])
    assert abouts["lnq", "SEG"] == {"Fully Annotated", "Partially Annotated"}
    assert abouts["rider_lung", "RTSTRUCT"] == {"TEST", "RETEST"}
    for name in ("adrenal_acc", "colorectal_livermets", "hcc_tace"):
        assert abouts[name, "SEG"] == {"Segmentation"}
    assert sum(one.kind == "RTSTRUCT" and one.about == "TEST" for _, one in pinned("rider_lung")) == 30
    for case, listed in cohort("rider_lung").items():
        assert [one.about.lower() for one in listed if one.kind == "RTSTRUCT"] == [case.rpartition("_")[2]]


def test_where_a_case_comes_from_can_be_printed(say: Callable[..., Said]) -> None:
    said = say("data", "urls", "lnq", "--cases", "case_0002")
    scan, labels = cohort("lnq")["case_0002"]
    assert said.code == 0
    assert [line.split("\t")[0] for line in said.out.splitlines()] == [
        f"CT series ...{scan.uid[-12:]}",
        f"SEG series ...{labels.uid[-12:]}",
    ]
    assert f"?list-type=2&prefix={labels.uuid}/" in said.out


@pytest.mark.parametrize(
    ("name", "collection", "rows", "kept"),
    [
        (
            "lnq",
            "mediastinal_lymph_node_seg",
            [
                ("case_0002", "s1", "CT", None, None, True),
                ("case_0002", "s1", "SEG", "Fully Annotated", None, True),
            ],
            ["case_0002"],
        ),
        (
            "colorectal_livermets",
            "colorectal_liver_metastases",
            [
                ("CRLM-CT-1002", "s1", "CT", "Abdomen 5.0 B40s", None, True),
                ("CRLM-CT-1002", "s1", "SEG", "Segmentation", None, True),
                ("CRLM-CT-1002", "s1", "SEG", "AIMI liver-tumor AI segmentation", "bamf_aimi_annotations", False),
                ("CRLM-CT-1001", "s2", "CT", None, None, True),
                ("CRLM-CT-1001", "s2", "SEG", "Segmentation", None, True),
            ],
            ["CRLM-CT-1001", "CRLM-CT-1002"],
        ),
        (
            "adrenal_acc",
            "adrenal_acc_ki67_seg",
            [
                ("Adrenal_Ki67_Seg_001", "s1", "CT", None, None, True),
                ("Adrenal_Ki67_Seg_001", "s1", "CT", "Abd", None, True),
                ("Adrenal_Ki67_Seg_001", "s1", "SEG", "Segmentation", None, True),
                ("Adrenal_Ki67_Seg_001", "s2", "CT", "Abd", None, False),
            ],
            ["Adrenal_Ki67_Seg_001"],
        ),
        (
            "hcc_tace",
            "hcc_tace_seg",
            [
                ("HCC_001", "s1", "CT", "Recon 3: PRE LIVER", None, False),  # two of them
                ("HCC_001", "s1", "CT", "Recon 3: LIVER 2PHASE CAP", None, False),
                ("HCC_001", "s1", "SEG", "Segmentation", None, False),
                ("HCC_002", "s2", "CT", "Recon 3: PRE LIVER", None, False),  # no labels of the authors'
                ("HCC_002", "s2", "SEG", "AIMI liver-tumor AI segmentation", "bamf_aimi_annotations", False),
                ("HCC_003", "s3", "CT", "2.5 SOFT", None, False),  # no third reconstruction
                ("HCC_003", "s3", "SEG", "Segmentation", None, False),
                ("HCC_004", "s4", "CT", "Recon 3: LIVER 3 PHASE (AP)", None, True),
                ("HCC_004", "s4", "CT", None, None, False),
                ("HCC_004", "s4", "SEG", "Segmentation", None, True),
                ("HCC_004", "s4", "SEG", "AIMI liver-tumor AI segmentation", "bamf_aimi_annotations", False),
                ("HCC_004", "s5", "CT", "Recon 3: LATER", None, False),  # a study without labels
                ("HCC_005", "s6", "CT", "Recon 3: PRE LIVER", None, False),
                ("HCC_005", "s6", "SEG", "Segmentation", None, False),  # two of them
                ("HCC_005", "s6", "SEG", "Segmentation", None, False),
            ],
            ["HCC_004"],
        ),
        (
            "rider_lung",
            "rider_lung_ct",
            [
                ("RIDER-1", "s1", "CT", None, None, True),
                ("RIDER-1", "s1", "RTSTRUCT", "TEST", "rider_lungct_seg", True),
                ("RIDER-1", "s1", "SEG", "RIDER-1_20190220_TEST", "rider_lungct_seg", False),
                ("RIDER-1", "s1", "SEG", None, "qiba_volct_1b", False),
                ("RIDER-1", "s1", "SEG", "QIN CT challenge: alg01 run1segmentation result", "qin_lungct_seg", False),
                ("RIDER-1", "s1", "SEG", "Tumor Segmentation", None, False),
                ("RIDER-1", "s1", "SR", "Lesion Designator", "qiba_volct_1b", False),
                ("RIDER-1", "s2", "CT", None, None, True),
                ("RIDER-1", "s2", "RTSTRUCT", "RETEST", "rider_lungct_seg", True),
                ("RIDER-1", "s3", "CT", None, None, False),
                ("RIDER-9762593735", "s4", "CT", None, None, False),
            ],
            ["RIDER-1_retest", "RIDER-1_test"],
        ),
    ],
)
def test_the_rules_choose_the_authors_labels_and_their_scans(
    commons: Commons,
    name: str,
    collection: str,
    rows: list[tuple[str, str, str, str | None, str | None, bool]],
    kept: list[str],
) -> None:
    expected = set()
    for number, (patient, study, kind, about, analysis, chosen) in enumerate(rows):
        tags = {"patient": patient, "study": study, "kind": kind, "about": about, "analysis": analysis}
        uuid = commons.row(collection, f"1.{number}", **tags, files=number + 1, mb=number + 0.123)
        commons.row("another_collection", f"2.{number}", **tags)
        if chosen:
            expected.add((f"1.{number}", uuid, kind, number + 1, round(number + 0.123, 2), about or ""))
    commons.pin(name)
    assert list(cohort(name)) == kept
    assert {tuple(vars(series).values()) for _, series in pinned(name)} == expected


def test_there_is_a_rule_for_each_cohort() -> None:
    assert set(make_cohorts().RULES) == set(NAMES)
    assert {path.stem for path in make_cohorts().COHORTS.iterdir()} == set(NAMES)
