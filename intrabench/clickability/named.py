"""Clickability models by spec."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import Any

from intrabench.clickability.base import Clickability
from intrabench.registry import registry
from intrabench.specs import specs


def click_model(spec: str) -> Clickability:
    """The clickability model that a spec or the path of a checkpoint of `rclicks` names, made once per class.

    Raises:
        IntraBenchError: the model is unknown, or its weights are missing.
    """
    name = spec.partition(":")[0]
    if "/" in name or (os.path.isfile(spec) and name not in registry.entries("clickability")):
        spec = f'rclicks:weights="{spec}"'
    cls: Any = registry.find("clickability", specs.parse(spec)[0]).load()
    return _click_model(cls, spec)


@lru_cache(maxsize=8)
def _click_model(cls: type[Clickability], spec: str) -> Clickability:
    return specs.build(cls, specs.parse(spec)[1], spec)
