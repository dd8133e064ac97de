"""Patients are the unit: two scans of each count as much as their average."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from intrabench.statistics.aggregate import AGGREGATIONS
from intrabench.statistics.compare import compare
from intrabench.statistics.ranking import pairs, ranking
from intrabench.statistics.resample import intervals
from intrabench.statistics.scores import scores
from intrabench.statistics.significance import per_patient
from tests.results.made import rows

NAMES = ("patient", "case")


def made(model: str, better: float, scans: int = 2) -> pl.DataFrame:
    """Rows of ten patients in each of two data sets, with so many scans of two targets."""
    random, hard = np.random.default_rng(len(model)), np.random.default_rng(0)
    return rows(
        *(
            {
                "dataset": dataset,
                "patient": f"P{patient}",
                "case": f"P{patient}/{scan}",
                "instance": instance,
                "dice": float(hard.normal(0.6, 0.1) + random.normal(better, 0.05)),
            }
            for dataset in "de"
            for patient in range(10)
            for scan in range(scans)
            for instance in (1, 2)
        ),
        model=model,
    )


def averaged(given: pl.DataFrame) -> pl.DataFrame:
    """A row for each patient, as if that were the case, with the mean of all its rows."""
    means = given.group_by("dataset", "patient", "model", maintain_order=True).agg(pl.col("dice").mean())
    return rows(*({**one, "case": one["patient"], "patient": None} for one in means.to_dicts()))


A, B, C = made("a", 0.0), made("bb", 0.02), made("ccc", 0.021)
ALL = scores(pl.concat([A, B, C]))
BY_HAND = scores(pl.concat(map(averaged, (A, B, C))))
COUNTED = ("cases", "targets", "of")


@pytest.mark.parametrize("how", AGGREGATIONS.values(), ids=AGGREGATIONS)
def test_intervals_and_ranks(how: object) -> None:
    by: list[str] = ["model"]
    found, expected = (intervals(one, by, how).drop(COUNTED) for one in (ALL, BY_HAND))  # type: ignore[arg-type]
    assert_frame_equal(found, expected, abs_tol=1e-9)
    ranked, right = (ranking(one, by, how) for one in (ALL, BY_HAND))  # type: ignore[arg-type]
    assert_frame_equal(ranked.table.drop(COUNTED), right.table.drop(COUNTED), abs_tol=1e-9)
    assert ranked.tau == pytest.approx(right.tau)
    by_scans = ranking(ALL.with_columns(patient="case"), by, how)  # type: ignore[arg-type]
    assert by_scans.tau != pytest.approx(right.tau)


def test_tests_of_pairs() -> None:
    found, expected = (pairs(one, ["model"]) for one in (ALL, BY_HAND))
    assert_frame_equal(found, expected)
    assert found["patients"].to_list() == [20] * 3


def test_comparisons() -> None:
    kept = ["dataset", "difference", "low", "high", "patients", "rank_biserial", "p", "p_holm"]
    found, expected = (compare(one, other).datasets.select(kept) for one, other in ((A, B), (averaged(A), averaged(B))))
    assert_frame_equal(found, expected, abs_tol=1e-9)
    sizes = compare(A, B).sizes.row(0, named=True)
    assert (sizes["patients"], sizes["cases"]) == (20, 40)


def test_a_patient_that_only_one_side_names_is_known_to_both() -> None:
    unknown = A.with_columns(patient=pl.lit(None, pl.String), written_at=pl.lit(0, pl.Int64))
    assert compare(unknown, B).datasets["patients"].to_list() == [10, 10, 20]
    assert compare(B, unknown).datasets["patients"].to_list() == [10, 10, 20]
    assert compare(unknown, unknown).datasets["patients"].to_list() == [20, 20, 40]


def test_a_case_is_its_own_patient_if_none_is_named() -> None:
    unknown = scores(A.with_columns(patient=pl.lit(None, pl.String)))
    assert_frame_equal(unknown, scores(A.with_columns(patient="case")))


def test_the_same_name_in_two_data_sets_is_two_patients() -> None:
    found = intervals(ALL, ["model"], AGGREGATIONS["protocol"]).filter(dataset="average")
    assert found["patients"].to_list() == [20] * 3


def test_scans_of_a_patient_count_equally_in_tests_however_many_targets_they_have() -> None:
    given = rows(
        {"patient": "P", "case": "1", "dice": 0.2},
        {"patient": "P", "case": "1", "instance": 2, "dice": 0.4},
        {"patient": "P", "case": "2", "dice": 0.9},
        {"patient": "Q", "case": "3", "dice": 0.5},
    )
    found = per_patient(scores(given), ["model"]).sort("patient")
    assert found.rows() == [("m", "d", "P", pytest.approx((0.3 + 0.9) / 2)), ("m", "d", "Q", 0.5)]
