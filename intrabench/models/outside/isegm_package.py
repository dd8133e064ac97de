"""The package `isegm` of somebody's repository: where it is, what identifies it, and a world of its own to run in.

RITM and those who built on it all call their package `isegm`, so that two of them never fit into one Python process.
Here each is imported from its own folder, and the name means it only while it works.
"""

from __future__ import annotations

import io
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from intrabench.errors import IntraBenchError
from intrabench.identity.sources import hash_of

NAME = "isegm"
INFERENCE = Path(NAME, "inference", "utils.py")
"""A file that all of these packages have."""


def root_of(repo: Path) -> Path:
    """The folder from which the package of a repository is imported: the repository itself, or a folder in it.

    Raises:
        IntraBenchError: there is none.
    """
    if not repo.is_dir():
        raise IntraBenchError(f"isegm: repo={repo} is no folder; give the clone of a repository such as RITM")
    found = [folder for folder in (repo, *sorted(repo.iterdir())) if (folder / INFERENCE).is_file()]
    if not found:
        raise IntraBenchError(
            f"isegm: {repo} has no package isegm ({INFERENCE} is missing); give the clone of RITM, ClickSEG, "
            "SimpleClick or another repository that was built on them"
        )
    return found[0].resolve()


def code_of(root: Path) -> str:
    """8 hex digits of the code of the package `isegm` as it stands; a commit would not know of local changes."""
    files = sorted((root / NAME).rglob("*.py"))
    return hash_of({file.relative_to(root).as_posix(): file.read_bytes() for file in files})


class Package:
    """The package in one folder, and all other modules that come from there."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._modules: dict[str, ModuleType] = {}

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Inside, `isegm` means this package, its random numbers are always the same, and what it prints is dropped.

        So neither another repository nor the company of a request changes an answer. There are no gradients, either.
        """
        import torch

        hidden = {name for name in sys.modules if name.partition(".")[0] == NAME} | sys.modules.keys() & self._modules
        others = {name: sys.modules[name] for name in hidden}
        for name in others:
            del sys.modules[name]
        known = set(sys.modules)
        sys.modules.update(self._modules)
        sys.path.insert(0, str(self.root))
        states = random.getstate(), np.random.get_state()  # noqa: NPY002
        cuda: Any = torch.cuda
        gpus = [cuda.current_device()] if cuda.is_initialized() else []
        try:
            with torch.random.fork_rng(gpus), torch.no_grad(), redirect_stdout(io.StringIO()):
                random.seed(0)
                np.random.seed(0)  # noqa: NPY002
                torch.manual_seed(0)
                yield
        finally:
            random.setstate(states[0])
            np.random.set_state(states[1])  # noqa: NPY002
            sys.path.remove(str(self.root))
            self._modules.update({name: sys.modules.pop(name) for name in set(sys.modules) - known if self._ours(name)})
            sys.modules.update(others)

    def _ours(self, name: str) -> bool:
        """Whether a module is the repository's own, and not one of an environment that lies in its folder."""
        file = vars(sys.modules[name]).get("__file__") or ""
        inside = file.startswith(f"{self.root}/") and "site-packages" not in Path(file).parts
        return name.partition(".")[0] == NAME or inside
