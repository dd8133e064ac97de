"""Pinned cohorts: the series of the Imaging Data Commons of each case of a data set (``cohorts/*.csv``)."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from intrabench.fetch.idc import IdcSeries

FOLDER = Path(__file__).parent / "cohorts"


@cache
def cohort(name: str) -> Mapping[str, tuple[IdcSeries, ...]]:
    """The series of each case in the order of the file; ``docs/make_cohorts.py`` documents how they were chosen."""
    found: dict[str, list[IdcSeries]] = {}
    with (FOLDER / f"{name}.csv").open(newline="", encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            series = IdcSeries(row["uid"], row["uuid"], row["kind"], int(row["files"]), float(row["mb"]), row["about"])
            found.setdefault(row["case"], []).append(series)
    return {case: tuple(series) for case, series in found.items()}
