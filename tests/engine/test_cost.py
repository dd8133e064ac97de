"""What a model costs: parameters and operations are counted, not guessed, and `info` tells what `check` measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from intrabench.engine.cost import Cost, recalled, remember
from intrabench.models.random_walker import RandomWalker
from tests.models.stub import SIDE

COST = Cost(9_790_000, 78.64, 3.61, 410.2, 620.4, 31.2, "cpu, float32")


def test_of_a_network_parameters_and_operations_are_counted(data: Path) -> None:
    """A layer that maps each of the slice's pixels to one: 9 weights and a bias, and 2 x 9 operations for a pixel."""
    torch = pytest.importorskip("torch")
    from intrabench.engine.check import check
    from intrabench.engine.session_spec import ModelRunner
    from tests.models.stub import Stub

    class Convolving(Stub):
        name = "convolving"

        def build(self) -> Any:
            return torch.nn.Conv2d(1, 1, 3, padding=1)

        def decoded(self, *asked: Any) -> Any:
            """Attention among 64 places of 16 channels: two products of 64 x 64 x 16."""
            places = torch.ones(1, 1, 64, 16)
            torch.nn.functional.scaled_dot_product_attention(places, places, places)
            return super().decoded(*asked)

        def encode(self, images: Any) -> Any:
            with self.computing():
                for image in images:
                    self.network(torch.from_numpy(self.prepare(image)[None, :1]))
            return super().encode(images)

    found = {one.name: one for one in check(ModelRunner(Convolving()))}
    assert found["cost"].ok is None
    cost = recalled(Convolving())
    assert cost is not None
    assert str(cost) == found["cost"].message
    assert cost.parameters == 10
    attention = 2 * 2 * 64 * 64 * 16
    assert cost.first_gflops == pytest.approx((2 * 9 * SIDE**2 + attention) / 1e9)
    assert cost.next_gflops == pytest.approx(attention / 1e9)
    assert min(cost.memory_mb, cost.first_ms, cost.next_ms) > 0


def test_info_tells_what_was_measured(say: Any, data: Path) -> None:
    assert "intrabench check random_walker" in say("info", "random_walker").out
    assert json.loads(say("info", "random_walker", "--json").out)["cost"] is None
    remember(RandomWalker(), COST)
    assert recalled(RandomWalker()) == COST
    assert f"cost: {COST}" in say("info", "random_walker").out
    assert json.loads(say("info", "random_walker", "--json").out)["cost"]["first_gflops"] == 78.64
    (file,) = (data / "costs").iterdir()
    file.write_text("{}")
    assert recalled(RandomWalker()) is None


def test_in_words() -> None:
    assert str(COST) == (
        "9.79 M parameters, first answer in an image 78.6 GFLOPs and 620 ms, next 3.6 GFLOPs and 31 ms, "
        "410 MiB (cpu, float32)"
    )
    alone = Cost(None, None, None, 3.0, 15.0, 14.0, "cpu, float32")
    assert str(alone) == "first answer in an image 15 ms, next 14 ms, 3 MiB (cpu, float32)"
