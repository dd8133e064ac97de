"""Values of older versions of metrics do not count; what else their sessions hold does."""

from __future__ import annotations

import polars as pl
from syrupy.assertion import SnapshotAssertion

from intrabench.results.current import current
from intrabench.statistics.scores import scores
from tests.results import made

OLD, NEW = "dice@1 iou@1 lesion_f1@1.0a0a0a0a hd95_mm@1", "dice@1 iou@1 hd95_mm@1 lesion_f1@1.1b1b1b1b"


def played(case: str, metrics: str | None, value: float, written_at: int) -> pl.DataFrame:
    row = {"case": case, "dice": 0.5, "hd95_mm": 3.0, "metrics": metrics, "written_at": written_at}
    return made.rows(row, session=f"{case} {metrics}").with_columns(lesion_f1=value)


def test_values_of_older_versions_do_not_count(wording: SnapshotAssertion) -> None:
    rows = pl.concat([played("1", OLD, 0.25, 1), played("2", OLD, 0.5, 1), played("1", NEW, 0.75, 2)])
    kept, told = current(rows)
    assert told == wording
    assert kept["lesion_f1"].to_list() == [None, None, 0.75]
    assert kept["metrics"].to_list() == ["dice@1 iou@1 hd95_mm@1"] * 2 + [NEW]
    assert kept.drop("lesion_f1", "metrics").equals(rows.drop("lesion_f1", "metrics"))
    assert scores(kept, "lesion_f1").sort("case")["value"].to_list() == [0.75, None]
    assert scores(kept, "hd95").sort("case")["value"].to_list() == [3.0, 3.0]


def test_the_newest_version_is_the_one_written_last(wording: SnapshotAssertion) -> None:
    rows = pl.concat([played("1", OLD, 0.25, 3), played("2", NEW, 0.75, 2), played("3", None, 0.5, 1)])
    kept, told = current(rows)
    assert told == wording
    assert kept["lesion_f1"].to_list() == [0.25, None, 0.5]


def test_one_version_leaves_rows_as_they_are() -> None:
    rows = pl.concat([played("1", OLD, 0.25, 1), played("2", OLD, 0.5, 2)])
    kept, told = current(rows)
    assert kept.equals(rows)
    assert told == []
