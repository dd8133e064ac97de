"""Models of a run with their runtimes."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pytest

from intrabench.engine.environment import memory_mb
from intrabench.engine.make_job import make_run
from intrabench.engine.model_runners import make_runner
from intrabench.engine.options import chosen
from intrabench.engine.session_spec import ModelRunner
from intrabench.models.base import Request, Runtime
from intrabench.models.box_fill import BoxFill
from intrabench.models.parts.network_model import NetworkModel
from intrabench.prompts import box3d
from intrabench.turns import Turn
from intrabench.volume import Volume
from tests.engine.conftest import Started


@dataclass(eq=False)
class Loading(BoxFill):
    """Box fill with something that is loaded for its runtime."""

    name = "loading"

    @cached_property
    def network(self) -> str:
        return f"for batches of {self.runtime.batch}"


def test_a_run_works_on_a_copy_that_loads_its_network_for_its_own_runtime() -> None:
    given = Loading()
    assert given.network == "for batches of fixed"
    model = make_runner(chosen({"model": given, "batch": 3})).model
    assert isinstance(model, Loading)
    assert (model.runtime.batch, model.network) == ("3", "for batches of 3")
    assert (given.runtime, given.network) == (Runtime(), "for batches of fixed")


@dataclass(eq=False)
class Heavy(NetworkModel):
    """A network of 128 MiB."""

    name = "heavy"
    accepts = frozenset({"point"})
    weights = "sam_vit_b"

    def build(self) -> Any:
        """Layers that hold nothing but weights."""
        import torch

        return torch.nn.ModuleList([torch.nn.Linear(4096, 4096, bias=False) for _ in range(2)])

    def open(self, volume: Volume) -> Any:
        """Not needed."""


@dataclass(eq=False)
class Clinging(Heavy):
    """Has a way of its own to forget, and fails in it."""

    name = "clinging"

    def unload(self) -> None:
        """Forget, then fail."""
        super().unload()
        raise SystemExit("I would rather stay")


@pytest.mark.skipif(sys.platform != "linux", reason="memory is returned to the system on Linux with glibc")
@pytest.mark.parametrize("model", [Heavy(), Clinging()])
def test_a_model_that_is_released_leaves_no_memory_in_use(model: Heavy) -> None:
    runner = ModelRunner(model)
    model.runtime = Runtime(random=True)
    model.load()  # what torch itself needs stays
    runner.release()
    before = memory_mb()
    model.load()
    weight = model.network[0].weight[0, 0].item()
    assert memory_mb() > before + 112
    runner.release()
    assert memory_mb() < before + 60
    assert model.network[0].weight[0, 0].item() == weight
    runner.release()


def test_of_several_models_in_another_interpreter_none_is_left_in_memory_by_the_plan(started: Started) -> None:
    given = {"model": ["box_fill", "random_walker"], "prompter": "box_volume", "python": sys.executable}
    make_run(chosen(given))
    assert [process.returncode for process in started] == [0, 0]


def test_the_other_interpreter_ends_when_its_model_is_released_and_comes_back(started: Started) -> None:
    options = chosen({"model": "box_fill", "prompter": "box_volume", "python": sys.executable})
    (runner,) = make_run(options).runners
    volume, request = (
        Volume.from_canonical(np.zeros((4, 8, 8), np.float32)),
        Request("one", (Turn(box3d((1, 1, 1, 3, 4, 5))),)),
    )
    try:
        for processes in (1, 2):
            with runner.open(volume) as image:
                (answer,) = image.segment([request])
            runner.release()
            assert [process.returncode for process in started] == [0] * processes
            assert answer.update.voxels == 2 * 3 * 4
    finally:
        runner.close()
