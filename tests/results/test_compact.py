"""Packs of many parts: everything reads the same before, during and after, and after a kill at any moment."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Thread
from typing import Any

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion
from typer.testing import CliRunner

import intrabench
from intrabench.cli.main import app
from intrabench.errors import IntraBenchError
from intrabench.files.locks import locked
from intrabench.results import compact, files, new_parts, packs
from intrabench.results.compact import Compacted, tidy
from intrabench.results.export_rows import export_rows
from intrabench.results.merge import merge
from intrabench.results.packs import contents, held_by, is_pack, listed
from intrabench.results.parts import damaged_parts, finished_sessions, newest_stamp, read_rows, read_turns
from intrabench.results.store import Store
from tests.conftest import Said
from tests.results.compact_drill import COUNTED, content, drill, raw, write
from tests.results.test_store import row

OUT = Path("out")


def names(folder: str = "rows", root: Path = OUT) -> list[str]:
    return [path.name for path in listed(root / folder)]


def packed(root: Path = OUT) -> list[str]:
    return [name for name in names(root=root) if is_pack(name)]


def test_all_that_reads_the_folder_sees_no_difference() -> None:
    write(OUT, "run-a", 7)
    write(OUT, "run-b", 5)
    Store(OUT, "run-c").write_part([row("w", target="*", status="error"), row("x", patient="P", case="e")], [])
    Store(OUT, "run-d").write_part([row("x", status="oom", case="e")], [])  # replaced by nothing
    before, stored = content(OUT), raw(OUT).sort("session", "round", "written_at")
    states = finished_sessions(OUT, 1), newest_stamp(OUT), Store(OUT, "y").failed_cases()
    export_rows(OUT, Path("before.csv"), turns=True, all=True)
    assert intrabench.compact(OUT) == Compacted(14, 1)
    (name,) = names()
    assert is_pack(name)
    assert names("turns") == [name]
    assert all(one.equals(two) for one, two in zip(content(OUT), before, strict=True))
    assert raw(OUT).sort("session", "round", "written_at").equals(stored)
    assert (finished_sessions(OUT, 1), newest_stamp(OUT), Store(OUT, "y").failed_cases()) == states
    export_rows(OUT, Path("after.csv"), turns=True, all=True)
    for end in ("csv", "turns.csv"):
        assert Path(f"after.{end}").read_bytes() == Path(f"before.{end}").read_bytes()
    assert damaged_parts(OUT) == []
    assert intrabench.compact(OUT) == Compacted(0, 0)


def test_packs_that_are_small_are_put_together_again_and_large_ones_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compact, "MOST_ROWS", 24)
    monkeypatch.setattr(files, "_AT_ONCE", 1)
    write(OUT, "run-a", 6)
    assert compact.compact(OUT) == Compacted(6, 2)
    assert sorted(len(pl.read_parquet(path)) for path in listed(OUT / "rows")) == [12, 24]
    write(OUT, "run-b", 1)
    before = content(OUT)
    compact.compact(OUT)
    assert len(names()) == 2
    assert all(one.equals(two) for one, two in zip(content(OUT), before, strict=True))
    assert compact.compact(OUT).packs <= 1
    monkeypatch.setattr(compact, "SMALL", 0)
    write(OUT, "run-c", 3)
    assert compact.compact(OUT) == Compacted(0, 0)


def test_parts_of_other_columns_go_into_packs_of_their_own() -> None:
    store = Store(OUT, "run")
    for number in range(4):
        store.write_part([row(f"s{number}", metrics="dice@1 roughness@1", roughness=0.25)], [])
    write(OUT, "run-b", 3)
    for path in listed(OUT / "rows")[:2]:  # as another program may write them
        pl.read_parquet(path).drop("peak_gpu_mb", "contract", "stop").write_parquet(path)
    before = content(OUT)
    assert compact.compact(OUT).packs == 3
    assert content(OUT)[0].equals(before[0].select(content(OUT)[0].columns))
    assert content(OUT)[1].equals(before[1])


def test_damaged_parts_stay_where_they_are() -> None:
    write(OUT, "run-a", 6)
    bad = [OUT / "rows" / "run-a-0002.parquet", OUT / "turns" / "run-a-0004.parquet", OUT / "rows" / "pipe.parquet"]
    for path in bad[:2]:
        path.write_bytes(b"PAR1 no")
    os.mkfifo(bad[2])
    (OUT / "turns" / "run-a-0005.parquet").unlink()
    before, told = content(OUT), damaged_parts(OUT)
    assert compact.compact(OUT) == Compacted(4, 1)
    assert [name for name in names() if not is_pack(name)] == [
        "pipe.parquet",
        "run-a-0002.parquet",
        "run-a-0004.parquet",
    ]
    assert names("turns")[1:] == ["run-a-0002.parquet", "run-a-0004.parquet"]
    assert all(one.equals(two) for one, two in zip(content(OUT), before, strict=True))
    assert damaged_parts(OUT) == told


STEPS = ("replace", "unlink", "utime", "fsync")


@pytest.fixture
def stopping(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The process ends at its so-many-th change on the disk, for ever."""
    left = [10**9]

    def stop(real: Any) -> Any:
        def step(*args: Any, **more: Any) -> Any:
            left[0] -= 1
            if left[0] < 0:
                raise SystemExit
            return real(*args, **more)

        return step

    for name in STEPS:
        monkeypatch.setattr(os, name, stop(getattr(os, name)))
    yield left
    left[0] = 10**9


