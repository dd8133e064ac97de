"""cvpr25@1 equals the golden traces of the official script: clicks, scores of every step, and what it reports."""

from __future__ import annotations

import csv
import io
import shutil
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.protocols import PROTOCOLS
from intrabench.protocols.cvpr25_challenge import ODD
from intrabench.results.parts import read_rows, read_turns
from intrabench.statistics.measures import measured
from tests.conftest import Said
from tests.cvpr25.golden import CASES, Stub, clicks_of, traces
from tests.wording import line_with, sentence_with

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


def test_the_table_has_what_the_challenge_reports(tmp_path: Path, data: Path) -> None:
    for predictor in ("boxballs", "refine"):
        intrabench.run(
            Stub(kind=predictor),  # type: ignore[arg-type]
            dataset=str(CASES),
            cases="d*",
            protocol="cvpr25@1",
            out=tmp_path,
            progress=False,
        )
    found = intrabench.table(tmp_path, protocol="cvpr25@1", by="model").sort("model")
    assert found["sessions"].to_list() == [11, 11]
    for predictor, row in zip(("boxballs", "refine"), found.to_dicts(), strict=True):
        finals = [run["final"] for (_, who), run in traces().items() if who == predictor]
        for head, _ in PROTOCOLS["cvpr25@1"].numbers:
            assert row[head] == pytest.approx(np.mean([final[head] for final in finals]), abs=EXACT)


def test_both_protocols_side_by_side(say: Callable[..., Said], tmp_path: Path, wording: SnapshotAssertion) -> None:
    for name in ("d1_thin_aniso", "d5_no_box"):
        shutil.copy(CASES / f"{name}.npz", tmp_path)
    for protocol in ("cvpr25@1", "cvpr25-fixed@1"):
        said = say("run", "--protocol", protocol, "--model", "random_walker", "--dataset", str(tmp_path))
        assert said.code == 0, said.err
    said = say("table", "--protocol", "cvpr25@1,cvpr25-fixed@1", "--csv")
    lines = {line["protocol"]: line for line in csv.DictReader(io.StringIO(said.out))}
    assert lines.keys() == {"cvpr25@1", "cvpr25-fixed@1"}
    assert [line["sessions"] for line in lines.values()] == ["3", "3"]
    rows = read_rows(Path("intrabench-results"))
    for protocol, line in lines.items():
        one = rows.filter(protocol=protocol)
        each = one.filter(pl.col("round") == pl.col("round").max().over("session"))
        dice = each.group_by("case").agg(pl.col("dice").mean())["dice"].mean()
        assert float(line["DSC_Final"]) == pytest.approx(dice, abs=1e-3)
        assert 0 < float(line["NSD_AUC"]) <= 4
    waited = rows.filter(pl.col("interactions") == 0).select("protocol", "case", "round").unique().rows()
    assert waited == [("cvpr25@1", "d5_no_box", 0)]
    assert "DSC_AUC" in say("table", "--protocol", "cvpr25-fixed@1").out
    assert "DSC_AUC" not in say("table", "--protocol", "cvpr25@1", "--metric", "dice").out
    assert "DSC_AUC" not in say("table", "--protocol", "cvpr25@1", "--per-round").out
    pooled = " ".join(say("table", "--protocol", "cvpr25@1", "--aggregation", "pooled").out.split())
    assert sentence_with(pooled, "under dice") == wording
    assert "mean over all targets;" in pooled
    short = say(
        "run", "--protocol", "cvpr25@1", "--model", "random_walker", "--dataset", str(tmp_path), "--rounds", "2"
    )
    assert (short.code, short.err) == (2, wording)
    both = " ".join(say("table", "--protocol", "cvpr25@1,cvpr25-fixed@1").out.split())
    assert sentence_with(both.partition(" ┏")[0], "without any answer") == wording
    unknown = say("table", "--protocol", "cvpr25@1,cvpr25@2")
    assert unknown.code == 2
    assert unknown.err == wording


def test_sessions_are_verified_without_the_record_of_their_run(say: Callable[..., Said]) -> None:
    """It says how many rounds were asked for; of an answer that was right early there are fewer rows."""
    words = ("--model", "oracle_stub", "--dataset", "phantom:shape=12x32x32,instances=2")
    Path("stub.py").write_text(RIGHT)
    assert say("run", "--protocol", "cvpr25@1", *words, "--plugin", "stub.py").code == 0
    assert read_rows(Path("intrabench-results"))["round"].max() == 0
    for record in Path("intrabench-results/runs").glob("*.json"):
        record.unlink()
    said = say("verify", "intrabench-results", "--plugin", "stub.py")
    assert (said.code, "2 ok" in said.out) == (0, True), said.out


RIGHT = """
from dataclasses import dataclass
from intrabench.registry import registry
from intrabench.datasets.cases import store
from intrabench.models.base import Answer, VolumeModel

@dataclass(eq=False)
class Right(VolumeModel):
    name = "oracle_stub"
    accepts = frozenset({"box3d", "point"})

    def segment_one(self, volume, request):
        data = registry.make("datasets", "phantom:shape=12x32x32,instances=2")
        targets = store.open_case(data, volume.case).targets()
        box = request.turns[0].prompts.box3d
        return Answer(min(targets, key=lambda one: sum(abs(a - b) for a, b in zip(one.mask.box, box))).mask)
"""


def test_info_tells_what_is_odd(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    said = say("info", "cvpr25@1")
    told = " ".join(said.out.split())
    for sentence in ODD:
        assert sentence in told
    assert line_with(said.out, "played together") == wording
    assert "NSD_Final cvpr25_final:metric='nsd:spacing=xyz',above=0.2,missing=previous (nsd:spacing=xyz after" in told
    fixed = " ".join(say("info", "cvpr25-fixed@1").out.split())
    assert sentence_with(fixed, "surplus voxels") == wording
