"""A real run, small, the submission made from it, and copies with other rows."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zlib import crc32

import polars as pl
import pytest

import intrabench
from intrabench.publishing.board.digests import ledger_of
from intrabench.publishing.board.files import CHECKSUMS, LEDGER, PART, Submitter, write_checksums
from intrabench.publishing.board.lines import stated_lines
from intrabench.publishing.board.submission import Submission, read_submission
from intrabench.publishing.board.submit import submit
from intrabench.results.compact import compact
from intrabench.results.parts import read_rows

BY = Submitter("Lab A", "a@lab.example", "CC-BY-4.0")
PHANTOM = "phantom:shape=16x32x32,instances=3,scans=2"
MODELS = ("box_fill", "supervoxels:method=grid")


@pytest.fixture(scope="session")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ``data``, ``results`` with masks, and the submission ``lab-a`` from them."""
    folder = tmp_path_factory.mktemp("board")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INTRABENCH_DATA", str(folder / "data"))
        patch.setenv("INTRABENCH_WORKERS", "0")
        prompters = ["box_slice", "box_slice+click_slice"]
        intrabench.run(MODELS, prompters, PHANTOM, save_masks=True, rounds=2, out=folder / "results")
        compact(folder / "results")
        submit(folder / "results", folder / "lab-a", BY)
    return folder


@pytest.fixture
def lab_a(played: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the submission, to be tampered with; its data are there."""
    monkeypatch.setenv("INTRABENCH_DATA", str(played / "data"))
    return shutil.copytree(played / "lab-a", tmp_path / "lab-a")


Make = Callable[..., Path]


@pytest.fixture
def another(played: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Make a submission of another name, from the same results with other values in some columns."""
    monkeypatch.setenv("INTRABENCH_DATA", str(played / "data"))
    return lambda name, by=BY, into=tmp_path, **columns: remade(played / "results", into, name, by, **columns).folder


def remade(results: Path, into: Path, name: str, by: Submitter = BY, **columns: Any) -> Submission:
    """A submission from results with other values, or expressions, in some columns."""
    source = shutil.copytree(results, into / f"results of {name}")
    for part in (source / "rows").iterdir():
        frame = pl.read_parquet(part)
        given = {
            key: value if isinstance(value, pl.Expr) else pl.lit(value, frame.schema.get(key, pl.Float64))
            for key, value in columns.items()
        }
        given.setdefault("written_at", pl.col("written_at") + crc32(name.encode()))  # else it would be a copy
        frame.with_columns(**given).write_parquet(part)
    return submit(source, into / name, by)[0]


def edit_rows(folder: Path, edit: Callable[[pl.DataFrame], pl.DataFrame], *also: str) -> None:
    """Change the rows of a submission; `also` make its ``ledger``, ``lines`` and ``checksums`` anew."""
    path = folder / "rows" / PART
    edit(pl.read_parquet(path)).write_parquet(path)
    rows = read_rows(folder)
    if "ledger" in also:
        ledger_of(rows).write_parquet(folder / LEDGER)
    if "lines" in also:
        edit_statement(folder, lines=stated_lines(rows), rows=len(rows))
    if "checksums" in also:
        write_checksums(folder)


def edit_statement(folder: Path, **changes: Any) -> None:
    """Change entries of ``submission.json``."""
    path = folder / "submission.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def problems(folder: Path) -> list[str]:
    """Why a submission is refused."""
    return read_submission(folder).problems


def without_checksums(found: list[str]) -> list[str]:
    """The problems, but those of checksums."""
    return [one for one in found if "was changed: it has" not in one and CHECKSUMS not in one]
