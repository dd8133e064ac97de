"""Playing a group: beside another run in the same results folder, and until Ctrl-C."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

from intrabench.engine.executors.executor import Executors, InProcessExecutor
from intrabench.engine.make_job import make_job
from intrabench.engine.options import chosen
from intrabench.engine.plan import make_plan
from intrabench.engine.progress.reporter import Silent
from intrabench.engine.run import execute
from intrabench.engine.scheduler import Scheduler
from intrabench.engine.task_locks import TaskLocks
from intrabench.engine.writer import ResultWriter
from intrabench.models.base import Answer, Failure, Predictor, Request
from intrabench.models.box_fill import BoxFill
from intrabench.results.parts import read_rows
from intrabench.results.store import Store
from intrabench.volume import Volume


class Counting(Silent):
    """A reporter that keeps what it is given."""

    def __init__(self) -> None:
        self.begun: tuple[int, int] = (0, 0)
        self.advanced = 0

    def begin(self, total: int, done: int, what: str = "session") -> None:
        self.begun = total, done

    def advance(self, sessions: int, failed: int, dice: Sequence[float] = ()) -> None:
        self.advanced += sessions


def test_sessions_that_another_run_finishes_meanwhile_are_counted_and_not_played_again(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {"model": "box_fill", "prompter": "box_volume", "dataset": "phantom:shape=8x48x56,instances=3"}
    options, one_target = chosen(given), chosen({**given, "targets": "blob.1"})
    folder, reporter = Path("results"), Counting()
    real, looked = TaskLocks.unfinished, list[int]()

    def unfinished(self: TaskLocks, keys: Sequence[str]) -> set[str]:
        found = real(self, keys)
        if self is work.locks:
            looked.append(len(found))
            if len(looked) == 1:  # of the plan; then another run takes the lease before this one
                execute(one_target, folder, Silent())
        return found

    monkeypatch.setattr(TaskLocks, "unfinished", unfinished)
    job, writer = make_job(options), ResultWriter(Store(folder, "first"), reporter)
    work = Scheduler(make_plan(job, reporter), writer, reporter)
    here = InProcessExecutor(job, reporter)
    work.run(Executors([here], [here], here=True))
    assert looked == [3, 2]
    assert reporter.begun == (3, 0)
    assert (reporter.advanced, writer.summary.computed) == (3, 2)


@dataclass(eq=False)
class Interrupted(BoxFill):
    """Box fill, until somebody presses Ctrl-C at the first correction."""

    name = "interrupted"

    def segment_one(self, volume: Volume, request: Request) -> Answer:
        if len(request.turns) > 1:
            raise KeyboardInterrupt
        return super().segment_one(volume, request)


def test_an_interrupted_wave_keeps_the_sessions_that_are_complete(data: Path) -> None:
    prompters = ["box_volume", "box_volume+click_center"]
    given = {"model": Interrupted(), "prompter": prompters, "dataset": "phantom:shape=8x48x56,instances=2", "rounds": 1}
    with pytest.raises(KeyboardInterrupt):
        execute(chosen(given), Path("results"), Silent())
    kept = read_rows(Path("results")).select("target", "prompter", "status").sort("target").rows()
    # the first wave is one session; the second begins with the first correction and has the box on blob.2 beside it
    assert kept == [("blob.1", "box_volume", "ok"), ("blob.2", "box_volume", "ok")]


@dataclass(eq=False)
class Called(BoxFill):
    """Box fill that notes how many requests each call has."""

    name = "called"
    costly: bool = False
    calls: ClassVar[list[int]] = []

    @contextmanager
    def open(self, volume: Volume) -> Iterator[Predictor]:
        calls = self.calls

        class Noting(Predictor):
            costly_calls = self.costly

            def segment(self, requests: Sequence[Request]) -> list[Answer | Failure]:
                calls.append(len(requests))
                return image.segment(requests)

        with super().open(volume) as image:
            yield Noting()


@pytest.mark.parametrize(("costly", "calls"), [(True, [1, 3, 9, 7]), (False, [1, 1, 2, 4, 4, 4, 4])])
def test_a_model_with_costly_calls_gets_few(data: Path, costly: bool, calls: list[int]) -> None:
    asked = {"prompter": "box_volume+hand", "dataset": "phantom:shape=8x48x56,instances=1", "seed": list(range(20))}
    Called.calls.clear()
    execute(chosen({"model": Called(costly=costly), **asked}), Path("results"), Silent())
    assert Called.calls == calls
