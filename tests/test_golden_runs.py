"""However the code is arranged, the same sessions give the same rows, and the same rows the same tables and reports."""

from __future__ import annotations

import shutil
from math import isclose
from pathlib import Path

import polars as pl
import pytest

from intrabench.results.parts import read_rows
from tests.golden_runs import FOLDER, RUNS, lasting, outputs, play, turns


def same(rows: pl.DataFrame, stored: pl.DataFrame) -> None:
    """Rows are equal, numbers as far as all machines round alike."""
    found, known = lasting(rows), lasting(stored)
    assert len(found) == len(known)
    for one, other in zip(found, known, strict=True):
        assert one.keys() == other.keys()
        for name, value in one.items():
            assert value == other[name] or _close(value, other[name]), (name, one, other)


def _close(one: object, other: object) -> bool:
    return isinstance(one, float) and isinstance(other, float) and isclose(one, other, rel_tol=1e-6)


@pytest.mark.parametrize("name", RUNS)
def test_the_same_sessions_give_the_same_rows_and_turns(data: Path, name: str) -> None:
    stored = FOLDER / name / "results"
    played = play(name)
    assert len(played) > 3
    same(played, read_rows(stored))
    assert turns(Path("results")) == turns(stored)


def test_workers_give_the_same_rows(data: Path) -> None:
    same(play("plain", workers=1), read_rows(FOLDER / "plain" / "results"))


@pytest.mark.parametrize("name", RUNS)
def test_the_same_rows_give_the_same_tables_and_reports(data: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    shutil.copytree(FOLDER / name / "results", "results")
    for file, text in outputs(Path("results")).items():
        assert text == (FOLDER / name / file).read_text(encoding="utf-8"), file
