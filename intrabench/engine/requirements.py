"""Whether a model can run here: its packages and its device."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec

from intrabench.engine.executors.resources import gpus
from intrabench.errors import IntraBenchError
from intrabench.models.base import Model
from intrabench.models.installing import how_to_install


def check_requirements(model: Model) -> None:
    """Refuse a model whose extra is not installed, with the command that installs it, or that cannot run as it is."""
    missing = [module for module in model.requires if not _found(module)]
    if missing:
        raise IntraBenchError(
            f"model {model.name} needs {', '.join(missing)}, which is not installed; {how_to_install(str(model.extra))}"
        )
    model.check_runnable()


def _found(module: str) -> bool:
    """Whether a module is installed; one inside of a package that is not cannot be looked for."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def pick_device(wanted: str, devices: Sequence[str], here: bool = True) -> str:
    """The device for a model that can compute on `devices`; auto takes CUDA if it is available.

    here: ask torch. Else take the word of the driver, and of the user who wants CUDA.
    """
    if wanted not in ("auto", "cpu", "cuda"):
        raise IntraBenchError(f"--device {wanted} is unknown; give auto, cpu or cuda")
    if wanted == "cpu" or "cuda" not in devices:
        return "cpu"
    if not here:
        return "cuda" if wanted == "cuda" or gpus() else "cpu"
    import torch

    if torch.cuda.is_available():
        return "cuda"
    if wanted == "cuda":
        raise IntraBenchError("--device cuda: torch sees no CUDA device here; use --device cpu or auto")
    return "cpu"
