"""The published clickability model of RClicks, or the same network with other weights."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from annotated_types import Interval
from numpy.typing import NDArray

from intrabench.clickability.base import Floats, Image, Spacing
from intrabench.clickability.network import NetworkClickability
from intrabench.errors import IntraBenchError
from intrabench.files.documents import Unreadable, read_json
from intrabench.mask import Bools
from intrabench.models.weights import registry as weights
from intrabench.specs.specs import Reach, switch


@dataclass(eq=False)
class RClicks(NetworkClickability):
    """Where people click, learnt from 475,544 clicks on natural images (Antonov et al., NeurIPS 2024).

    Trained on photographs only: its authors expect other clicks on medical images. weights: a file that
    `intrabench.clickability.training` wrote, instead of the published one in the folder of weights. size: rows and
    columns that the network sees, if not those that the training noted beside its file, or the published 416.
    antialias: resize as torchvision does from 0.17 on; RClicks pins 0.16. device: where the
    network runs, such as cuda.
    """

    name = "rclicks"
    looks = True

    weights: Annotated[str, Reach("read")] = switch("")
    device: Annotated[str, Reach()] = switch("cpu")
    size: Annotated[int, Interval(ge=32, le=4096)] | None = switch(None)
    antialias: bool = switch(False)

    @classmethod
    def default_words(cls) -> dict[str, str]:
        """Where the size comes from."""
        return {"size": "that of the training, 416 of the published file"}

    def probability(self, image: Image, target: Bools, error: Bools, spacing_mm: Spacing = (1.0, 1.0)) -> Floats:
        """The likelihood of a click ``(y, x)``, from 0 to 1; it is neither normalised nor 0 outside of the error.

        image: RGB ``(y, x, 3)``; target and error: ``(y, x)``. The network sees pixels without their spacing.

        Raises:
            IntraBenchError: the weights are missing, damaged or do not fit.
            FloatingPointError: the network's answer has values that are not finite.
            ValueError: the shapes do not fit together.
        """
        import torch

        from intrabench.clickability.letterbox import Letterbox, network_input

        if image is None:
            raise ValueError("rclicks needs the image")
        images, masks = network_input(image, target, error, self.side)
        box = Letterbox((image.shape[0], image.shape[1]), self.side)
        with torch.inference_mode():
            square = self.network(images[None].to(self.device), masks[None].to(self.device))[0, 0].cpu()
            found: NDArray[np.float32] = box.undo(square, self.antialias).numpy()
        if not np.isfinite(found).all():
            raise FloatingPointError(f"the network with the weights {self.file} answered with NaN or infinite values")
        return found

    @property
    def other_weights(self) -> str:
        """The beginning of the checkpoint's sha256 unless it is the published file, and the size unless it is 416.

        Raises:
            IntraBenchError: the file is missing; the message says what to do.
        """
        from intrabench.clickability.letterbox import SIZE

        digest = super().other_weights
        return digest if self.side == SIZE else f"{digest}at{self.side}"

    @cached_property
    def side(self) -> int:
        """Rows and columns of the square that the network sees.

        Raises:
            IntraBenchError: the record of the training is damaged.
        """
        from intrabench.clickability.letterbox import SIZE
        from intrabench.clickability.training import HISTORY

        note = self.file.with_name(HISTORY)
        if self.size is not None or not self.weights or not note.exists():
            return self.size or SIZE
        try:
            return int(read_json(note, {"settings": dict[str, Any]})["settings"]["size"])
        except (Unreadable, ValueError, KeyError, TypeError, OverflowError) as error:
            raise IntraBenchError(f"{note} is damaged; restore it or give rclicks:weights=PATH,size=PIXELS") from error

    @cached_property
    def network(self) -> Any:
        """The network with its weights, loaded on first use.

        Raises:
            IntraBenchError: the file is missing, damaged, or does not fit this network exactly.
        """
        import torch

        from intrabench.models.networks.segnext import SegNeXtClickability
        from intrabench.models.parts.checkpoints import load, read, unwrapped

        with torch.random.fork_rng(devices=[]):  # initial weights are overwritten: keep the global random state
            network = SegNeXtClickability()
        state = unwrapped(read(self.file), weights.get(self.name))
        load(network, state, self.file, self.name, "the published or a trained one")
        return network.eval().requires_grad_(False).to(self.device)
