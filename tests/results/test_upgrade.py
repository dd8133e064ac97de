"""A results folder of version 0.1 is read as if it were of this one (tests/golden/results)."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.engine.verify import verify
from intrabench.results.merge import merge
from intrabench.results.parts import read_rows
from intrabench.results.upgrade import upgraded
from tests.conftest import GOLDEN, Said

OLD = GOLDEN / "results" / "v0.1"
SMALL = "phantom:shape=8x48x56,instances=2"


@pytest.fixture
def old(data: Path) -> Path:
    """A copy that may be written to."""
    return Path(shutil.copytree(OLD, "old"))


def facts(protocol: str, model: str, weights_sha256: str, prompter: str) -> dict[str, object]:
    """The columns of a row that stood in texts."""
    given = {"protocol": protocol, "model": model, "weights_sha256": weights_sha256, "prompter": prompter}
    return upgraded(pl.LazyFrame([given])).collect().row(0, named=True)


def test_facts_that_stood_in_texts() -> None:
    found = facts(
        "basic@1+stop:dice=0.9,seconds=60", "sam:size=b (random weights)", "random", "box_interp:n=3+scribble"
    )
    assert found == {
        "contract": 2,
        "protocol": "basic@1",
        "stop": "dice=0.9,seconds=60",
        "model": "sam:size=b",
        "weights": "random",
        "weights_sha256": "random",
        "prompter": "box_interp:n=3+scribble",
        "prompter_version": "1+1",
    }
    clicks = 'clickability:model="rclicks:weights=a+b.pth",group=1+hand:jitter_mm=2'
    found = facts("b@1", "sam (weights 1a2b3c4d)", "1a2b3c4d5e", clicks)
    assert [found[name] for name in ("stop", "model", "weights", "prompter_version")] == ["", "sam", "file", "1/1+1"]
    assert [facts("b@1", "m", sha256, "p")["weights"] for sha256 in ("ab", "")] == ["registered", ""]


def test_rows_of_the_folder() -> None:
    rows = read_rows(OLD)
    kept = ("protocol", "stop", "model", "weights", "prompter", "prompter_version")
    lines = set(rows.select(kept).rows())
    assert ("basic@1", "dice=0.9", "scribbleprompt_unet", "random", "click_center", "1") in lines
    assert ("basic@1", "", "box_fill", "", "box_interp:n=3+scribble", "1+1") in lines
    assert ("intrabench@1", "", "box_fill", "", "box_interp:n=3", "1") in lines
    assert (len(lines), set(rows["contract"])) == (8, {2})


def test_tables_comparisons_and_reports_of_the_folder(say: Callable[..., Said]) -> None:
    table = say("table", "--out", str(OLD))
    assert (table.code, table.err) == (0, "")
    assert "scribbleprompt_unet (random weights)" in table.out
    assert "dice=0.9" in table.out
    rounds = say("table", "--per-round", "--csv", "--out", str(OLD))
    line = next(line for line in rounds.out.splitlines() if "box_interp:n=3+scribble,random_walker" in line)
    mean = read_rows(OLD).filter(model="random_walker", prompter="box_interp:n=3+scribble", round=0)["dice"].mean()
    assert line.endswith(f"{mean},{mean}")
    assert "3B Inter" in say("table", "--protocol", "intrabench@1", "--out", str(OLD)).out
    assert "random_walker minus box_fill" in say("compare", "box_fill", "random_walker", "--out", str(OLD)).out
    assert say("report", "old.html", "--out", str(OLD)).code == 0
    page = Path("old.html").read_text()
    assert "--weights random" in page
    assert "--stop dice=0.9" in page


def test_exported_rows_of_the_folder(say: Callable[..., Said]) -> None:
    assert say("export", "rows", "old.csv", "--out", str(OLD)).code == 0
    rows = pl.read_csv("old.csv", infer_schema_length=None)
    assert len(rows) == len(read_rows(OLD))
    assert "dice@1 iou@1 nsd_2mm@1 hd95_mm@1" in set(rows.filter(protocol="basic@1")["metrics"])


def test_the_folder_goes_on(old: Path) -> None:
    """New rows beside old ones: the code of the built-in classes has not changed, so none of these is left out."""
    before = read_rows(old)
    rows = intrabench.run("box_fill", "box_volume", SMALL, out=old)
    assert len(read_rows(old)) == len(before) + len(rows)
    assert {"box_volume", "click_center"} <= set(intrabench.table(old)["prompter"])
    merge([old, OLD], Path("all"))
    assert read_rows(Path("all")).sort("session", "round").equals(read_rows(old).sort("session", "round"))


def test_its_sessions_are_of_an_older_version(data: Path, wording: SnapshotAssertion) -> None:
    (verdict,) = verify(OLD, sample=1)
    assert verdict.found == "unknown"
    assert verdict.message == wording
