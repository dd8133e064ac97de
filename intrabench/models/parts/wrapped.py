"""Models of functions and networks, without a class."""

from __future__ import annotations

import copy
import hashlib
import re
import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from intrabench.errors import IntraBenchError, WrongType, kind
from intrabench.mask import Array, Bools, Floats32, Mask
from intrabench.models.base import Answer, Model, Request, VolumeModel
from intrabench.models.card import ModelCard
from intrabench.models.parts.slice_model import SliceItem, SliceModel, SliceResult
from intrabench.prompts import PromptKind, counting_boxes2d
from intrabench.volume import Volume

TAKES: dict[int, frozenset[PromptKind]] = {2: frozenset({"point", "box2d"}), 3: frozenset({"point", "box2d", "box3d"})}
"""The prompts that a wrapped model can take, by its dimension."""

Function = Callable[[Any, Array, Array, Bools], Any]


def wrap(function: Function, accepts: Collection[PromptKind], dims: int = 3, name: str = "", title: str = "") -> Model:
    """A model of a function or a network of torch, to be given to `run`, `check` and `preview`.

    A function is called ``function(image, points, boxes, previous)`` and returns a boolean array of the image's shape:
    image: a slice ``(y, x)`` if dims is 2, or the volume ``(z, y, x)``, its values as float32. points: whole numbers,
    rows ``y, x, label`` or ``z, y, x, label``, label 1 target, 0 background, oldest first. boxes: half-open, rows
    ``y0, x0, y1, x1`` or ``z0, y0, x0, z1, y1, x1``. previous: its last answer for the target, boolean; at first False.

    A network (`torch.nn.Module`) gets a tensor ``(1, 5, [z,] y, x)`` on its device instead, of image, positive points,
    negative points, boxes and last answer, the latter four as ones and zeros, and returns ``(1, channels, [z,] y, x)``,
    whose first channel is above 0 in the target. The model has a copy of it, and its weights are part of the version.

    accepts: the prompts that it takes: "point", "box2d" and, if dims is 3, "box3d". name: what results call it, of
    letters, digits, underscores, hyphens and dots; empty: the name of the function or of the network's class. title:
    what people call it in tables and reports; empty: its name.

    Raises:
        IntraBenchError: it cannot be called, or it accepts other prompts; such a model needs a class of its own.
    """
    if not callable(function) or isinstance(function, type):
        raise IntraBenchError(f"wrap takes a function or a network, not {kind(function)}; give one of these")
    if dims not in TAKES:
        raise IntraBenchError(f"dims={dims!r}, expected 2 for a model of slices, or 3 for a model of volumes")
    taken = frozenset(accepts)
    if not taken or taken - TAKES[dims]:
        raise IntraBenchError(
            f"accepts={sorted(taken)} with dims={dims}, expected some of {', '.join(sorted(TAKES[dims]))}; "
            "for other prompts write a class, see docs/adding_a_model.md"
        )
    if problem := ModelCard(title).problem:
        raise IntraBenchError(f"title={title!r}: {problem}")
    named = function if hasattr(function, "__name__") else type(function)
    called = name or re.sub(r"[^\w.-]", "", named.__name__)
    given: Any = function
    network = copy.deepcopy(given).eval() if is_network(given) else None
    body = {
        "__doc__": (getattr(function, "__doc__", "") or "").strip() or f"{called}, wrapped.",
        "__module__": named.__module__,
        "name": called,
        "title": title,
        "version": _weights_of(network) if network else "1",
        "accepts": taken,
        "devices": ("cpu", "cuda") if network else ("cpu",),
        "network": network,
        "function": None if network else staticmethod(function),
    }
    base: Any = _Slices if dims == 2 else _Volumes
    made: Model = dataclass(eq=False)(type(base)("Wrapped", (base,), body))()
    return made


