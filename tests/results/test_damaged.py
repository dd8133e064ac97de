"""Damaged parts, runs that go on or broke off, and protocols that mean different things."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.errors import IntraBenchError
from intrabench.files.locks import locked
from intrabench.mask import Mask
from intrabench.results import files
from intrabench.results.damage import NEEDED
from intrabench.results.masks import read_masks
from intrabench.results.parts import damaged_parts, finished_sessions, read_rows, read_turns
from intrabench.results.runs import read_record
from intrabench.results.schema import SCHEMA
from intrabench.results.store import Store
from intrabench.statistics.soundness import check_mixable, is_partial
from tests.engine.test_run import lasting
from tests.results.made import rows

SMALL = "phantom:shape=16x32x32,instances=3"
OUT = Path("out")


def run(**options: object) -> pl.DataFrame:
    given = {"model": "box_fill", "prompter": "box_slice", "dataset": SMALL, "out": OUT}
    return intrabench.run(**{**given, **options})  # type: ignore[arg-type]


def two_parts() -> None:
    store = Store(OUT, "run")
    for case in "ab":
        made = rows({"case": case, "session": case, "dice": 0.5}).drop("run_id", "written_at").to_dicts()
        store.write_part(made, [{"session": case, "round": 0, "turn": 0, "given": "{}"}])


@pytest.mark.parametrize("content", [b"", b"PAR1 no", b"\0" * 5000])
def test_a_damaged_part_is_named_and_the_others_are_used(content: bytes, wording: SnapshotAssertion) -> None:
    two_parts()
    assert damaged_parts(OUT) == []
    (OUT / "rows" / "run-0002.parquet").write_bytes(content)
    assert read_rows(OUT)["session"].to_list() == ["a"]
    assert finished_sessions(OUT, 0) == Store(OUT, "other").finished(0) == {"a"}
    (told,) = damaged_parts(OUT)
    assert [told] == damaged_parts(OUT)
    assert told == wording


def test_what_was_found_sound_is_read_in_part_until_it_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    two_parts()
    read, real = list[list[str]](), files.is_sound
    monkeypatch.setattr(files, "is_sound", lambda frame: read.append(frame.columns) or real(frame))
    assert len(read_rows(OUT, ["session"])) == len(read_rows(OUT, ["session", "dice"])) == 2
    assert damaged_parts(OUT) == []
    assert [len(columns) for columns in read if len(columns) > 1] == [len(SCHEMA) + 2]  # two more metrics
    part = OUT / "rows" / "run-0001.parquet"
    part.write_bytes(part.read_bytes()[:-1])
    assert read_rows(OUT, ["session"])["session"].to_list() == ["b"]
    assert len(damaged_parts(OUT)) == 1


def test_a_part_that_is_damaged_but_looks_unchanged_is_named() -> None:
    two_parts()
    part = OUT / "rows" / "run-0001.parquet"
    read_rows(OUT)
    times = part.stat().st_atime_ns, part.stat().st_mtime_ns
    part.write_bytes(bytes(part.stat().st_size))
    os.utime(part, ns=times)
    assert read_rows(OUT, ["session"])["session"].to_list() == ["b"]
    assert [told.split()[0] for told in damaged_parts(OUT)] == ["out/rows/run-0001.parquet"]


def test_every_way_to_cut_a_part_short_is_noticed() -> None:
    two_parts()
    part = OUT / "rows" / "run-0001.parquet"
    whole = part.read_bytes()
    for length in range(0, len(whole), 97):
        part.write_bytes(whole[:length])
        assert len(damaged_parts(OUT)) == 1
        assert read_rows(OUT)["session"].to_list() == ["b"]


def test_a_part_of_something_else_and_damaged_turns_are_named(wording: SnapshotAssertion) -> None:
    two_parts()
    pl.DataFrame({"weather": ["fine"]}).write_parquet(OUT / "rows" / "diary.parquet")
    (OUT / "turns" / "run-0001.parquet").write_bytes(b"PAR1")
    told = damaged_parts(OUT)
    assert [text.split()[0] for text in told] == ["out/rows/diary.parquet", "out/turns/run-0001.parquet"]
    assert told[1] == wording
    assert sorted(read_rows(OUT)["session"]) == ["a", "b"]
    assert read_turns(OUT)["session"].to_list() == ["b"]


def many(count: int) -> pl.DataFrame:
    """The rows of one session of so many rounds."""
    (row,) = rows({"case": "many", "session": "many", "dice": 0.5}).to_dicts()
    numbers = pl.int_range(count, dtype=pl.Int64)
    told = {"round": numbers, "written_at": numbers + 10**18}
    return pl.select(round=numbers).with_columns(
        *(told.get(name, pl.lit(row.get(name), kind)).alias(name) for name, kind in SCHEMA.items())
    )


def test_a_part_that_announces_more_rows_than_it_can_hold_is_left_out() -> None:
    """Rows without a difference take next to nothing in a file, but 800 bytes each in memory."""
    two_parts()
    bomb = OUT / "rows" / "bomb.parquet"
    many(300_000).with_columns(round=pl.lit(0, pl.Int64), written_at=pl.lit(1, pl.Int64)).write_parquet(bomb)
    assert bomb.stat().st_size < 100_000
    pl.select(session=pl.repeat("a", 10**6), round=0, turn=0, given=pl.repeat("{}", 10**6), written_at=1).write_parquet(
        OUT / "turns" / "bomb.parquet"
    )
    assert [told.split()[0] for told in damaged_parts(OUT)] == ["out/rows/bomb.parquet", "out/turns/bomb.parquet"]
    assert sorted(read_rows(OUT)["session"]) == ["a", "b"]
    assert len(read_turns(OUT)) == 2


def test_a_part_of_a_long_session_is_read() -> None:
    two_parts()
    many(100_000).write_parquet(OUT / "rows" / "long.parquet")
    assert damaged_parts(OUT) == []
    assert len(read_rows(OUT)) == 100_002


def test_a_pipe_among_the_parts_is_named_and_nothing_waits_for_it() -> None:
    two_parts()
    os.mkfifo(OUT / "rows" / "pipe.parquet")
    (OUT / "turns" / "folder.parquet").mkdir()
    told = damaged_parts(OUT)
    assert [text.split()[0] for text in told] == ["out/rows/pipe.parquet", "out/turns/folder.parquet"]
    assert sorted(read_rows(OUT)["session"]) == sorted(read_turns(OUT)["session"]) == ["a", "b"]
    assert finished_sessions(OUT, 0) == Store(OUT, "other").finished(0) == {"a", "b"}


def test_a_pipe_in_place_of_masks_is_named_and_nothing_waits_for_it() -> None:
    store = Store(OUT, "run")
    (OUT / "masks").mkdir()
    os.mkfifo(OUT / "masks" / "a.npz")
    assert not store.has_masks("a")
    assert store.bad_masks("a").startswith("out/masks/a.npz cannot be read")
    with pytest.raises(IntraBenchError, match=r"out/masks/a\.npz cannot be read"):
        read_masks(OUT, "a")


@pytest.mark.parametrize("name", ["../../precious", "/precious", "x" * 300, "a\0b", "..", ""])
def test_rows_name_no_file_outside_of_their_folder(name: str) -> None:
    Store(OUT, "run").write_masks({"plain": [Mask.of(np.ones((1, 1, 1), bool))]})
    Path("precious.npz").write_bytes((OUT / "masks" / "plain.npz").read_bytes())
    Path("precious.json").write_text('{"state": "finished"}')
    outside = str(Path("precious").resolve()) if name.startswith("/") else name
    assert (read_masks(OUT, outside), read_record(OUT, outside)) == ([], {})
    assert len(read_masks(OUT, "plain")) == 1


def test_parts_of_older_versions_are_not_damaged() -> None:
    two_parts()
    part = OUT / "rows" / "run-0001.parquet"
    pl.read_parquet(part).drop("seen_in_training").write_parquet(part)
    assert damaged_parts(OUT) == []
    assert sorted(read_rows(OUT)["seen_in_training"].to_list(), key=str) == [None, "unknown"]


def test_the_sessions_of_a_damaged_part_are_computed_again(data: Path) -> None:
    expected = run()
    run(prompter="box_interp")
    first = OUT / "rows" / f"{expected['run_id'][0]}-0001.parquet"
    everything, lost = len(read_rows(OUT)), pl.read_parquet(first).height
    first.write_bytes(first.read_bytes()[:-1])
    assert len(read_rows(OUT)) == everything - lost < everything
    assert lasting(run()).equals(lasting(expected))
    assert len(damaged_parts(OUT)) == 1
    first.unlink()
    assert damaged_parts(OUT) == []
    assert len(read_rows(OUT)) == 6


def test_a_finished_run_and_no_run_are_not_partial(data: Path) -> None:
    assert is_partial(OUT) == ""
    run()
    assert is_partial(OUT) == ""


STOPPING = """
from dataclasses import dataclass
from pathlib import Path

