"""Time points of patients: their order, the prior of a case, and what a case and its prior have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench import Dataset, DatasetCard, IntraBenchError, Volume
from intrabench.datasets.cases import store
from intrabench.datasets.cases.data_check import closing, look_at
from intrabench.datasets.cases.timepoints import follow_ups, time_points
from intrabench.registry.objects import make_dataset
from intrabench.target import Target, targets_of

SHAPE = (4, 6, 40)


@dataclass(frozen=True)
class Visits(Dataset):
    """Cases ``PATIENT TIME SERIES STRUCTURES``; the time ``?`` is unknown.

    Structures are numbers: 1 the liver, 2 a cyst, 3 and 4 lesions 1 and 2. Each is a block at its place in a row.
    """

    name = "visits"
    version = "1"
    card = DatasetCard("Visits", "MR")
    given: tuple[str, ...] = ()

    def cases(self) -> tuple[str, ...]:
        return self.given

    def patient(self, case: str) -> str:
        return case.split()[0]

    def time(self, case: str) -> str:
        return case.split()[1].removeprefix("?")

    def series(self, case: str) -> str:
        return "".join(case.split()[2:3])

    def load(self, case: str, files: Any) -> tuple[Volume, list[Target]]:
        array = np.zeros(SHAPE, np.uint8)
        for value in map(int, case.split()[3]):
            array[1:3, 2:4, 10 * value - 8 : 10 * value - 5] = value
        names = {1: ("liver", 1), 2: ("cyst", 1), 3: ("lesion", 1), 4: ("lesion", 2)}
        volume = Volume.from_canonical(np.random.default_rng(0).normal(size=SHAPE).astype("float32"))
        return volume, targets_of(array, names, case, volume.spacing_mm)


@pytest.mark.parametrize(
    "times",
    [
        ("t1", "t2", "t10"),
        ("-4", "0", "0.5", "1.25", "1.5", "12"),
        ("2019-12-31", "20200101", "2020-01-02", "2020-11-01"),
        ("2021", "2021-03", "20210304", "2021-03-05T10:15", "2022"),
        ("baseline", "Month3", "month12"),
    ],
)
def test_times_are_sorted_as_people_read_them(times: Sequence[str]) -> None:
    dataset = Visits(given=tuple(f"P {time}" for time in reversed(times)))
    assert [point.time for point in time_points(dataset)["P"]] == list(times)


def test_a_case_of_the_time_before_is_the_prior() -> None:
    """Also where both ways to write a date are one time; a case without a time, or alone, has none."""
    dataset = Visits(
        given=("Q 2", "P 2021-03-04", "P 20200101 a", "P 2020-01-01 b", "P ?", "P 2019-05-06", "R 1", "Q 1")
    )
    points = {patient: [point.cases for point in found] for patient, found in time_points(dataset).items()}
    assert points == {
        "Q": [("Q 1",), ("Q 2",)],
        "P": [("P 2019-05-06",), ("P 20200101 a", "P 2020-01-01 b"), ("P 2021-03-04",)],
        "R": [("R 1",)],
    }
    assert [(one.patient, one.prior, one.case, one.times) for one in follow_ups(dataset)] == [
        ("Q", "Q 1", "Q 2", ("1", "2"))
    ]


def test_of_several_cases_at_a_time_the_same_series_is_the_prior() -> None:
    dataset = Visits(
        given=("P 1 T1", "P 1 T2", "P 2 T2", "P 2 T1", "P 2 FLAIR", "P 3 FLAIR", "P 4 T2", "P 5 T2", "P 5 T1")
    )
    assert {one.case: one.prior for one in follow_ups(dataset)} == {
        "P 2 T1": "P 1 T1",
        "P 2 T2": "P 1 T2",
        "P 3 FLAIR": "P 2 FLAIR",
        "P 4 T2": "P 3 FLAIR",  # each is alone
        "P 5 T2": "P 4 T2",
    }


def test_a_pair_opens_the_prior(data: Path) -> None:
    dataset = Visits(given=("P 1 - 1234", "P 2 - 13", "P 3 - 124"))
    first, _ = intrabench.follow_ups(dataset)
    assert not data.exists()  # nothing is converted before it is opened
    prior, case = first.open()
    assert (prior.index.case, case.index.case) == ("P 1 - 1234", "P 2 - 13")
    assert prior.volume.shape == SHAPE
    (cyst,) = prior.targets(["cyst.1"])
    assert (cyst.id, cyst.mask.box) == ("cyst.1", (1, 2, 12, 3, 4, 15))
    assert [one.case for one in intrabench.follow_ups(dataset, ["P 1*", "P 3*"])] == ["P 3 - 124"]
    assert list(intrabench.follow_ups(dataset, "P 2*")) == []


def test_changes_of_a_data_set_keep_times_and_series(data: Path) -> None:
    """The prior is changed, too."""
    plain = Visits(given=("P 1 T1 14", "P 1 T2 14", "P 2 T1 1234"))
    whole = make_dataset(plain, "whole:label=cyst", "noise:sigma=0.5")
    (one,) = follow_ups(whole)
    assert (one.prior, one.case) == ("P 1 T1 14", "P 2 T1 1234")
    prior, case = one.open()
    assert [target.mask.voxels for target in (*prior.targets(), *case.targets())] == [0, 12]
    assert not np.array_equal(prior.volume.array, store.open_case(plain, "P 1 T1 14").volume.array)


@pytest.mark.parametrize("time", ["04.03.2021", " 4/3/21", 20210304, None])
def test_times_that_nobody_can_sort_are_refused(time: Any, wording: SnapshotAssertion) -> None:
    class Odd(Visits):
        def time(self, case: str) -> Any:
            return time

    dataset = Odd(given=("P 1 - 1",))
    with pytest.raises(IntraBenchError) as caught:
        list(follow_ups(dataset))
    assert str(caught.value) == wording
    found = list(look_at(dataset, dataset.cases()))
    assert f"warning: {caught.value}" in closing(dataset, found)


def test_a_data_set_that_fails_to_tell_patients_loses_no_other_case(wording: SnapshotAssertion) -> None:
    """A run would be refused, so these cases have problems; without times it would not be."""

    class Forgetful(Visits):
        def patient(self, case: str) -> str:
            return {"P 1 - 1": "P", "Q 1 - 1": "Q", "Q 2 - 1": "Q"}[case]

        def time(self, case: str) -> str:
            return {"P 1 - 1": "1"}[case]

    dataset = Forgetful(given=("P 1 - 1", "P 2 - 1", "Q 1 - 1", "Q 2 - 1"))
    found = list(look_at(dataset, dataset.cases()))
    assert [(one.patient, len(one.targets), bool(one.problem)) for one in found] == [
        ("P", 1, False),
        ("", 0, True),
        ("Q", 1, False),
        ("Q", 1, False),
    ]
    assert closing(dataset, found) == wording


def test_the_check_says_pairs_and_doubts(wording: SnapshotAssertion) -> None:
    given = ("P 1 - 1", "P 2 - 1", "P ? - 1", "Q 1 T1 1 a", "Q 1 T1 1 b", "Q 2 T1 1", "S 7 - 1", "T ? - 1", "T ? - 1 b")
    dataset = Visits(given=(*given, "R pre T1 1", "R post T1 1", "R post T2 1"))
    found = list(look_at(dataset, dataset.cases()))
    assert [one.time for one in found] == ["1", "2", "", "1", "1", "2", "7", "", "", "pre", "post", "post"]
    assert {one.case: one.prior for one in found if one.prior} == {"P 2 - 1": "P 1 - 1", "R pre T1 1": "R post T1 1"}
    lines = closing(dataset, found)
    assert lines[1] == "time points: 3 patients with 2, 2 pairs of follow-up"
    doubts = [line for line in lines if any(word in line for word in ("time", "prior"))][1:]
    assert doubts == wording
    alone = ["Q 1 T1 1 a", "Q 1 T1 1 b", "S 7 - 1", "T ? - 1"]
    assert "time points" not in "".join(closing(dataset, list(look_at(dataset, alone))))
