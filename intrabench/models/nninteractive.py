"""nnInteractive: points, boxes, scribbles and lassos for one 3D network, through its authors' own inference session.

Source: Isensee et al., "nnInteractive: Redefining 3D Promptable Segmentation", arXiv 2503.08373, and the package
nninteractive (https://github.com/MIC-DKFZ/nnInteractive), whose session does all the work. Here prompts become its
interactions, and its answer ours.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, redirect_stdout
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from intrabench.models.base import Model, Predictor
from intrabench.models.installing import importing
from intrabench.models.parts.allocator import keep_freed_memory
from intrabench.models.parts.nninteractive_image import OneImage, check_image
from intrabench.models.parts.nnunet_folder import check_plans, model_folder, reading
from intrabench.prompts import Derived
from intrabench.specs.specs import switch
from intrabench.volume import Volume


@dataclass(eq=False)
class NnInteractive(Model):
    """nnInteractive: a 3D network for points, 2D boxes, scribbles and lassos, with the authors' autozoom.

    The image is passed unchanged as ``(1, z, y, x)``, the array that SimpleITK reads from a file in RAS order. The
    package works in voxels, normalises by itself, and ignores the spacing. All prompts of a turn are added before one
    prediction, as in the package's own challenge baseline. Earlier interactions fade, and the network looks around the
    last one. So what the hand gave comes after what was derived from it (``derived=all``), its middle slice last. The
    published checkpoint refuses 3D boxes, so they become a 2D box on their middle slice.

    The weights are a model folder (plans.json, dataset.json, fold_0/checkpoint_final.pth, ...). No code from it is run.
    The architecture is part of the weights, so random weights are refused. On CUDA the package itself casts to half
    precision; ``--dtype float32`` means that official behaviour.

    autozoom: enlarge the field of view up to 4 times the patch while the answer changes at its border.
    """

    name = "nninteractive"
    weights = "nninteractive"
    grey_only = True
    dims = 3
    accepts = frozenset({"point", "box2d", "scribble", "lasso"})
    extra = "nninteractive"
    requires = ("nnInteractive", "nnunetv2")  # the first alone may be the package's thin client
    devices = ("cpu", "cuda")
    threads = 4
    feeds_back = True
    takes_mask = True
    any_plane = True
    version = "2"

    autozoom: bool = True
    derived: Derived = switch("none")

    @property
    def covers(self) -> str:
        """A patch, which autozoom enlarges."""
        return "a patch around the newest prompt" + ", enlarged up to 4 times" * self.autozoom

    def load(self) -> None:
        """Load the network and its weights now."""
        _ = self.parts

    def open(self, volume: Volume) -> AbstractContextManager[Predictor]:
        """Open one image with a session of its own.

        Raises:
            IntraBenchError: the extra is not installed, or the model folder is absent, damaged or unsafe.
            ValueError: the image has several channels, or cannot be normalised.
        """
        check_image(volume.array)
        session = self._session()
        session.initialize_from_loaded_artifacts(self.parts)
        with _quiet():
            session.set_image(volume.array[None].copy())  # torch warns of arrays that cannot be written into
            session.preprocess_future.result()  # else it would print and fail later, in the background
            session.set_target_buffer(np.zeros(volume.shape, dtype=np.uint8))
        return closing(OneImage(session, volume.shape, _quiet))

    @cached_property
    def parts(self) -> dict[str, Any]:
        """The content of the model folder, with the network on the runtime's device; loaded on first use."""
        folder = model_folder(self)
        if self.runtime.device == "cpu":
            keep_freed_memory()
        session, files = self._session(), "plans.json, dataset.json and one fold_*/checkpoint_final.pth"
        with reading(self, folder, "nnInteractive", files), _quiet():
            check_plans(folder)
            # what initialize_from_trained_model_folder loads, but to be shared by the sessions of all images
            parts: dict[str, Any] = session._load_model_artifacts_from_disk(str(folder))
        parts["network"].eval()  # the package leaves it in training mode
        return parts

    def _session(self) -> Any:
        """A new session of the package, without a network."""
        import torch

        with importing(f"model {self.name} needs", f"run: pip install 'intrabench[{self.extra}]'"), _quiet():
            from nnInteractive.inference.inference_session import nnInteractiveInferenceSession
        # the package sets both for the whole process; choosing kernels by speed makes answers vary
        threads, benchmark = torch.get_num_threads(), torch.backends.cudnn.benchmark
        try:
            with _quiet():
                return nnInteractiveInferenceSession(
                    torch.device(self.runtime.device), do_autozoom=self.autozoom, enable_undo=False
                )
        finally:
            torch.set_num_threads(threads)
            torch.backends.cudnn.benchmark = benchmark


@contextmanager
def _quiet() -> Iterator[None]:
    """The package prints every step, and draws patches to refine from numpy's global numbers: here always the same."""
    state = np.random.get_state()  # noqa: NPY002
    np.random.seed(0)  # noqa: NPY002
    try:
        with redirect_stdout(io.StringIO()):
            yield
    finally:
        np.random.set_state(state)  # noqa: NPY002
