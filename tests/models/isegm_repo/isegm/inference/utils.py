"""The network of a checkpoint."""

from __future__ import annotations

import importlib
from typing import Any


def load_is_model(checkpoint: Any, device: Any, **kwargs: Any) -> Any:
    """From what a checkpoint holds; several stages are a list."""
    if isinstance(checkpoint, list):
        stages = [one_model(stage, device, **kwargs) for stage in checkpoint]
        return stages[0], stages
    return one_model(checkpoint, device, **kwargs)


def one_model(checkpoint: Any, device: Any, **kwargs: Any) -> Any:
    module, _, name = checkpoint["config"]["class"].rpartition(".")
    made = getattr(importlib.import_module(module), name)(**checkpoint["config"]["params"], **kwargs)
    made.load_state_dict(checkpoint["state_dict"], strict=False)
    return made.to(device).eval()
