"""Training examples as a network sees them, and how close its maps come to the true ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.utils.data import Dataset

from intrabench.clickability.click_map import SIGMA, SoftMask, click_map
from intrabench.clickability.clicked_images import Example
from intrabench.clickability.letterbox import SIZE, Letterbox, network_input
from intrabench.randomness import stream


@dataclass(frozen=True)
class Prepared(Dataset[tuple[Tensor, Tensor, Tensor]]):
    """Examples as network input: image ``(3, size, size)``, masks ``(2, ...)`` and click map ``(1, ...)``.

    flips: name of the random stream that mirrors half of the examples left to right; empty: no flips.
    """

    examples: Sequence[Example]
    size: int = SIZE
    sigma: float = SIGMA
    soft_mask: SoftMask = "code"
    flips: tuple[str | int, ...] = ()

    def __len__(self) -> int:
        return len(self.examples)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor, Tensor]:
        example = self.examples[index]
        image, target, error = example.image, example.target, example.error
        clicked = click_map(example.clicks, error, self.sigma, self.soft_mask)
        if self.flips and stream(*self.flips, index).random() < 0.5:
            image, target, error, clicked = image[:, ::-1], target[:, ::-1], error[:, ::-1], clicked[:, ::-1]
        image_in, masks_in = network_input(image, target, error, self.size)
        box = Letterbox((error.shape[0], error.shape[1]), self.size)
        return image_in, masks_in, box.put(clicked[..., None])


def kld(predicted: Tensor, true: Tensor) -> Tensor:
    """Kullback-Leibler divergence of maps ``(batch, 1, y, x)``, each divided by its sum, averaged over the batch.

    This is the training loss of RClicks (scripts/train_click_model.py) with its constants against division by zero.
    """
    p, q = (maps / (1e-9 + maps.sum(dim=(1, 2, 3), keepdim=True)) for maps in (predicted, true))
    return (q * torch.log(1e-9 + q / (1e-9 + p))).sum(dim=(1, 2, 3)).mean()


def similarity(predicted: Tensor, true: Tensor) -> Tensor:
    """SIM of maps ``(batch, 1, y, x)`` as ``(batch,)``: the overlap of two distributions, from 0 to 1.

    Each map is scaled to the range 0 to 1 and divided by its sum, as RClicks does to choose its best epoch.
    """
    p, q = (_distribution(maps) for maps in (predicted, true))
    return torch.minimum(p, q).sum(dim=(1, 2, 3))


def _distribution(maps: Tensor) -> Tensor:
    """The map scaled to 0 to 1 and divided by its sum plus 1e-7, in one division; 0 everywhere for a constant map."""
    maps = maps - maps.amin(dim=(1, 2, 3), keepdim=True)
    return maps / (maps.sum(dim=(1, 2, 3), keepdim=True) + 1e-7 * maps.amax(dim=(1, 2, 3), keepdim=True) + 1e-30)
