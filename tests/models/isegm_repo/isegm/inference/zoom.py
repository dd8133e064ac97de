"""Zooming in to the last prediction, and averaging with the mirrored image."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch.nn.functional import interpolate

from isegm.inference.clicker import Click


class ZoomIn:
    """Crops around the last prediction and the positive clicks; the crop stays until it does not fit any more."""

    def __init__(self, target_size: Any = 400, skip_clicks: int = 1, expansion_ratio: float = 1.4) -> None:
        self.target_size, self.skip_clicks, self.ratio = target_size, skip_clicks, expansion_ratio
        self.reset()

    def reset(self) -> None:
        self.crop: tuple[int, int, int, int] | None = None
        self.last: Any = None

    def transform(self, image: Any, clicks: list[Click]) -> tuple[Any, list[Click]]:
        self.shape = image.shape[2:]
        if len(clicks) <= self.skip_clicks:
            return image, clicks
        wanted = self._around(clicks)
        if wanted is None and self.skip_clicks >= 0:
            return image, clicks
        wanted = wanted or (0, self.shape[0], 0, self.shape[1])
        if self.crop is None or not all(self._inside(click) for click in clicks if click.is_positive):
            self.crop = wanted
        y0, y1, x0, x1 = self.crop
        size = self.target_size
        if not isinstance(size, tuple):
            scale = size / max(y1 - y0, x1 - x0)
            size = round((y1 - y0) * scale), round((x1 - x0) * scale)
        scales = size[0] / (y1 - y0), size[1] / (x1 - x0)
        moved = [
            Click(one.is_positive, ((one.coords[0] - y0) * scales[0], (one.coords[1] - x0) * scales[1]), one.indx)
            for one in clicks
        ]
        return interpolate(image[:, :, y0:y1, x0:x1], size=size, mode="bilinear", align_corners=True), moved

    def inverse(self, probability: Any) -> Any:
        if self.crop is not None:
            y0, y1, x0, x1 = self.crop
            inner = interpolate(probability, size=(y1 - y0, x1 - x0), mode="bilinear", align_corners=True)
            probability = torch.zeros(1, 1, *self.shape, device=inner.device)
            probability[:, :, y0:y1, x0:x1] = inner
        self.last = probability.cpu().numpy()
        return probability

    def _inside(self, click: Click) -> bool:
        y0, y1, x0, x1 = self.crop or (0, 0, 0, 0)
        return y0 <= click.coords[0] < y1 and x0 <= click.coords[1] < x1

    def _around(self, clicks: list[Click]) -> tuple[int, int, int, int] | None:
        if self.last is None or not (self.last > 0.5).any():
            return None
        found = (self.last > 0.5)[0, 0]
        for click in clicks:
            if click.is_positive:
                found[int(click.coords[0]), int(click.coords[1])] = True
        bounds = []
        for axis, size in enumerate(found.shape):
            where = np.flatnonzero(found.any(axis=1 - axis))
            half = max(10, (where[-1] - where[0] + 1) * self.ratio / 2)
            middle = (where[0] + where[-1]) / 2
            bounds += [max(0, int(middle - half)), min(size, int(middle + half) + 1)]
        return tuple(bounds)  # type: ignore[return-value]
