"""Rows as CSV, Parquet and JSON lines: every value, in the order of the schema."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.errors import IntraBenchError
from intrabench.results.export_rows import export_rows
from intrabench.results.parts import read_rows, read_turns
from intrabench.results.schema import SCHEMA
from intrabench.results.store import Store
from tests.conftest import Said
from tests.results.made import rows

RESULTS, ENDINGS = Path("results"), ["csv", "parquet", "jsonl"]


def stored(*given: dict[str, object], **shared: object) -> pl.DataFrame:
    """A store of such rows, and they as they must come out."""
    made = rows(*given, **shared)
    store = Store(RESULTS, f"run{len(list(RESULTS.glob('rows/*')))}")
    turns = [{"session": name, "round": 0, "turn": 0, "given": '{"a": "b, c"}'} for name in made["session"]]
    values = made.drop("run_id", "written_at").to_dicts()
    store.write_part([{name: value for name, value in row.items() if value is not None} for row in values], turns)
    return read_rows(RESULTS)


def read(path: Path) -> list[dict[str, object]]:
    if path.suffix == ".parquet":
        return pl.read_parquet(path).to_dicts()
    text = path.read_text()
    return (
        list(csv.DictReader(text.splitlines())) if path.suffix == ".csv" else list(map(json.loads, text.splitlines()))
    )


@pytest.mark.parametrize("ending", ENDINGS)
def test_every_value_comes_back(ending: str) -> None:
    third = {"case": "b", "dice": 1 / 3, "error": 'said "no", twice', "status": "error", "hd95_mm": None}
    expected = stored(third, {"case": "a", "dice": 0.1 + 0.2, "hd95_mm": 2.5, "seed": 2**40})
    file = Path(f"some/new/rows.{ending}")
    assert export_rows(RESULTS, file) == ({file: 2}, [])
    found = read(file)
    assert [list(row) for row in found] == [[*SCHEMA, "nsd_2mm", "hd95_mm"]] * 2
    assert [row["case"] for row in found] == ["a", "b"]
    for row, other in zip(found, expected.sort("case").to_dicts(), strict=True):
        texts = {name: str(value).lower() if isinstance(value, bool) else value for name, value in other.items()}
        told = {name: "" if value is None else str(value) for name, value in texts.items()}
        assert row == (told if ending == "csv" else other)
    if ending == "csv":
        assert float(str(found[0]["dice"])) == 0.1 + 0.2
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_infinite_distances() -> None:
    stored({"hd95_mm": math.inf})
    for ending in ENDINGS:
        export_rows(RESULTS, Path(f"rows.{ending}"))
    assert [read(Path(f"rows.{ending}"))[0]["hd95_mm"] for ending in ENDINGS] == ["inf", math.inf, "Infinity"]
    stored({"hd95_mm": None, "case": "2"})
    export_rows(RESULTS, Path("rows.jsonl"))
    assert [row["hd95_mm"] for row in read(Path("rows.jsonl"))] == ["Infinity", None]


@pytest.mark.parametrize("ending", ENDINGS)
def test_turns_go_beside(ending: str) -> None:
    expected = stored({"case": "a"}, {"case": "b"})
    beside = Path(f"rows.turns.{ending}")
    assert export_rows(RESULTS, Path(f"rows.{ending}"), turns=True) == ({Path(f"rows.{ending}"): 2, beside: 2}, [])
    assert [row["given"] for row in read(beside)] == ['{"a": "b, c"}'] * 2
    assert {row["session"] for row in read(beside)} == set(expected["session"])


def test_a_run_is_exported_as_it_is_read(data: Path) -> None:
    options = {"rounds": 1, "protocol": "overlap@1", "stop": "dice=0.99", "out": RESULTS}
    intrabench.run("box_fill", "box_slice+scribble", "phantom:shape=16x32x32,instances=2", **options)
    export_rows(RESULTS, Path("rows.parquet"), turns=True)
    found, turns = pl.read_parquet("rows.parquet"), pl.read_parquet("rows.turns.parquet")
    assert set(found["metrics"]) == {"dice@1 iou@1"}
    assert found.sort("session", "round").equals(read_rows(RESULTS).sort("session", "round"))
    assert turns.equals(read_turns(RESULTS).sort("session", "turn"))


def test_equal_stores_give_equal_bytes() -> None:
    stored({"case": "a"}, {"case": "b"})
    for name in ("one", "two"):
        for ending in ENDINGS:
            export_rows(RESULTS, Path(f"{name}.{ending}"))
    for ending in ENDINGS:
        assert Path(f"one.{ending}").read_bytes() == Path(f"two.{ending}").read_bytes()


def test_sessions_that_others_replaced_are_left_out_as_in_tables(
    say: Callable[..., Said], wording: SnapshotAssertion
) -> None:
    """An edited model, and a target that was played again with another modality: only the later sessions count."""
    stored({"model": "edited", "model_version": "1.aa"}, {"session": "before", "dice": 0.25})
    stored({"model": "edited", "model_version": "1.bb"}, {"session": "after", "dice": 0.5}, {"case": "2", "dice": 1.0})
    said = say("export", "rows", "rows.csv", "--turns", "--out", str(RESULTS))
    assert said.code == 0
    assert said.err.splitlines() == wording
    kept = read(Path("rows.csv"))
    assert [(row["model"], row["case"], row["dice"]) for row in kept] == [
        ("edited", "1", ""),
        ("m", "1", "0.5"),
        ("m", "2", "1.0"),
    ]
    assert {row["session"] for row in read(Path("rows.turns.csv"))} == {row["session"] for row in kept}
    table = intrabench.table(RESULTS, by="model")
    assert dict(zip(table["model"], table["d"], strict=True))["m"] == 0.75
    said = say("export", "rows", "all.csv", "--turns", "--all", "--out", str(RESULTS))
    assert (said.code, said.err) == (0, "")
    assert [len(read(Path(name))) for name in ("all.csv", "all.turns.csv")] == [5, 5]


def test_a_session_counts_if_it_alone_has_a_metric() -> None:
    stored({"session": "more"})
    stored({"session": "newer", "metrics": "dice@1 iou@1 nsd_2mm@1", "hd95_mm": None})
    assert export_rows(RESULTS, Path("rows.csv")) == ({Path("rows.csv"): 2}, [])


def test_what_cannot_be_exported_is_one_sentence(monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        export_rows(RESULTS, Path("rows.xlsx"))
    assert caught == wording
    with pytest.raises(IntraBenchError, match="results has no results"):
        export_rows(RESULTS, Path("rows.csv"))
    stored({})
    Path("file").touch()
    with pytest.raises(IntraBenchError, match=r"file/rows\.csv cannot be written"):
        export_rows(RESULTS, Path("file/rows.csv"))

    def full(frame: pl.DataFrame, path: Path) -> None:
        path.write_text("half")
        raise OSError(28, "No space left on device")

    monkeypatch.setitem(export_rows.__globals__["_WRITERS"], ".csv", full)
    with pytest.raises(IntraBenchError, match="the disk is full"):
        export_rows(RESULTS, Path("new/rows.csv"))
    assert list(Path("new").iterdir()) == []
