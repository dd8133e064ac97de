"""The log of what people did, in SQLite: every turn is on the disk before the model is asked for its answer.

``RESULTS/people/annotating.sqlite`` belongs to the process that holds its lock; results are read from the Parquet
files. An event is never changed: to take a turn back is an event, too.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import RLock
from typing import Any, Literal

import polars as pl

from intrabench.errors import IntraBenchError
from intrabench.files.atomic import atomically, writing
from intrabench.play.gestures import Gesture
from intrabench.results.packs import reading
from intrabench.results.store import write_parquet
from intrabench.turns import Turn

EventKind = Literal["turn", "undo", "finish", "reopen"]

FILE = "annotating.sqlite"

_FORMAT = 1
_TABLES = """
CREATE TABLE IF NOT EXISTS sessions (
    session TEXT PRIMARY KEY, rater TEXT NOT NULL, code TEXT NOT NULL, stored INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE IF NOT EXISTS events (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE,
    session TEXT NOT NULL REFERENCES sessions, kind TEXT NOT NULL, given TEXT, logged_at REAL NOT NULL, model_s REAL
) STRICT;
CREATE INDEX IF NOT EXISTS events_of_sessions ON events (session);
CREATE TABLE IF NOT EXISTS actions (
    event INTEGER NOT NULL REFERENCES events, action INTEGER NOT NULL,
    kind TEXT NOT NULL, label INTEGER, seconds REAL NOT NULL, at REAL NOT NULL, PRIMARY KEY (event, action)
) STRICT;
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
"""


@dataclass(frozen=True)
class TimedAction:
    """An action as it was measured. label: None if it makes no prompt. seconds, at: as of a `Gesture`."""

    kind: str
    label: int | None
    seconds: float
    at: float

    @classmethod
    def of(cls, gesture: Gesture) -> TimedAction:
        """Without the place, which is in the turn."""
        return cls(gesture.kind, gesture.label, float(gesture.seconds), float(gesture.at))


@dataclass(frozen=True)
class Event:
    """One thing that a person did in a session, under the id that the page made for it.

    given: a turn as stored; of a finish, what the person had to say.
    """

    id: str
    session: str
    kind: EventKind
    given: str | None
    model_s: float | None
    actions: tuple[TimedAction, ...]

    @property
    def turn(self) -> Turn:
        """What was given."""
        return Turn.from_json(json.loads(self.given or ""))


def kept(events: Sequence[Event]) -> list[Event]:
    """The turns of a session that were not taken back."""
    found = list[Event]()
    for event in events:
        if event.kind == "turn":
            found.append(event)
        elif event.kind == "undo":
            found.pop()
    return found


class Log:
    """The log of a results folder; several threads may use it, but no other process."""

    def __init__(self, path: Path) -> None:
        """Open or create it.

        Raises:
            IntraBenchError: the file cannot be opened, is no log, or is of a newer version.
        """
        self._path, self._lock = path, RLock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._base = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
            self._base.execute("PRAGMA locking_mode = EXCLUSIVE")  # no shared memory, which network disks have not
            self._base.execute("PRAGMA journal_mode = WAL")
            self._base.execute("PRAGMA synchronous = FULL")
            (found,) = self._base.execute("PRAGMA user_version").fetchone()
            if found not in (0, _FORMAT):
                raise IntraBenchError(f"{path} is of a newer version of intrabench; update it")
            self._base.executescript(f"{_TABLES} PRAGMA user_version = {_FORMAT};")
        except (sqlite3.Error, OSError) as error:
            raise self._broken(error) from error

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._base.close()

    @property
    def salt(self) -> str:
        """A random text, the same for as long as the log exists."""
        with self._writing() as base:
            base.execute("INSERT OR IGNORE INTO facts VALUES ('salt', ?)", (secrets.token_hex(16),))
            return str(base.execute("SELECT value FROM facts WHERE name = 'salt'").fetchone()[0])

    def add(self, rater: str, code: str, event: Event) -> None:
        """Add an event; it is on the disk when this returns.

        Raises:
            IntraBenchError: there is an event of this id, or the disk is full.
        """
        with self._writing() as base:
            base.execute("INSERT OR IGNORE INTO sessions VALUES (?, ?, ?, 0)", (event.session, rater, code))
            if event.kind == "finish":
                base.execute("UPDATE sessions SET stored = 0 WHERE session = ?", (event.session,))
            number = base.execute(
                "INSERT INTO events (id, session, kind, given, logged_at) VALUES (?, ?, ?, ?, ?)",
                (event.id, event.session, event.kind, event.given, time.time()),
            ).lastrowid
            rows = [(number, n, *vars(action).values()) for n, action in enumerate(event.actions)]
            base.executemany("INSERT INTO actions VALUES (?, ?, ?, ?, ?, ?)", rows)

    def session_of(self, id: str) -> str | None:
        """The session of the event with this id; None if there is none."""
        (found,) = self._read(("SELECT session FROM events WHERE id = ?", (id,)))
        return str(found[0][0]) if found else None

    def events(self, session: str) -> list[Event]:
        """The events of a session, in their order."""
        found, rows = self._read(
            (
                "SELECT number, id, session, kind, given, model_s FROM events WHERE session = ? ORDER BY number",
                (session,),
            ),
            (
                "SELECT event, actions.kind, label, seconds, at FROM actions JOIN events ON event = number"
                " WHERE session = ? ORDER BY event, action",
                (session,),
            ),
        )
        actions: dict[int, list[TimedAction]] = {}
        for number, *action in rows:
            actions.setdefault(number, []).append(TimedAction(*action))
        return [Event(*rest, tuple(actions.get(number, ()))) for number, *rest in found]  # type: ignore[call-arg]

    def measured(self, id: str, model_s: float) -> None:
        """Note how long the model took for the turn with this id, unless that is known from before a restart."""
        with self._writing() as base:
            base.execute("UPDATE events SET model_s = ? WHERE id = ? AND model_s IS NULL", (model_s, id))

    def stored(self, session: str) -> None:
        """Note that the rows of a session are in the results folder."""
        with self._writing() as base:
            base.execute("UPDATE sessions SET stored = 1 WHERE session = ?", (session,))

    def states(self) -> dict[str, tuple[int, bool]]:
        """For each session the number of turns that were not taken back, and whether it is finished."""
        count = "SUM(kind = 'turn') - SUM(kind = 'undo'), SUM(kind = 'finish') > SUM(kind = 'reopen')"
        (found,) = self._read((f"SELECT session, {count} FROM events GROUP BY session", ()))
        return {session: (turns, bool(finished)) for session, turns, finished in found}

    def unstored(self) -> list[tuple[str, str, str]]:
        """Session, rater and code of what is finished, but may not be in the results folder."""
        (found,) = self._read(("SELECT session, rater, code FROM sessions WHERE stored = 0", ()))
        states = self.states()
        return [one for one in found if states.get(one[0], (0, False))[1]]

    def ever_finished(self) -> set[str]:
        """The sessions that were finished here, also those that were opened again."""
        (found,) = self._read(("SELECT DISTINCT session FROM events WHERE kind = 'finish'", ()))
        return {session for (session,) in found}

    @property
    def closed(self) -> bool:
        """Whether nothing may be changed any more."""
        (found,) = self._read(("SELECT value FROM facts WHERE name = 'closed'", ()))
        return bool(found)

    def set_closed(self, closed: bool) -> None:
        """Let nothing be changed any more, or let it be changed again."""
        with self._writing() as base:
            base.execute("DELETE FROM facts WHERE name = 'closed'")
            if closed:
                base.execute("INSERT INTO facts VALUES ('closed', ?)", (str(time.time()),))

    def _read(self, *statements: tuple[str, tuple[str, ...]]) -> list[list[Any]]:
        """What statements find, each its rows."""
        with self._lock:
            try:
                return [self._base.execute(statement, values).fetchall() for statement, values in statements]
            except sqlite3.Error as error:
                raise self._broken(error) from error

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                self._base.execute("BEGIN IMMEDIATE")
                try:
                    yield self._base
                    self._base.execute("COMMIT")
                except BaseException:
                    # After some errors, such as a full disk, SQLite has taken the transaction back itself.
                    if self._base.in_transaction:
                        self._base.execute("ROLLBACK")
                    raise
            except sqlite3.Error as error:
                raise self._broken(error) from error

    def _broken(self, error: Any) -> IntraBenchError:
        return IntraBenchError(f"{self._path} cannot be used ({error}); free space or move it away")


ACTIONS: dict[str, Any] = {
    "session": pl.String,
    "rater": pl.String,
    "event": pl.Int64,
    "round": pl.Int64,
    "turn": pl.Int64,
    "action": pl.Int64,
    "kind": pl.String,
    "label": pl.Int64,
    "seconds": pl.Float64,
    "at": pl.Float64,
    "model_s": pl.Float64,
    "undone": pl.Boolean,
    "comment": pl.String,
}
"""event: the number of the turn, undo or finish among those of the session. round, turn: as in the stored turns; null
if the turn was taken back, and for undo and finish. seconds: that the person was active. at: when it was done, in
seconds since 1970, by the clock of the person's computer. model_s: on the last action of a turn, how long the model
took to answer. comment: of a finish, what the person had to say; null in files of earlier versions."""


def write_actions(root: Path, session: str, rater: str, events: Sequence[Event]) -> None:
    """Write the actions of a finished session; the same ones have the same file.

    Raises:
        IntraBenchError: the file cannot be written.
    """
    digest = hashlib.sha256(repr([event.id for event in events]).encode()).hexdigest()[:8]
    path = root / "people" / f"actions-{session}-{digest}.parquet"
    with writing(path), atomically(path) as part:
        write_parquet(pl.DataFrame(_lines(session, rater, events), schema=ACTIONS), part)


def read_actions(root: Path) -> pl.DataFrame:
    """The actions of all people, with the columns of `ACTIONS`; of a session that was opened again, the last file."""

    def read(paths: Sequence[Path]) -> pl.DataFrame:
        found = [path for path in paths if path.name.startswith("actions-")]
        frames = [pl.read_parquet(path).select(pl.col(f"^({'|'.join(ACTIONS)})$")) for path in found]
        frames = [frame.cast({name: ACTIONS[name] for name in frame.columns}) for frame in frames]
        every = pl.concat([pl.DataFrame(schema=ACTIONS), *frames], how="diagonal")
        if every.is_empty():
            return every
        # A session that was opened again has a file for each time that it was finished, the longer the later.
        files = every.with_columns(_file=pl.Series([n for n, one in enumerate(frames) for _ in range(len(one))]))
        longest = files.with_columns(_end=pl.col("event").max().over("session", "_file"))
        return (
            longest.filter(pl.col("_end") == pl.col("_end").max().over("session"))
            .select(*ACTIONS)
            .unique(["session", "event", "action"], maintain_order=True)
        )

    return reading(root / "people", read)


def _lines(session: str, rater: str, events: Sequence[Event]) -> list[dict[str, Any]]:
    numbers = {event.id: number for number, event in enumerate(kept(events))}
    return [
        {
            **{"session": session, "rater": rater, "event": event, "action": action},
            **dict.fromkeys(("round", "turn"), numbers.get(one.id)),  # each turn of a person begins a round
            **vars(timed),
            "model_s": one.model_s if action == len(one.actions) - 1 else None,
            "undone": one.kind == "turn" and one.id not in numbers,
            "comment": one.given if one.kind == "finish" and action == 0 else None,
        }
        for event, one in enumerate(events)
        for action, timed in enumerate(one.actions)
    ]
