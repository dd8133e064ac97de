"""Parts that follow each other are written together, and whoever waits for that is told, also if it fails."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from intrabench.engine import writer as module
from intrabench.engine.progress.reporter import Silent
from intrabench.engine.result_batches import ResultBatch
from intrabench.engine.summary import Summary
from intrabench.engine.writer import ResultWriter
from intrabench.errors import IntraBenchError
from intrabench.results.store import Store


def part(session: str, failed: int = 0) -> ResultBatch:
    row: dict[str, Any] = {"session": session, "round": 0, "status": "error" if failed else "ok", "dice": 0.5}
    row |= dict.fromkeys(("protocol", "dataset", "case", "target", "model", "prompter"), "x")
    return ResultBatch([row], summary=Summary(computed=1, failures=Counter({"error: x": failed})))


def writer_in(folder: Path, monkeypatch: pytest.MonkeyPatch, seconds: float = 3600.0) -> ResultWriter:
    """A writer that gathers parts for so long."""
    monkeypatch.setattr(module, "LEAST_SECONDS", seconds)
    return ResultWriter(Store(folder, "run"), Silent(), gathers=True)


def test_parts_that_follow_each_other_are_written_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer, called = writer_in(tmp_path, monkeypatch), list[str]()
    for session in ("a", "b", "c"):
        writer.take(part(session))
        writer.once_written(lambda session=session: called.append(session))  # type: ignore[misc]
    assert (writer.store.parts, called, writer.summary.computed) == (1, ["a"], 1)  # the first one does not wait
    writer.flush()
    assert (writer.store.parts, writer.summary.computed) == (2, 3)
    assert called == ["a", "b", "c"]
    assert writer.store.finished(0) == {"a", "b", "c"}


@pytest.mark.parametrize("why", ["failure", "number", "no gathering"])
def test_some_parts_do_not_wait(why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = writer_in(tmp_path, monkeypatch)
    writer.take(part("first"))
    monkeypatch.setattr(module, "MOST_PARTS", 1 if why == "number" else 9)
    writer._gathers = why != "no gathering"
    writer.take(part("b", failed=why == "failure"))
    assert writer.store.parts == 2


def test_a_part_waits_no_longer_than_a_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer, written = writer_in(tmp_path, monkeypatch, 0.2), Event()
    writer.take(part("first"))
    writer.take(part("b"))
    writer.once_written(written.set)
    assert written.wait(120)
    assert writer.store.finished(0) == {"first", "b"}


@pytest.mark.parametrize("in_time", [False, True])
def test_what_cannot_be_written_is_told_and_keeps_nobody_waiting(
    in_time: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer, called = writer_in(tmp_path, monkeypatch), list[int]()
    writer.take(part("first"))
    writer.take(part("b"))
    writer.once_written(lambda: called.append(1))

    def full(*_: Any) -> None:
        raise IntraBenchError("full")

    monkeypatch.setattr(writer.store, "write_part", full)
    if in_time:
        writer._flush_in_time()
    with pytest.raises(IntraBenchError, match="full"):
        writer.flush()
    assert called == [1]


def test_the_lock_of_an_image_is_kept_until_its_rows_are_written(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import intrabench

    monkeypatch.setattr(module, "LEAST_SECONDS", 3600.0)
    locked, write = list[int](), Store.write_part

    def noted(self: Store, rows: Any, turns: Any) -> None:
        locked.append(len([*(self.root / "locks").glob("*.lock")]))
        write(self, rows, turns)

    monkeypatch.setattr(Store, "write_part", noted)
    rows = intrabench.run("box_fill", "box_volume", "phantom:shape=8x16x16,scans=4,instances=1", workers=0)
    assert (len(rows), locked) == (4, [1, 3])
    assert not [*Path("intrabench-results/locks").glob("*.lock")]


def test_a_part_comes_to_its_folder_while_a_library_changes_the_current_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As ITK does for the seconds that its import takes."""
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    writer = writer_in(Path("results"), monkeypatch)
    writer.take(part("first"))
    writer.take(part("b"))
    monkeypatch.chdir(tmp_path / "elsewhere")
    writer._flush_in_time()
    assert len(list((tmp_path / "results" / "rows").iterdir())) == 2
    assert not list((tmp_path / "elsewhere").iterdir())
