"""Scripts of the project, which are no part of a package."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

from tests.documented import ROOT


def script(name: str) -> ModuleType:
    """The script of this name in ``scripts/``."""
    spec = importlib.util.spec_from_file_location(f"{name}_script", ROOT / "scripts" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
