"""`intrabench calibrate`, from the recordings of a results folder to runs that use its file."""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.effort import Calibration
from intrabench.errors import IntraBenchError
from intrabench.people.calibrating.calibrate import calibrate
from intrabench.results.parts import read_rows
from intrabench.results.selection import selection
from tests.conftest import Said
from tests.people.annotating.playing import simulated
from tests.people.calibrating.recorded import DATA, PEOPLE, record
from tests.wording import line_with

HAND = "hand:jitter_mm=1.5,box_slack=0.1"


def test_what_was_recorded_is_recovered_and_used(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    record(("points_volume:n=3+click_center+hand:miss_rate=0.2", f"box_slice+{HAND}"), seed=3)
    said = say("calibrate", str(PEOPLE), "--file", "mine.toml")
    assert said.code == 0, said.err
    content = tomllib.loads(Path("mine.toml").read_text())
    facts = content["recordings"]
    assert (facts["raters"], facts["sessions"], facts["seconds_of_finish"]) == (2, 24, 24 * 3.0)
    assert facts["datasets"] == [DATA]
    assert "case-" not in Path("mine.toml").read_text()
    click, box = content["seconds"]["click"], content["seconds"]["box2d"]
    assert click["interval"][0] < 2.0 < click["interval"][1]
    assert click["once_interval"][0] < 1.5 < click["once_interval"][1]
    assert click["interval"][0] < click["each"] < click["interval"][1]
    assert (click["n"], click["sessions"], box["sessions"]) == (60, 12, 12)
    assert "once_per_round" not in box  # nobody drew one box at a time
    assert content["seconds"]["box3d"] == {"each": 12, "n": 0, "sessions": 0, "kept": "seconds@1"}
    hand = content["hand"]
    for name, truth in (("jitter_mm", 1.5), ("box_slack", 0.1)):
        low, high = hand[name]["interval"]
        assert low < truth < high
    told = said.out + said.err
    id = Calibration.read(Path("mine.toml")).id
    for sentence in (
        f"{id}, measured on 2 raters in 24 sessions",
        "too few recordings of box3d, scribble, lasso, extent, text, undo, handle: seconds@1 is kept; 30 actions in 6",
        "box2d: what is once per round is in the seconds of each",
        "72 s of undo, finish and what was taken back are no cost of an action",
        "wrote mine.toml; use it: intrabench run --effort mine.toml --hand mine.toml",
    ):
        assert sentence in told

    again = say("calibrate", str(PEOPLE), "--file", "mine.toml")
    assert (again.code, again.err) == (2, wording)
    before = Path("mine.toml").read_bytes()
    assert say("calibrate", str(PEOPLE), "--file", "mine.toml", "--force").code == 0
    assert Path("mine.toml").read_bytes() == before
    words = ("-m", "box_fill", "-p", "box_slice", "-d", DATA, "--cases", "first:1", "--out", "used", "--quiet")
    assert say("run", *words, "--effort", "mine.toml", "--hand", "mine.toml").code == 0
    rows = read_rows(Path("used"))
    assert set(rows["effort"]) == {id}
    jitter, slack = hand["jitter_mm"]["value"], hand["box_slack"]["value"]
    assert f"jitter_mm={jitter}" in rows["prompter"][0]
    assert f"box_slack={slack}" in rows["prompter"][0]
    assert rows["seconds_human"].to_list() == pytest.approx((rows["interactions"] / 2 * box["each"]).to_list())


def test_few_recordings_keep_what_ships_and_say_so(data: Path, wording: SnapshotAssertion) -> None:
    record(("points_volume:n=1",), ("ab",), "first:1")
    found = calibrate(PEOPLE, "few")
    shipped = {"each": 1.5, "once_per_round": 1.0}
    assert shipped.items() <= found.content["seconds"]["click"].items()
    assert found.content["seconds"]["click"]["kept"] == "seconds@1"
    assert found.content["seconds"]["click"]["measured"] > 2
    assert [one["value"] for one in found.content["hand"].values()] == [0, 0, 0]
    assert found.calibration.hand == ""
    notes = " ".join(found.notes)
    assert notes == wording
    assert found.frame().filter(pl.col("") == "seconds of click")["used is from"].to_list() == ["seconds@1"]
    with pytest.raises(IntraBenchError) as caught:
        calibrate(PEOPLE, "a b")
    assert caught == wording


def test_a_part_of_the_recordings(data: Path) -> None:
    record(("points_volume:n=3+click_center", "box_slice"), seed=3)
    rows = read_rows(PEOPLE).filter(pl.col("case").is_in(["case-1", "case-2"]))
    chosen = selection(cases="first:2", prompter="human:rater=*", model="random*")
    found = calibrate(PEOPLE, "part", chosen)
    facts = found.content["recordings"]
    assert facts["sessions"] == rows["session"].n_unique() < read_rows(PEOPLE)["session"].n_unique()
    assert facts["selection"] == selection(prompter="human:rater=*", model="random*").words  # cases may be patients
    assert chosen.words in found.notes
    assert "selection" not in calibrate(PEOPLE, "whole").content["recordings"]


def test_without_recordings_one_sentence_says_what_to_do(
    say: Callable[..., Said], data: Path, wording: SnapshotAssertion
) -> None:
    for folder in ("nowhere", "simulated"):
        if folder == "simulated":
            simulated(Path(folder))
        said = say("calibrate", folder, "--file", "mine.toml")
        assert (said.code, said.err) == (2, wording)
    assert not Path("mine.toml").exists()


def test_seconds_need_no_references(say: Callable[..., Said], data: Path, wording: SnapshotAssertion) -> None:
    record(("points_volume:n=3",), ("ab",))
    shutil.rmtree(data)
    said = say("calibrate", str(PEOPLE), "--file", "mine.toml")
    assert said.code == 0, said.err
    assert line_with(said.err, "case case-1") == wording
    content = tomllib.loads(Path("mine.toml").read_text())
    assert content["seconds"]["click"]["n"] == 36
    assert content["hand"]["miss_rate"]["n"] == 0