from intrabench.models.box_fill import BoxFill


@dataclass(eq=False)
class Stopping(BoxFill):
    'Is interrupted once, at its second answer.'

    name = "stopping"

    def segment_one(self, volume, request):
        if Path("begun").exists() and not Path("halted").exists():
            Path("halted").touch()
            raise KeyboardInterrupt
        Path("begun").touch()
        return super().segment_one(volume, request)
"""


def test_an_interrupted_run_is_partial_until_the_same_is_run_to_its_end(data: Path, wording: SnapshotAssertion) -> None:
    Path("stopping.py").write_text(STOPPING)
    options = {"model": "stopping", "plugin": [Path("stopping.py")]}
    with pytest.raises(KeyboardInterrupt):
        run(**options)
    (kept,) = read_rows(OUT)["run_id"].unique()
    assert read_record(OUT, kept)["state"] == "interrupted"
    told = is_partial(OUT)
    assert told == wording
    run(prompter="box_interp", **options)  # other work completes nothing
    assert is_partial(OUT) == told
    run(**options)
    assert is_partial(OUT) == ""


def test_a_run_that_was_killed_after_its_last_session_is_completed_by_one_that_finds_nothing_to_do(
    data: Path, wording: SnapshotAssertion
) -> None:
    rows = run()
    path = OUT / "runs" / f"{rows['run_id'][0]}.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "state": "running", "ended": None}))
    assert is_partial(OUT) == wording
    run()
    assert is_partial(OUT) == ""
    assert len(list((OUT / "runs").iterdir())) == 2


HOLDER = """
import pathlib, sys
from intrabench.files.locks import locked
with locked(pathlib.Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_run_that_goes_on_is_told_by_its_lease(data: Path, wording: SnapshotAssertion) -> None:
    run()
    lock = OUT / "locks" / "20260101T000000-abcdef.run"
    command = [sys.executable, "-c", HOLDER, str(lock)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        assert is_partial(OUT) == wording
        other.communicate()
    assert is_partial(OUT) == ""


def test_looking_does_not_hinder_a_run(data: Path) -> None:
    lock = OUT / "locks" / "x.run"
    lock.parent.mkdir(parents=True)
    with locked(lock) as lease:
        assert is_partial(OUT) != ""
        assert not lease.lost
    assert is_partial(OUT) == ""
    with locked(lock):
        pass


def test_protocols_that_mean_the_same_may_be_mixed() -> None:
    check_mixable(rows({"protocol": "basic@1"}, {"protocol": "overlap@1"}, {"protocol": "intrabench@1"}))
    check_mixable(rows({"protocol": "basic@1"}, {"protocol": "intrabench@1"}), "nsd")
    check_mixable(rows({"protocol": "mine@7"}))
    check_mixable(rows({"protocol": "basic@1"}, {"protocol": "overlap@1"}), "seconds")
    asked = {"metrics": "dice@1 iou@1 nsd_2mm@1"}
    check_mixable(rows({"protocol": "basic@1"}, {"protocol": "overlap@1", **asked}, metrics=None), "nsd")


def test_versions_of_a_metric_are_not_mixed(wording: SnapshotAssertion) -> None:
    one = {"protocol": "basic@1", "metrics": "lesion_f1@1"}
    two = {"protocol": "overlap@1", "metrics": "lesion_f1@2"}
    with pytest.raises(IntraBenchError) as caught:
        check_mixable(rows(one, two), "lesion_f1")
    assert caught == wording


@pytest.mark.parametrize(
    ("other", "metric"),
    [
        ("overlap@1", "nsd"),
        ("intrabench@1", "hd95_mm"),
        ("basic@1, stop dice=0.9", "dice"),
        ("future@3", "dice"),
        ("overlap@2", "dice"),
    ],
)
def test_protocols_that_mean_different_things_are_not_mixed(
    other: str, metric: str, wording: SnapshotAssertion
) -> None:
    protocol, _, stop = other.partition(", stop ")
    with pytest.raises(IntraBenchError) as refused:
        check_mixable(rows({"protocol": "basic@1"}, {"protocol": protocol, "stop": stop}, metrics=None), metric)
    assert f"rows of basic@1 and {other} cannot be combined" in str(refused.value)
    assert str(refused.value) == wording


@pytest.mark.parametrize(
    ("column", "value"),
    [
        *((name, None) for name in NEEDED),
        *(("round", 2**62), ("round", -1), ("written_at", -1), ("status", "fine"), ("target_ml", float("nan"))),
        *(("dice", 7.0), ("dice", float("nan")), ("iou", -0.1), ("interactions", -1.0), ("dof", float("inf"))),
    ],
)
def test_a_part_with_rows_that_nobody_writes_is_named_and_left_out(
    column: str, value: object, wording: SnapshotAssertion
) -> None:
    two_parts()
    path = OUT / "rows" / "run-0002.parquet"
    part = pl.read_parquet(path)
    part.with_columns(pl.lit(value, part.schema[column]).alias(column)).write_parquet(path)
    assert read_rows(OUT)["session"].to_list() == ["a"]
    assert Store(OUT, "other").finished(0) == {"a"}
    (told,) = damaged_parts(OUT)
    assert told == wording
