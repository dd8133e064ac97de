"""Answers are stored once, whatever is sent twice, and taken back once."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.errors import IntraBenchError
from intrabench.people.rating.answers import AlreadyAnswered, Answer, Answers

ONE = Answer("id-one", "r1", 0, "j1", score=7, errors=("missing",), seconds=12.5, views=4)


def test_an_answer_that_is_sent_twice_is_stored_once(tmp_path: Path) -> None:
    base = Answers(tmp_path / "a.sqlite")
    base.add(ONE)
    base.add(replace(ONE, score=3))  # the same id: the first one counts
    with pytest.raises(AlreadyAnswered, match="another tab"):
        base.add(replace(ONE, id="id-two", score=3))
    with pytest.raises(AlreadyAnswered, match="for another mask"):
        base.add(replace(ONE, rater="r2"))
    base.add(replace(ONE, id="id-three", rater="r2", score=None, skip="image"))
    found = base.all()
    assert [(row["rater"], row["score"], row["skip"], row["errors"]) for row in found] == [
        ("r1", 7, None, ["missing"]),
        ("r2", None, "image", ["missing"]),
    ]
    assert (found[0]["seconds"], found[0]["views"], found[0]["guideline"]) == (12.5, 4, "2")
    assert (base.done("r1"), base.done("r2"), base.done("r3")) == ([0], [0], [])


def test_only_the_last_answer_is_taken_back_and_once(tmp_path: Path) -> None:
    base = Answers(tmp_path / "a.sqlite")
    with pytest.raises(AlreadyAnswered):
        base.undo("r1", 0, "undo-one")
    base.add(ONE)
    base.add(replace(ONE, id="id-two", place=1, job="j2"))
    with pytest.raises(AlreadyAnswered, match="only the last"):
        base.undo("r1", 0, "undo-one")
    base.undo("r1", 1, "undo-two")
    base.undo("r1", 1, "undo-two")  # sent again
    assert base.done("r1") == [0]
    with pytest.raises(AlreadyAnswered, match="only once"):
        base.undo("r1", 0, "undo-three")
    base.add(replace(ONE, id="id-three", place=1, job="j2", score=2))
    assert [row["score"] for row in base.all()] == [7, 2]
    base.undo("r1", 1, "undo-four")
    assert base.done("r1") == [0]


def test_what_is_stored_is_there_after_opening_again(tmp_path: Path) -> None:
    base = Answers(tmp_path / "a.sqlite")
    base.add(ONE)
    base.train("r1")
    other = Answers(tmp_path / "a.sqlite")  # without closing the first one
    assert other.done("r1") == [0]
    assert (other.trained("r1"), other.trained("r2")) == (True, False)
    with pytest.raises(AlreadyAnswered):
        other.add(replace(ONE, id="id-two"))


def test_threads_and_connections_at_once_lose_nothing(tmp_path: Path) -> None:
    bases = [Answers(tmp_path / "a.sqlite") for _ in range(3)]
    refused: list[str] = []

    def rate(number: int) -> None:
        for place in range(20):
            try:
                bases[number % 3].add(Answer(f"id-{number}-{place}", f"r{number // 2}", place, f"j{place}", score=5))
            except AlreadyAnswered:
                refused.append(f"{number}-{place}")

    threads = [threading.Thread(target=rate, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(bases[0].all()) == 60
    assert len(refused) == 60


def test_a_full_disk_and_a_damaged_file_are_told(tmp_path: Path, wording: SnapshotAssertion) -> None:
    base = Answers(tmp_path / "a.sqlite")
    base.add(ONE)
    (pages,) = base._base.execute("PRAGMA page_count").fetchone()
    base._base.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(OSError) as caught:
        _many(base)
    assert caught == wording
    stored = len(base.all())
    base._base.execute("PRAGMA max_page_count = 100000")
    base.add(replace(ONE, id="id-later", place=5000))
    assert len(base.all()) == stored + 1
    (tmp_path / "b.sqlite").write_bytes(b"no database" * 100)
    with pytest.raises(IntraBenchError, match=r"b.sqlite cannot be opened"):
        Answers(tmp_path / "b.sqlite")


def _many(base: Answers) -> None:
    for number in range(1000):
        base.add(replace(ONE, id=f"id-{number}", place=number + 1, job="j" * 1000))
