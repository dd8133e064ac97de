"""How many workers a run has, and what each of them is given."""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.engine.executors import placement
from intrabench.engine.executors.placement import requested, worker_placements
from intrabench.engine.session_spec import ModelRunner
from intrabench.errors import IntraBenchError
from intrabench.models.base import Runtime
from intrabench.models.box_fill import BoxFill
from intrabench.models.sam import SAM

THREADS = placement._THREADS


class Greedy(BoxFill):
    """Needs four cores."""

    threads = 4


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight cores, much memory, no GPU."""
    have(monkeypatch)
    for name in (placement.VARIABLE, *THREADS):
        monkeypatch.delenv(name, raising=False)


def have(monkeypatch: pytest.MonkeyPatch, cores: int = 8, memory_mb: float = 1e6, gpus: tuple[str, ...] = ()) -> None:
    monkeypatch.setattr(placement, "cores", lambda: cores)
    monkeypatch.setattr(placement, "memory_mb", lambda: memory_mb)
    monkeypatch.setattr(placement, "gpus", lambda: gpus)


@pytest.mark.parametrize(
    ("runners", "tasks", "number"),
    [
        ([ModelRunner(BoxFill())], 100, 8),
        ([ModelRunner(BoxFill()), ModelRunner(Greedy())], 100, 2),
        ([ModelRunner(BoxFill())], 3, 3),
        ([ModelRunner(BoxFill())], 0, 1),
        ([], 5, 5),
    ],
)
def test_auto_is_one_for_the_cores_that_the_models_need(runners: list[ModelRunner], tasks: int, number: int) -> None:
    made = worker_placements("auto", runners, tasks)
    assert list(made) == [str(place + 1) for place in range(number)]
    threads = {} if number == 1 else dict.fromkeys(THREADS, str(8 // number))
    assert list(made.values()) == [threads] * number


def test_a_model_with_more_threads_than_there_are_cores_has_one_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    have(monkeypatch, cores=2)
    assert worker_placements("auto", [ModelRunner(Greedy())], 9) == {"1": {}}


def test_auto_is_one_for_each_gpu_which_is_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    have(monkeypatch, gpus=("GPU-a", "GPU-b"))
    made = worker_placements("auto", [ModelRunner(BoxFill()), ModelRunner(SAM(), "cuda")], 9)
    threads = dict.fromkeys(THREADS, "4")
    assert made == {str(gpu): {**threads, "CUDA_VISIBLE_DEVICES": f"GPU-{'ab'[gpu - 1]}"} for gpu in (1, 2)}
    assert len(worker_placements("auto", [ModelRunner(BoxFill())], 9)) == 8  # none computes there
    assert worker_placements("auto", [ModelRunner(SAM(), "cuda")], 1) == {"1": {}}


def test_more_workers_than_gpus_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    have(monkeypatch, gpus=("3", "5"))
    made = worker_placements(5, [ModelRunner(SAM(), "cuda")], 9)
    assert [one["CUDA_VISIBLE_DEVICES"] for one in made.values()] == ["3", "5", "3", "5", "3"]
    assert {one["OMP_NUM_THREADS"] for one in made.values()} == {"1"}


def test_cuda_that_the_driver_does_not_list_is_left_to_torch() -> None:
    assert "CUDA_VISIBLE_DEVICES" not in worker_placements(2, [ModelRunner(SAM(), "cuda")], 9)["1"]


def test_auto_takes_no_more_than_fit_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    have(monkeypatch, cores=64, memory_mb=9000)
    assert len(worker_placements("auto", [ModelRunner(BoxFill())], 9)) == 4  # 2048 MiB each
    model = SAM()
    model.runtime = Runtime(memory_mb=200)  # and 2 * 375 MB of weights
    assert len(worker_placements("auto", [ModelRunner(BoxFill()), ModelRunner(model)], 9)) == 3
    have(monkeypatch, memory_mb=100)
    assert len(worker_placements("auto", [ModelRunner(BoxFill())], 9)) == 1
    assert len(worker_placements(3, [ModelRunner(BoxFill())], 9)) == 3  # the user knows better


def test_threads_that_the_user_has_set_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    assert "OMP_NUM_THREADS" not in worker_placements(2, [], 9)["1"]
    assert worker_placements(2, [], 9)["1"]["MKL_NUM_THREADS"] == "4"


def test_a_variable_says_what_auto_is(monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion) -> None:
    monkeypatch.setenv(placement.VARIABLE, "0")
    assert worker_placements("auto", [ModelRunner(BoxFill())], 9) == {}
    assert list(worker_placements("2", [ModelRunner(BoxFill())], 9)) == ["1", "2"]
    monkeypatch.setenv(placement.VARIABLE, "auto")
    assert requested("auto") is None
    monkeypatch.setenv(placement.VARIABLE, "many")
    with pytest.raises(IntraBenchError) as caught:
        requested("auto")
    assert caught == wording


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("-1", "--workers -1 is not a number of workers; give auto, 0, 1, 2, ..."),
        ("two", "--workers two is not a number of workers; "),
        (1.5, "--workers 1.5 is not a number of workers; "),
        ("", "--workers '' is not a number of workers; "),
        ("²", "--workers ² is not a number of workers; "),
        (True, "--workers True is not a number of workers; "),
        (10**6, "--workers 1000000 is more than a machine has use for; give auto or up to 1024, and start the same "),
    ],
)
def test_what_is_no_number_of_workers(given: str | int, said: str) -> None:
    with pytest.raises(IntraBenchError) as refused:
        requested(given)
    assert str(refused.value).startswith(said)
