"""Networks with the weights of the parity fixtures (tests/golden/models), and how close they have to come."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.conftest import GOLDEN

if TYPE_CHECKING:  # imported where it is needed: collecting tests is quick without torch
    import torch

FOLDER = GOLDEN / "models"


def fixture(name: str) -> dict[str, Any]:
    """The arrays of a fixture."""
    return dict(np.load(FOLDER / f"{name}.npz"))


def filled(network: torch.nn.Module, keys: str, kept: tuple[str, int] = ("", 0)) -> torch.nn.Module:
    """The network with the fixture's weights; its keys, shapes and the weights themselves must be the fixture's.

    kept: a list of modules and how many of them are enough for a check; the others are left out.
    """
    from intrabench.models.parts.random_weights import fill_randomly

    content = json.loads((FOLDER / f"{keys}.keys.json").read_text())
    own = network.state_dict()
    assert {key: list(tensor.shape) for key, tensor in own.items()} == {
        key: entry["shape"] for key, entry in content["keys"].items()
    }
    if kept[0]:
        del network.get_submodule(kept[0])[kept[1] :]
        own = network.state_dict()
    fill_randomly(network, content["_meta"].get("gain", 1.0))
    for key, tensor in own.items():
        if tensor.dtype.is_floating_point:
            np.testing.assert_allclose(tensor.flatten()[:3], content["keys"][key]["first"], atol=1e-5)
    return network.eval()


def close(actual: Any, expected: Any, atol: float = 1e-4, rtol: float = 1e-4) -> None:
    """Equal as far as kernels of another machine allow."""
    array = actual.detach().float().numpy() if hasattr(actual, "detach") else np.asarray(actual)
    assert array.shape == expected.shape
    np.testing.assert_allclose(array, expected, atol=atol, rtol=rtol)
