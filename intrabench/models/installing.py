"""The commands that install what models need."""

from __future__ import annotations

_ISOLATED = {"sam2": "pip install torch torchvision && SAM2_BUILD_CUDA=0 pip install --no-build-isolation"}
"""Before extras whose packages are built here: alone, pip would fetch a second torch for that, and compile for CUDA."""


def install_command(extra: str) -> str:
    """What to type for an extra of this package, in a shell of Unix."""
    return f"{_ISOLATED.get(extra, 'pip install')} 'intrabench[{extra}]'"