def test_a_kill_at_any_moment_loses_and_doubles_nothing(stopping: list[int]) -> None:
    write(Path("whole"), "run-a", 4)
    before = content(Path("whole"))
    for moment in range(200):
        shutil.copytree("whole", OUT)
        stopping[0] = moment
        try:
            compact._compact(OUT)
        except SystemExit:
            ended = False
        else:
            ended = True
        stopping[0] = 10**9
        assert all(one.equals(two) for one, two in zip(content(OUT), before, strict=True))
        assert finished_sessions(OUT, 1) == Store(OUT, "later").finished(1) == set(before[0]["session"])
        compact.compact(OUT)
        assert len(names()) == 1
        assert len(raw(OUT)) == len(before[0])
        assert all(one.equals(two) for one, two in zip(content(OUT), before, strict=True))
        shutil.rmtree(OUT)
        if ended:
            break
    assert ended
    assert moment > 12


def test_kills_at_random_moments() -> None:
    done, wrong = drill(2)
    assert done == 2
    assert wrong == dict.fromkeys(COUNTED, 0)


@pytest.mark.slow
def test_many_kills_at_random_moments() -> None:
    assert drill(60, seed=1)[1] == dict.fromkeys(COUNTED, 0)


def test_readers_and_runs_at_the_same_time_miss_nothing() -> None:
    write(OUT, "run-a", 12)
    expected, stop, problems = set(read_rows(OUT)["session"]), Event(), list[str]()
    ours = Store(OUT, "run-z", lambda: {"state": "running"})

    def look() -> None:
        while not stop.is_set():
            known = set(expected)
            for what, seen in (("rows", read_rows(OUT)["session"]), ("turns", read_turns(OUT)["session"])):
                problems.extend(f"{what} lack {one}" for one in known - set(seen))
            problems.extend(f"unfinished {one}" for one in known - ours.finished(1))

    thread = Thread(target=look)
    thread.start()
    for number in range(4):
        write(OUT, f"run-b{number}", 3)
        expected |= {f"run-b{number}-{part}-{one}" for part in range(3) for one in range(3)}
        compact.compact(OUT)
    stop.set()
    thread.join()
    assert problems == []
    assert len(packed()) == 1


def test_a_listing_that_misses_both_parts_and_their_pack_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    write(OUT, "run-a", 3)
    before, real, missed = len(read_rows(OUT)), packs._names, [True]

    def racing(folder: Path) -> list[str]:
        if not missed:
            return real(folder)
        missed.clear()
        compact.compact(OUT)
        return []  # the parts are gone, and the pack was put where the listing had been already

    monkeypatch.setattr(packs, "_names", racing)
    assert len(read_rows(OUT)) == before


def test_a_run_sees_what_others_finished_although_it_was_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(new_parts, "PERIOD", 3600.0)
    ours, theirs = (Store(OUT, run, lambda: {"state": "running"}) for run in ("run-a", "run-b"))
    theirs.write_part([row("b1")], [])
    assert ours.finished(0) == {"b1"}
    theirs.write_part([row("b2")], [])
    theirs.write_part([row("b3")], [])
    compact.compact(OUT)
    assert ours.finished(0) == {"b1", "b2", "b3"}
    theirs.write_part([row("b4")], [])
    assert ours.finished(0) == {"b1", "b2", "b3", "b4"} == finished_sessions(OUT, 0)
    ours.write_part([row("a1")], [])
    assert "a1" in ours.finished(0)


def test_a_pack_that_claims_parts_of_others_deletes_none() -> None:
    """A folder from somebody else may name any file."""
    write(OUT, "run-a", 2)
    Path("precious.parquet").write_bytes(b"precious")
    claims = '["run-a-0001.parquet", "../../precious.parquet", "../precious.parquet", 7]'
    for folder in ("rows", "turns"):
        frame = pl.read_parquet(OUT / folder / "run-a-0002.parquet")
        frame.write_parquet(OUT / folder / "packed-x.parquet", metadata={packs.HOLDS: claims})
    before = content(OUT)
    compact.compact(OUT)
    assert all(one.equals(two) for one, two in zip(content(OUT), before, strict=True))
    assert Path("precious.parquet").exists()
    (OUT / "rows" / "packed-y.parquet").write_bytes(b"PAR1")
    assert held_by(OUT / "rows" / "packed-y.parquet") == []


