"""What people call a model, for those who read no rows; `intrabench.results.labels.MODEL` is the same of rows."""

from __future__ import annotations

from intrabench.models.weights.registry import BY_HAND, RANDOM


def model_label(model: str, weights: str, weights_sha256: str) -> str:
    """Its name; weights other than the registered ones belong to it, ``sam (random weights)``."""
    kinds = {RANDOM: f"{model} (random weights)", BY_HAND: f"{model} (weights {weights_sha256[:8]})"}
    return kinds.get(weights, model)
