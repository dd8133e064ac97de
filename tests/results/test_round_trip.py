"""Any names, prompts and answers: what is played is what the results folder, exports and tables give back."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import intrabench
from intrabench.mask import Mask
from intrabench.models.base import Answer
from intrabench.play.lockstep import play
from intrabench.play.session import Session
from intrabench.prompts import Lasso, Prompts, Scribble
from intrabench.protocols import protocol
from intrabench.reporting.formats import formatted
from intrabench.results.export_rows import export_rows
from intrabench.results.masks import read_masks
from intrabench.results.parts import read_rows, read_turns
from intrabench.results.store import Store
from intrabench.target import Target
from intrabench.turns import Click, DrawBox2D, DrawBox3D, DrawScribble, Turn, turns_by_round
from tests.play.test_session import ALL, Scripted, Stub
from tests.results.made import SHARED

SHAPE = (3, 5, 6)
NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12) | st.sampled_from(
    ["average", "..", "lesion [left]", "[/b]", 'a,"b"', "*", "^x$", "model", "é\n|\\", "NaN", "null", " ", "_line"]
)
WHO = ("dataset", "case", "label", "model", "prompter", "patient")

VOXEL = st.tuples(*(st.integers(0, size - 1) for size in SHAPE))
LABEL = st.sampled_from([0, 1])


def spans(*sizes: int) -> st.SearchStrategy[tuple[int, ...]]:
    """Half-open boxes with voxels: all beginnings, then all ends."""
    pairs = [
        st.integers(0, size - 1).flatmap(lambda low, size=size: st.tuples(st.just(low), st.integers(low + 1, size)))
        for size in sizes
    ]
    return st.tuples(*pairs).map(lambda found: (*(low for low, _ in found), *(high for _, high in found)))


STROKE = st.builds(Scribble, st.lists(VOXEL, min_size=1, max_size=4).map(np.array), LABEL)
CORNERS = st.tuples(st.integers(0, SHAPE[0] - 1), st.lists(VOXEL, min_size=3, max_size=5))
LASSO = st.builds(Lasso, CORNERS.map(lambda found: np.array([(found[0], y, x) for _, y, x in found[1]])), LABEL)


@st.composite
def prompts(draw: Any) -> Prompts:
    """Prompts of all kinds that a hand can give, and derived ones."""
    points = draw(st.lists(st.tuples(VOXEL, LABEL), max_size=3))
    boxes = draw(st.lists(st.tuples(st.integers(0, SHAPE[0] - 1), spans(*SHAPE[1:])), max_size=3))
    flags = st.lists(st.booleans(), min_size=3, max_size=3)
    return Prompts(
        points=np.array([(*voxel, label) for voxel, label in points]).reshape(-1, 4).astype(int),
        boxes2d=np.array([(z, *box) for z, box in boxes]).reshape(-1, 5).astype(int),
        box3d=draw(st.none() | spans(*SHAPE)),
        scribbles=tuple(draw(st.lists(STROKE, max_size=2))),
        lassos=tuple(draw(st.lists(LASSO, max_size=2))),
        drawn=draw(flags)[: len(boxes)],
        clicked=draw(flags)[: len(points)],
    )


ACTIONS = st.sampled_from([Click(), DrawBox2D(), DrawBox3D(), DrawScribble(5)])
TURNS = st.builds(Turn, prompts(), st.lists(ACTIONS, min_size=1, max_size=2).map(tuple))
MASKS = arrays(bool, SHAPE)


@settings(max_examples=15)
@given(
    names=st.tuples(*[NAMES] * len(WHO)),
    given_turns=st.lists(TURNS, min_size=1, max_size=3),
    answers=st.lists(MASKS, min_size=3, max_size=3),
    truth=MASKS.filter(np.any),
)
def test_what_is_played_comes_back(
    names: tuple[str, ...], given_turns: list[Turn], answers: list[Any], truth: Any
) -> None:
    who = dict(zip(WHO, names, strict=True))
    target = Target(who["case"], who["label"], 1, Mask.of(truth), SHAPE, (1.0, 1.0, 1.0))
    prompter, preset = Scripted(tuple(given_turns)), protocol("overlap@1")
    session = Session("key", target, prompter, ALL, preset, dataset=who["dataset"], rounds=9, keep_masks=True)
    play([session], Stub(lambda request: Answer(Mask.of(answers[len(request.turns) - 1]))))
    played = len(session.rows)
    assert {row["status"] for row in session.rows} <= {"ok", "empty", "stopped"}
    shared = {key: value for key, value in SHARED.items() if key not in ("nsd_2mm", "hd95_mm", "run_id", "written_at")}
    shared |= {"metrics": "dice@1 iou@1", "target": target.id, **who}
    with TemporaryDirectory() as folder:
        results = Path(folder)
        store = Store(results, "run")
        store.write_masks({"key": session.masks})
        store.write_part([{**shared, **row} for row in session.rows], session.turns)

        masks = [mask.to_array(SHAPE) for mask in read_masks(results, "key")]
        assert all(np.array_equal(one, other) for one, other in zip(masks, answers[:played], strict=True))

        stored = turns_by_round(read_turns(results).sort("turn").iter_rows(named=True))
        assert [turn.to_json() for turns in stored.values() for turn in turns] == [
            turn.to_json() for turn in given_turns[:played]
        ]
        for turn, (again,) in zip(given_turns, stored.values(), strict=False):
            same(turn, again)

        rows = read_rows(results).sort("round")
        assert rows["dice"].to_list() == [row["dice"] for row in session.rows]
        files = [results / f"rows.{ending}" for ending in ("parquet", "csv", "jsonl")]
        for file in files:
            assert export_rows(results, file) == ({file: played}, [])
        lines = files[2].read_text("utf-8").split("\n")[:-1]
        found = [rows.to_dicts(), pl.read_parquet(files[0]).to_dicts(), list(map(json.loads, lines))]
        with files[1].open(encoding="utf-8", newline="") as file:
            table = list(csv.DictReader(file))
        for line in table:
            assert all(line[name] in in_csv(text) for name, text in {**who, "target": target.id}.items())
        for line in (line for one in found for line in one):
            assert {name: line[name] for name in WHO} == who
            assert line["target"] == target.id

        for columns, name in (("dataset", who["dataset"]), ("label", who["label"])):
            table = intrabench.table(results, columns=columns)
            assert (table["model"][0], table["prompter"][0]) == (who["model"], who["prompter"])
            heading = table.columns[table.columns.index("seconds_human") + 1]
            assert heading.removeprefix(f"{columns} ") == name or heading == name
            assert table[heading][0] == rows["dice"][-1]
            head, line = csv.reader(io.StringIO(formatted(table, "csv"), newline=""))
            assert line[head.index("model")] in in_csv(who["model"])
            assert head[head.index("seconds_human") + 1] in in_csv(heading)


def in_csv(text: str) -> tuple[str, str]:
    """What a CSV file may have for a text: one that a spreadsheet would take for a formula has an apostrophe."""
    return text, f"'{text}"


def same(one: Turn, other: Turn) -> None:
    """The arrays of two turns, not only their texts."""
    assert (one.actions, one.afresh) == (other.actions, other.afresh)
    for name in ("points", "boxes2d", "box3d", "drawn", "clicked"):
        assert np.array_equal(getattr(one.prompts, name), getattr(other.prompts, name))
    for name in ("scribbles", "lassos"):
        for stroke, again in zip(getattr(one.prompts, name), getattr(other.prompts, name), strict=True):
            assert np.array_equal(stroke.points, again.points)
            assert stroke.label == again.label
