"""What the prompts for one target of a joint session tell about the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from intrabench.prompts import Prompts
from intrabench.turns import Turn


def negatives(turns: Sequence[Turn]) -> Prompts:
    """The positive points and scribbles of turns for other targets, as negative ones; boxes say nothing."""
    all_prompts = [turn.prompts for turn in turns]
    points = [prompts.points[prompts.points[:, 3] == 1] for prompts in all_prompts]
    clicked = [np.asarray(prompts.clicked)[prompts.points[:, 3] == 1] for prompts in all_prompts]
    strokes = tuple(replace(one, label=0) for prompts in all_prompts for one in prompts.scribbles if one.label == 1)
    if not points:
        return Prompts()
    return Prompts(np.vstack(points) * np.array([1, 1, 1, 0]), scribbles=strokes, clicked=np.concatenate(clicked))


def on_slices(prompts: Prompts, slices: frozenset[int]) -> Prompts:
    """The points and scribbles on some axial slices."""
    kept = np.isin(prompts.points[:, 0], list(slices))
    strokes = [replace(one, points=one.points[np.isin(one.points[:, 0], list(slices))]) for one in prompts.scribbles]
    return Prompts(
        prompts.points[kept],
        scribbles=tuple(stroke for stroke in strokes if len(stroke.points)),
        clicked=np.asarray(prompts.clicked)[kept],
    )


def together(turn: Turn, more: Prompts) -> Turn:
    """A turn with further points and scribbles, after its own."""
    prompts = turn.prompts
    both = replace(
        prompts,
        points=np.vstack([prompts.points, more.points]),
        clicked=np.concatenate([np.asarray(prompts.clicked), np.asarray(more.clicked)]),
        scribbles=(*prompts.scribbles, *more.scribbles),
    )
    return replace(turn, prompts=both)
