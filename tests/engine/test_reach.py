"""Runs with a model of one's own that can answer in a crop only: resumed, replayed in another process, verified."""

from __future__ import annotations

import sys
from pathlib import Path

import polars as pl

import intrabench
from intrabench.engine.verify import verify
from intrabench.results.parts import read_turns

MODEL = """
from dataclasses import dataclass
from intrabench import Answer, Mask, VolumeModel

@dataclass(eq=False)
class Narrow(VolumeModel):
    "Answers with the pixels around each point of its slice, within 5 of the first."
    name = "narrow"
    accepts = frozenset({"point"})
    covers = "11 pixels around the first point"

    def segment_one(self, volume, request):
        z, y, x, _ = (int(v) for v in request.turns[0].prompts.points[0])
        reach = (0, y - 5, x - 5, volume.shape[0], y + 6, x + 6)
        found = volume.array < -1e9
        for turn in request.given:
            for b, a, label in turn.prompts.points[:, 1:]:
                found[z, max(b - 4, 0) : b + 5, max(a - 4, 0) : a + 5] = label
        return Answer(Mask.of(found).within(reach), reach=reach)
"""
SMALL = "phantom:shape=16x64x64,instances=1,seed=3"


def test_a_reachable_session_is_the_same_however_it_is_played(data: Path) -> None:
    Path("narrow.py").write_text(MODEL)
    asked = {"model": "narrow", "dataset": SMALL, "plugin": [Path("narrow.py")]}
    spec = "points_volume:n=1,placement=random+click_volume:reachable=true"
    whole = intrabench.run(prompter=spec, rounds=4, out=Path("whole"), **asked)
    assert whole["adapted"].to_list() == [""] * 5
    assert whole["interactions"].to_list() == [1, 2, 3, 4, 5]
    intrabench.run(prompter=spec, rounds=1, out=Path("resumed"), **asked)
    resumed = intrabench.run(prompter=spec, rounds=4, out=Path("resumed"), **asked)
    apart = intrabench.run(prompter=spec, rounds=4, out=Path("apart"), python=Path(sys.executable), **asked)
    for other in (resumed, apart):
        for column in ("session", "round", "prompts_hash", "dice", "interactions", "adapted"):
            assert other[column].to_list() == whole[column].to_list(), column
    assert [verdict.found for verdict in verify(Path("whole"))] == ["equal"]
    anywhere = intrabench.run(prompter=spec.replace(":reachable=true", ""), rounds=4, out=Path("anywhere"), **asked)
    assert "outside crop" in anywhere["adapted"].to_list()
    assert [verdict.found for verdict in verify(Path("anywhere"))] == ["equal"]
    given = read_turns(Path("whole")).filter(pl.col("round") > 0)["given"]
    assert given.n_unique() == len(given) == 4
