"""Whole commands, timed in pairs: two ways to do the same, one after the other, in turns of which comes first."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

Way = Callable[[Path], float]
"""Does the work into a new folder and returns what is measured, such as seconds."""


os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # users do not set it, and starts would take a second more


def run(words: str, out: Path, bootstrap: Sequence[str] = ("-m", "intrabench")) -> float:
    """Seconds of a run in a fresh process."""
    started = time.perf_counter()
    command = [sys.executable, *bootstrap, "run", *words.split(), "--out", str(out)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return time.perf_counter() - started


def first_row(words: str, out: Path) -> float:
    """Seconds until the first part of a run is stored."""
    started = time.perf_counter()
    command = [sys.executable, "-m", "intrabench", "run", *words.split(), "--out", str(out)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while not list(out.glob("rows/*.parquet")):
            if process.poll():
                raise RuntimeError(f"{' '.join(command)} ended with exit code {process.returncode}")
            time.sleep(0.005)
        found = time.perf_counter() - started
    return found


def pairs(one: Way, other: Way, folder: Path, number: int) -> list[tuple[float, float]]:
    """What both measure, `number` times."""
    found = []
    for pair in range(number):
        ways = (one, other) if pair % 2 else (other, one)
        taken = {}
        for way in ways:
            out = folder / f"out{pair}-{ways.index(way)}"
            taken[way] = way(out)
            shutil.rmtree(out)
        found.append((taken[one], taken[other]))
    return found


def without(found: Sequence[tuple[float, float]], starts: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """What is left of both without the medians of their starts."""
    one, other = (statistics.median(column) for column in zip(*starts, strict=True))
    return [(a - one, b - other) for a, b in found]


def ratio(found: Sequence[tuple[float, float]]) -> str:
    """Both medians, their ratio, and those of single pairs."""
    one, other = (statistics.median(column) for column in zip(*found, strict=True))
    single = sorted(a / b for a, b in found)
    return f"{one:.2f} and {other:.2f} s, {one / other:.3f} times (single pairs {single[0]:.3f} to {single[-1]:.3f})"
