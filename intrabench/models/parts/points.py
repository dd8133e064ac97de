"""Boxes as points, as SAM 2 takes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def as_points(
    points: tuple[torch.Tensor, torch.Tensor] | None, boxes: torch.Tensor | None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Points ``(n, k, 2)`` with labels ``(n, k)`` and boxes ``(n, 4)``, all as points: corners have labels 2 and 3."""
    import torch

    parts = [] if points is None else [points]
    if boxes is not None:
        labels = torch.tensor([2, 3], device=boxes.device).expand(len(boxes), 2)
        parts.insert(0, (boxes.reshape(-1, 2, 2), labels))
    coordinates, labels = (torch.cat(part, dim=1) for part in zip(*parts, strict=True))
    return coordinates, labels
