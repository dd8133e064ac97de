"""Model folders of nnU-Net and its relatives, read without running anything that they contain."""

from __future__ import annotations

import json
import os
import pydoc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from intrabench.errors import IntraBenchError
from intrabench.models.base import Model
from intrabench.models.weights import registry as weights
from intrabench.progress import loading

_FORCE = "TORCH_FORCE_WEIGHTS_ONLY_LOAD"
_PARTS = ("dynamic_network_architectures.", "torch.nn.")


def check_plans(folder: Path, network: bool = True) -> None:
    """Refuse plans that name anything but networks and layers, because nnU-Net calls what they name.

    network: whether it also calls the network that they name; else only layers.

    Raises:
        ValueError: they do.
        OSError, KeyError: they are not there, or no plans.
    """
    import torch

    plans = json.loads((folder / "plans.json").read_text(encoding="utf-8"))
    for configuration in plans["configurations"].values():
        about = configuration.get("architecture")
        if about is None:  # old or inherited
            continue
        named = [about["arch_kwargs"][key] for key in about["_kw_requires_import"]]
        for name in filter(None, [*([about["network_class_name"]] if network else []), *named]):
            found: Any = pydoc.locate(name) if name.startswith(_PARTS) else dict  # locating imports it
            if found is not None and not (isinstance(found, type) and issubclass(found, torch.nn.Module)):
                raise ValueError(f"plans.json names {name}, which is neither a network nor a layer")


def model_folder(model: Model) -> Path:
    """The folder of a model whose package makes the network from it, and chooses the precision.

    Raises:
        IntraBenchError: it is not here, or another precision or random weights are asked for.
    """
    if model.runtime.dtype != "float32":
        raise IntraBenchError(f"{model.name} chooses its own precision; omit --dtype {model.runtime.dtype}")
    if model.runtime.random:
        raise IntraBenchError(
            f"{model.name} has no random weights: its architecture comes with the weights; give --weights FOLDER"
        )
    return weights.locate(str(model.weights), model.runtime.weights)


@contextmanager
def reading(model: Model, folder: Path, title: str, files: str) -> Iterator[None]:
    """Around the package's own reading of a model folder. title: of the model; files: what the folder should have.

    Raises:
        IntraBenchError: it cannot be read.
    """
    try:
        with loading(f"loading {model.name}"), weights_only():
            yield
    except Exception as error:  # wrong folders raise various exceptions
        reason = " ".join(str(error).split()) or type(error).__name__
        raise IntraBenchError(
            f"{folder} is not a model folder of {title} that can be read safely ({reason[:200]}); "
            f"give the folder with {files}"
        ) from error


@contextmanager
def weights_only() -> Iterator[None]:
    """Read checkpoints as data only, not unpickled as by the packages; nnU-Net's logs in them contain NumPy numbers."""
    import torch

    scalar: Any = np.float64(0).__reduce__()[0]
    scalars = [(scalar, f"numpy.{core}.multiarray.scalar") for core in ("core", "_core")]
    dtypes = [type(np.dtype(kind)) for kind in ("f2", "f4", "f8", "i4", "i8", "?")]
    before = os.environ.get(_FORCE)
    os.environ[_FORCE] = "1"
    try:
        with torch.serialization.safe_globals([*scalars, np.dtype, *dtypes]):
            yield
    finally:
        os.environ.pop(_FORCE)
        if before is not None:
            os.environ[_FORCE] = before
