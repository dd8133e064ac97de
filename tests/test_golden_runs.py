"""However the code is arranged, the same sessions give the same rows, and the same rows the same tables and reports."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from intrabench.results.parts import read_rows
from tests.golden_runs import FOLDER, RUNS, lasting, outputs, play, turns


@pytest.mark.parametrize("name", RUNS)
def test_the_same_sessions_give_the_same_rows_and_turns(data: Path, name: str) -> None:
    stored = FOLDER / name / "results"
    played = lasting(play(name))
    assert len(played) > 3
    assert played == lasting(read_rows(stored))
    assert turns(Path("results")) == turns(stored)


def test_workers_give_the_same_rows(data: Path) -> None:
    assert lasting(play("plain", workers=1)) == lasting(read_rows(FOLDER / "plain" / "results"))


@pytest.mark.parametrize("name", RUNS)
def test_the_same_rows_give_the_same_tables_and_reports(data: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    shutil.copytree(FOLDER / name / "results", "results")
    for file, text in outputs(Path("results")).items():
        assert text == (FOLDER / name / file).read_text(encoding="utf-8"), file
