"""`intrabench gap`: what it compares, with whom, and what it says when there is little."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.errors import IntraBenchError
from intrabench.people.gap import APART, CLICKS, EVERYBODY, TARGET, UNNAMED, distances, gap, matched_rows
from intrabench.results.parts import read_rows
from intrabench.results.selection import selection
from tests.conftest import Said
from tests.people.annotating.playing import annotating, gestures, new_id, simulated, turns_of
from tests.people.calibrating.recorded import DATA, PEOPLE, record

CLICKER = "points_volume:n=3,placement=center+click_center"
ROBOTS = Path("robots")


def robots(*prompters: str, seed: int = 0, rounds: int = 2, **options: object) -> pl.DataFrame:
    given = {"dataset": DATA, "protocol": "overlap@1", "rounds": rounds, "save_masks": True, **options}
    return intrabench.run("random_walker", prompters or CLICKER, out=ROBOTS, seed=seed, **given)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which a person and the robot gave the same clicks."""
    folder = tmp_path_factory.mktemp("played")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("INTRABENCH_DATA", str(folder / "data"))
        patch.setenv("INTRABENCH_WORKERS", "0")
        record((CLICKER,), ("ab",))
        robots()
    return folder


@pytest.fixture
def copied(played: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was `played` is in this folder, too."""
    shutil.copytree(played, ".", dirs_exist_ok=True)
    monkeypatch.setenv("INTRABENCH_DATA", "data")


def line(frame: pl.DataFrame, measure: str) -> dict[str, object]:
    return frame.row(by_predicate=pl.col("measure") == measure, named=True)


def test_people_who_click_as_the_robot_do_not_differ_from_it_and_others_do(say: Callable[..., Said]) -> None:
    record((CLICKER, CLICKER + "+hand:miss_rate=0.4"), each=2.0, once=1.5, seed=1)
    robots(CLICKER, "box_slice")
    said = say("gap", str(PEOPLE), str(ROBOTS), "--csv", "gap.csv")
    assert said.code == 0, said.err
    frame = pl.read_csv("gap.csv")
    assert set(frame["prompter"]) == {CLICKER, "box_slice"}
    one = frame.filter(prompter=CLICKER, rater=EVERYBODY)
    scored = one.filter(pl.col("measure").str.starts_with("dice"))
    assert set(scored["targets"]) == {12}
    assert set(scored["patients"]) == {6}
    # ab clicked as the robot does, cd as one that misses; the mean of both is that of all
    each = [frame.filter(prompter=CLICKER, rater=rater) for rater in ("ab", "cd")]
    three = [line(of, "dice after 3 interactions") for of in (one, *each)]
    assert three[1]["difference"] == 0 < three[2]["difference"]  # type: ignore[operator]
    assert three[0]["people"] == pytest.approx((three[1]["people"] + three[2]["people"]) / 2)  # type: ignore[operator]
    assert line(each[0], "first clicks: share beside")["people"] == 0
    assert set(frame.filter(pl.col("measure").is_in(APART))["rater"]) == {EVERYBODY}
    wrong = line(one, "first clicks: share beside")
    assert (wrong["simulated"], wrong["people"]) == (0, -wrong["difference"])  # type: ignore[operator]
    assert 0.1 < wrong["people"] < 0.3  # type: ignore[operator]
    assert wrong["low"] <= wrong["difference"] <= wrong["high"] <= 0  # type: ignore[operator]
    inside = line(one, "first clicks: mm inside")
    assert abs(inside["difference"]) < 0.5 < inside["people"]  # type: ignore[arg-type, operator]  # only the signs differ
    later = line(one, "corrections: mm from centre")
    assert later["simulated"] == 0
    assert line(one, "dice after 1 interaction")["simulated"] == 0  # three clicks at once
    assert line(one, "dice after 3 interactions")["difference"] > 0  # type: ignore[operator]
    boxes = frame.filter(prompter="box_slice", rater=EVERYBODY)
    assert not boxes["measure"].str.contains("click").any()
    assert line(boxes, "dice after 10 s")["simulated"] == 0
    for sentence in (
        "seconds of people are measured in 24 of 24 sessions, with what they took back",
        "PL1, WD and KS see y and x only",
        f"{CLICKER}, random_walker: simulated minus people, 95 % intervals over patients",
        "random_walker, nearness to people: ",
        "people among themselves",
        "wrote gap.csv",
    ):
        assert sentence in said.out + said.err

    estimates = read_rows(PEOPLE).filter(pl.col("round") == 0)["seconds_human"]
    timed = matched_rows([PEOPLE, ROBOTS]).people.filter(pl.col("round") == 0)["seconds_human"]
    assert len(timed) == len(estimates) == 24
    assert not set(timed) & set(estimates)
    assert 3 < timed.min() < timed.max() < 13  # type: ignore[operator]  # up to three clicks of two seconds, and 1.5


@pytest.mark.usefixtures("copied")
def test_the_same_clicks_differ_by_nothing() -> None:
    found = gap([PEOPLE, ROBOTS])
    scored = found.frame.filter(pl.col("measure").str.contains("interaction|clicks|corrections"))
    assert scored["difference"].abs().max() == 0
    assert scored["low"].drop_nulls().abs().max() == 0
    assert any("no target has those of two people" in note for note in found.notes)
    assert not found.frame["measure"].is_in(APART).any()


def test_few_patients_have_differences_without_intervals(data: Path, wording: SnapshotAssertion) -> None:
    record((CLICKER,), ("ab",), "first:2")
    robots(f"{CLICKER}+hand:jitter_mm=3", cases="first:2", save_masks=False)
    found = gap([PEOPLE, ROBOTS])
    assert found.frame["low"].is_null().all()
    assert set(found.frame["patients"]) == {2}
    notes = " ".join(found.notes)
    assert notes == wording
    assert "run them with --save-masks" in notes
    assert not found.frame["measure"].str.contains("corrections").any()


def test_what_was_taken_back_takes_time_too(data: Path) -> None:
    simulated(Path("simulated"), prompter=CLICKER)
    took = []
    with annotating() as people:
        for task in people.tasks("ab"):
            rows = read_rows(Path("simulated")).filter(target=task.target)
            first, *_ = turns_of(Path("simulated"), rows["session"][0])
            people.give(task.code, "ab", new_id(), gestures(first, 1.0))
            people.undo(task.code, "ab", new_id(), 0.5)
            people.give(task.code, "ab", new_id(), gestures(first, 2.0))
            people.finish(task.code, "ab", new_id(), 9.0)
            took.append(len(first.prompts.points) * (1.0 + 2.0) + 0.5)
    found = matched_rows([Path("out"), Path("simulated")])
    assert found.people.sort("target")["seconds_human"].to_list() == took
    assert read_rows(Path("out")).sort("target")["seconds_human"].to_list() == [(one - 0.5) / 2 + 1 for one in took]


@pytest.mark.usefixtures("copied")
def test_another_model_is_compared_by_what_people_gave_it(wording: SnapshotAssertion) -> None:
    given = {"dataset": DATA, "protocol": "overlap@1", "rounds": 2, "cases": "first:1", "out": ROBOTS}
    intrabench.run("random_walker:reach_mm=5", [f"recorded:{PEOPLE}", CLICKER], **given)  # type: ignore[arg-type]
    found = matched_rows([PEOPLE, ROBOTS])
    persons = found.people.select("spec", "prompter").unique().sort("spec").rows()
    other = next(spec for spec in found.rows["spec"].unique() if spec != "random_walker")
    assert sorted(persons) == sorted([("random_walker", "human:rater=ab"), (other, f"recorded:folder={PEOPLE}")])
    only = gap([PEOPLE, ROBOTS], selection=selection(model=other)).frame
    assert set(only["rater"]) == {EVERYBODY, UNNAMED}  # the seed of the recording chose who it was
    assert set(only["model"]) == {other}
    assert set(gap([PEOPLE, ROBOTS]).frame["model"]) == {other, "random_walker"}
    with pytest.raises(IntraBenchError) as caught:
        gap([PEOPLE, ROBOTS], selection=selection(model="random_waker"))
    assert caught == wording
    assert set(gap([PEOPLE, ROBOTS], selection=selection(prompter=CLICKER)).frame["prompter"]) == {CLICKER}


@pytest.mark.usefixtures("copied")
def test_a_robot_with_fewer_targets_is_told() -> None:
    robots("box_slice", cases="first:1", save_masks=False)
    targets = read_rows(ROBOTS).group_by("prompter").agg(pl.struct("case", "target").n_unique())
    counts = dict(targets.iter_rows())
    few = f"box_slice with random_walker: mean of {counts['box_slice']} of {counts[CLICKER]} targets"
    notes = gap([PEOPLE, ROBOTS]).notes
    assert 0 < counts["box_slice"] < counts[CLICKER]
    assert [few in one for one in notes].count(True) == 1
    assert not any(few in one for one in gap([PEOPLE, ROBOTS], selection=selection(cases="first:1")).notes)


@pytest.mark.usefixtures("copied")
def test_what_lacks_is_said_in_one_sentence(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    simulated(Path("others"))
    said = say("gap", "others")
    assert (said.code, said.err) == (2, wording)
    said = say("gap", str(PEOPLE), "others")  # other targets
    assert said.code == 2
    assert said.err == wording
    said = say("gap", str(PEOPLE), str(ROBOTS), "--metric", "dcie")
    assert said.code == 2
    assert "dcie" in said.err


@pytest.mark.usefixtures("copied")
def test_folders_may_overlap() -> None:
    once, twice = gap([PEOPLE, ROBOTS]), gap([PEOPLE, ROBOTS, ROBOTS, PEOPLE])
    assert once.frame.equals(twice.frame)
    assert matched_rows([PEOPLE, ROBOTS, ROBOTS]).rows.height == matched_rows([PEOPLE, ROBOTS]).rows.height


@pytest.mark.usefixtures("copied")
def test_numbers_have_the_decimals_of_their_unit_and_files_all_digits(say: Callable[..., Said]) -> None:
    robots("box_slice", cases="first:2")
    said = say("gap", str(PEOPLE), str(ROBOTS), "--csv", "gap.csv")
    texts = {cells[1]: cells[2:] for cells in map(cells_of, said.out.splitlines()) if len(cells) > 5}
    assert texts["dice after 3 interactions"][1:4] == ["0.841", "0.841", "0.000"]
    found = gap([PEOPLE, ROBOTS])
    everybody = found.frame.filter(prompter=CLICKER, rater=EVERYBODY)
    inside = line(everybody, "first clicks: mm inside")
    shown = texts["first clicks: mm inside"]
    assert (shown[1], inside["unit"]) == (f"{inside['people']:.1f}", "mm")
    share = line(everybody, "first clicks: share beside")
    assert (texts["first clicks: share beside"][1], share["unit"]) == (f"{share['people']:.3f}", "")
    written, digits = pl.read_csv("gap.csv"), ["people", "simulated", "difference", "low", "high"]
    assert written.select(digits).rows() == found.frame.select(digits).rows()
    (everything,) = json.loads(say("gap", str(PEOPLE), str(ROBOTS), "--json").out)
    assert everything["ranking"] == found.ranking.to_dicts()
    assert everything["measures"] == found.frame.to_dicts()


@pytest.mark.usefixtures("copied")
def test_targets_that_lack_are_counted_and_the_ranking_is_of_those_that_all_have(say: Callable[..., Said]) -> None:
    robots("box_slice", cases="first:1")
    robots("points_slice", cases="first:4")
    found = gap([PEOPLE, ROBOTS])
    scored = found.frame.filter(measure="dice after 3 interactions")
    counts = dict(scored.select("prompter", "targets").iter_rows())
    assert counts == {CLICKER: 12, "box_slice": 2, "points_slice:n=1": 8}
    assert set(scored["of_targets"]) == {12}
    ranked = found.ranking.filter(against="interactions")
    assert ranked["prompter"].to_list()[0] == CLICKER
    assert "box_slice" not in ranked["prompter"].to_list()
    assert set(ranked["targets"]) == {8}
    assert any("comparisons: box_slice" in note for note in found.notes)
    assert any("8 of 12 targets" in note for note in found.notes)
    assert "2 of 12" in say("gap", str(PEOPLE), str(ROBOTS)).out


@pytest.mark.usefixtures("copied")
def test_a_score_that_people_do_not_have_is_told() -> None:
    intrabench.run("random_walker", CLICKER, DATA, rounds=2, metric=["hd95"], protocol="overlap@1", out=Path("hd95"))
    found = gap([PEOPLE, Path("hd95")], "hd95")
    assert found.ranking.is_empty()
    assert any("no target has hd95" in note for note in found.notes)


def cells_of(text: str) -> list[str]:
    """What stands in a line of a table, after an empty cell."""
    return [cell.strip() for cell in text.replace("┃", "│").split("│")]


def clicked(places: list[tuple[int, int]], robot: str | None) -> pl.DataFrame:
    about = {"model": "m", "robot": robot, **dict(zip(TARGET, ("d", "c", "l", "l.1", 9), strict=True)), "patient": "p"}
    lines = [
        {"session": f"{robot}{n}", "stage": "first clicks", "number": 0, "positive": True, "y": y, "x": x, **about}
        | {"height": 10, "width": 20, "depth": 1.0, "centre": 1.0, "wrong": 0.0}
        for n, (y, x) in enumerate(places)
    ]
    return pl.DataFrame(
        lines,
        schema={**CLICKS, "model": pl.String, "robot": pl.String}
        | {name: pl.Int64 if name == "target_voxels" else pl.String for name in (*TARGET, "patient")},
    )


def test_distances_between_first_clicks() -> None:
    people = [(10, 10), (10, 30), (20, 10)]
    same = dict(distances(clicked(people, None), clicked([(13, 10)], "r")).select("measure", "value").iter_rows())
    y, x = np.abs(np.array(people) - (13, 10)).mean(axis=0)
    assert same[APART[0]] == pytest.approx(y / 10 + x / 20)
    assert same[APART[1]] == pytest.approx(np.hypot(*(np.array(people) - (13, 10)).T).mean() / np.hypot(10, 20))
    assert same[APART[2]] == 0
    assert distances(clicked(people[:1], None), clicked(people, "r")).is_empty()
