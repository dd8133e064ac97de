"""Clicks in their order, and the usual simulated user."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.ndimage import distance_transform_edt


class Click:
    """Where somebody clicked, ``(y, x)``, and as which of the clicks."""

    def __init__(self, is_positive: bool, coords: tuple[float, float], indx: int | None = None) -> None:
        self.is_positive, self.coords, self.indx = is_positive, coords, indx

    @property
    def coords_and_indx(self) -> tuple[Any, ...]:
        return (*self.coords, self.indx)


class Clicker:
    """All clicks so far. With the truth it clicks by itself: where the larger error is deepest."""

    def __init__(self, gt_mask: Any = None) -> None:
        self.truth, self.clicks_list = gt_mask, list[Click]()
        self.click_indx_offset = 0
        self.open = None if gt_mask is None else np.ones(gt_mask.shape, bool)

    def add_click(self, click: Click) -> None:
        click.indx = len(self.clicks_list)
        self.clicks_list.append(click)

    def get_clicks(self, limit: int | None = None) -> list[Click]:
        return self.clicks_list[:limit]

    def make_next_click(self, mask: Any) -> None:
        assert self.open is not None
        missed, wrong = (
            distance_transform_edt(np.pad(error, 1))[1:-1, 1:-1] * self.open
            for error in (self.truth & ~mask, mask & ~self.truth)
        )
        positive = bool(missed.max() > wrong.max())
        depth = missed if positive else wrong
        y, x = np.unravel_index(int(depth.argmax()), depth.shape)
        self.open[y, x] = False
        self.add_click(Click(positive, (int(y), int(x))))
