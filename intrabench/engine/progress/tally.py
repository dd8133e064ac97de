"""The numbers of a run as it goes on, in words: counts, rate, time left, Dice, and what each worker does.

Times are seconds of any one clock that does not go back.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from intrabench.errors import several
from intrabench.files.names import one_line

SILENT = 60.0
"""Seconds after which it is said that nothing was heard."""


def lasting(seconds: float) -> str:
    """A length of time in few characters: ``95 s``, ``12 min``, ``3 h 05 min``, ``2 days 4 h``."""
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 100:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours < 48 else f"{hours // 24} days {hours % 24} h"


class Rate:
    """Sessions per second of late.

    The older the gap between two notices, the less it counts. What came before the first notice counts nothing, because
    models are loaded then and the first image is encoded, unless few notices are all that there is.
    """

    MEMORY = 300.0  # seconds in which what is known loses two thirds of its weight
    LEAST = 0.8  # of the weight is left after one gap, however long, so that slow sessions are averaged as well
    LONG, PART = 60.0, 0.1  # so long and such a part of all sessions tell enough, in however few notices

    def __init__(self) -> None:
        self._sessions = self._seconds = self._gaps = 0.0
        self._notices, self._last, self._finished = 0, 0.0, 0
        self._begun: float | None = None

    def begin(self, now: float) -> None:
        """Sessions are played from now on; only the first time counts."""
        if self._begun is None:
            self._begun = now

    def add(self, now: float, sessions: int) -> None:
        """Sessions are finished."""
        if self._notices:
            gap = now - self._last
            kept = max(math.exp(-gap / self.MEMORY), self.LEAST)
            self._sessions = self._sessions * kept + sessions
            self._seconds = self._seconds * kept + gap
            self._gaps = self._gaps * kept + 1
        self._notices, self._last, self._finished = self._notices + 1, now, self._finished + sessions

    def at(self, now: float, of: int) -> float | None:
        """The rate; it falls while nothing is finished for longer than usual. None: too little is known yet.

        of: so many sessions are to be played.
        """
        if self._notices < 3 or self._seconds < 10:
            played = 0.0 if self._begun is None else self._last - self._begun
            enough = played >= self.LONG and self._finished >= self.PART * of
            return self._finished / max(played, now - self._last) if enough else None
        late = now - self._last - self._seconds / self._gaps
        return self._sessions / (self._seconds + max(late, 0.0))


@dataclass
class Worker:
    """What a worker does, since when, and when it was last heard of."""

    what: str
    since: float
    heard: float


class Tally:
    """All numbers of a run."""

    def __init__(self, now: float) -> None:
        self.total = self.done = self.failed = self.cases = self.advanced = 0
        self.what, self.started, self.heard = "session", now, now
        self.rate = Rate()
        self._dice, self._scored = 0.0, 0
        self._workers: dict[str, Worker] = {}

    def begin(self, now: float, total: int, done: int, what: str = "session") -> None:
        """The sessions of the run, and those finished before, which say nothing about the rate; or what else counts."""
        self.total, self.done, self.what, self.started, self.heard = total, done, what, now, now

    def advance(self, now: float, sessions: int, failed: int, dice: Sequence[float]) -> None:
        """Sessions are finished."""
        self.done += sessions
        self.advanced += sessions
        self.failed += failed
        self.heard = now
        scores = [score for score in dice if math.isfinite(score)]
        self._dice, self._scored = self._dice + sum(scores), self._scored + len(scores)
        if sessions:
            self.rate.add(now, sessions)

    def doing(self, now: float, worker: str, what: str) -> None:
        """What a worker does; "": nothing."""
        self.heard = now
        if what.startswith("playing"):
            self.rate.begin(now)
        known = self._workers.get(worker)
        if not what:
            self._workers.pop(worker, None)
        elif known is not None and known.what == one_line(what):
            known.heard = now
        else:
            self._workers[worker] = Worker(one_line(what), now, now)

    @property
    def open(self) -> bool:
        """Whether something is left to do."""
        return self.done < self.total or self.cases > 0

    @property
    def opening(self) -> str:
        """What is to be done, in one line."""
        first = several(self.total, self.what) + (f", {self.done} of them already finished" if self.done else "")
        if not self.cases:
            return first
        cases = several(self.cases, "case")
        if not self.total:
            return f"{cases} {'is' if self.cases == 1 else 'are'} prepared first"
        return f"{first}, and those of {cases} still to be prepared"

    @property
    def counts(self) -> str:
        """``12 of 96 sessions``; a ``+`` says that the total may grow. Before there are any: ``5 cases to prepare``."""
        if self.cases and not self.total:
            return f"{several(self.cases, 'case')} to prepare"
        return f"{self.done} of " + several(self.total, self.what).replace(" ", "+ " if self.cases else " ")

    def facts(self, now: float) -> list[str]:
        """What is known beside the counts, the most important first."""
        found = [f"{self.failed} failed"] if self.total or not self.cases else []
        rate = self.rate.at(now, self.total - self.done + self.advanced)
        if rate and self.done < self.total:
            found.append(f"{'at least' if self.cases else 'about'} {_left((self.total - self.done) / rate)} left")
        if self._scored:
            found.append(f"Dice {self._dice / self._scored:.3f}")
        if rate:
            found.append(f"{60 * rate:.2g}/min" if 60 * rate < 10 else f"{60 * rate:.0f}/min")
        if self.cases and self.total:
            found.append(f"{several(self.cases, 'case')} to prepare")
        if not self._workers and self.open and now - self.heard >= SILENT:
            found.append(f"nothing heard for {lasting(now - self.heard)}")
        return found

    def workers(self, now: float) -> list[tuple[str, str, str]]:
        """For each busy worker its name, what it does, and for how long or that it is silent; 2 comes before 10."""
        return [(name, worker.what, _since(worker, now)) for name, worker in sorted(self._workers.items(), key=_order)]

    def line(self, now: float) -> str:
        """All in one line: what one or two workers do, of more the number for each kind of work."""
        text, workers = ", ".join([self.counts, *self.facts(now)]), self.workers(now)
        if len(workers) <= 2:
            return "; ".join([text, *(f"{name}{': ' * bool(name)}{what}, {time}" for name, what, time in workers)])
        kinds = Counter(what.split()[0] for _, what, _ in workers)
        silent = [f"{name}: {time}" for name, _, time in workers if time.startswith("silent")]
        return "; ".join([text, ", ".join(f"{count} {kind}" for kind, count in kinds.most_common()), *silent[:3]])

    def closing(self, now: float) -> str:
        """What the run came to, in one line."""
        dice = [f"Dice {self._dice / self._scored:.3f}"] if self._scored else []
        return ", ".join([self.counts, f"{self.failed} failed", *dice, f"in {lasting(now - self.started)}"])

    @property
    def state(self) -> tuple[object, ...]:
        """Equal as long as nothing happens; what only time changes is not in it."""
        return self.done, self.total, self.cases, *((name, work.what) for name, work in self._workers.items())


class Pace:
    """When to print a line where nothing can be drawn again: after 5 s, then at intervals that double up to a minute.

    While nothing happens, a line says so after a minute, after two, after four, and so on.
    """

    FIRST, LONGEST = 5.0, 60.0

    def __init__(self, now: float) -> None:
        self._interval = self.FIRST
        self._due = now + self.FIRST
        self._state: tuple[object, ...] = ()
        self._silence = SILENT

    def line(self, now: float, tally: Tally) -> str | None:
        """The line that is due now, if any."""
        if now < self._due:
            return None
        self._interval = min(2 * self._interval, self.LONGEST)
        self._due = now + self._interval
        silent = now - tally.heard
        if tally.state == self._state and silent < self._silence:
            return None
        self._silence = SILENT if silent < self._silence else 2 * silent
        self._state = tally.state
        return tally.line(now)


def _left(seconds: float) -> str:
    """The time left, rounded up to tens of seconds, for it is an estimate."""
    return lasting(10 * math.ceil(seconds / 10))


def _since(worker: Worker, now: float) -> str:
    silent = now - worker.heard
    return f"silent for {lasting(silent)}" if silent >= SILENT else lasting(now - worker.since)


def _order(item: tuple[str, Worker]) -> list[tuple[int, str]]:
    """Numbers in names by their value."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", item[0])]
