"""Output that nobody reads, that does not fit on the disk, or that is closed: the work goes on, and the code tells."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.results.parts import read_rows
from tests.wording import line_with

RUN = "run -m box_fill -p box_slice -d phantom:shape=16x32x32,instances=3 --out out"
FAILING = """
from dataclasses import dataclass
from intrabench import VolumeModel

@dataclass(eq=False)
class Failing(VolumeModel):
    name = "failing"
    version = "1"
    accepts = frozenset({"box2d"})

    def segment_one(self, volume, request):
        raise KeyError("no")
"""
FULL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
SENTENCE = "error: the output cannot be written (No space left on device); give it another place"


def in_shell(text: str) -> subprocess.CompletedProcess[str]:
    """Run ``intrabench`` in bash with what stands behind ``%``; `stdout` ends in its exit code."""
    arguments, _, rest = text.partition("%")
    command = f"{shlex.quote(sys.executable)} -m intrabench {arguments}"
    script = f"set -o pipefail; {command} {rest}; echo code ${{PIPESTATUS[0]}}"
    root = str(Path(__file__).parents[2])
    return subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": root}, timeout=120
    )


@pytest.mark.parametrize(
    "where",
    [
        "2>&1 | head -1",
        *(pytest.param(one, marks=pytest.mark.slow) for one in ("| head -0", "> /dev/null 2> >(head -0)", ">&-")),
    ],
)
def test_a_run_goes_on_when_nobody_reads(where: str) -> None:
    done = in_shell(f"{RUN} % {where}")
    assert done.stdout.splitlines()[-1] == "code 0"
    assert "Traceback" not in done.stderr
    assert len(read_rows(Path("out"))) == 3


def test_the_code_of_a_run_that_nobody_reads_tells_of_its_sessions(wording: SnapshotAssertion) -> None:
    Path("failing.py").write_text(FAILING)
    done = in_shell(f"{RUN} -m failing --plugin failing.py % | head -0")
    assert done.stdout.splitlines()[-1] == "code 1"
    assert "3 of 6 sessions" in done.stderr
    assert line_with(done.stderr, "sessions failed") == wording
    assert len(read_rows(Path("out"))) == 6


def test_what_only_prints_ends_quietly_when_nobody_reads_on() -> None:
    done = in_shell("list models % | head -1")
    assert (done.stdout, done.stderr) == ("Models:\ncode 0\n", "")


@FULL
def test_a_full_disk_is_a_sentence() -> None:
    done = in_shell("list models % > /dev/full")
    assert done.stdout == "code 2\n"
    assert done.stderr.startswith(SENTENCE)
    assert done.stderr.count("\n") == 1


@FULL
def test_a_run_goes_on_when_its_output_is_full() -> None:
    done = in_shell(f"{RUN} % > /dev/full 2> /dev/full")
    assert done.stdout == "code 2\n"
    assert len(read_rows(Path("out"))) == 3
    assert in_shell(f"{RUN} % 2> /dev/full").stdout.splitlines()[-1] == "code 0"


def test_results_never_land_in_the_place_of_a_closed_output() -> None:
    """The next file that is opened would have its number, and what is printed would go into it."""
    ran = in_shell(f"{RUN} % >&- 2>&- <&-")
    assert (ran.stdout, ran.stderr, len(read_rows(Path("out")))) == ("code 0\n", "", 3)
    done = in_shell("export rows rows.csv --out out % >&- 2>&-")
    assert done.stdout == "code 0\n"
    assert "wrote" not in Path("rows.csv").read_text()
    assert len(Path("rows.csv").read_text().splitlines()) == 4
