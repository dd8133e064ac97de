"""Prompts of different lengths in one batch: points that only pad are hidden from the decoder's attention.

SAM's networks have an embedding for the label -1, "not a point", but their decoder looks at it as at any other token.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

from torch import Tensor
from torch.nn import functional

PADDING = -1
"""The label of points that only pad."""


@contextmanager
def hiding(transformer: Any, hidden: Tensor) -> Iterator[None]:
    """Inside, `transformer`, that of a decoder of SAM or SAM 2, does not look at some tokens.

    hidden: ``(n, k)``, True for those of the last k tokens of each prompt that are hidden.
    """
    with ExitStack() as stack:
        for layer in transformer.layers:
            for attention in (layer.self_attn, layer.cross_attn_image_to_token):
                attention.forward = partial(_attend, attention, ~hidden)
                stack.callback(delattr, attention, "forward")
        yield


def _attend(attention: Any, seen: Tensor, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """As the attention's own `forward`, but to the tokens that are seen; q, k, v: ``(n, token, channel)``."""
    seen = functional.pad(seen, (k.shape[1] - seen.shape[1], 0), value=True)[:, None, None]
    q, k, v = (
        projected(tokens).unflatten(-1, (attention.num_heads, -1)).transpose(1, 2)
        for projected, tokens in ((attention.q_proj, q), (attention.k_proj, k), (attention.v_proj, v))
    )
    found = functional.scaled_dot_product_attention(q, k, v, attn_mask=seen)
    mixed: Tensor = attention.out_proj(found.transpose(1, 2).flatten(2))
    return mixed