def test_of_two_at_once_one_gives_up(wording: SnapshotAssertion) -> None:
    write(OUT, "run-a", 2)
    with locked(OUT / "locks" / "compact.lock"):
        with pytest.raises(IntraBenchError) as caught:
            intrabench.compact(OUT)
        assert caught == wording
        assert len(names()) == 2
    with pytest.raises(IntraBenchError) as caught:
        intrabench.compact("nowhere")
    assert caught == wording


def test_at_the_end_of_runs_the_last_one_does_it(monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion) -> None:
    write(OUT, "run-a", 3)
    assert tidy(OUT) == ("", "")
    monkeypatch.setattr(compact, "MANY", 3)
    with locked(OUT / "locks" / "run-b.run"):
        assert tidy(OUT) == ("", "")
        assert len(names()) == 3
        assert tidy(OUT, "run-b") == wording
    write(OUT, "run-c", 2)
    assert tidy(OUT) == ("", "")  # a pack is none of many


def test_runs_compact_by_themselves(monkeypatch: pytest.MonkeyPatch, data: Path) -> None:
    monkeypatch.setattr(compact, "MANY", 2)
    dataset = "phantom:shape=16x32x32,instances=2,scans=3"
    rows = intrabench.run("box_fill", "box_slice", dataset, out=OUT)
    assert len(rows) == 6
    assert len(names()) == len(packed()) == 1
    assert intrabench.run("box_fill", "box_slice", dataset, out=OUT).equals(rows)
    assert len(names()) == 1


def test_a_quiet_run_does_not_tell_of_it(monkeypatch: pytest.MonkeyPatch, data: Path, say: Callable[..., Said]) -> None:
    monkeypatch.setattr(compact, "MANY", 2)
    words = ["run", "-m", "box_fill", "-p", "box_slice", "-d", "phantom:shape=16x32x32,scans=2", "--workers", "0"]
    told = [say(*words, "--out", out, *more).err for out, more in (("loud", []), ("quiet", ["-q"]))]
    assert ["small files" in err for err in told] == [True, False]
    assert [len(list(Path(out, "rows").iterdir())) for out in ("loud", "quiet")] == [1, 1]


def test_a_run_packs_what_an_earlier_version_left_also_if_it_has_nothing_to_do(
    monkeypatch: pytest.MonkeyPatch, data: Path
) -> None:
    dataset = "phantom:shape=16x32x32,instances=2"
    rows = intrabench.run("box_fill", "box_slice", dataset, out=OUT)
    write(OUT, "run-a", 3)
    monkeypatch.setattr(compact, "MANY", 4)
    with locked(OUT / "locks" / "run-b.run"):  # which will do it
        assert intrabench.run("box_fill", "box_slice", dataset, out=OUT).equals(rows)
        assert len(packed()) == 0
    assert intrabench.run("box_fill", "box_slice", dataset, out=OUT).equals(rows)
    assert len(names()) - 1 == len(packed()) == 1  # those with other metrics are by themselves


def test_merged_folders_hold_no_part_twice(monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion) -> None:
    a, b = Path("a"), Path("b")
    write(a, "run-a", 4)
    shutil.copytree(a, b)
    compact.compact(b)
    merge([a], OUT)
    assert merge([b], OUT).copied == 0
    compact.compact(OUT)
    assert (merge([a], OUT).copied, merge([b], OUT).copied) == (0, 0)
    assert merge([b, a], Path("new")).copied == 3
    assert len(raw(Path("new"))) == len(raw(a)) == len(raw(OUT))
    assert [len(contents(path)) for path in listed(Path("new") / "rows")] == [4]
    monkeypatch.setattr(compact, "MANY", 4)
    assert merge([a], Path("other")).packed == wording
    write(OUT, "run-b", 4)
    again = merge([a], OUT)
    assert (again.copied, again.packed) == (0, wording)


def test_the_command(wording: SnapshotAssertion) -> None:
    write(OUT, "run-a", 2)
    done = CliRunner().invoke(app, ["compact", "--out", "out"])
    assert (done.exit_code, done.stdout) == (0, wording)
    assert CliRunner().invoke(app, ["compact", "--out", "out"]).stdout == wording
    (OUT / "rows" / "z.parquet").touch()
    done = CliRunner().invoke(app, ["compact", "--out", "out"])
    assert done.exit_code == 1
    assert "z.parquet cannot be read" in done.stderr