def is_network(value: Any) -> bool:
    """Whether it is a network of torch, which is not imported for that."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.nn.Module)


def _weights_of(network: Any) -> str:
    """A hash of its parameters and buffers."""
    digest = hashlib.sha256()
    for name, tensor in network.state_dict().items():
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.detach().cpu().flatten().view(sys.modules["torch"].uint8).numpy().tobytes())
    return f"weights-{digest.hexdigest()[:8]}"


def _ask(network: Any, device: str, image: Floats32, points: Array, boxes: Array, previous: Bools) -> Bools:
    """What a network of torch answers."""
    import torch

    channels = np.zeros((5, *image.shape), np.float32)
    channels[0], channels[4] = image, previous
    for *place, label in points.tolist():
        channels[1 if label else 2][tuple(place)] = 1
    for low, high in boxes.reshape(-1, 2, image.ndim).tolist():
        channels[3][tuple(map(slice, low, high))] = 1
    with torch.inference_mode():
        found = network.to(device)(torch.from_numpy(channels[None]).to(device))
    shape = tuple(found.shape) if isinstance(found, torch.Tensor) else ()
    if (*shape[:1], *shape[2:]) != (1, *image.shape):
        wanted = f"(1, channels, {str(image.shape)[1:]}"
        raise WrongType(f"the network returned {shape or kind(found)}, expected a tensor {wanted}")
    answer: Bools = (found[0, 0] > 0).cpu().numpy()
    return answer


class _Wrapped(Model):
    """What both kinds have in common."""

    encodes = False
    network: ClassVar[Any]
    function: ClassVar[Any]

    @property
    def feeds_back(self) -> bool:
        """It gets its last answer."""
        return True

    def answer(self, image: Floats32, points: Array, boxes: Array, previous: Bools) -> Bools:
        """The answer, checked."""
        if self.network is not None:
            return _ask(self.network, self.runtime.device, image, points, boxes, previous)
        found: Any = self.function(image, points, boxes, previous)
        if not isinstance(found, np.ndarray) or found.dtype != bool or found.shape != image.shape:
            told = f"an array {found.shape} of {found.dtype}" if isinstance(found, np.ndarray) else kind(found)
            raise WrongType(f"{self.name} returned {told}, expected a boolean array {image.shape}")
        answer: Bools = found
        return answer


class _Slices(_Wrapped, SliceModel):
    """A function of slices."""

    dims = 2

    def slice_images(self, volume: Volume) -> Callable[[int], NDArray[Any]]:
        """The values of the scan."""
        return lambda z: volume.array[z]

    def encode(self, images: Sequence[NDArray[Any]]) -> list[Floats32]:
        """The slices themselves."""
        return [np.asarray(image, np.float32) for image in images]

    def decode(self, items: Sequence[SliceItem]) -> list[SliceResult]:
        """One answer after the other."""
        return [self._decoded(item) for item in items]

    def _decoded(self, item: SliceItem) -> SliceResult:
        boxes = np.array([item.box] if item.box else [], np.int64).reshape(-1, 4)
        previous = np.zeros(item.shape, bool) if item.previous is None else np.asarray(item.previous) > 0.5
        found = self.answer(item.embedding, item.points, boxes, previous)
        return SliceResult(found, found.astype(np.float32) if item.logits else None)


class _Volumes(_Wrapped, VolumeModel):
    """A function of volumes."""

    dims = 3

    def segment_one(self, volume: Volume, request: Request) -> Answer:
        """Answer for the whole volume."""
        prompts = [turn.prompts for turn in request.given]
        points = np.vstack([one.points for one in prompts])
        flat = counting_boxes2d(prompts)[0]
        boxes = np.column_stack([flat[:, 0], flat[:, 1:3], flat[:, 0] + 1, flat[:, 3:]])
        solid = [one.box3d for one in prompts if one.box3d is not None]
        rows = np.vstack([boxes, *solid]).astype(np.int64)
        image = np.asarray(volume.array, np.float32)
        return Answer(Mask.of(self.answer(image, points, rows, request.mask.to_array(volume.shape))))
