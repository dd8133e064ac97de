"""Calibration files: what they say, their names, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.effort import (
    SECONDS,
    Calibration,
    cost,
    effort_of_round,
    effort_option,
    hand_option,
    kinds,
    recorded_tables,
    table,
)
from intrabench.errors import IntraBenchError
from intrabench.turns import Click, DrawBox2D, DrawLasso, DrawScribble, TypeText
from tests.wording import without_reasons

TEXT = """
[seconds]
source = "a stopwatch"
click = { each = 2.5, once_per_round = 0.5, interval = [2.0, 3.0], n = 40 }
box2d = { each = 5 }
box3d = { each = 20 }
scribble = { each = 4, per_control_point = 0.25 }
lasso = { each = 6 }
extent = { each = 1 }

[hand]
jitter_mm = { value = 1.25, n = 60 }
miss_rate = { value = 0.0 }
box_slack = { value = 0.1 }
"""


def written(text: str = TEXT, name: str = "mine.toml") -> Path:
    Path(name).write_text(text)
    return Path(name)


def test_seconds_are_those_of_the_file() -> None:
    found = Calibration.read(written())
    assert cost([Click(), Click(), DrawBox2D()], found.table) == 0.5 + 2 * 2.5 + 5
    assert cost([DrawScribble(control_points=8), DrawLasso()], found.table) == 4 + 2 + 6
    effort = effort_of_round([Click(), Click()], found.table)
    assert (effort.interactions, effort.dof, effort.seconds) == (2, 6, 5.5)
    assert effort_of_round([Click(), Click()]).seconds == 4


def test_a_file_from_before_there_was_text_serves_all_runs_without_text(wording: SnapshotAssertion) -> None:
    table_of = Calibration.read(written()).table
    assert "text" not in TEXT
    assert cost([Click()], table_of) > 0
    with pytest.raises(IntraBenchError) as caught:
        cost([TypeText(2)], table_of)
    assert caught == wording
    timed = Calibration.read(written(TEXT.replace("[hand]", "text = { each = 1, per_word = 2 }\n[hand]"))).table
    assert cost([TypeText(3)], timed) == 7


def test_it_covers_every_action_of_the_table_that_ships() -> None:
    every = {"click", "box2d", "box3d", "scribble", "lasso", "extent", "text", "undo", "handle"}
    assert set(kinds()) == every == table(SECONDS).keys() - {"source"}
    assert cost([DrawLasso()], SECONDS) == cost([DrawScribble()], SECONDS)  # as before lassos had entries of their own


def test_the_id_is_of_the_content() -> None:
    one = Calibration.read(written())
    assert one.id.startswith("mine@")
    assert len(one.id) == len("mine@") + 8
    comments = TEXT.replace("[hand]", "# measured on Monday\n\n[hand]").replace("value = 1.25, n", "value=1.25,   n")
    assert Calibration.read(written(comments)).id == one.id
    assert Calibration.read(written(TEXT.replace("2.5", "2.6"))).id != one.id
    assert Calibration.read(written(name="other.toml")).id.startswith("other@")
    assert Calibration.read(written(f'name = "mine"\n{TEXT}', "other.toml")).id == one.id
    assert Calibration.of(one.content).id == one.id


def test_the_hand_is_written_as_an_option(wording: SnapshotAssertion) -> None:
    written()
    assert hand_option("mine.toml") == hand_option(Path("mine.toml")) == "jitter_mm=1.25,box_slack=0.1"
    assert hand_option("jitter_mm=2") == "jitter_mm=2"
    assert hand_option("") == ""
    assert effort_option("") is None
    written(TEXT[: TEXT.index("[hand]")])
    with pytest.raises(IntraBenchError) as caught:
        hand_option("mine.toml")
    assert caught == wording


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("[seconds]", 'name = "a b"\n[seconds]'),
        ('source = "a stopwatch"', ""),
        ("box2d = { each = 5 }", ""),
        ("box2d = { each = 5 }", "box2d = 5"),
        ("each = 2.5", "each = -1"),
        ("each = 2.5", "each = inf"),
        ("each = 2.5", 'each = "2.5"'),
        ("once_per_round = 0.5", "once_per_round = true"),
        ("n = 40", "n = nan"),
        ("once_per_round", "once_per_rond"),
        ("[seconds]", "[interaction]\nlasso = { each = 2 }\n[seconds]"),
        ("extent =", "wink = { each = 1 }\nextent ="),
        ("jitter_mm", "jitter"),
        ("value = 1.25", "value = -1.25"),
        ("miss_rate = { value = 0.0 }", "miss_rate = { value = 1.1 }"),
        ("[seconds]", "[seconds"),
    ],
)
def test_what_is_wrong_is_said(old: str, new: str, wording: SnapshotAssertion) -> None:
    assert old in TEXT
    with pytest.raises(IntraBenchError) as caught:
        Calibration.read(written(TEXT.replace(old, new)))
    assert without_reasons(str(caught.value)) == wording


@pytest.mark.parametrize("read", [effort_option, hand_option])
def test_a_file_that_is_not_there_is_named(read: Any, wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        read("nowhere.toml")
    assert caught == wording


BASED = """
[seconds]
base = "seconds@1"
click = { each = 3 }
"""


def test_a_file_may_change_single_entries_of_a_table_that_ships() -> None:
    found = Calibration.read(written(BASED))
    assert cost([Click(), Click(), DrawBox2D()], found.table) == 2 * 3 + 7
    assert found.content["seconds"] == {
        **table(SECONDS),
        "source": "seconds@1, but for click",
        "click": {"each": 3},
    }
    above = Calibration.read(written('base = "seconds@1"\n[seconds]\nclick = { each = 3 }\n'))
    assert (
        above.id == found.id == Calibration.of(found.content).id
    )  # the id is of all entries, not of how they are said
    assert found.id.startswith("mine@")
    assert Calibration.read(written(BASED.replace("3", "4"))).id != found.id
    assert Calibration.read(written('base = "seconds@1"\n')).content["seconds"] == {
        **table(SECONDS),
        "source": "seconds@1",
    }


def test_interactions_may_be_weighted_too() -> None:
    text = '[interactions]\nbase = "interactions@1"\nsource = "ours"\nlasso = { each = 2 }\n'
    found = Calibration.read(written(text))
    assert found.sources == {"interactions": "ours"}
    effort = effort_of_round([Click(), DrawLasso(control_points=4)], found)
    usual = effort_of_round([Click(), DrawLasso(control_points=4)])
    assert (effort.interactions, usual.interactions) == (3, 4)
    assert (effort.dof, effort.seconds) == (usual.dof, usual.seconds)
    both = Calibration.read(written(BASED + text))
    assert effort_of_round([Click()], both).seconds == 3
    assert len({found.id, both.id, Calibration.read(written(BASED)).id}) == 3


def test_all_that_is_wrong_is_said_at_once(wording: SnapshotAssertion) -> None:
    text = """
        name = "a b"
        box3d = { each = 1 }
        [seconds]
        click = { each = -3 }
        wink = { each = 1 }
        [interactions]
        base = "seconds@1"
        [hand]
        jitter = 1
    """
    with pytest.raises(IntraBenchError) as caught:
        Calibration.read(written(text))
    assert caught == wording
    with pytest.raises(IntraBenchError) as caught:
        Calibration.read(written('base = "minutes@1"\n'))
    assert caught == wording


def test_records_of_runs_hold_the_tables() -> None:
    one = Calibration.read(written(BASED))
    assert recorded_tables([{}, {"effort": one.content}, {"effort": {"name": "x"}}]) == {one.id: one}
