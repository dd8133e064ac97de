"""Predictors, which know an image and their last prediction."""

from __future__ import annotations

from typing import Any

import torch

from isegm.inference.zoom import ZoomIn


def get_predictor(
    net: Any,
    brs_mode: str,
    device: Any,
    prob_thresh: float = 0.49,
    with_flip: bool = True,
    zoom_in_params: Any = None,
    predictor_params: Any = None,
) -> Any:
    if brs_mode != "NoBRS":
        raise NotImplementedError
    zoom = None if zoom_in_params is None else ZoomIn(**zoom_in_params)
    return Predictor(net, device, with_flip, zoom, **(predictor_params or {}))


class Predictor:
    """One image at a time."""

    def __init__(
        self, net: Any, device: Any, with_flip: bool, zoom_in: Any, net_clicks_limit: Any = None, **_: Any
    ) -> None:
        self.stages = net[1] if isinstance(net, tuple) else [net]
        self.device, self.with_flip, self.zoom_in, self.limit = device, with_flip, zoom_in, net_clicks_limit

    def set_input_image(self, image: Any) -> None:
        if self.zoom_in is not None:
            self.zoom_in.reset()
        self.original_image = torch.from_numpy(image).permute(2, 0, 1)[None].float().div(255).to(self.device)
        self.prev_prediction = torch.zeros_like(self.original_image[:, :1])

    def get_prediction(self, clicker: Any, prev_mask: Any = None) -> Any:
        print("predicting")  # as some do
        clicks = clicker.get_clicks()
        net = self.stages[min(len(clicks), len(self.stages)) - 1]
        given = torch.cat([self.original_image, self.prev_prediction if prev_mask is None else prev_mask], 1)
        if self.zoom_in is not None:
            given, clicks = self.zoom_in.transform(given, clicks)
        probability = torch.sigmoid(net(given, self.points(clicks))["instances"])
        if self.with_flip:
            width = given.shape[3]
            mirrored = self.points(clicks, width)
            other = torch.sigmoid(net(given.flip(3), mirrored)["instances"])
            probability = (probability + other.flip(3)) / 2
        if self.zoom_in is not None:
            probability = self.zoom_in.inverse(probability)
        self.prev_prediction = probability
        return probability.cpu().numpy()[0, 0]

    def points(self, clicks: Any, width: int | None = None) -> Any:
        """Positive, then negative clicks ``y, x, number``, each list filled up with -1."""
        kinds: list[list[Any]] = []
        for label in (True, False):
            chosen = [one.coords_and_indx for one in clicks[: self.limit] if one.is_positive is label]
            kinds.append([(y, x if width is None else width - 1 - x, number) for y, x, number in chosen])
        longest = max(1, *map(len, kinds))
        return torch.tensor([[row for kind in kinds for row in kind + [(-1, -1, -1)] * (longest - len(kind))]])
