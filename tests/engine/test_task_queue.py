"""Which group a hand gets next: of the model that it has loaded, which is worth waiting for a while."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

from intrabench.engine import task_queue
from intrabench.engine.session_spec import ModelRunner
from intrabench.engine.task_queue import TaskQueue
from intrabench.models.box_fill import BoxFill


class Network(BoxFill):
    """As far as an agenda knows."""

    encodes = True


A, B = ModelRunner(Network()), ModelRunner(Network())
LIGHT = ModelRunner(BoxFill())


def task(runner: ModelRunner, case: str) -> Any:
    return SimpleNamespace(runner=runner, case=case)


def ready(made: TaskQueue, case: str) -> None:
    """A case is prepared: it has a group of each model."""
    for runner in (A, B, LIGHT):
        made.add(task(runner, case))
    made.prepared()


def of_two_cases() -> TaskQueue:
    """The first is prepared, the second is being prepared."""
    made = TaskQueue([A, B, LIGHT], [(None, "1"), (None, "2")])  # type: ignore[list-item]
    assert made.case() is not None
    assert made.case() is not None
    ready(made, "1")
    return made


def names(*tasks: Any) -> list[tuple[ModelRunner, str]]:
    return [(one.runner, one.case) for one in tasks]


def test_a_hand_that_has_loaded_a_network_waits_for_its_next_case() -> None:
    made = of_two_cases()
    assert names(made.next(None)) == [(A, "1")]
    with ThreadPoolExecutor(1) as threads:
        coming = threads.submit(made.next, A)
        time.sleep(0.1)
        assert not coming.done()  # although there is a group of B
        ready(made, "2")
        assert names(coming.result(60)) == [(A, "2")]
    assert names(made.next(A)) == [(B, "1")]  # no case is coming any more


def test_it_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_queue, "PATIENCE_SECONDS", 0.2)
    made = of_two_cases()
    made.next(None)
    began = time.monotonic()
    assert names(made.next(A)) == [(B, "1")]
    assert time.monotonic() - began >= 0.2


def test_it_waits_a_little_where_another_model_takes_a_fresh_process(monkeypatch: pytest.MonkeyPatch) -> None:
    for apart, seconds in ((True, 0.2), (False, 60.0)):
        monkeypatch.setattr(task_queue, "START_SECONDS", seconds)
        made = TaskQueue([A, LIGHT], [(None, "1")], apart=apart)  # type: ignore[list-item]
        made.case()
        made.add(task(A, "1"))
        began = time.monotonic()
        assert names(made.next(LIGHT)) == [(A, "1")]
        assert (time.monotonic() - began >= seconds) == apart


def test_a_hand_that_has_loaded_nothing_takes_what_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_queue, "PATIENCE_SECONDS", 60.0)
    made = of_two_cases()
    began = time.monotonic()
    assert names(made.next(LIGHT), made.next(LIGHT), made.next(None)) == [(LIGHT, "1"), (A, "1"), (B, "1")]
    assert time.monotonic() - began < 60


def test_one_that_waits_does_not_take_the_call_of_another() -> None:
    made = of_two_cases()
    made.next(A), made.next(B), made.next(LIGHT)
    with ThreadPoolExecutor(2) as threads:
        patient, idle = threads.submit(made.next, A), threads.submit(made.next, None)
        time.sleep(0.1)
        made.add(task(B, "extra"))
        assert names(idle.result(60)) == [(B, "extra")]
        made.stop()
        assert patient.result(60) is None
