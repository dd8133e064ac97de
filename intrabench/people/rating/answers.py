"""The answers of raters, in SQLite: each is on the disk before the page is told that it counts."""

from __future__ import annotations

import json
import sqlite3
import threading
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from intrabench.errors import IntraBenchError
from intrabench.people.rating import guideline
from intrabench.play.validate import Refused

_SCHEMA = """
CREATE TABLE IF NOT EXISTS answers (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, rater TEXT NOT NULL, place INTEGER NOT NULL, job TEXT NOT NULL,
    score INTEGER, clinical TEXT, pair TEXT, skip TEXT, errors TEXT NOT NULL, seconds REAL NOT NULL,
    paused_seconds REAL NOT NULL, views INTEGER NOT NULL, guideline TEXT NOT NULL, at TEXT NOT NULL,
    undone TEXT, comment TEXT NOT NULL DEFAULT ''
);
CREATE UNIQUE INDEX IF NOT EXISTS one_answer ON answers (rater, place) WHERE undone IS NULL;
CREATE UNIQUE INDEX IF NOT EXISTS one_undo ON answers (undone);
CREATE TABLE IF NOT EXISTS trained (rater TEXT PRIMARY KEY, at TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS closed (at TEXT NOT NULL);
"""
_COMMENT = "ALTER TABLE answers ADD COLUMN comment TEXT NOT NULL DEFAULT ''"
"""What studies of earlier versions lack."""


class AlreadyAnswered(IntraBenchError):
    """Somebody, perhaps another tab, has answered already, or there is nothing to take back."""


@dataclass(frozen=True)
class Answer:
    """One answer. seconds: of work, without pauses; by a clock that only runs forwards. views: changes of the slice."""

    id: str
    rater: str
    place: int
    job: str
    score: int | None = None
    clinical: str | None = None
    pair: str | None = None
    skip: str | None = None
    errors: tuple[str, ...] = ()
    seconds: float = 0.0
    paused_seconds: float = 0.0
    views: int = 0
    comment: str = ""


@dataclass(frozen=True)
class RaterStatus:
    """How far a rater is. answers: with those that skip a mask, which `skipped` counts. seconds: of all answers,
    without pauses. first, last: when answers came, in UTC.
    """

    trained: bool = False
    answers: int = 0
    skipped: int = 0
    comments: int = 0
    seconds: float = 0.0
    first: str | None = None
    last: str | None = None


