"""What all code of a process shares and numbers depend on: the current folder, and how torch computes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from typing import Any


@dataclass(frozen=True)
class _Setting:
    """usual: the value before anybody changed it. instead: how code changes it only for itself."""

    what: str
    usual: Any
    get: Callable[[], Any]
    put: Callable[[Any], Any]
    instead: str


def settings() -> Mapping[str, Any]:
    """The values that are set now."""
    found: dict[str, Any] = {}
    for setting in _settings():
        with suppress(Exception):  # a folder that was deleted; settings of torch that exclude each other
            found[setting.what] = setting.get()
    return found


def put_back(before: Mapping[str, Any]) -> str:
    """Set all values as `settings` found them; what had changed, and what to write instead, or nothing."""
    changed = ""
    for setting in _settings():
        was = before.get(setting.what, setting.usual)
        with suppress(Exception):
            if was is not None and setting.get() != was:
                setting.put(was)
                changed = changed or f"{setting.what}, which everything in this run shares; {setting.instead}"
    return changed


def _settings() -> tuple[_Setting, ...]:
    torch = sys.modules.get("torch")
    return _known(torch is not None and hasattr(torch, "backends"))  # else it is only being imported


@cache
def _known(with_torch: bool) -> tuple[_Setting, ...]:
    folder = _Setting("the current folder", None, os.getcwd, os.chdir, "give whole paths, or use contextlib.chdir")
    if not with_torch:
        return (folder,)
    import torch

    cudnn: Any = torch.backends.cudnn
    fast = os.environ.get("TORCH_ALLOW_TF32_CUBLAS_OVERRIDE") == "1"  # as in containers of NVIDIA
    return (
        folder,
        _Setting(
            "the default type of torch",
            torch.float32,
            torch.get_default_dtype,
            torch.set_default_dtype,
            "give tensors their type, dtype=torch.float64",
        ),
        _Setting(
            "the precision of products in torch (set_float32_matmul_precision, allow_tf32)",
            "high" if fast else "highest",
            torch.get_float32_matmul_precision,
            torch.set_float32_matmul_precision,
            "set it in the method that needs it, and back",
        ),
        _Setting(
            "torch.backends.cudnn.allow_tf32",
            True,
            lambda: cudnn.allow_tf32,
            lambda value: setattr(cudnn, "allow_tf32", value),
            "use torch.backends.cudnn.flags",
        ),
        *(
            _Setting(
                f"autocast of torch on {device}",
                False,
                partial(torch.is_autocast_enabled, device),
                partial(torch.set_autocast_enabled, device),
                "write: with torch.autocast(...)",
            )
            for device in ("cpu", "cuda")
        ),
    )
