"""What networks are tested in."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture
def inference() -> Iterator[None]:
    """No gradients are kept."""
    import torch

    with torch.inference_mode():
        yield
