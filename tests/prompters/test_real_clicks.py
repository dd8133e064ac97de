"""Real first clicks on photographs: `recorded:FILE.csv` and the protocol of users."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.engine.verify import Trust, verify
from intrabench.errors import FailedSessions, IntraBenchError
from intrabench.identity.versions import version_of
from intrabench.results.parts import read_rows, read_turns
from intrabench.statistics.robustness import user_noise
from intrabench.turns import turns_by_round
from tests.conftest import Said

pytestmark = pytest.mark.usefixtures("data")
SIZE = 40
CLICKS = {"one": [(12, 12), (2, 39), (11, 20)], "two.1": [(9, 9)], "two.2": [(30, 30), (33, 28)]}
"""Rows y, x on each object; the second one on the first is beside it."""


@pytest.fixture(autouse=True)
def photos() -> None:
    """A folder of two photographs, with one and with two objects, and a file of clicks on them."""
    for folder in ("set/images", "set/masks"):
        Path(folder).mkdir(parents=True)
    Path("set/dataset.toml").write_text('name = "photos"\n[labels]\n"*" = "object"\n')
    for name, number in (("one", 1), ("two", 2), ("three", 1)):
        ids = np.zeros((SIZE, SIZE), np.uint8)
        ids[6:18, 6:24] = 1
        ids[26:36, 24:36] = 2 * (number > 1)
        picture = np.random.default_rng(number).normal(90, 8, (SIZE, SIZE, 3)) + 90 * (ids > 0)[..., None]
        Image.fromarray(picture.clip(0, 255).astype(np.uint8)).save(f"set/images/{name}.png")
        Image.fromarray(ids).save(f"set/masks/{name}.png")
    write()


def write(size: int = SIZE) -> None:
    lines = ["dataset,full_stem,click_type,device,x,y,w,h"]
    for name, clicks in CLICKS.items():
        stem = name.replace(".", "_______")
        for n, (y, x) in enumerate(clicks):
            lines.append(f"photos,{stem},first,{'mobile' if n else 'pc'},{x},{y},{size},{size}")
    lines += [f"photos,one_sam_fn,fn,pc,1,1,{size},{size}"]
    Path("clicks.csv").write_text("\n".join([*lines, ""]))


def given(rows: pl.DataFrame, out: str) -> dict[tuple[str, str, int, int], list[list[int]]]:
    """The points of each case, target, seed and round of a results folder."""
    turns = read_turns(Path(out), rows["session"].unique().to_list())
    both = turns.join(rows.unique("session").select("session", "case", "target", "seed"), on="session")
    found: dict[tuple[str, str, int, int], list[list[int]]] = {}
    for row in both.iter_rows(named=True):
        (turn,) = turns_by_round([row])[row["round"]]
        found[row["case"], row["target"], row["seed"], row["round"]] = turn.prompts.points.tolist()
    return found


def test_each_seed_is_one_click() -> None:
    rows = intrabench.run("grabcut", "recorded:clicks.csv", "set", seed=range(4), rounds=3, out="out")
    assert set(rows["prompter"]) == {"recorded:clicks=clicks.csv"}
    played = rows.filter(status="ok")
    assert set(played["round"]) == {0}
    assert set(played["interactions"]) == {1.0}
    assert given(played, "out") == {
        (name.partition(".")[0], f"object.{name.partition('.')[2] or 1}", seed, 0): [[0, *click, 1]]
        for name, clicks in CLICKS.items()
        for seed, click in enumerate(clicks)
    }
    left = rows.filter(status="not_applicable")
    assert played.height + left.height == rows.height == 4 * 4
    assert dict(left["error"].value_counts().rows()) == {
        "clicks.csv has no first clicks on this target": 4,
        "clicks.csv has no first click on this target with the number that is the seed": 1 + 3 + 2,
    }
    assert {verdict.found for verdict in verify(Path("out"), trust=Trust(folder=True))} == {"equal"}


def test_corrections_follow_and_a_device_is_chosen() -> None:
    rows = intrabench.run("grabcut", "recorded:clicks.csv+click_deepest", "set", seed=1, rounds=2, out="out")
    points = given(rows.filter(case="one"), "out")
    assert points["one", "object.1", 1, 0] == [[0, 2, 39, 1]]
    assert len(points) == rows.filter(case="one").height > 1
    rows = intrabench.run("grabcut", "recorded:clicks.csv,device=mobile", "set", seed=0, cases="one", out="mobile")
    assert given(rows, "mobile") == {("one", "object.1", 0, 0): [[0, 2, 39, 1]]}
    assert rows["prompter"].to_list() == ["recorded:clicks=clicks.csv,device=mobile"]


def test_one_of_several_objects_is_known_by_its_number_only(wording: SnapshotAssertion) -> None:
    path = Path("clicks.csv")
    path.write_text(path.read_text().replace("two_______2", "two"))
    rows = intrabench.run("grabcut", "recorded:clicks.csv", "set", cases="two", targets="object.2")
    assert rows["error"].to_list() == wording  # the other is not played


def test_the_version_is_that_of_the_clicks() -> None:
    one = version_of(intrabench.prompter("recorded:clicks.csv"))
    assert one == version_of(intrabench.prompter("recorded:clicks=clicks.csv"))
    write(41)
    assert version_of(intrabench.prompter("recorded:clicks.csv")) != one


def test_a_picture_of_another_size_fails() -> None:
    write(41)
    with pytest.warns(FailedSessions, match="x 41 x 41"):
        rows = intrabench.run("grabcut", "recorded:clicks.csv", "set", cases="one")
    assert rows["status"].to_list() == ["error"]


@pytest.mark.parametrize(
    "spec",
    [
        "recorded:nowhere.csv",
        "recorded",
        "recorded:folder=a,clicks=clicks.csv",
        "recorded:clicks.csv,rater=ab",
        "recorded:clicks.csv,device=pen",
        "recorded:set,device=pc",
    ],
)
def test_what_is_refused(spec: str, wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        intrabench.prompter(spec)
    assert caught == wording


def test_the_protocol_plays_every_click_and_the_table_compares(
    say: Callable[..., Said], wording: SnapshotAssertion
) -> None:
    protocol = "rclicks-users@1:clicks=clicks.csv"
    asked = ("run", "-m", "grabcut", "-d", "set", "--protocol", protocol, "--workers", "0")
    assert say(*asked, "--only", "Users").code == 0
    said = say(*asked, "-p", "recorded:clicks.csv", "-p", "clickability:model=uniform")
    assert said.code == 0, said.err
    rows = read_rows(Path("intrabench-results"))
    assert set(rows["protocol"]) == {"rclicks-users@1"}
    assert sorted(rows["seed"].unique()) == [0, 1, 2]
    assert rows.height == 2 * 4 * 3
    table = intrabench.table(users=True, metric="iou", protocol="rclicks-users@1")
    real, simulated = table.to_dicts()
    assert (real["users"], real["clicks"]) == ("recorded:clicks=clicks.csv", "real")
    assert simulated["clicks"] == "clickability:model=uniform,group=all"
    for line, name in ((real, "recorded"), (simulated, "clickability")):
        mine = rows.filter(pl.col("prompter").str.starts_with(name))
        ious = []
        for of, clicks in CLICKS.items():
            case, _, instance = of.partition(".")
            one = mine.filter(case=case, target=f"object.{instance or 1}").sort("seed")
            ious.append(one["iou"].to_list()[: len(clicks)])
        expected = user_noise(ious)
        assert [line["mean"], line["spread"], line["nsr"]] == pytest.approx(
            [expected.mean, expected.spread, expected.nsr]
        )
        assert (line["targets"], line["sessions"]) == (3, 6)
    assert "Users" in say("table").out  # the row's name
    said = say("table", "--users", "--metric", "iou")
    assert (said.code, " ".join(said.out.partition("┏")[0].split())) == (0, wording)


def test_what_a_protocol_takes(say: Callable[..., Said]) -> None:
    asked = ("run", "-m", "grabcut", "--only", "Users", "--workers", "0")
    for words, sentence in (
        (("--protocol", "rclicks-users@1:clicks=no.csv", "-d", "set"), "row Users of rclicks-users@1: "),
        (("--protocol", "rclicks-users@1", "-d", "phantom"), "clicks.csv has no first clicks on phantom; its clicks"),
        (("--protocol", "rclicks-users@1:file=a.csv", "-d", "set"), "there is no parameter 'file'; it takes clicks"),
        (("--protocol", "rclicks@1:clicks=a.csv", "-d", "set"), "protocol rclicks@1 takes no parameters; omit :clicks"),
    ):
        said = say(*asked, *words)
        assert (said.code, sentence in said.err) == (2, True), said.err
    said = say(*asked, "--protocol", "rclicks-users@1", "-d", "set", "--seed", "1")
    assert (said.code, set(read_rows(Path("intrabench-results"))["seed"])) == (0, {1})
