"""VISTA3D's wrapper against MONAI's own transforms and inferers, over several rounds; what is encoded and when."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from intrabench.models.base import Request, Runtime
from intrabench.models.parts.random_weights import fill_randomly
from intrabench.models.parts.vista3d_classes import class_of, name_of, supported
from intrabench.models.vista3d import VISTA3D
from intrabench.prompts import Click, Prompts, Turn, points
from intrabench.volume import Volume
from tests.models.stub import answers

SIDE = 32
"""Of windows in these tests."""
CLICKS = ((14, 30, 25, 1), (9, 50, 12, 0), (20, 12, 40, 1), (4, 40, 44, 1))
"""One a round, ``z, y, x, label``."""


@pytest.fixture(scope="module", autouse=True)
def _imports() -> None:
    """Imported now: collecting tests is quick without torch."""
    pytest.importorskip("monai")
    global torch, monai, networks, transforms, point_based_window_inferer
    import monai
    import torch
    from monai import transforms
    from monai.apps.vista3d.inferer import point_based_window_inferer

    from intrabench.models.networks import vista3d as networks


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> VISTA3D:
    """A network with few channels and small windows; ``model.encoded`` counts what its encoder saw."""
    monkeypatch.setattr(networks, "WINDOW", (SIDE,) * 3)
    network = monai.networks.nets.vista3d132(encoder_embed_dim=8).eval()
    fill_randomly(network)
    encoder, seen = network.image_encoder.forward, []
    network.image_encoder.forward = lambda *args, **kwargs: seen.append(args) or encoder(*args, **kwargs)
    one = VISTA3D()
    one.network, one.encoded = network, seen
    return one


def scan(shape: Sequence[int] = (26, 60, 56), spacing: Sequence[float] = (2.5, 1.2, 0.75)) -> Volume:
    """Noise with something brighter in it, and air around."""
    values = np.random.default_rng(0).normal(0, 300, shape).astype(np.float32)
    values[8:20, 20:50, 10:40] += 500
    values[:2], values[:, :5] = -1000, -1000
    return Volume.from_canonical(values, spacing, modality="CT") if False else Volume.from_canonical(values, spacing)
