"""Two ways to do the same work, that of a peer and ours, measured in turns: peer, ours, peer, ours."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any

MINIATURE = bool(os.environ.get("INTRABENCH_BENCH_MINIATURE"))
"""Whether benchmarks only show that they run: on small inputs, once. Their numbers then mean nothing."""

Way = Callable[[], float]
"""Does the work and returns its CPU seconds."""

ALTERNATIONS = 2


@dataclass(frozen=True)
class Comparison:
    """What was measured: CPU milliseconds per target of every call, by alternation."""

    work: str
    peer: str
    theirs_ms: tuple[tuple[float, ...], ...]
    ours_ms: tuple[tuple[float, ...], ...]

    @property
    def ratios(self) -> list[float]:
        """By how much ours is faster, in each alternation, from the fastest call of each."""
        return [min(theirs) / min(ours) for theirs, ours in zip(self.theirs_ms, self.ours_ms, strict=True)]

    @property
    def spread(self) -> float:
        """By which share the slower alternation of a way takes longer than the faster one; the larger of both ways."""
        fastest = ([min(calls) for calls in way] for way in (self.theirs_ms, self.ours_ms))
        return max(max(way) / min(way) - 1 for way in fastest)

    def cells(self) -> list[str]:
        """Work, ratios, milliseconds of both, and spread, as the tables of docs/speed.md have them."""
        times = (", ".join(figures(min(calls)) for calls in way) for way in (self.theirs_ms, self.ours_ms))
        return [self.work, ", ".join(map(figures, self.ratios)), *times, f"{self.spread:.0%}"]

    def line(self) -> str:
        """The same as it is printed."""
        work, ratios, theirs_ms, ours_ms, spread = self.cells()
        return f"  {work}: {ratios} times less, {self.peer} {theirs_ms} ms, ours {ours_ms} ms of CPU; spread {spread}"


def compare(work: str, peer: str, theirs: Way, ours: Way, *, targets: int = 1, times: int = 3) -> Comparison:
    """Measure both ways in turns, each several times, print the line of the comparison and record it.

    targets: how many targets, answers or frames a call works on; milliseconds are of one.
    """
    ours()  # what a process does only once, such as imports, is not measured
    calls: dict[str, list[tuple[float, ...]]] = {"theirs": [], "ours": []}
    for _ in range(ALTERNATIONS):
        for name, way in (("theirs", theirs), ("ours", ours)):
            calls[name].append(tuple(1e3 * way() / targets for _ in range(1 if MINIATURE else times)))
    found = Comparison(work, peer, tuple(calls["theirs"]), tuple(calls["ours"]))
    recorded.append(found)
    print(found.line(), flush=True)
    return found


recorded: list[Comparison] = []
"""All comparisons of this process."""


def cpu(call: Callable[[], Any]) -> Way:
    """A call as a way, whose CPU seconds are those of this process."""

    def way() -> float:
        started = process_time()
        call()
        return process_time() - started

    return way


def whole(command: Callable[[], Sequence[str]]) -> Way:
    """A command of Python as a way, whose CPU seconds are those of a fresh process and of all that this starts.

    command: gives its words after ``python -m``, anew for each call.
    """

    def way() -> float:
        before = os.times()
        process = [sys.executable, "-m", *command()]
        done = subprocess.run(process, cwd=Path(__file__).parents[1], capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{' '.join(process)} ended with exit code {done.returncode}: {done.stderr.strip()[-400:]}")
        after = os.times()
        return after.children_user + after.children_system - before.children_user - before.children_system

    return way


def figures(value: float) -> str:
    """Two or three significant figures."""
    return f"{value:.0f}" if value >= 99.5 else f"{value:.3g}" if value >= 9.95 else f"{value:.2g}"
