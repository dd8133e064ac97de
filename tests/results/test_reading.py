"""How rows are read: some at a time, only the columns that were asked for, and without copies of all of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

from benchmarks import memory, size
from intrabench.reporting.make_table import TableQuery, make_table
from intrabench.results import files, parts
from intrabench.results.parts import current_rows, read_rows
from intrabench.results.schema import SCHEMA
from intrabench.statistics.contests import contests
from intrabench.statistics.difficulty import STRATA
from intrabench.statistics.evaluation import STATISTICAL, Evaluation, lines_of, with_lines
from intrabench.statistics.statistic import Statistic
from tests.results.made import curve, rows

SESSIONS = pl.concat(curve([0.5, 0.6, 0.7], case=str(number), model=f"m{number % 2}") for number in range(5))


def stored(folder: Path, *frames: pl.DataFrame) -> Path:
    """A results folder with a part for each frame."""
    (folder / "rows").mkdir()
    for number, frame in enumerate(frames, 1):
        frame.write_parquet(folder / "rows" / f"run-{number:04d}.parquet")
    return folder


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Rows and columns of what is read at once."""
    monkeypatch.setattr(files, "_ROWS_AT_ONCE", 4)
    found, sound = list[tuple[int, int]](), files.is_sound
    monkeypatch.setattr(files, "is_sound", lambda frame: found.append(frame.shape) or sound(frame))
    return found


def test_all_rows_are_read_some_at_a_time(tmp_path: Path, seen: list[tuple[int, int]]) -> None:
    found = read_rows(stored(tmp_path, SESSIONS))
    assert found.equals(SESSIONS.with_columns(pl.coalesce("patient", "case")))
    assert [height for height, _ in seen] == [4, 4, 4, 3]


def test_as_many_rows_as_are_read_at_once_are_all(tmp_path: Path, seen: list[tuple[int, int]]) -> None:
    assert read_rows(stored(tmp_path, SESSIONS[:8]))["session"].equals(SESSIONS["session"][:8])
    assert [height for height, _ in seen] == [4, 4, 0]


def test_only_the_columns_that_were_asked_for_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    widths, real = list[Sequence[str]](), files.together
    monkeypatch.setattr(files, "together", lambda *given: _noted(widths, real(*given)))
    asked = [*parts.DECIDING, "dice"]
    for _ in range(2):  # the second time they are known to be sound, and no others are read
        found = read_rows(stored(tmp_path, SESSIONS) if not widths else tmp_path, asked)
        assert found.columns == [*asked, "nsd_2mm", "hd95_mm"]
    assert [set(names) for names in widths] == [{*asked, "nsd_2mm", "hd95_mm"}] * 2


def _noted(widths: list[Sequence[str]], frame: pl.DataFrame | None) -> pl.DataFrame | None:
    widths.append([] if frame is None else frame.columns)
    return frame


def test_a_bad_value_among_the_last_rows_leaves_the_part_out(tmp_path: Path, seen: list[tuple[int, int]]) -> None:
    bad = SESSIONS.with_columns(dice=pl.when(pl.int_range(pl.len()) == 14).then(2.0).otherwise("dice"))
    good = rows({"case": "other", "dice": 0.5})
    found = read_rows(stored(tmp_path, bad, good), ["session", "dice"])
    assert found["dice"].to_list() == [0.5]
    assert max(height for height, _ in seen) == 4


def test_each_column_of_many_parts_is_in_one_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_AT_ONCE", 1)
    found = read_rows(stored(tmp_path, *(SESSIONS[n : n + 3] for n in range(0, 15, 3))))
    assert len(found) == 15
    assert set(found.n_chunks("all")) == {1}


def test_a_column_with_one_value_takes_no_memory(tmp_path: Path) -> None:
    many = pl.concat([SESSIONS] * 1000).with_columns(round=pl.int_range(15000), label=pl.lit(None, pl.String))
    found = read_rows(stored(tmp_path, many))
    assert found.select("protocol", "metrics", "label").estimated_size() < 1000
    assert found.select("model").estimated_size() > 15000
    assert (found["metrics"].unique().to_list(), found["label"].null_count()) == (
        ["dice@1 iou@1 nsd_2mm@1 hd95_mm@1"],
        15000,
    )


def test_rows_with_failures_that_still_count_are_not_copied() -> None:
    failed = SESSIONS.with_columns(status=pl.when(pl.col("case") == "2").then(pl.lit("oom")).otherwise("status"))
    assert current_rows(failed) is failed
    again = pl.concat([failed, SESSIONS.filter(case="2").with_columns(written_at=pl.lit(2, pl.Int64))])
    assert current_rows(again).equals(again[[*range(6), *range(9, 18)]])


@pytest.mark.parametrize(
    ("by", "more"),
    [("model", set()), ("model,device", {"device"}), ("model,dtype", set()), ("model,difficulty", STRATA)],
)
def test_a_table_reads_the_columns_of_statistics_and_those_of_its_lines(
    by: str, more: Sequence[str], tmp_path: Path
) -> None:
    found = make_table(stored(tmp_path, SESSIONS), TableQuery("dice", by=by))
    assert {*found.rows.columns} == {*STATISTICAL, *more, "nsd_2mm", "hd95_mm"}
    assert {*found.frame["d"].cast(pl.Float64).round(3)} == {0.7}


def test_figures_and_comparisons_read_the_columns_of_statistics(tmp_path: Path) -> None:
    folder = stored(tmp_path, SESSIONS)
    drawn = Evaluation.of(folder, Statistic("dice")).rows.columns
    (contest,) = contests(folder, "m0", "m1", Statistic(""))
    read = {*STATISTICAL, "nsd_2mm", "hd95_mm"}
    assert {*drawn} - {"line", "name"} == read
    assert {*contest.a.columns} & {*SCHEMA, *read} == read


def test_lines_are_found_also_where_a_column_is_null() -> None:
    both = pl.concat([SESSIONS, SESSIONS.with_columns(stop=pl.lit(None, pl.String))])
    lines = lines_of(both)
    assert lines.select("model", "stop").rows() == [("m0", ""), ("m0", None), ("m1", ""), ("m1", None)]
    assert lines["rounds"].to_list() == [2] * 4
    numbered, _ = with_lines(both)
    assert numbered.drop("line", "name").equals(both)
    assert numbered.join(lines, on="line").filter(pl.col("model") != pl.col("model_right")).is_empty()
    assert numbered["name"].equals(numbered.join(lines, on="line", maintain_order="left")["name_right"].rename("name"))


@pytest.mark.slow
def test_a_table_of_a_million_rows_takes_less_than_900_mib(tmp_path: Path) -> None:
    assert memory.store_rows(tmp_path) > 1_000_000
    *_, peak_mb = size.measure(tmp_path, size.TABLE)
    assert peak_mb < 900
