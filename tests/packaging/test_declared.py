"""What the package imports is declared, by itself or as a part of something that is."""

from __future__ import annotations

import ast
import re
import sys
from importlib.metadata import packages_distributions

from tests.documented import ROOT
from tests.packaging.test_resolve import PROJECT

COMES_WITH = {
    "dask": "distributed",
    "httpcore2": "httpx2",
    "huggingface_hub": "transformers",
    "IPython": "",  # looked at only where a notebook has imported it
    "markupsafe": "jinja2",
    "omegaconf": "sam2",
    "hydra": "sam2",
    "safetensors": "transformers",
    "tqdm": "transformers",
}
"""Modules of packages that another package cannot be without, and that."""
OTHER_NAMES = {"nnInteractive": "nninteractive", "voxtell": "voxtell", "sam2": "sam2"}
"""Modules of packages that need not be installed where the tests run."""


def names(requirements: list[str]) -> set[str]:
    return {re.split(r"[\[<>=!;~ ]", one)[0].lower().replace("_", "-") for one in requirements}


def imported() -> set[str]:
    """The packages that any file of the package imports, also within functions."""
    found = set()
    for path in (ROOT / "intrabench").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                found.add(node.module.split(".")[0])
    return found - set(sys.stdlib_module_names) - {"intrabench"}


def test_what_is_imported_is_declared() -> None:
    extras = PROJECT["optional-dependencies"]
    used = [extra for extra in extras if extra not in ("test", "dev", "docs")]
    declared = names(PROJECT["dependencies"]) | {name for extra in used for name in names(extras[extra])}
    homes = packages_distributions() | {module: [name] for module, name in OTHER_NAMES.items()}
    modules = imported() - COMES_WITH.keys() - {"pip"}
    assert {"torch", "cv2", "numpy"} <= modules
    missing = {name for name in modules if not declared & {home.lower() for home in homes.get(name, [])}}
    assert not missing
    assert {other for other in COMES_WITH.values() if other} <= declared
