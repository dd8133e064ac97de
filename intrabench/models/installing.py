"""The commands that install what models need."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from intrabench.errors import IntraBenchError

_ISOLATED = {"sam2": "pip install torch torchvision && SAM2_BUILD_CUDA=0 pip install --no-build-isolation"}
"""Before extras whose packages are built here: alone, pip would fetch a second torch for that, and compile for CUDA."""


_BY_OTHERS = {
    "sam2": "the package sam2 1.1.0 on the index is a source distribution that a third party uploaded, not the authors "
    "of SAM 2, and installing it runs its code"
}
"""What to know before extras whose packages are not their authors'; each is pinned to one version in pyproject.toml."""


def caution(extra: str) -> str:
    """What to know before an extra is installed; empty if there is nothing."""
    return _BY_OTHERS.get(extra, "")


def how_to_install(extra: str) -> str:
    """The end of a sentence that says that something is not installed."""
    return f"run: {install_command(extra)}{f' ({note})' if (note := caution(extra)) else ''}"


@contextmanager
def importing(needs: str, remedy: str) -> Iterator[None]:
    """Around imports of what an extra installs.

    Raises:
        IntraBenchError: ``NEEDS a module, which is not installed; REMEDY``.
    """
    try:
        yield
    except ImportError as error:
        raise IntraBenchError(f"{needs} {error.name or error}, which is not installed; {remedy}") from error


def install_command(extra: str) -> str:
    """What to type for an extra of this package, in a shell of Unix."""
    return f"{_ISOLATED.get(extra, 'pip install')} 'intrabench[{extra}]'"
