"""The frame of benchmarks: turns, processes that may fail, peers that may lack, and the page that is made of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.__main__ import NAMES, output
from benchmarks.comparison import Comparison, compare, figures, recorded, whole
from benchmarks.page import PAGE, Output, Stored
from benchmarks.peers import Peer

ROOT = Path(__file__).parents[1]


def test_the_page_is_what_benchmarks_printed() -> None:
    assert PAGE.read_text() == Stored.read().page(), "run python -m benchmarks --write, or --page after a merge"


def test_both_ways_take_turns(capsys: pytest.CaptureFixture[str]) -> None:
    asked = list[str]()
    seconds = iter([9.0, 0.4, 0.3, 0.1, 0.2, 0.6, 0.8, 0.2, 0.1])

    def way(name: str) -> float:
        asked.append(name)
        return next(seconds)

    found = compare("work", "peer 1", lambda: way("peer"), lambda: way("ours"), targets=2, times=2)
    assert recorded.pop() is found
    assert asked == ["ours", *[*["peer"] * 2, *["ours"] * 2] * 2]
    assert [[round(one) for one in calls] for calls in found.theirs_ms] == [[200, 150], [300, 400]]
    assert found.ratios == pytest.approx([3, 6])
    assert found.spread == pytest.approx(1)
    assert found.cells() == ["work", "3, 6", "150, 300", "50, 50", "100%"]
    assert capsys.readouterr().out == f"{found.line()}\n"


def test_a_whole_command_counts_its_process() -> None:
    idle, busy = (
        whole(lambda work=work: ["timeit", "-n1", "-r1", work])() for work in ("pass", "sum(range(30000000))")
    )  # type: ignore[misc]
    assert 0 < idle < busy
    with pytest.raises(SystemExit, match="no_such_module_here"):
        whole(lambda: ["no_such_module_here"])()


def test_the_page_has_a_comparison_once() -> None:
    found = Comparison("work", "peer 1", ((300.0,), (600.0,)), ((100.0,), (100.0,)))
    alone, with_more = (Output("one", "About.", 1, [found.line(), *more], [found]) for more in ([], ["  the same"]))
    assert "| work | 3, 6 | 300, 600 | 100, 100 | 100% |" in Stored("a machine", "2026-01-01", {"one": alone}).page()
    assert "```" not in Stored("a machine", "2026-01-01", {"one": alone}).page()
    page = Stored("a machine", "2026-01-01", {"one": with_more}).page()
    assert "```text\n  work\n  the same\n```" in page
    assert page.count("3, 6") == 1


@pytest.mark.parametrize(("value", "shown"), [(1.84, "1.8"), (18.44, "18.4"), (184.4, "184"), (3.0, "3")])
def test_numbers_are_short(value: float, shown: str) -> None:
    assert figures(value) == shown


def test_a_peer_that_lacks_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert Peer("nobody", "no_such_module_here", "`pip install nobody`").found() is None
    assert "pip install nobody" in capsys.readouterr().out


def test_a_benchmark_runs_in_a_process_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTRABENCH_BENCH_MINIATURE", "1")
    found = output("contours")
    assert not found.failed
    assert found.printed
    assert "contours" in found.about


def test_one_that_fails_is_said_on_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.__main__.CHILD", "print('begun'); raise SystemExit('no {name} today, {path}')")
    found = output("contours")
    assert found.printed == ["begun"]
    assert found.failed.startswith("no contours today")
    page = Stored("a machine", "2026-01-01", {"contours": found, "gpu": Output("gpu", "About.", 1, ["fine"])}).page()
    assert "failed: no contours today" in page
    assert "fine" in page


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_benchmark_runs(name: str) -> None:
    command = [sys.executable, "-m", "benchmarks", "--miniature", name]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
