"""Load checkpoints into networks: read safely, unwrapped, and refused unless every key fits."""

from __future__ import annotations

import pickle
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from intrabench.errors import IntraBenchError
from intrabench.files.headers import believe
from intrabench.models.base import Model
from intrabench.models.parts.random_weights import fill_randomly
from intrabench.models.weights import registry as weights
from intrabench.models.weights.registry import Weights

SHOWN = 3
"""Maximum number of keys listed per kind of difference."""


def fill(network: Any, model: Model, keys: Callable[[str], str | None] | None = None) -> Any:
    """Load the weights that the model's runtime names: the registered ones, those of a file, or random ones.

    keys: for a network that is only a part of what the file has, the key in it for each key in the file, or None.

    Raises:
        IntraBenchError: the file is absent, damaged, or not exactly of this network.
    """
    if model.weights is None:
        return network
    if model.runtime.random:
        fill_randomly(network)
        return network
    entry = weights.get(model.weights)
    path = weights.locate(entry.id, model.runtime.weights)
    state = (
        unwrapped(read(path), entry) if keys is None else _part(unwrapped(read(path), replace(entry, ignored=())), keys)
    )
    load(network, state, path, model.name, f"the file of {entry.id} ({entry.file})")
    return network


def load(network: Any, state: Mapping[str, Any], path: Path, name: str, instead: str) -> None:
    """Load a state dict from a file. name: of the model; instead: what to give if it does not fit.

    Raises:
        IntraBenchError: it is not exactly of this network.
    """
    try:
        check(state, network.state_dict())
    except ValueError as error:
        raise IntraBenchError(f"{path} is not a checkpoint of {name} ({error}); give {instead}") from error
    network.load_state_dict(state)


def read(path: Path) -> Any:
    """The content of a file, on the CPU, without running any code from it.

    Raises:
        IntraBenchError: it cannot be read that way.
    """
    try:
        if path.suffix == ".safetensors":
            from safetensors.torch import load_file

            return load_file(path)
        return _tensors_of(path)
    except IntraBenchError:
        raise
    except Exception as error:  # wrong files raise various exceptions
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise IntraBenchError(
            f"{path} is damaged or not a checkpoint that can be read safely ({reason[0][:200]}); fetch it again"
        ) from error


class Inert:
    """Placeholder for other objects pickled beside the tensors, such as an optimiser; their code is never run."""

    def __init__(self, *_: Any, **__: Any) -> None: ...

    def __setstate__(self, _: Any) -> None: ...


def _mapping(*_: Any) -> OrderedDict[Any, Any]:
    """Placeholder for a type of dictionary that torch does not know."""
    return OrderedDict()


def _tensors_of(path: Path) -> Any:
    """The result of ``torch.load`` with ``weights_only=True``, with `Inert` placeholders for other objects."""
    import torch

    if zipfile.is_zipfile(path):  # torch never compresses, but it would unpack
        with zipfile.ZipFile(path) as stored:
            believe(path, sum(info.file_size for info in stored.infolist()), path.stat().st_size, packed=False)
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError:
        # Whatever else the file names is neither imported nor called: a placeholder takes its place.
        unknown = torch.serialization.get_unsafe_globals_in_checkpoint(path)
        if not unknown:
            raise
        stand_ins: list[Any] = [(_mapping if name == "collections.defaultdict" else Inert, name) for name in unknown]
        with torch.serialization.safe_globals(stand_ins):
            return torch.load(path, map_location="cpu", weights_only=True)


def unwrapped(content: Any, entry: Weights) -> dict[str, Any]:
    """The state dict in a file, without its container, prefix and entries that inference does not need.

    A file brought by hand may also be the bare state dict.
    """
    inner = content.get(entry.container, content) if isinstance(content, Mapping) else content
    if not isinstance(inner, Mapping) or not all(isinstance(key, str) for key in inner):
        kind = type(inner).__name__
        raise IntraBenchError(
            f"the checkpoint given for {entry.id} holds {kind}, expected a state dict; fetch it again"
        )
    state = {key.removeprefix(entry.prefix): tensor for key, tensor in inner.items()}
    return {key: tensor for key, tensor in state.items() if not key.startswith(tuple(entry.ignored))}


def _part(state: Mapping[str, Any], keys: Callable[[str], str | None]) -> dict[str, Any]:
    """What a network has of a state dict, by its own keys."""
    return {key: tensor for name, tensor in state.items() if (key := keys(name)) is not None}


def check(state: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    """Refuse a state dict whose keys and shapes are not exactly those expected.

    Raises:
        ValueError: what differs, with some keys of each kind.
    """
    differences = [
        _difference("missing", sorted(set(expected) - set(state))),
        _difference("unexpected", sorted(set(state) - set(expected))),
        _difference(
            "of another shape",
            [
                f"{key} {tuple(getattr(state[key], 'shape', ()))} instead of {tuple(tensor.shape)}"
                for key, tensor in expected.items()
                if key in state and getattr(state[key], "shape", None) != tensor.shape
            ],
        ),
    ]
    if any(differences):
        raise ValueError("; ".join(filter(None, differences)))


def _difference(kind: str, keys: Sequence[str]) -> str:
    if not keys:
        return ""
    more = ", ..." if len(keys) > SHOWN else ""
    return f"{len(keys)} {kind}: {', '.join(keys[:SHOWN])}{more}"
