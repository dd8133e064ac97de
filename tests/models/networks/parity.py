"""Networks with the weights of the parity fixtures (tests/golden/models), and how close they have to come."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.conftest import GOLDEN

if TYPE_CHECKING:  # imported where it is needed: collecting tests is quick without torch
    import torch

FOLDER = GOLDEN / "models"


def fixture(name: str) -> dict[str, Any]:
    """The arrays of a fixture."""
    return dict(np.load(FOLDER / f"{name}.npz"))


def same_entries(network: torch.nn.Module, keys: str) -> None:
    """The network's keys and shapes must be the fixture's; it may lie on the device ``meta``."""
    expected = {key: entry["shape"] for key, entry in _content(keys)["keys"].items()}
    assert {key: list(tensor.shape) for key, tensor in network.state_dict().items()} == expected


def unfilled(build: Callable[[], torch.nn.Module]) -> Any:
    """A network for `filled`, without memory and weights drawn in vain; all of its tensors must be in its state."""
    import torch

    with torch.device("meta"):
        return build()


def filled(network: torch.nn.Module, keys: str) -> torch.nn.Module:
    """The network with the fixture's weights, which must be what the fixture says.

    Blocks that a check does not need may have been left out; `same_entries` looks at all.
    """
    from intrabench.models.parts.random_weights import fill_randomly

    content = _content(keys)
    if next(network.parameters()).is_meta:
        network.to_empty(device="cpu")
    fill_randomly(network, content["_meta"].get("gain", 1.0))
    for key, tensor in network.state_dict().items():
        assert list(tensor.shape) == content["keys"][key]["shape"]
        if tensor.dtype.is_floating_point:
            np.testing.assert_allclose(tensor.flatten()[:3], content["keys"][key]["first"], atol=1e-5)
    return network.eval()


def _content(keys: str) -> Any:
    return json.loads((FOLDER / f"{keys}.keys.json").read_text())


def close(actual: Any, expected: Any, atol: float = 1e-4, rtol: float = 1e-4) -> None:
    """Equal as far as kernels of another machine allow."""
    array = actual.detach().float().numpy() if hasattr(actual, "detach") else np.asarray(actual)
    assert array.shape == expected.shape
    np.testing.assert_allclose(array, expected, atol=atol, rtol=rtol)
