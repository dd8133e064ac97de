"""What people call a model, for those who read no rows; `intrabench.results.labels.MODEL` says it of rows."""

from __future__ import annotations

from intrabench.models.weights.registry import BY_HAND, RANDOM
from intrabench.results.model_cards import title_of

OTHER_WEIGHTS = {RANDOM: "{} (random weights)", BY_HAND: "{} (weights {})"}
"""How weights other than the registered ones are said: after the name, some with the first digits of their hash."""
DIGITS = 8


def model_label(model: str, weights: str, weights_sha256: str) -> str:
    """Its title or spec; weights other than the registered ones belong to it, ``sam (random weights)``."""
    return OTHER_WEIGHTS.get(weights, "{}").format(title_of(model), weights_sha256[:DIGITS])
