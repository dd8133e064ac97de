"""`data get` converts in workers: a case that kills or holds its conversion fails, and nothing else."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.datasets.base import Dataset
from intrabench.datasets.cases.stored_case import CaseIndex
from intrabench.engine.executors import make, timeout
from intrabench.engine.make_job import make_preparation
from intrabench.engine.options import Options
from intrabench.engine.prepare_cases import prepare_cases
from intrabench.engine.progress.reporter import Silent
from intrabench.registry import registry
from tests.conftest import Said
from tests.engine.conftest import Started
from tests.processes import Process, command
from tests.wording import line_with

PLUGIN = Path(__file__).with_name("unruly_plugin.py")


LOST = """
from dataclasses import dataclass
from intrabench.datasets.phantom import Phantom

@dataclass(frozen=True)
class Lost(Phantom):
    name = "lost"
    early: bool = False

    def sources(self):
        if self.early:
            raise ValueError("no files")
        return ()

    def case_sources(self, case):
        raise ValueError("no files")
"""


@pytest.fixture
def typed(say: Callable[..., Said]) -> Callable[..., Said]:
    """Type `intrabench data get` for cases that are converted as their names say."""
    return lambda *kinds, **more: say("data", "get", *unruly(*kinds), *more.get("words", ()))


def unruly(*kinds: str) -> tuple[str, ...]:
    return f"unruly:kinds={'/'.join(kinds)}", "--plugin", str(PLUGIN)


def loaded() -> list[str]:
    """The cases that were begun to be converted, each as often as that was."""
    return [line.split()[0] for line in Path("loaded").read_text().splitlines()]


@pytest.mark.parametrize("late", [[], pytest.param(["loop"], marks=pytest.mark.slow)])
def test_a_case_that_kills_its_conversion_fails_alone(
    typed: Callable[..., Said], data: Path, monkeypatch: pytest.MonkeyPatch, late: list[str], wording: SnapshotAssertion
) -> None:
    monkeypatch.setattr(timeout, "PREPARING_SECONDS", 8)
    monkeypatch.setattr(make, "default_memory_limit_mb", lambda workers: 500.0)
    kinds = ("exit", "once", *late, "leak", "memory", "good")
    said = typed(*kinds, words=["--jobs", "2"])
    name = f"unruly:kinds={'/'.join(kinds)}"
    assert said.code == 1
    assert sorted(said.out.splitlines()) == [f"{name}, case {case}: 3 targets" for case in ("good", "once")]
    lines = said.err.splitlines()
    count = len(kinds)
    assert lines[:2] == wording
    assert lines[-1].startswith(f"{count} of {count} cases, {count - 2} failed, in ")
    share = "converting took more than 0.5 GB of memory, a worker's share; use fewer --jobs or a machine with more"
    assert sorted(line for line in lines if line.startswith(f"{name}, case ")) == [
        f"{name}, case exit: the worker process ended with exit code 3",
        f"{name}, case leak: {share}",
        *(f"{name}, case {case}: converting took longer than 8 s" for case in late),
        f"{name}, case memory: MemoryError: no room, in line 48 of unruly_plugin.py",
    ]
    assert sorted(loaded()) == ["exit", "exit", "good", "leak", "leak", *late, "memory", "once", "once"]
    assert not list(data.glob("cases/*/.*"))
    again = typed(*kinds, words=["--jobs", "1", "--cases", "good", "--cases", "once"])
    assert (again.code, len(loaded())) == (0, 8 + len(late))  # nothing is converted again


def test_workers_without_a_network_try_five_cases_of_each_data_set(
    typed: Callable[..., Said], wording: SnapshotAssertion
) -> None:
    kinds = [f"gone-{number}" for number in range(1, 9)]
    other = "unruly:kinds=good/gone-1"
    said = typed(*kinds, words=["--jobs", "1", other])
    assert (said.code, said.out) == (1, wording)
    name = f"unruly:kinds={'/'.join(kinds)}"
    problems = [line for line in said.err.splitlines() if "there is no network" in line]
    assert problems == [
        f"{one}: there is no network"
        for one in [*(f"{name}, case {kind}" for kind in kinds[:5]), f"{other}, case gone-1"]
    ]
    assert line_with(said.err, "be downloaded") == wording
    assert "7 of 7 cases" in said.err.splitlines()[-1]
    assert said.err.splitlines()[-1] == wording


def test_a_data_set_that_cannot_name_its_files_does_not_stop_the_others(
    say: Callable[..., Said], wording: SnapshotAssertion
) -> None:
    Path("lost.py").write_text(LOST)
    said = say("data", "get", "lost", "lost:early=True", "phantom:shape=8x24x24", "--plugin", "lost.py")
    assert (said.code, said.out) == (1, wording)
    sentence = "its files cannot be listed (ValueError: no files, in line 16 of lost.py); repair its class"
    assert f"lost: {sentence}\nlost:early=true: {sentence.replace('16', '12')}\n1 case\n" in said.err
    assert say("data", "get", "lost", "--plugin", "lost.py", "--quiet").err == f"lost: {sentence}\n"


def test_what_is_complete_is_kept_when_it_is_stopped(data: Path, wording: SnapshotAssertion) -> None:
    process = Process(command, "data", "get", *unruly("good", "loop", "good-2"), "--jobs", "1")
    assert process.stdout.readline().endswith("case good: 3 targets\n")
    while "loop" not in loaded():
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    code, _, told = process.ended()
    assert code == 75
    assert told == wording
    assert loaded() == ["good", "loop"]
    assert [path.parent.name for path in data.glob("cases/*/*/case.json")] == ["good"]
    assert not list(data.glob("cases/*/.*"))


def test_objects_and_a_command_without_jobs_are_converted_in_this_process(
    typed: Callable[..., Said], started: Started
) -> None:
    assert typed("good", words=["--jobs", "0"]).code == 0
    options = Options(dataset=[registry.make("datasets", "unruly:kinds=good/exit-not")])
    found: dict[str, CaseIndex] = {}

    def tell(dataset: Dataset, case: str, index: CaseIndex) -> None:
        found[case] = index

    assert prepare_cases(make_preparation(options), options, Silent(), tell)
    assert {case: len(index.targets) for case, index in found.items()} == {"good": 3, "exit-not": 3}
    assert {line.split()[1] for line in Path("loaded").read_text().splitlines()} == {str(os.getpid())}
    assert started == []
