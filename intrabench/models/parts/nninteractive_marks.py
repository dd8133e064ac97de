"""Prompts as the interactions of nnInteractive's session: boxes and drawings in voxels ``z, y, x``, one at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from intrabench.mask import Array
from intrabench.prompts import Prompts


@dataclass(frozen=True, eq=False)
class Mark:
    """One interaction as the package takes it: ``add_<kind>_interaction``.

    bbox: half-open, low and high of each of z, y, x (of one voxel for a point). image: what is drawn inside of it.
    by_hand: whether the hand gave it; else it was derived from what the hand gave.
    """

    kind: str
    label: int
    bbox: list[list[int]]
    image: NDArray[np.uint8] | None = None
    by_hand: bool = True

    def add(self, session: Any, predict: bool) -> Sequence[Sequence[int]] | None:
        """Hand it over to a session; the box that its prediction changed, if it made one, as `bbox`."""
        where: dict[str, Any] = {"bbox_coords": self.bbox}
        if self.kind == "point":
            where = {"coordinates": tuple(low for low, _ in self.bbox)}
        elif self.image is not None:
            where = {f"{self.kind}_image": self.image, "interaction_bbox": self.bbox}
        include = self.label == 1
        add = getattr(session, f"add_{self.kind}_interaction")
        changed: Sequence[Sequence[int]] | None = add(include_interaction=include, run_prediction=predict, **where)
        return changed


def marks(prompts: Prompts, shape: Sequence[int], thickness: Sequence[int]) -> list[Mark]:
    """The prompts of one turn in the order in which they are added; thickness of strokes per axis normal to them.

    Interactions fade as others follow, and the network looks around the last one. So derived prompts come first, then
    those of the hand, and among both the middle slice last.

    Raises:
        ValueError: a prompt lies outside the image of `shape`, is empty, or has a label other than 0 and 1.
    """
    found = [
        Mark("bbox", 1, _bbox([z, y0, x0], [z + 1, y1, x1], shape), by_hand=bool(drawn))
        for (z, y0, x0, y1, x1), drawn in zip(prompts.boxes2d, prompts.drawn, strict=True)  # type: ignore[arg-type]
    ]
    if prompts.box3d is not None:
        found.append(Mark("bbox", 1, _bbox(prompts.box3d[:3], prompts.box3d[3:], shape)))
    found += [_lasso(lasso.points, lasso.label, shape) for lasso in prompts.lassos]
    found += [_scribble(scribble.points, scribble.label, shape, thickness) for scribble in prompts.scribbles]
    found += [
        Mark("point", int(at[3]), _bbox(at[:3], at[:3] + 1, shape), by_hand=bool(clicked))
        for at, clicked in zip(prompts.points, prompts.clicked, strict=True)  # type: ignore[arg-type]
    ]
    if wrong := [mark.label for mark in found if mark.label not in (0, 1)]:
        raise ValueError(f"a prompt has the label {wrong[0]}, expected 1 for target or 0 for background")
    slices = [sum(mark.bbox[0]) for mark in found]
    distance = [abs(2 * slice - min(slices) - max(slices)) for slice in slices]
    order = sorted(range(len(found)), key=lambda n: (found[n].by_hand, -distance[n]))
    return [found[n] for n in order]


def _bbox(low: Array | list[int], high: Array | list[int], shape: Sequence[int]) -> list[list[int]]:
    bbox = [[int(first), int(stop)] for first, stop in zip(low, high, strict=True)]
    if any(not 0 <= first < stop <= size for (first, stop), size in zip(bbox, shape, strict=True)):
        where = " x ".join(f"[{first}, {stop})" for first, stop in bbox)
        raise ValueError(f"a prompt at {where} is empty or outside of the image of {tuple(shape)} voxels")
    return bbox


def _extent(points: Array, shape: Sequence[int]) -> list[list[int]]:
    if len(points) == 0:
        raise ValueError("a scribble or lasso has no points")
    return _bbox(points.min(axis=0), points.max(axis=0) + 1, shape)


def _lasso(points: Array, label: int, shape: Sequence[int]) -> Mark:
    """A lasso, filled; its outline belongs to it."""
    bbox = _extent(points, shape)
    (z, z1), (y, y1), (x, x1) = bbox
    if z1 - z != 1:
        raise ValueError(f"a lasso lies in one slice, this one in slices {z} to {z1 - 1}")
    picture = Image.new("L", (x1 - x, y1 - y))
    outline = [(int(point[2]) - x, int(point[1]) - y) for point in (*points, points[0])]
    ImageDraw.Draw(picture).polygon(outline, fill=1, outline=1)
    return Mark("lasso", label, bbox, np.array(picture, dtype=np.uint8)[None])


def _scribble(points: Array, label: int, shape: Sequence[int], thickness: Sequence[int]) -> Mark:
    """A stroke drawn with a round brush in its own plane, as the authors' viewer plugin does; axial if it has none."""
    _extent(points, shape)
    normal = next((axis for axis in range(3) if np.ptp(points[:, axis]) == 0), 0)
    radius = int(thickness[normal]) // 2
    reach = [np.arange(-radius, radius + 1) if axis != normal else np.zeros(1, dtype=np.int64) for axis in range(3)]
    brush = np.stack(np.meshgrid(*reach, indexing="ij"), axis=-1).reshape(-1, 3)
    brush = brush[(brush**2).sum(axis=1) <= (radius + 0.5) ** 2]
    voxels = (points[:, None] + brush).reshape(-1, 3)
    voxels = voxels[((voxels >= 0) & (voxels < shape)).all(axis=1)]
    bbox = _extent(voxels, shape)
    image = np.zeros([stop - first for first, stop in bbox], dtype=np.uint8)
    image[tuple((voxels - voxels.min(axis=0)).T)] = 1
    return Mark("scribble", label, bbox, image)
