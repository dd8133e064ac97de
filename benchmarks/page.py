"""docs/speed.md, from what benchmarks printed when they ran last: ``python -m benchmarks --write``."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

from benchmarks.comparison import Comparison

ROOT = Path(__file__).parents[1]
STORED, PAGE = Path(__file__).parent / "printed.json", ROOT / "docs" / "speed.md"

PACKAGES = ("numpy", "scipy", "polars", "torch")

HEADS = ("work", "times faster", "its CPU ms", "our CPU ms", "spread")

INTRODUCTION = """# Speed

How fast IntraBench is. `make bench` printed all of this on {day}, on {machine}.
`.venv/bin/python -m benchmarks --write` measures it again and renews this page, `.venv/bin/python -m benchmarks NAME`
runs one benchmark. [Many results](scale.md) has folders with very many sessions.

Tables compare with other programs: CPU milliseconds of one target, answer or frame, on one thread, or of a whole
command. Both ways take turns in one process: peer, ours, peer, ours. Each number is the fastest call of its turn; the
spread is by how much the slower of both turns took longer.
"""

NOTHING = "Nothing was measured yet since the benchmarks have changed.\n"


@dataclass(frozen=True)
class Output:
    """What one benchmark printed; failed: the last line of its error."""

    name: str
    about: str
    seconds: float
    printed: Sequence[str]
    comparisons: Sequence[Comparison] = ()
    failed: str = ""


@dataclass(frozen=True)
class Stored:
    """Outputs of one machine and one day."""

    machine: str
    day: str
    outputs: dict[str, Output] = field(default_factory=dict)

    @classmethod
    def here(cls) -> Stored:
        """Nothing yet, on this machine, today."""
        packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
        return cls(f"{machine()} with Python {platform.python_version()}, {packages}", time.strftime("%Y-%m-%d"))

    @classmethod
    def read(cls) -> Stored:
        """What is stored."""
        found: dict[str, Any] = json.loads(STORED.read_text())
        return cls(found["machine"], found["day"], {one["name"]: _output(one) for one in found["outputs"]})

    def write(self) -> None:
        """Store it, and write the page."""
        found = {"machine": self.machine, "day": self.day, "outputs": [asdict(one) for one in self.outputs.values()]}
        STORED.write_text(json.dumps(found, indent=1) + "\n")
        PAGE.write_text(self.page())

    def page(self) -> str:
        """The text of docs/speed.md."""
        parts = [INTRODUCTION.format(day=self.day, machine=self.machine), *([] if self.outputs else [NOTHING])]
        return "\n".join([*parts, *(line for output in self.outputs.values() for line in _section(output))])


def _section(output: Output) -> Iterator[str]:
    """The comparisons of one benchmark, by peer, and what else it printed."""
    yield from (f"## {output.name}", "", output.about, "")
    for peer, compared in groupby(output.comparisons, lambda one: one.peer):
        rows = [HEADS, ["---"] * len(HEADS), *(one.cells() for one in compared)]
        yield from (f"Against {peer}:", "", *(f"| {' | '.join(row)} |" for row in rows), "")
    printed = list(_others(output))
    if output.failed or printed:
        yield from ("```text", *printed, *([f"failed: {output.failed}"] if output.failed else []), "```", "")


def _others(output: Output) -> Iterator[str]:
    """What is not in the tables; of a comparison its work, if more about it follows."""
    works = {one.line(): f"  {one.work}" for one in output.comparisons}
    for line, after in pairwise([*output.printed, ""]):
        if line not in works:
            yield line
        elif after.startswith("  ") and after not in works:
            yield works[line]


def _output(one: dict[str, Any]) -> Output:
    comparisons = [
        Comparison(each["work"], each["peer"], *(tuple(map(tuple, each[way])) for way in ("theirs_ms", "ours_ms")))
        for each in one.pop("comparisons")
    ]
    return Output(**one, comparisons=comparisons)


def machine() -> str:
    """The processor, and how many cores it has."""
    facts = Path("/proc/cpuinfo")
    lines = facts.read_text().splitlines() if facts.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{len(names)} cores of {names[0]}" if names else platform.processor() or platform.machine()
