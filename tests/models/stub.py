"""A model of the SAM family without a network: fast, and its answers show what it was asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from intrabench.models.base import Answer, Request, Runtime
from intrabench.models.parts.recipe import Policy, Recipe
from intrabench.models.parts.sam_family import SamFamily
from intrabench.models.parts.slice_model import SliceItem
from intrabench.prompts import Prompts
from intrabench.turns import Turn

if TYPE_CHECKING:  # imported where it is needed: collecting tests is quick without torch
    import torch

SIDE = 32
NO_POINTS = np.zeros((0, 3), dtype=np.int64)


@dataclass(eq=False)
class Stub(SamFamily):
    """Embeddings are small images; mask n of three is that plus 10 * n, and the last one seems best.

    Points add the sum of their labels, boxes their width, masks themselves.
    """

    name = "stub"
    side = SIDE
    recipes = {
        "official": Recipe("none", "longest", multimask="first_click", feedback="logits"),
        "radioactive": Recipe("none", "squash", "best", "sigmoid", threshold=0.5, predicts_all=True),
    }

    asked: list[dict[str, Any]] = field(default_factory=list, init=False)
    encoded: list[int] = field(default_factory=list, init=False)

    @property
    def weights(self) -> None:
        """None are needed."""

    def build(self) -> torch.nn.Module:
        """A network that does nothing."""
        import torch

        return torch.nn.Identity()

    def encode(self, images: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
        """The upper left corner of the prepared slices."""
        self.encoded.append(len(images))
        return [self.prepare(image)[:1, :8, :8] for image in images]

    def decoded(self, embeddings: Any, points: Any, boxes: Any, masks: Any, multimask: bool) -> Any:
        """Note the prompts and answer from them."""
        import torch

        self.asked.append(
            {"n": len(embeddings), "points": points, "boxes": boxes, "masks": masks, "multimask": multimask}
        )
        low = embeddings.clone()
        if points is not None:
            low = low + points[1].sum(dim=1)[:, None, None, None]
        if boxes is not None:
            low = low + (boxes[:, 2] - boxes[:, 0])[:, None, None, None]
        if masks is not None:
            low = low + masks
        count = 3 if multimask else 1
        several = torch.cat([low + 10 * n for n in range(count)], dim=1)
        return several, torch.arange(float(count)).expand(len(low), count)


def stub(batch: str = "fixed", embeddings: Any = None, policy: Policy = "official", **steps: Any) -> Stub:
    """A stub with a runtime."""
    model = Stub(policy=policy, **steps)
    model.runtime = Runtime(batch=batch, embeddings=embeddings)
    return model


def item(points: Sequence[Sequence[int]] = (), box: Any = None, previous: Any = None, **others: Any) -> SliceItem:
    """A slice of zeros with rows ``y, x, label`` and a box ``y0, x0, y1, x1``."""
    given = {"embedding": np.zeros((1, 8, 8), dtype=np.float32), "shape": (SIDE, SIDE)} | others
    rows = np.array(points, dtype=np.int64).reshape(-1, 3)
    return SliceItem(points=rows, box=box, previous=previous, **given)


def request(name: str, *turns: Prompts | Turn, **others: Any) -> Request:
    """A request of so many turns."""
    return Request(name, tuple(turn if isinstance(turn, Turn) else Turn(turn) for turn in turns), **others)


def answers(opened: Any, requests: Sequence[Request]) -> list[Answer]:
    """The answers to requests of which none may fail."""
    given = opened.segment(requests)
    assert all(isinstance(answer, Answer) for answer in given), given
    return given  # type: ignore[no-any-return]
