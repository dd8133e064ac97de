"""Strokes as MedSAM2's script for RECIST lines gives them to the network.

Source: medsam2_infer_CT_lesion_npz_recist.py of https://github.com/bowang-lab/MedSAM2 (commit 332f30d), written from
what it does. Left out are three more ways to take points of a line that the script offers: ``from_recist_center``,
``from_recist_3`` (the centre and both ends) and ``from_box`` (a grid in the square).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from intrabench.mask import Array
from intrabench.prompts import Prompts

Line = Literal["points", "box"]
"""points: clicks on five random pixels of it (``from_recist_n``, the script's default). box: the square around
its middle that is as wide as the line is long (``propagate_with_box``)."""

POINTS = 5
SEED = 2024
"""Of the script's random numbers, which here begin anew with each line: it gives its first line the same points."""


def without_strokes(prompts: Prompts, line: Line, shape: tuple[int, int]) -> Prompts:
    """Prompts whose strokes became points and boxes, on slices of that shape ``(y, x)``.

    A stroke is divided into its slices, and its pixels there, in the order of rows, are the line. A line on the
    background is points in any case, and so is one that is too short for a square. Shorter lines than `POINTS` pixels
    give all of them; there the script fails.
    """
    points, boxes = [prompts.points], [prompts.boxes2d]
    for stroke in prompts.scribbles:
        for z in np.unique(stroke.points[:, 0]).tolist():
            pixels = np.unique(stroke.points[stroke.points[:, 0] == z, 1:], axis=0)
            square = _square(pixels, shape) if line == "box" and stroke.label == 1 else None
            if square is not None:
                boxes.append(np.array([(z, *square)]))
            else:
                chosen = _some_of(pixels)
                points.append(np.column_stack([np.full(len(chosen), z), chosen, np.full(len(chosen), stroke.label)]))
    return replace(prompts, points=np.vstack(points), boxes2d=np.vstack(boxes), scribbles=(), clicked=None, drawn=None)


def _some_of(pixels: Array) -> Array:
    """At most `POINTS` of the pixels, rows ``y, x``."""
    random = np.random.RandomState(SEED)
    chosen: Array = pixels[random.choice(len(pixels), min(POINTS, len(pixels)), replace=False)]
    return chosen


def _square(pixels: Array, shape: tuple[int, int]) -> tuple[int, int, int, int] | None:
    """The corners ``y0, x0, y1, x1`` of the square, kept within the slice; None if it has no area."""
    first, last = pixels[0], pixels[-1]
    y, x = ((first + last) // 2).tolist()
    half = int(np.linalg.norm(first - last) / 2)
    height, width = shape
    y0, x0, y1, x1 = max(0, y - half), max(0, x - half), min(height - 1, y + half), min(width - 1, x + half)
    return (y0, x0, y1, x1) if y0 < y1 and x0 < x1 else None
