"""Which networks of SAM 2 there are, and the size of their images: for what must not import torch."""

from __future__ import annotations

from typing import Literal

Size = Literal["t", "s", "b+", "l"]
Release = Literal["2.0", "2.1"]

SIDE = 1024
"""The side of an image as the network sees it; prompts are in these pixels."""
