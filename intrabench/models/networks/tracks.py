"""What a network has to do so that an object is followed from slice to slice, and what it is asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, Protocol

import torch
from torch import Tensor

LIMIT = 32.0
"""Logits that are fed back lie within plus and minus this, as the official predictors clamp them."""

Corrections = Literal["conditioning", "overwritten", "library"]
"""conditioning: a corrected slice is one at which all others look from then on, as in the authors' training
(``add_all_frames_to_correct_as_cond``). overwritten: corrections are tracked over, and those on slices of the first
round are dropped, as the authors' predictor is built without that setting. library: as the session of transformers
5.24 does: slices of the first round are decoded anew from their prompts alone, others without their own last logits and
then tracked over."""


class SlicePrompt(NamedTuple):
    """All prompts that count on one slice.

    points: ``(k, 2)``, x and y in pixels of the image as the network sees it, k at least 1. labels: ``(k,)`` as in
    `Sam2Network.decode`, but without padding: one point gives the best of three masks, more give a single one.
    """

    points: Tensor
    labels: Tensor


class Asked(NamedTuple):
    """What one slice is decoded from.

    initial: nothing but prompts, no other slice. prompt: None if it is only tracked. previous: its own last logits,
    ``(1, 1, h, w)``. mask: its mask ``(1, 1, side, side)``, of 0 and 1, which takes the place of prompts.
    """

    initial: bool = False
    prompt: SlicePrompt | None = None
    previous: Tensor | None = None
    mask: Tensor | None = None


Outcomes = Mapping[int, Any]
"""Of slices, under the names by which the network looks back at them."""


class Tracks(Protocol):
    """A network that follows an object from slice to slice."""

    @property
    def device(self) -> torch.device:
        """Where it is."""

    def maps(self, embedding: Tensor) -> Any:
        """What an embedding ``(LENGTH,)`` consists of, in its own form, on its device."""

    def track(
        self, maps: Any, z: int, frames: int, seen: tuple[Outcomes, Outcomes], reverse: bool, asked: Asked
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Logits ``(1, h, w)``, score and pointer of slice z; seen: conditioning and tracked slices."""

    def remember(self, maps: Any, logits: Tensor, score: Tensor, prompted: bool) -> tuple[Tensor, Any]:
        """What other slices look back at, and the positions in it; logits: ``(1, h, w)``."""
