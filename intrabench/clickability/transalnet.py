"""TranSalNet, the saliency model that RClicks compared with its own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from intrabench.clickability.network import NetworkClickability
from intrabench.clickability.saliency import Saliency
from intrabench.datasets.convert.photo_size import resize_photo
from intrabench.models.weights import registry as weights
from intrabench.specs.specs import Reach, switch


@dataclass(frozen=True, eq=False)
class TranSalNetSaliency(NetworkClickability, Saliency):
    """Where people look, learnt from photographs (Lou et al., Neurocomputing 2022): "SI" and, with grey=true, "SM".

    As in the test of its authors, the picture is resized and padded to 288 x 384 pixels in the order blue, green, red.
    weights: a file of yours, instead of the published one in the folder of weights. device: where the network runs.
    """

    name = "transalnet"

    weights: Annotated[str, Reach("read")] = switch("")
    device: Annotated[str, Reach()] = switch("cpu")

    def saliency(self, crop: NDArray[np.uint8]) -> NDArray[np.floating]:
        """The network's answer, from 0 to 1.

        Raises:
            IntraBenchError: the weights are missing, damaged or do not fit.
        """
        import torch
        from torch.nn import functional

        from intrabench.models.networks.transalnet import SHAPE

        (rows, columns), (height, width) = crop.shape[:2], SHAPE
        tall = rows / height > columns / width
        inner = (height, max(1, columns * height // rows)) if tall else (max(1, rows * width // columns), width)
        start = [(side - part) // 2 for side, part in zip(SHAPE, inner, strict=True)]
        window = tuple(slice(first, first + part) for first, part in zip(start, inner, strict=True))
        square = np.ones((*SHAPE, 3), np.uint8)  # as there, not 0
        square[window] = resize_photo(np.ascontiguousarray(crop[..., ::-1]), inner)
        pictures = torch.from_numpy(square.astype(np.float32) / 255).permute(2, 0, 1)[None]
        with torch.inference_mode():
            answer = self.network(pictures.to(self.device)).cpu()[:, :, window[0], window[1]]
            found = functional.interpolate(answer, (rows, columns), mode="bilinear", align_corners=False)
        return np.asarray(found[0, 0].numpy())

    @cached_property
    def network(self) -> Any:
        """The network with its weights, loaded on first use.

        Raises:
            IntraBenchError: torchvision or the file is missing, or the file does not fit this network exactly.
        """
        import torch

        from intrabench.models.installing import how_to_install, importing
        from intrabench.models.networks.transalnet import TranSalNet
        from intrabench.models.parts.checkpoints import load, read, unwrapped

        with importing(f"{self.name} needs", how_to_install("sam")), torch.random.fork_rng(devices=[]):
            network = TranSalNet()
        load(network, unwrapped(read(self.file), weights.get(self.name)), self.file, self.name, "TranSalNet_Res.pth")
        return network.eval().requires_grad_(False).to(self.device)
