"""The video predictor of the package sam2, as tests compare with it: small, on the CPU, with a model's weights."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import ndimage

from intrabench.models.base import Answer, Request
from intrabench.models.sam2_video import SAM2Frames
from intrabench.prompts import Prompts
from intrabench.turns import Turn
from tests.models.stub import answers

if TYPE_CHECKING:  # imported where it is needed: collecting tests is quick without torch
    import torch

SIDE = 128
SHAPE = (7, 64, 128)


def movie() -> np.ndarray:
    """A bright disc that moves and grows, over noise."""
    y, x = np.mgrid[: SHAPE[1], : SHAPE[2]]
    noise = 60 * np.random.default_rng(0).random(SHAPE)
    discs = [(y - 30) ** 2 + (x - 50 - 4 * z) ** 2 < (10 + z) ** 2 for z in range(SHAPE[0])]
    return (noise + 150 * np.stack(discs)).astype(np.uint8)


def predictor(model: SAM2Frames, config: str = "configs/sam2.1/sam2.1_hiera_t.yaml") -> Any:
    """The package's own predictor, made by its own builder for images as the model's, with the model's weights."""
    import torch
    from hydra import initialize_config_module
    from hydra.core.global_hydra import GlobalHydra
    from sam2.build_sam import build_sam2_video_predictor

    side = f"++model.image_size={model.side}"
    GlobalHydra.instance().clear()
    with torch.random.fork_rng(devices=[]), initialize_config_module("sam2", version_base="1.2"):
        made = build_sam2_video_predictor(config, device="cpu", hydra_overrides_extra=[side])
    made.load_state_dict(model.network.state_dict())
    made.forward_image = once_each(made.forward_image)
    return made


def once_each(encode: Callable[[torch.Tensor], Any]) -> Callable[[torch.Tensor], Any]:
    """An encoder that remembers all images; the predictor's own remembers the last one, and takes half of the time."""
    known: dict[bytes, Any] = {}

    def encoded(images: torch.Tensor) -> Any:
        content = images.numpy().tobytes()
        if content not in known:
            known[content] = encode(images)
        return known[content]

    return encoded


@contextmanager
def extension() -> Iterator[None]:
    """The predictor's CUDA extension by scipy; that it is absent must not pass for a hole filled."""
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*Skipping the post-processing.*")
        patch.setattr("sam2.utils.misc.get_connected_components", _components)
        yield


def _components(background: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """What the predictor's CUDA extension gives: labels and areas of 8-connected parts."""
    import torch

    labels, _ = ndimage.label(background[0, 0].numpy(), np.ones((3, 3)))
    areas = np.where(labels > 0, np.bincount(labels.ravel())[labels], 0)
    return torch.from_numpy(labels)[None, None], torch.from_numpy(areas)[None, None]


def given(rows: Any = (), boxes: Any = (), afresh: bool = False) -> Turn:
    """A turn of points ``z, y, x, label`` and boxes ``z, y0, x0, y1, x1``."""
    return Turn(Prompts(points=rows or np.zeros((0, 4)), boxes2d=boxes or np.zeros((0, 5))), afresh=afresh)


def play(opened: Any, turns: list[Turn]) -> list[Answer]:
    """The answers to a session, round after round."""
    memory, found = None, []
    for count in range(1, len(turns) + 1):
        (answer,) = answers(opened, [Request("a", tuple(turns[:count]), memory=memory)])
        found.append(answer)
        memory = answer.memory
    return found