class Answers:
    """The database of a study. Several threads may use it, and several processes may have it open."""

    def __init__(self, path: Path) -> None:
        self._path, self._lock = path, threading.Lock()
        try:
            self._base = sqlite3.connect(path, timeout=10, isolation_level=None, check_same_thread=False)
            self._base.execute("PRAGMA journal_mode=WAL")
            self._base.execute("PRAGMA synchronous=FULL")
            self._base.executescript(_SCHEMA)
            if "comment" not in [column[1] for column in self._base.execute("PRAGMA table_info(answers)")]:
                self._base.execute(_COMMENT)
        except sqlite3.Error as error:
            raise IntraBenchError(f"{path} cannot be opened ({error}); repair it or move it away") from error

    def close(self) -> None:
        """Close the file."""
        self._base.close()

    def add(self, answer: Answer) -> None:
        """Store an answer; one that is there already by its id is stored once.

        Raises:
            AlreadyAnswered: this place of the rater has another answer.
            Refused: the study is closed.
            OSError: it cannot be stored, such as on a full disk.
        """
        values = {**vars(answer), "errors": json.dumps(answer.errors), "guideline": guideline.VERSION, "at": _now()}
        with self._lock:
            row = self._one("SELECT rater, place, job FROM answers WHERE id = ?", answer.id)
            if row is not None:
                if row != (answer.rater, answer.place, answer.job):
                    raise AlreadyAnswered("this answer was given for another mask")
                return
            self._check_open()
            try:
                marks = ", ".join("?" * len(values))
                self._run(f"INSERT INTO answers ({', '.join(values)}) VALUES ({marks})", *values.values())
            except sqlite3.IntegrityError as error:
                raise AlreadyAnswered("this mask has been answered already, perhaps in another tab") from error

    def undo(self, rater: str, place: int, id: str) -> None:
        """Take back the newest answer of a rater, if it is of this place and no undo came before it.

        id: of the undo; the same one again changes nothing.

        Raises:
            AlreadyAnswered: that is not possible.
            Refused: the study is closed.
        """
        with self._lock:
            if self._one("SELECT 1 FROM answers WHERE undone = ?", id) is not None:
                return
            self._check_open()
            newest = self._one(
                "SELECT number, place, undone FROM answers WHERE rater = ? ORDER BY number DESC LIMIT 1", rater
            )
            if newest is None or newest[1] != place or newest[2] is not None:
                raise AlreadyAnswered("only the last answer can be taken back, and only once")
            self._run("UPDATE answers SET undone = ? WHERE number = ?", id, newest[0])

    def done(self, rater: str) -> list[int]:
        """The places that a rater has answered, ascending."""
        with self._lock:
            found = self._base.execute(
                "SELECT place FROM answers WHERE rater = ? AND undone IS NULL ORDER BY place", (rater,)
            ).fetchall()
        return [place for (place,) in found]

    def train(self, rater: str) -> None:
        """Keep that a rater went through the training."""
        with self._lock:
            self._run("INSERT OR IGNORE INTO trained VALUES (?, ?)", rater, _now())

    def trained(self, rater: str) -> bool:
        """Whether a rater went through the training."""
        with self._lock:
            return self._one("SELECT 1 FROM trained WHERE rater = ?", rater) is not None

    def set_closed(self, closed: bool) -> None:
        """Take no more answers, or take them again."""
        with self._lock:
            self._run("DELETE FROM closed")
            if closed:
                self._run("INSERT INTO closed VALUES (?)", _now())

    @property
    def closed(self) -> str | None:
        """When the study was closed, in UTC; None if it is open."""
        with self._lock:
            found = self._one("SELECT at FROM closed")
        return str(found[0]) if found else None

    def status(self, rater: str) -> RaterStatus:
        """How far a rater is."""
        columns = "COUNT(*), COUNT(skip), COALESCE(SUM(comment != ''), 0), COALESCE(SUM(seconds), 0), MIN(at), MAX(at)"
        with self._lock:
            found = self._one(f"SELECT {columns} FROM answers WHERE rater = ? AND undone IS NULL", rater)
        return RaterStatus(self.trained(rater), *found or ())

    def all(self) -> list[dict[str, Any]]:
        """All answers that count, in the order in which they came.

        Raises:
            IntraBenchError: the file is damaged.
        """
        try:
            with self._lock, closing(self._base.cursor()) as cursor:
                cursor.execute("SELECT * FROM answers WHERE undone IS NULL ORDER BY number")
                names = [column[0] for column in cursor.description]
                rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
            return [{**row, "errors": json.loads(row["errors"])} for row in rows]
        except (sqlite3.Error, ValueError, TypeError) as error:
            raise IntraBenchError(f"{self._path} is damaged ({error}); repair it or move it away") from error

    def _check_open(self) -> None:
        if self._one("SELECT 1 FROM closed"):
            raise Refused("this study is closed; nothing can be changed any more")

    def _one(self, statement: str, *values: Any) -> tuple[Any, ...] | None:
        found: tuple[Any, ...] | None = self._base.execute(statement, values).fetchone()
        return found

    def _run(self, statement: str, *values: Any) -> None:
        try:
            self._base.execute(statement, values)
        except sqlite3.OperationalError as error:  # the disk is full, or the file is locked for too long
            raise OSError(f"the answer could not be stored ({error})") from error


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
