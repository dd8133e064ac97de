"""The clickability network with the weights of the golden data, and those data (tests/golden/rclicks)."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tests.conftest import GOLDEN

if TYPE_CHECKING:  # imported where it is needed: collecting tests is quick without torch
    import pytest
    import torch

    from intrabench.models.networks.segnext import SegNeXtClickability

FOLDER = GOLDEN / "rclicks"


@contextmanager
def one_core() -> Iterator[None]:
    """Inside, torch computes on one core: on a busy machine several would spend their time waiting for each other."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def make_small(patch: pytest.MonkeyPatch) -> None:
    """From now on the network is narrow, with one block in each stage: for what its weights do not matter to."""
    from intrabench.models.networks import mscan, segnext

    widths = (32, 64, 160, 256)
    for module, name, value in (
        (mscan, "DEPTHS", (1, 1, 1, 1)),
        (mscan, "WIDTHS", widths),
        (segnext, "WIDTHS", widths),
        (segnext, "CHANNELS", 64),
    ):
        patch.setattr(module, name, value)


def golden(name: str) -> dict[str, Any]:
    """The arrays of a golden file."""
    return dict(np.load(FOLDER / f"{name}.npz"))


def filled() -> SegNeXtClickability:
    """The network with the golden weights; its keys, types, shapes and the weights' sum must be the golden ones."""
    import torch

    from intrabench.models.networks.segnext import SegNeXtClickability

    network = SegNeXtClickability()
    own = network.state_dict()
    expected = json.loads((FOLDER / "network_keys.json").read_text())
    described = {key: [str(tensor.dtype).removeprefix("torch."), *tensor.shape] for key, tensor in own.items()}
    assert described == expected["keys"]
    state = {key: _drawn(key, tuple(tensor.shape), own) for key, tensor in own.items()}
    total = sum(float(array.sum(dtype=np.float64)) for array in state.values())
    np.testing.assert_allclose(total, expected["total_sum"], rtol=1e-9)
    network.load_state_dict({key: torch.from_numpy(array) for key, array in state.items()})
    return network.eval()


def _drawn(key: str, shape: tuple[int, ...], own: dict[str, torch.Tensor]) -> NDArray[Any]:
    """One tensor by the rule in the README of the golden data."""
    name = key.rpartition(".")[2]
    if name == "num_batches_tracked":
        return np.zeros(shape, np.int64)
    x = np.random.RandomState(zlib.crc32(key.encode("ascii"))).standard_normal(shape).astype(np.float32)
    of_norm = len(shape) == 1 and own[key.removesuffix(name) + "weight"].ndim == 1 if name == "bias" else None
    values = {
        "running_mean": lambda: 0.05 * x,
        "running_var": lambda: 1 + 0.1 * abs(x),
        "layer_scale_1": lambda: 0.05 + 0.005 * x,
        "layer_scale_2": lambda: 0.05 + 0.005 * x,
        "scale": lambda: np.full(shape, 0.05),
        "bases": lambda: abs(x) / np.sqrt((x.astype(np.float64) ** 2).sum(axis=1, keepdims=True)),
        "bias": lambda: (0.1 if of_norm else 0.02) * x,
        "weight": lambda: 1 + 0.1 * x if len(shape) == 1 else 0.8 * x / math.sqrt(math.prod(shape[1:])),
    }
    return values[name]().astype(np.float32)
