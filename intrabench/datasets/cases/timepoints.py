"""The time points of patients: what was scanned when, and the prior of a case."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

from intrabench.datasets.base import Dataset, cases_of, patient_of, series_of, time_of
from intrabench.datasets.cases import store
from intrabench.datasets.cases.stored_case import StoredCase
from intrabench.errors import several

_DATE = re.compile(r"(?<!\d)((?:19|20)\d\d)(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?!\d)")
_NUMBER = re.compile(r"(^-?\d+(?:\.\d+)?|\d+(?:\.\d+)?)")


@dataclass(frozen=True)
class TimePoint:
    """The cases of a patient at one time, in the order of the data set."""

    time: str
    cases: tuple[str, ...]


def time_points(dataset: Dataset, cases: Sequence[str] | None = None) -> dict[str, list[TimePoint]]:
    """The time points of each patient, the earliest first. Cases whose time is unknown are in none.

    cases: those to look at; None: all.

    Raises:
        IntraBenchError: the data set gives a patient or time that is none.
    """
    found: dict[str, dict[tuple[str | Decimal, ...], list[tuple[str, str]]]] = {}
    for case in cases_of(dataset) if cases is None else cases:
        at = found.setdefault(patient_of(dataset, case), {})
        if time := time_of(dataset, case):
            at.setdefault(_order(time), []).append((time, case))
    return {
        patient: [TimePoint(each[0][0], tuple(case for _, case in each)) for _, each in sorted(at.items())]
        for patient, at in found.items()
    }


def _order(time: str) -> tuple[str | Decimal, ...]:
    """What times are sorted by: texts and numbers in turn. 20210304 is 2021-03-04, and after 2021-03."""
    parts = _NUMBER.split(_DATE.sub(r"\1-\2-\3", time.casefold()))
    return tuple(Decimal(part) if place % 2 else part for place, part in enumerate(parts))


@dataclass(frozen=True)
class FollowUp:
    """A case and its prior, of the same patient. times: of the prior and of the case, as the data set writes them."""

    dataset: Dataset
    patient: str
    prior: str
    case: str
    times: tuple[str, str]

    def open(self, root: Path | None = None) -> tuple[StoredCase, StoredCase]:
        """The prior and the case, with scans and masks that are read on demand, each on the grid of its own scan.

        They are not registered. root: the data folder, if it is another one.

        Raises:
            IntraBenchError: one of them cannot be downloaded or converted.
        """
        for case in (self.prior, self.case):
            store.prepare(self.dataset, case, root)
        return store.open_case(self.dataset, self.prior, root), store.open_case(self.dataset, self.case, root)


def follow_ups(dataset: Dataset, cases: Sequence[str] | None = None) -> Iterator[FollowUp]:
    """All pairs of a case and its prior, by patient and time. None is converted before it is opened.

    The prior is a case at the time point before; if either time point has several, the only one of the same
    `Dataset.series` as the case.

    cases: those that may be in pairs; None: all.

    Raises:
        IntraBenchError: the data set gives a patient, time or series that is none.
    """
    for patient, points in time_points(dataset, cases).items():
        for before, now in pairwise(points):
            single = len(before.cases) == len(now.cases) == 1
            for case in now.cases:
                alike = [one for one in before.cases if single or series_of(dataset, one) == series_of(dataset, case)]
                if len(alike) == 1:
                    yield FollowUp(dataset, patient, alike[0], case, (before.time, now.time))


def time_check(dataset: Dataset, cases: Sequence[str]) -> tuple[str, list[tuple[str, str]]]:
    """How many time points and pairs of follow-up these cases make, empty if there is no second time; and warnings.

    Each warning has the name of the case, or of the patient, before it.

    Raises:
        IntraBenchError: the data set gives a patient, time or series that is none.
    """
    patients = time_points(dataset, cases)
    follow = {one.case for one in follow_ups(dataset, cases)}
    doubts = [
        (case, doubt)
        for case in cases
        for doubt in _doubts(dataset, case, patients[patient_of(dataset, case)], case in follow)
    ]
    several_times = {patient: points for patient, points in patients.items() if len(points) > 1}
    for patient, points in several_times.items():
        if not all(re.search(r"\d", point.time) for point in points):
            order = ", ".join(point.time for point in points)
            doubts.append((patient, f"times are in the order of the alphabet ({order}); if that is wrong, write dates"))
    if not several_times:
        return "", doubts
    counts = sorted(map(len, several_times.values()))
    times = f"{counts[0]} to {counts[-1]}" if counts[0] < counts[-1] else f"{counts[0]}"
    pairs = several(len(follow), "pair")
    return f"time points: {several(len(counts), 'patient')} with {times}, {pairs} of follow-up", doubts


def _doubts(dataset: Dataset, case: str, points: Sequence[TimePoint], has_prior: bool) -> Iterator[str]:
    """What is doubtful about the time of a case, among those of its patient."""
    place = next((place for place, point in enumerate(points) if case in point.cases), None)
    if place is None:
        if points:
            yield "its time is unknown, unlike that of other cases of the patient, so it is in no pair of follow-up"
        return
    series = [series_of(dataset, one) for one in points[place].cases]
    if series.count(series_of(dataset, case)) > 1:
        yield "another case of the patient has the same time, so they are no pair of follow-up"
    if place and not has_prior:
        yield "it has no prior, as no case at the time before, or more than one, is of the same series"
