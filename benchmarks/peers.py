"""The programs that ours is compared with. Each runs as its authors published it; none is part of this repository.

A peer is found if it is installed, or in one of the folders that INTRABENCH_PEERS names, separated as in PATH.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Peer:
    """A program, and how to get it."""

    name: str
    module: str
    how: str

    def found(self, *parts: str) -> tuple[ModuleType, ...] | None:
        """Modules of it; if one cannot be imported, None and a line that says how to get them."""
        old_names()
        sys.path += [one for one in os.environ.get("INTRABENCH_PEERS", "").split(os.pathsep) if one not in sys.path]
        try:
            return tuple(import_module(f"{self.module}.{part}" if part else self.module) for part in parts or ("",))
        except (ImportError, AttributeError) as error:
            print(f"skipped: {self.name} cannot be imported ({error}); {self.how}", flush=True)
            return None

    def __str__(self) -> str:
        module = sys.modules.get(self.module)
        try:
            number = version(self.name)
        except PackageNotFoundError:
            number = getattr(module, "__version__", "")
        return f"{self.name} {number}".strip()


def old_names() -> None:
    """Give NumPy and networkx the names back that peers still use."""
    names: dict[Any, dict[str, Any]] = {np: {"int": int, "float": float, "bool": bool}}
    if find_spec("networkx"):
        graphs = import_module("networkx")
        names[graphs] = {"from_scipy_sparse_matrix": graphs.from_scipy_sparse_array}
    for module, given in names.items():
        for name, value in given.items():
            if name not in vars(module):
                setattr(module, name, value)


FOLDER = "put it into a folder and name that as INTRABENCH_PEERS"

DAVIS = Peer(
    "davisinteractive",
    "davisinteractive",
    f"`git clone https://github.com/albertomontesg/davis-interactive` and {FOLDER}; it also needs absl-py and "
    "scikit-learn",
)
RADIOACTIVE = Peer(
    "RadioActive",
    "radioa",
    f"`git clone https://github.com/MIC-DKFZ/radioactive` and {FOLDER} with /src, and so what it imports",
)
SURFACE_DISTANCE = Peer(
    "surface-distance", "surface_distance", "`pip install git+https://github.com/google-deepmind/surface-distance`"
)
MONAI = Peer("monai", "monai", "`pip install monai`")
