"""cvpr25@1 equals the golden traces of the official script: clicks, scores of every step, and what it reports."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import polars as pl
import pytest

import intrabench
from intrabench.protocols import PROTOCOLS
from intrabench.results.parts import read_turns
from intrabench.statistics.measures import measured
from tests.cvpr25.golden import CASES, Stub, clicks_of, traces

PREDICTORS = ("boxballs", "empty", "gtfrom3", "refine")
NSD = "nsd:spacing=xyz"
EXACT = 1e-12


Played = Callable[[str], tuple[pl.DataFrame, pl.DataFrame]]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    """The rows and turns of a predictor on all cases, played from their files."""
    root = tmp_path_factory.mktemp("cvpr25")
    cases = root / "cases"
    cases.mkdir()
    for file in CASES.glob("d*.npz"):
        shutil.copy(file, cases)

    @cache
    def play(predictor: Any) -> tuple[pl.DataFrame, pl.DataFrame]:
        out = root / predictor
        rows = intrabench.run(Stub(kind=predictor), dataset=str(cases), protocol="cvpr25@1", out=out, progress=False)
        return rows, read_turns(out)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INTRABENCH_DATA", str(root / "data"))
        patch.setenv("INTRABENCH_WORKERS", "0")
        yield play


@pytest.mark.parametrize(("case", "predictor"), [pytest.param(*run, id="-".join(run)) for run in traces()])
def test_every_click_and_score(played: Played, case: str, predictor: str) -> None:
    rows, turns = played(predictor)
    rows, recorded = rows.filter(case=case), traces()[case, predictor]
    for index, label in enumerate(recorded["labels"]):
        mine = rows.filter(pl.col("label").str.ends_with(str(label))).sort("round")
        clicks = clicks_of(turns, mine["session"][0])
        for step in recorded["steps"]:
            row: dict[str, Any] = mine.filter(pl.col("round") <= step["step"]).row(-1, named=True)
            expected = step["clicks"][index] if step["clicks"] else None
            found = clicks.get(step["step"])
            assert found == (expected and {key: expected[key] for key in ("kind", "at")})
            scores = step["per_class"][index] if step["per_class"] else {"DSC": 0.0, "NSD": 0.0}
            assert row["dice"] == pytest.approx(scores["DSC"], abs=EXACT)
            assert row[NSD] == pytest.approx(scores["NSD"], abs=EXACT)


@pytest.mark.parametrize("predictor", PREDICTORS)
@pytest.mark.parametrize(("head", "spec"), PROTOCOLS["cvpr25@1"].numbers)
def test_what_is_reported(played: Played, head: str, spec: str, predictor: str) -> None:
    rows, _ = played(predictor)
    found = measured(rows, spec).group_by("case").agg(pl.col("value").mean())
    for case, value in found.iter_rows():
        assert value == pytest.approx(traces()[case, predictor]["final"][head], abs=EXACT)
    assert found.height == 5
