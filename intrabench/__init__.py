"""IntraBench: measure promptable segmentation models on 3D radiology volumes the way a clinician would use them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from intrabench.api import dataset as dataset
    from intrabench.api import model as model
    from intrabench.api import prompter as prompter
    from intrabench.api import run as run
    from intrabench.api import table as table
    from intrabench.errors import IntraBenchError as IntraBenchError

_EXPORTS = {
    "run": "intrabench.api",
    "table": "intrabench.api",
    "model": "intrabench.api",
    "prompter": "intrabench.api",
    "dataset": "intrabench.api",
    "IntraBenchError": "intrabench.errors",
}

__all__ = ["IntraBenchError", "__version__", "dataset", "model", "prompter", "run", "table"]


def __getattr__(name: str) -> Any:
    """Import on first use, so that ``import intrabench`` costs nothing."""
    if name in _EXPORTS:
        return getattr(import_module(_EXPORTS[name]), name)
    raise AttributeError(f"module 'intrabench' has no attribute {name!r}")
