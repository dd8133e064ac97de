"""From a checkpoint file to a network: unwrapped, compared key by key, read without running anything."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.errors import IntraBenchError
from intrabench.models.base import Runtime
from intrabench.models.parts.checkpoints import fill, read
from tests.models.conftest import Own
from tests.wording import without_reasons


@pytest.fixture(scope="module", autouse=True)
def _imports() -> None:
    """Imported now: collecting tests is quick without torch."""
    global torch, STATE
    import torch

    STATE = {"weight": torch.tensor([[1.0, 2.0]]), "bias": torch.tensor([3.0])}


class Runs:
    """Runs a command when it is unpickled."""

    def __init__(self, function: Any, argument: str) -> None:
        self.call = function, (argument,)

    def __reduce__(self) -> Any:
        return self.call


def filled(path: Path, **runtime: Any) -> torch.nn.Linear:
    """A linear layer with the weights ``own`` of a file brought by hand."""
    asking: Any = type("Asking", (), {"name": "linear", "weights": "own"})
    asking.runtime = Runtime(weights=path, **runtime)
    return fill(torch.nn.Linear(2, 1), asking)


def saved(content: Any, path: str = "some.pth", **how: Any) -> Path:
    torch.save(content, path, **how)
    return Path(path)


def refusal(path: Path) -> str:
    with pytest.raises(IntraBenchError) as caught:
        filled(path)
    return str(caught.value)


def is_state(network: torch.nn.Linear) -> bool:
    return torch.equal(network.weight, STATE["weight"]) and torch.equal(network.bias, STATE["bias"])


def test_a_state_dict_is_taken_out_of_its_container_its_prefix_and_its_company(
    own: Own, wording: SnapshotAssertion
) -> None:
    own(container="model", prefix="module.", ignored=("text.",))
    inner = {f"module.{key}": tensor for key, tensor in STATE.items()} | {"module.text.weight": torch.zeros(9)}
    assert is_state(filled(saved({"model": inner, "epoch": 3})))
    assert is_state(filled(saved(STATE)))  # bare, by hand
    own()
    assert refusal(saved({"model": STATE})) == wording


def test_a_network_that_is_a_part_of_a_file_takes_its_own_keys(own: Own, wording: SnapshotAssertion) -> None:
    own(container="model", prefix="module.", ignored=("text.",))
    inner = {f"module.text.old.{key}": tensor for key, tensor in STATE.items()} | {"module.other": torch.zeros(9)}
    asking: Any = type("Asking", (), {"name": "linear", "weights": "own"})
    asking.runtime = Runtime(weights=saved({"model": inner}))

    def key(name: str) -> str | None:
        return name.removeprefix("text.old.") if name.startswith("text.") else None

    assert is_state(fill(torch.nn.Linear(2, 1), asking, key))
    with pytest.raises(IntraBenchError) as caught:
        fill(torch.nn.Linear(2, 1), asking, lambda name: None)
    assert caught == wording


@pytest.mark.parametrize("new", [True, False], ids=["zip", "legacy"])
def test_both_formats_of_torch_are_read(own: Own, new: bool) -> None:
    own(container="model")
    assert is_state(filled(saved({"model": STATE}, _use_new_zipfile_serialization=new)))


def test_safetensors_are_read(own: Own, wording: SnapshotAssertion) -> None:
    save_file = pytest.importorskip("safetensors.torch").save_file
    own()
    save_file(STATE, "some.safetensors")
    assert is_state(filled(Path("some.safetensors")))
    Path("broken.safetensors").write_bytes(Path("some.safetensors").read_bytes()[:40])
    assert without_reasons(refusal(Path("broken.safetensors"))) == wording


def test_the_registered_file_is_the_one_that_is_taken(own: Own, folder: Path) -> None:
    own()
    saved(STATE, str(folder / "own.pth"))
    asking: Any = type("Asking", (), {"name": "linear", "weights": "own", "runtime": Runtime()})
    assert is_state(fill(torch.nn.Linear(2, 1), asking))


DIFFERENCES = [
    (lambda: {"weight": STATE["weight"]}, "1 missing: bias"),
    (lambda: STATE | {"c": STATE["bias"]}, "1 unexpected: c"),
    (lambda: STATE | {f"k{n}": STATE["bias"] for n in range(5)}, "5 unexpected: k0, k1, k2, ..."),
    (lambda: STATE | {"weight": torch.zeros(3, 2)}, "1 of another shape: weight (3, 2) instead of (1, 2)"),
    (lambda: STATE | {"weight": 3.0}, "1 of another shape: weight () instead of (1, 2)"),
    (lambda: {"weights": STATE["weight"]}, "2 missing: bias, weight; 1 unexpected: weights"),
]


@pytest.mark.parametrize(("state", "difference"), DIFFERENCES)
def test_what_does_not_fit_is_told_in_words(own: Own, state: Callable[[], Any], difference: str) -> None:
    own(file="linear_v1.pth")
    told = f"some.pth is not a checkpoint of linear ({difference}); give the file of own (linear_v1.pth)"
    assert refusal(saved(state())) == told


@pytest.mark.parametrize(
    "content", [lambda: [1, 2], lambda: torch.zeros(2), lambda: torch.nn.Linear(2, 1)], ids=["list", "tensor", "module"]
)
def test_what_is_no_state_dict_is_told(own: Own, content: Callable[[], Any], wording: SnapshotAssertion) -> None:
    own(container="model")
    assert refusal(saved(content())) == wording


@pytest.mark.parametrize(
    "content",
    [lambda: {"model": torch.zeros(2)}, lambda: {"model": torch.nn.Linear(2, 1)}, lambda: {1: torch.zeros(2)}],
)
def test_what_is_no_state_dict_inside_is_told_too(
    own: Own, content: Callable[[], Any], wording: SnapshotAssertion
) -> None:
    own(container="model")
    assert refusal(saved(content())) == wording


@pytest.mark.parametrize("keep", [0, 20, 700])
def test_a_truncated_file_is_told(own: Own, keep: int, wording: SnapshotAssertion) -> None:
    own()
    path = saved(STATE)
    path.write_bytes(path.read_bytes()[:keep])
    said = refusal(path)
    assert without_reasons(said) == wording
    assert said.endswith("); fetch it again")
    assert "\n" not in said


def test_an_optimiser_beside_the_tensors_is_read_without_running_anything(own: Own) -> None:
    own(container="model")
    optimiser = torch.optim.Adam(torch.nn.Linear(2, 1).parameters())
    path = saved({"model": STATE, "optimiser": optimiser, "loss": torch.nn.L1Loss()})
    trusted = set(torch.serialization.get_safe_globals())
    assert is_state(filled(path))
    assert type(read(path)["optimiser"]).__name__ == "Inert"
    assert set(torch.serialization.get_safe_globals()) == trusted  # nothing is trusted from now on


@pytest.mark.parametrize("place", ["beside", "inside", "alone"])
@pytest.mark.parametrize(("function", "argument"), [(os.system, "touch ran"), (eval, "open('ran', 'w')")])
def test_a_pickle_that_would_run_something_does_not(
    own: Own, function: Any, argument: str, place: str, wording: SnapshotAssertion
) -> None:
    own(container="model")
    evil = Runs(function, argument)
    content = {"beside": {"model": STATE, "x": evil}, "inside": {"model": STATE | {"x": evil}}, "alone": evil}[place]
    path = saved(content)
    if function is os.system:
        assert without_reasons(refusal(path)) == wording
    elif place == "beside":
        assert is_state(filled(path))  # eval is one more name that is not looked up
    else:
        refusal(path)
    assert not Path("ran").exists()


def test_random_weights_are_the_same_everywhere_and_ask_for_no_file(own: Own) -> None:
    asking: Any = type("Asking", (), {"name": "linear", "weights": "own", "runtime": Runtime(random=True)})
    own()
    first, second = (fill(torch.nn.Linear(2, 1), asking) for _ in range(2))
    assert torch.equal(first.weight, second.weight)
    torch.testing.assert_close(first.weight, torch.tensor([[0.4592, 0.8107]]), atol=1e-4, rtol=0)
    asking.weights = None
    untouched = torch.nn.Linear(2, 1)
    assert fill(untouched, asking) is untouched
