"""Networks of a few weights, a ``--plugin`` for tests: slices, points, and logits that are fed back."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from intrabench.mask import Floats32
from intrabench.models.parts.network_model import NetworkModel
from intrabench.models.parts.slice_model import SliceItem, SliceModel, SliceResult
from intrabench.volume import Volume


class Net(torch.nn.Module):
    """An encoder of slices, and a decoder of embeddings and points."""

    def __init__(self) -> None:
        super().__init__()
        self.image_encoder = torch.nn.Conv2d(1, 2, 3, padding=1)
        self.decoder = torch.nn.Conv2d(3, 1, 9, padding=4)


@dataclass(eq=False)
class Tiny(NetworkModel, SliceModel):
    """What it answers depends on each point and on its own last answer."""

    name = "tiny"
    accepts = frozenset({"point"})

    @property
    def weights(self) -> str:
        """An entry whose file nobody has here."""
        return "sam_vit_b"

    @property
    def feeds_back(self) -> bool:
        """It does."""
        return True

    def build(self) -> Net:
        """The network."""
        return Net()

    def slice_images(self, volume: Volume) -> Callable[[int], NDArray[Any]]:
        """About from -1 to 1."""
        return lambda z: volume.array[z].astype(np.float32) / 1000

    def encode(self, images: Sequence[NDArray[Any]]) -> Sequence[Floats32]:
        """Two channels of the slice's own size."""
        with self.computing():
            return list(self.network.image_encoder(torch.from_numpy(np.stack(images)[:, None])).numpy())

    def decode(self, items: Sequence[SliceItem]) -> Sequence[SliceResult]:
        """Half of the last logits live on."""
        clicks = np.zeros((len(items), 1, *items[0].shape), dtype=np.float32)
        for clicked, item in zip(clicks, items, strict=True):
            for y, x, label in item.points:
                clicked[0, y, x] += 40 * label - 20
        with self.computing():
            given = torch.from_numpy(np.concatenate([np.stack([item.embedding for item in items]), clicks], axis=1))
            logits = self.network.decoder(given)[:, 0].float().numpy()
        before = [0 if item.previous is None else item.previous for item in items]
        return [SliceResult(new + old / 2 > 0, new + old / 2) for new, old in zip(logits, before, strict=True)]


@dataclass(eq=False)
class Other(Tiny):
    """The same with other weights."""

    name = "other"

    @property
    def weights(self) -> str:
        """Another entry whose file nobody has here."""
        return "medsam"


@dataclass(eq=False)
class Mortal(Tiny):
    """Feeds back or not, and is killed once: at that correction whose number is in a file named `mortal`."""

    name = "mortal"
    remembers: bool = True

    @property
    def feeds_back(self) -> bool:
        """As the parameter says."""
        return self.remembers

    def decode(self, items: Sequence[SliceItem]) -> Sequence[SliceResult]:
        """Counts down."""
        countdown = Path("mortal")
        if countdown.exists() and items[0].previous is not None:
            left = int(countdown.read_text()) - 1
            countdown.write_text(str(left)) if left else countdown.unlink()
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)
        return super().decode(items)
