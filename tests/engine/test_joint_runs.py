"""Runs of joint sessions: rows, resume, workers, verify, tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.engine.verify import verify
from intrabench.errors import IntraBenchError
from intrabench.results.parts import read_rows
from tests.engine.test_run import lasting

SCANS = "phantom:shape=16x32x32,instances=3,scans=2"
RULES = "others=negative,overlap=first"
OUT = Path("out")
pytestmark = pytest.mark.usefixtures("data")


def run(**options: Any) -> pl.DataFrame:
    given = {"model": "random_walker", "prompter": "point_interp:n=3+scribble", "dataset": SCANS, "rounds": 1}
    return intrabench.run(**{**given, "joint": RULES, "out": OUT, **options})


def test_the_targets_of_a_case_share_a_session_and_have_rows_of_their_own() -> None:
    rows = run(seed=[0, 1])
    assert rows["joint_rules"].unique().to_list() == [RULES]
    each = rows.group_by("joint").agg(pl.col("case", "seed", "target", "session").n_unique(), pl.len())
    assert each.drop("joint").rows() == [(1, 1, 3, 3, 6)] * 4
    alone = run(joint="", out=Path("alone"), seed=[0, 1])
    assert alone["joint"].null_count() == len(alone)
    assert set(alone["session"]).isdisjoint(rows["session"])
    assert not rows["dice"].equals(alone["dice"])  # others' points tell where a target ends
    assert set(run(joint="overlap=first", seed=[0, 1])["joint"]).isdisjoint(rows["joint"])  # other rules, other work


def test_independent_targets_have_the_scores_that_they_have_alone() -> None:
    kept = ["case", "target", "round", "status", "dice", "interactions", "prompts_hash"]
    rows, alone = run(joint="overlap=keep"), run(joint="", out=Path("alone"))
    assert rows.select(kept).sort(kept).equals(alone.select(kept).sort(kept))


@pytest.mark.parametrize("joint", [pytest.param("overlap=score", marks=pytest.mark.slow), RULES])
def test_workers_play_the_same(joint: str) -> None:
    assert lasting(run(joint=joint)).equals(lasting(run(joint=joint, workers=2, out=Path("workers"))))


def test_a_finished_run_computes_nothing_and_a_longer_one_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    first = run(rounds=1)
    again = run(rounds=1)
    assert again["run_id"].unique().to_list() == first["run_id"].unique().to_list()
    longer = run(rounds=2)
    assert longer["round"].max() == 2
    kept = longer.filter(pl.col("round") < 2)
    assert lasting(kept.drop("ended", "status")).equals(lasting(first.drop("ended", "status")))


def test_a_joint_session_that_lacks_a_target_is_played_again() -> None:
    whole = run()
    lost = whole.filter(pl.col("case") == "case-1")["session"][0]
    for part in sorted((OUT / "rows").iterdir()):
        pl.read_parquet(part).filter(pl.col("session") != lost).write_parquet(part)
    assert lost not in read_rows(OUT)["session"]
    assert lasting(run()).equals(lasting(whole))
    runs = read_rows(OUT).group_by("case", maintain_order=True).agg(pl.col("run_id").unique())
    newer, older = dict(runs.rows())["case-1"], dict(runs.rows())["case-2"]
    assert len(newer) == len(older) == 1  # all of its targets were played again, and nothing else
    assert newer != older


def test_stored_sessions_can_be_verified() -> None:
    run(rounds=1)
    assert [verdict.found for verdict in verify(OUT, sample=3)] == ["equal"] * 3


def test_a_case_that_cannot_be_opened_gives_a_row_for_each_target(tmp_path: Path) -> None:
    plugin = tmp_path / "closed.py"
    plugin.write_text(
        "from intrabench.models.box_fill import BoxFill\n\n\n"
        'class Closed(BoxFill):\n    name = "closed"\n\n    def open(self, volume):\n        raise ValueError("shut")\n'
    )
    with pytest.warns(intrabench.errors.FailedSessions):
        rows = run(model="closed", plugin=[plugin])
    assert rows.select("case", "target", "status", "dice").sort("case", "target").rows() == [
        (f"case-{case}", f"blob.{number}", "error", 0.0) for case in (1, 2) for number in (1, 2, 3)
    ]
    assert rows["session"].n_unique() == 6


def test_a_table_tells_joint_sessions_apart() -> None:
    run(dataset="phantom:shape=16x32x32,instances=2")
    run(dataset="phantom:shape=16x32x32,instances=2", joint="")
    table = intrabench.table(OUT)
    assert sorted(table["joint_rules"].to_list(), key=str) == [None, RULES]


@pytest.mark.parametrize(
    "words",
    [
        "others=positive",
        "overlap=first,with=all",
        "all",
    ],
)
def test_rules_that_mean_nothing(words: str, wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        run(joint=words)
    assert caught == wording
